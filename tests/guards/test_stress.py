"""A stress on a real testbed: one at a time, ended after a block, yielding to a user's job."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from tests.guards.suite import REPOSITORY, Suite
from tests.monitor.conftest import values
from tests.monitor.test_stress import latest
from tests.stress.made import absurd
from tests.waiting import wait_until

from fabricheck.monitor.stress import Stress
from fabricheck.record.entries import CaseEntry
from fabricheck.stress.state import StressDirectory

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("guards")]

MIX = """\
pause: 0.1
blocks:
  - {benchmark: allreduce, size: 64KiB, iterations: 20}
  - {benchmark: bcast, size: 1KiB, iterations: 20}
"""
RULES = absurd("1KiB", "64KiB")
DOING = """\
import sys
from pathlib import Path
from fabricheck.monitor.stress import Stress
for each in Stress(Path(sys.argv[1])).read():
    if each.family.name == "fabricheck_stress_state" and each.value:
        print(each.labels[-1])
"""


class Controller:
    """The commands of a stress, on the login node."""

    def __init__(self, suite: Suite) -> None:
        self.suite = suite
        self.place = StressDirectory(suite.root / "reports" / "stress" / "t")
        link = suite.root / ".venv"
        if not link.exists():
            link.symlink_to(REPOSITORY / ".venv")
        (suite.root / "mix.yaml").write_text(MIX)
        suite.write("references/testbed.yaml", RULES)

    def words(self, *words: str) -> list[str]:
        return [*self.python, "-m", "fabricheck", "stress", *words]

    @property
    def python(self) -> list[str]:
        return ["env", f"PYTHONPATH={self.suite.root / 'src'}", sys.executable]

    def doing(self) -> str:
        """What the exporter of the login node says that it does."""
        return self.slurm(
            *self.python, "-c", DOING, str(self.suite.root / "reports")
        ).stdout.strip()

    def command(self, *words: str) -> list[str]:
        return self.suite.testbed.command("login", *self.words(*words))

    def __call__(self, *words: str) -> "subprocess.CompletedProcess[str]":
        done = self.slurm(*self.words(*words))
        sys.stdout.write(done.stdout + done.stderr)
        return done

    def slurm(self, *command: str) -> "subprocess.CompletedProcess[str]":
        return self.suite.testbed.run("login", *command, timeout_seconds=900)

    def start(self) -> str:
        done = self(
            "start",
            "--system=testbed",
            "--name=t",
            f"--mix={self.suite.root / 'mix.yaml'}",
            "--for=20m",
        )
        assert done.returncode == 0, done.stderr
        return str(re.findall(r"job (\d+)", done.stderr)[-1])

    def status(self) -> dict[str, object]:
        return json.loads(self("status", "--json").stdout)  # type: ignore[no-any-return]

    def blocks(self) -> list[CaseEntry]:
        return self.place.read(self.place.state().session)

    def until(self, told: Callable[[], object], what: str) -> None:
        log = self.place.log
        wait_until(told, lambda: f"{what}: {log.read_text() if log.exists() else 'no log'}")

    def state_of(self, job: str) -> str:
        return self.slurm("squeue", "-h", "-j", job, "-o", "%T").stdout.strip()


@pytest.fixture
def stress(suite: Suite) -> Iterator[Controller]:
    controller = Controller(suite)
    yield controller
    if controller.place.state().session:
        controller("stop", "--now")


def in_order(blocks: list[CaseEntry]) -> bool:
    """Whether no block is lost and none is there twice."""
    expected = [f"{each // 2 + 1}.{each % 2 + 1}" for each in range(len(blocks))]
    return [each.id for each in blocks] == expected


def test_one_runs_yields_to_a_user_goes_on_and_ends_after_a_block(
    stress: Controller,
) -> None:
    job = stress.start()
    stress.until(lambda: len(stress.blocks()) > 2, "three blocks")
    told = stress.status()
    assert (told["phase"], told["job"], told["dead"]) == ("running", job, {})
    assert stress.doing() == "running"
    second = stress("start", "--system=testbed", "--name=t")
    assert second.returncode == 2
    assert f"found job {job}: stop it with 'fabricheck stress stop --name t'" in second.stderr
    assert stress("servers").stdout.splitlines() == [
        *(f"{node}: allocated, 1 ranks" for node in ("n1", "n2")),
        *(f"{node}: link use unknown, its ports were not read" for node in ("n1", "n2")),
    ]
    log = stress("log").stdout
    assert re.search(r"=== Iteration \d+ - \w{3} \w{3} \d\d .* UTC \d{4} ===", log)
    assert re.search(r"Iteration \d+ complete", log)
    first = stress.blocks()[0]
    assert (first.level, first.result, first.nodes) == ("good", "pass", ("n1", "n2"))
    assert "tcp" in first.evidence

    script = stress.suite.root / "user.sh"
    script.write_text("#!/bin/sh\nsleep 1\n")
    wanted = ["--parsable", "--partition=main", "--nodes=2", "--exclusive", "--output=/dev/null"]
    user = stress.slurm("sbatch", *wanted, str(script)).stdout.strip()
    asked = time.monotonic()
    stress.until(lambda: stress.state_of(user) in ("RUNNING", ""), "the user's job")
    sys.stdout.write(f"yielded in {time.monotonic() - asked:.1f} s\n")
    stress.until(lambda: stress.state_of(job) == "PENDING", "the stress waits")
    assert stress.doing() == "preempted"
    before = len(stress.blocks())
    # Slurm lets two minutes pass before it starts a job again.
    stress.slurm("scontrol", "update", f"jobid={job}", "starttime=now")
    stress.until(lambda: len(stress.blocks()) > before + 1, "blocks after the user's job")
    assert stress.status()["restarts"] == 1

    assert stress("stop").returncode == 0
    assert stress.state_of(job) == ""
    blocks = stress.blocks()
    assert in_order(blocks)
    assert {each.level for each in blocks} == {"good"}
    assert stress.place.lines.read_bytes().endswith(b"\n")
    found = values(Stress(stress.suite.root / "reports").read())
    assert found["mpi_stress_test_running"] == 0
    assert not latest(found)
    medians = {each.benchmark for each in stress.suite.recorded() if each.check == "Stress"}
    assert medians == {"allreduce", "bcast"}

    # A node that fails is no user's job, though Slurm lets the stress wait again for both.
    job = stress.start()
    stress.until(stress.blocks, "a block")
    # It has its turn on the nodes that waited, and its worker on the first of them.
    name = f"nodename={stress.blocks()[-1].nodes[0]}"
    stress.slurm("scontrol", "update", name, "state=down", "reason=test")
    stress.until(lambda: stress.doing() == "requeued", "its node has failed")
    stress.slurm("scontrol", "update", name, "state=resume")
    assert stress("stop").returncode == 0

    # At once: the block under way does not count, and the job does not come back.
    assert stress("stop", "--now").returncode == 0
    assert stress.state_of(job) == ""
    assert in_order(stress.blocks())
