"""Cases in one allocation of a real Slurm."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import wait_until

from fabricheck_testbed import Testbed

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("testbed")]

SUITE = Path(__file__).with_name("allocation_suite.py")
REFRAME = Path(sys.executable).with_name("reframe")


class Slurm:
    """ReFrame on the login node of a testbed, in a place of its own."""

    def __init__(self, testbed: Testbed, place: Path) -> None:
        self.testbed, self.place = testbed, place

    def command(self, *checks: str, before: str = "", **variables: object) -> list[str]:
        settings = " ".join(f"{name}={value}" for name, value in variables.items())
        wanted = "|".join(checks)
        return [
            "bash",
            "-c",
            f"PLACE={self.place} {settings} {before} {REFRAME} -C {SUITE} -c {SUITE} "
            f"--prefix {self.place} -n '^({wanted})' --exec-order=name -r",
        ]

    def run(self, *checks: str, before: str = "", **variables: object) -> dict[str, dict[str, Any]]:
        """Run checks; their cases by the name that ReFrame shows."""
        command = self.command(*checks, before=before, **variables)
        self.said = self.testbed.run("login", *command, timeout_seconds=120)
        report = json.loads((self.place / "report.json").read_text())
        return {case["display_name"]: case for case in report["runs"][0]["testcases"]}

    def first_job(self) -> int:
        """The number that Slurm gave last."""
        asked = self.testbed.run("login", "srun", "--mpi=none", "sh", "-c", "echo $SLURM_JOB_ID")
        return int(asked.stdout)

    def queue(self) -> str:
        return self.testbed.run("login", "squeue", "--noheader").stdout

    def wait_until_free(self) -> None:
        wait_until(lambda: not self.queue(), self.queue)


@pytest.fixture
def slurm(testbed: Testbed, tmp_path: Path) -> Iterator[Slurm]:
    made = Slurm(testbed, tmp_path)
    yield made
    made.wait_until_free()


def test_all_cases_run_in_one_job_of_slurm(slurm: Slurm) -> None:
    before = slurm.first_job()
    cases = slurm.run("Plain", "Single")
    assert {case["result"] for case in cases.values()} == {"pass"}, slurm.said.stdout
    assert len(cases) == 6
    # Each has a number of its own in the record, of the same allocation.
    numbers = {case["jobid"] for case in cases.values()}
    assert len(numbers) == 6
    assert {number.partition("/")[0] for number in numbers} == {str(before + 1)}
    assert slurm.first_job() == before + 2
    assert sorted(cases["Plain %number=0"]["job_nodelist"]) == ["n1", "n2"]
    assert cases["Single %number=0"]["job_nodelist"][0] in ("n1", "n2")


def test_a_case_is_told_of_its_own_nodes_and_nothing_else(slurm: Slurm) -> None:
    before = "SLURM_CPUS_PER_TASK=9 SLURM_MEM_PER_NODE=1 SBATCH_RESERVATION=none"
    cases = slurm.run("Told", before=before)
    (nodes,) = (case["job_nodelist"] for case in cases.values())
    (written,) = slurm.place.rglob("told.txt")
    told = dict(line.partition("=")[::2] for line in written.read_text().splitlines())
    assert told["SLURM_JOB_NODELIST"] == told["SLURM_NODELIST"] == nodes[0]
    assert (told["SLURM_NNODES"], told["SLURM_NTASKS"]) == ("1", "1")
    assert not {"SLURM_CPUS_PER_TASK", "SLURM_MEM_PER_NODE"} & told.keys()


def test_an_allocation_that_ends_costs_the_case_that_it_touched(slurm: Slurm) -> None:
    cases = slurm.run("LosesIt", "Plain%number=0")
    lost = cases.pop("LosesIt")
    assert lost["result"] == "fail"
    (errors,) = slurm.place.glob("stage/**/LosesIt*/rfm_job.err")
    assert "fabricheck: allocation" in errors.read_text()
    assert {case["result"] for case in cases.values()} == {"pass"}, slurm.said.stdout
    assert len({case["jobid"].partition("/")[0] for case in [lost, *cases.values()]}) == 2


def test_a_case_that_takes_too_long_is_ended_and_the_next_goes_on(slurm: Slurm) -> None:
    cases = slurm.run("Hangs", "Plain%number=0")
    assert len({case["jobid"].partition("/")[0] for case in cases.values()}) == 1
    assert {case["result"] for name, case in cases.items() if name != "Hangs"} == {"pass"}
    (errors,) = slurm.place.glob("stage/**/Hangs*/rfm_job.err")
    assert "DUE TO TIME LIMIT" in errors.read_text()


def test_a_larger_case_is_a_job_of_its_own(slurm: Slurm) -> None:
    cases = slurm.run("Plain%number=0", "Single", NODES=1)
    assert {case["result"] for case in cases.values()} == {"pass"}, slurm.said.stdout
    assert {name for name, case in cases.items() if "/" not in case["jobid"]} == {"Plain %number=0"}


def test_cases_run_side_by_side_only_where_the_site_says_so(slurm: Slurm) -> None:
    slurm.run("Single", MAX_JOBS=2)
    assert (slurm.place / "log").read_text().split() == ["begin", "end"] * 2
    together = slurm.run("Meets", MAX_JOBS=2, SIDE_BY_SIDE=1)
    assert {case["result"] for case in together.values()} == {"pass"}, slurm.said.stdout
    assert len({case["job_nodelist"][0] for case in together.values()}) == 2


def test_cases_wait_for_builds_where_the_site_says_so(slurm: Slurm) -> None:
    slurm.run("Single", "Builds", AFTER_BUILDS=1)
    assert (slurm.place / "log").read_text().split() == ["built", *["begin", "end"] * 2]


def test_inside_salloc_that_allocation_is_used(slurm: Slurm) -> None:
    before = slurm.first_job()
    cases = slurm.run("Plain", before="salloc --nodes=2 --partition=main --exclusive env")
    assert {case["result"] for case in cases.values()} == {"pass"}, slurm.said.stdout
    assert {case["jobid"].partition("/")[0] for case in cases.values()} == {str(before + 1)}


@pytest.mark.parametrize("oldest", ["n1", "n2"])
def test_the_allocation_of_a_night_is_the_nodes_whose_turn_it_is(slurm: Slurm, oldest: str) -> None:
    last = {"n1": "2026-11-02", "n2": "2026-11-02", oldest: "2026-11-01"}
    (slurm.place / "turns").write_text(json.dumps({"every": 2, "last": last}))
    cases = slurm.run("Single", NODES=1, FABRICHECK_ROTA=slurm.place / "turns")
    assert {case["result"] for case in cases.values()} == {"pass"}, slurm.said.stdout
    assert {case["job_nodelist"][0] for case in cases.values()} == {oldest}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_allocation_is_left_behind(slurm: Slurm, number: signal.Signals) -> None:
    command = ["testbed", "exec", "--state-dir", str(slurm.testbed.files.root), "login", "--"]
    started = subprocess.Popen(
        [REFRAME.with_name("fabricheck"), *command, *slurm.command("Sleeps", before="exec")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        output = "stage/**/Sleeps/rfm_job.out"
        wait_until(lambda: list(slurm.place.glob(output)), "the case begins")
        assert slurm.queue()
        (reframe,) = _reframes_in(slurm.place)
        os.kill(reframe, number)
        slurm.wait_until_free()
    finally:
        started.wait(timeout=300)


def _reframes_in(place: Path) -> list[int]:
    """Processes of ReFrame whose stage lies in a place."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if str(REFRAME).encode() in words[:3] and str(place).encode() in words:
            found.append(int(process.name))
    return found
