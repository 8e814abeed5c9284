"""Locks: who may only read a checkout can't stop it, and nobody waits for one without a word."""

import os
import stat
from pathlib import Path

import pytest

from fabricheck.locks import held
from fabricheck.record import write


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(("directory", "lock"), [(0o755, 0o600), (0o2775, 0o660)], ids=oct)
def test_a_lock_is_open_to_those_alone_who_may_write_beside_it(tmp_path, directory, lock):
    tmp_path.chmod(directory)
    path = tmp_path / ".lock"
    path.touch(0o644)
    with held(path):
        assert mode(path) == lock
    assert mode(path) == lock


def test_a_lock_that_is_a_directory_keeps_its_mode(tmp_path):
    tmp_path.chmod(0o755)
    with held(tmp_path, flags=os.O_RDONLY | os.O_DIRECTORY):
        assert mode(tmp_path) == 0o755


def test_a_record_that_another_process_holds_is_waited_for_with_an_end(tmp_path, monkeypatch):
    monkeypatch.setattr(write, "_PATIENCE", 0.0)
    path = tmp_path / "main" / "2026-11.jsonl"
    message = r"expected to write to \S+2026-11.jsonl within 0 s, found another process that holds"
    with (
        write.locked(path),
        pytest.raises(write.FabricheckError, match=message),
        write.locked(path),
    ):
        pass
