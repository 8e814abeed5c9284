import os
import subprocess
from pathlib import Path

import pytest

from fabricheck_testbed import lock
from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.lock import holder, state_lock

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "PATIENCE_SECONDS", 0.0)


def test_second_operation_is_told_about_the_first(tmp_path: Path) -> None:
    with state_lock(tmp_path / "lock", "up"):
        assert holder(tmp_path / "lock") == f"up (process {os.getpid()})"
        with (
            pytest.raises(TestbedError, match=rf"is in use by up \(process {os.getpid()}"),
            state_lock(tmp_path / "lock", "down"),
        ):
            pass
    assert holder(tmp_path / "lock") is None


def test_the_lock_lasts_while_a_child_holds_it(tmp_path: Path) -> None:
    with state_lock(tmp_path / "lock", "up") as descriptor:
        child = subprocess.Popen(["sleep", "60"], pass_fds=[descriptor])
    try:
        assert holder(tmp_path / "lock") is not None
    finally:
        child.kill()
        child.wait()
    assert holder(tmp_path / "lock") is None


def test_a_lock_file_that_was_removed_meanwhile_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lock"
    really_locked = lock._locked
    removals = iter([path.unlink])

    def locked_after_a_down(descriptor: int) -> bool:
        next(removals, lambda: None)()
        return really_locked(descriptor)

    monkeypatch.setattr(lock, "_locked", locked_after_a_down)
    with state_lock(path, "up"):
        assert path.exists()
        assert holder(path) == f"up (process {os.getpid()})"
