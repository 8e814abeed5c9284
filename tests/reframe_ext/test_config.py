"""ReFrame's configuration follows what runs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fabricheck.errors import FabricheckError
from fabricheck.provenance import SUITE
from fabricheck.reframe_ext.config import site_configuration

REFRAME = Path(sys.executable).parent / "reframe"
VARIABLE = "CLUSTER_PARTITIONS"
SITE = f"""\
running_partitions: {VARIABLE}
systems:
  - name: cluster
    partitions: [{{name: main}}, {{name: rdma}}]
environments: []
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites" / "cluster.yaml").write_text(SITE)
    return tmp_path


def partitions(suite: Path) -> list[str]:
    (system,) = site_configuration(suite)["systems"]
    assert "running_partitions" not in system
    return [partition["name"] for partition in system["partitions"]]


@pytest.mark.parametrize(
    ("running", "found"),
    [
        (None, ["main", "rdma"]),
        ("main rdma", ["main", "rdma"]),
        ("main", ["main"]),
        ("rdma other", ["rdma"]),
    ],
)
def test_partitions_that_do_not_run_are_left_out(
    suite: Path, monkeypatch: pytest.MonkeyPatch, running: str | None, found: list[str]
) -> None:
    if running is not None:
        monkeypatch.setenv(VARIABLE, running)
    assert partitions(suite) == found


@pytest.mark.parametrize("running", ["", "mian"])
def test_a_system_of_which_nothing_runs_is_named(
    suite: Path, monkeypatch: pytest.MonkeyPatch, running: str
) -> None:
    monkeypatch.setenv(VARIABLE, running)
    expected = rf"partition of system cluster \(main, rdma\) .* {VARIABLE}, found '{running}'"
    with pytest.raises(FabricheckError, match=expected):
        partitions(suite)


def test_reframe_lists_the_testbed_without_partitions_that_do_not_run() -> None:
    shown = subprocess.run(
        [
            REFRAME,
            f"--config-file={SUITE / 'reframe-config.py'}",
            "--system=testbed",
            "--show-config=systems/0/partitions",
        ],
        env={**os.environ, "FABRICHECK_TESTBED_PARTITIONS": "main"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names = [partition["name"] for partition in json.loads(shown)]
    assert names == ["main"]
