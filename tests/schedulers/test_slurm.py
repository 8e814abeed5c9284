from pathlib import Path

import pytest

from fabricheck.schedulers.slurm import SLURM

pytestmark = pytest.mark.integration

LISTED = "n1 allocated\\nn2 down*\\nn3 mixed*\\nn4 idle\\nn4 idle\\nn5 failing"


def test_nodes_that_are_down_or_do_not_respond_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sinfo = tmp_path / "sinfo"
    sinfo.write_text(f"#!/bin/sh\nprintf '{LISTED}\\n'\n")
    sinfo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert SLURM.silent_nodes(["n1", "n2", "n3", "n4", "n5", "n9"]) == ("n2", "n3", "n5")


def test_without_slurm_nothing_is_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert SLURM.silent_nodes(["n1"]) == ()
