"""The runs of a sweep in ReFrame: variables, places, and one allocation."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.fabric.conftest import unpack
from tests.reframe_ext import pair_suite
from tests.reframe_ext.recorded import measured, reframe

from fabricheck.reframe_ext import varied
from fabricheck.reframe_ext.config import site_configuration
from fabricheck.reframe_ext.varied import SWEEP, Plan, in_one_allocation, record_of, variables_of

PARTITION = {"name": "main", "scheduler": "slurm", "max_jobs": 8, "extras": {"pin": "cyclic"}}


def put_plan(place: Path, *runs: Mapping[str, str]) -> Path:
    path = place / "plan.json"
    path.write_bytes(msgspec.json.encode(Plan(runs, nodes=2, time="30m")))
    return path


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    path = put_plan(tmp_path, *({"A": str(run)} for run in range(12)))
    monkeypatch.setenv(SWEEP, str(path))
    yield path
    varied._read.cache_clear()


@pytest.mark.parametrize("given", [None, ""])
def test_any_other_session_is_as_the_site_says(
    given: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SWEEP, raising=False)
    if given is not None:
        monkeypatch.setenv(SWEEP, given)
    assert variables_of("MpiCollective %.repeat_no=1") == {}
    assert in_one_allocation(PARTITION) is PARTITION
    assert record_of(tmp_path) == tmp_path / "perflogs"


def test_each_repetition_has_the_variables_of_its_place_in_the_order(sweep: Path) -> None:
    name = "MpiCollective %benchmark=allreduce %transport=tcp %num_nodes=2 %.repeat_no={}"
    found = [variables_of(name.format(number))["A"] for number in (0, 1, 10, 11, 2, 9)]
    assert found == ["0", "1", "2", "3", "4", "11"]
    assert variables_of("BenchBuild ~main+openmpi") == {}


@pytest.mark.parametrize("scheduler", ["slurm", "squeue", "allocation"])
def test_slurm_gives_the_nodes_of_the_case_and_no_more(sweep: Path, scheduler: str) -> None:
    found = in_one_allocation({**PARTITION, "scheduler": scheduler})
    assert (found["scheduler"], found["max_jobs"]) == ("allocation", 1)
    assert found["extras"]["pin"] == "cyclic"
    asked = found["extras"]["allocation"]
    assert (asked["nodes"], asked["time"], asked["side_by_side"]) == (2, "30m", False)


def test_one_machine_runs_one_at_a_time(sweep: Path) -> None:
    found = in_one_allocation({**PARTITION, "scheduler": "local"})
    assert (found["scheduler"], found["max_jobs"]) == ("local", 1)


def test_the_configuration_has_both_and_records_beside_the_plan(sweep: Path) -> None:
    (tmp := sweep.parent / "suite" / "sites").mkdir(parents=True)
    (tmp / "cluster.yaml").write_text(
        "systems:\n  - {name: cluster, hostnames: [x], partitions: [{name: main, "
        "scheduler: squeue, launcher: srun, environs: [a]}]}\n"
        "environments:\n  - {name: a, features: [ucx], target_systems: [cluster]}\n"
    )
    found = site_configuration(tmp.parent)
    assert found["systems"][0]["partitions"][0]["scheduler"] == "allocation"
    assert found["logging"][0]["handlers_perflog"][0]["basedir"] == str(sweep.parent / "perflogs")


def swept(place: Path, *runs: Mapping[str, str]) -> list[dict[str, Any]]:
    """A sweep of a real ReFrame over a perftest that does as a variable says."""
    text = pair_suite._CONFIGURATION
    for name, value in {
        "SYSTEM": "x",
        "PARTITION": "x",
        "FEATURES": ["rdma", "nodes_2", "inline"],
        "EXTRAS": {**pair_suite.SLOW, "size_step": 1 << 14},
    }.items():
        text = text.replace(name, repr(value))
    reframe(
        place,
        pair_suite.ROOT / "checks" / "perftest.py",
        *("--run", "--keep-stage-files", f"--repeat={len(runs)}", "--exec-order=name"),
        *("-E", "benchmark == 'ib_send_lat' and transport == 'rc'"),
        configuration=text,
        PATH=f"{pair_suite.BIN}:{os.environ['PATH']}",
        FABRICHECK_PAIR_WAIT="10",
        FABRICHECK_PAIR_GRACE="2",
        FABRICHECK_NODE_ROOT=str(unpack("rxe", place / "tree")),
        **{SWEEP: str(put_plan(place, *runs))},
    )
    return sorted(measured(place), key=lambda case: int(case["repeat"]))


@pytest.mark.integration
def test_each_run_has_its_variables_its_number_and_its_own_proof(tmp_path: Path) -> None:
    lost = {"FAKE": json.dumps({"sent": {"0": 10, "1": 10}})}
    good, untrusted, unread = swept(tmp_path, {"FAKE": "{}"}, lost, {"FAKE": "{}", "UCX_FOO": "1"})
    assert [each["repeat"] for each in (good, untrusted, unread)] == [0, 1, 2]
    # No reference judges it, and so it does not fail for want of one.
    assert (good["level"], good["result"]) == ("no-reference", "pass")
    assert all(sample.value > 0 for sample in good["samples"])
    assert "nothing says whether FAKE is read" in good["evidence"]
    assert (untrusted["level"], untrusted["result"]) == ("untrusted", "fail")
    assert "UCX_FOO" not in str(untrusted["findings"])
    assert unread["level"] == "untrusted"
    assert list(unread["findings"]) == [
        "expected UCX to read UCX_FOO, found no log of UCX: it did not run"
    ]
