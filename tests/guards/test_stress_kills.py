"""Killed at random moments, no block is lost or counted twice; a dead node is left out."""

import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from random import Random

import pytest
from tests.guards.suite import Suite
from tests.guards.test_stress import Controller, in_order
from tests.monitor.test_exporter import Exporter

from fabricheck.cli.door import DOOR
from fabricheck.record.entries import CaseEntry, from_line

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("guards")]

KILLS = 10
SEED = 20261122


def cases(path: Path) -> list[CaseEntry]:
    """All cases of a file of lines, each as often as it is there."""
    found = []
    for line in path.read_bytes().splitlines():
        try:
            entry = from_line(line)
        except ValueError:
            continue
        if isinstance(entry, CaseEntry):
            found.append(entry)
    return found


def test_killed_at_ten_moments(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    stress = Controller(suite)
    monkeypatch.setenv(DOOR.variable, str(suite.root.parent / "tb"))
    reports = suite.root / "reports"
    random = Random(SEED)
    job = stress.start()
    exporter = Exporter(f"--reports={reports}")
    victims = [*("job", "requeue", "controller", "exporter") * 3][:KILLS]
    random.shuffle(victims)
    for victim in victims:
        count = len(stress.blocks())
        time.sleep(random.uniform(0, 5))
        sys.stdout.write(f"kill {victim} at {time.strftime('%T')}\n")
        if victim == "job":
            stress.slurm("scancel", "--batch", "--signal=KILL", job)
            stress.until(lambda: not stress.state_of(job), "the job is gone")  # noqa: B023
            job, count = stress.start(), 0
        elif victim == "requeue":
            stress.slurm("scontrol", "requeue", job)
            stress.until(lambda: stress.state_of(job) == "PENDING", "it waits")  # noqa: B023
            stress.slurm("scontrol", "update", f"jobid={job}", "starttime=now")
        elif victim == "controller":
            word = random.choice([["status"], ["stop"], ["start", "--name=t"]])
            running = subprocess.Popen(stress.command(*word), stdin=subprocess.DEVNULL)
            time.sleep(random.uniform(0.3, 2.5))
            running.kill()
            running.wait()
            if word == ["stop"]:
                stress("stop")
                job, count = stress.start(), 0
        else:
            exporter.process.kill()
            exporter.process.wait()
            exporter = Exporter(f"--reports={reports}")
        stress.until(lambda: len(stress.blocks()) > count, "another block")  # noqa: B023
    assert stress("stop").returncode == 0
    exporter.stop()

    sessions: dict[str, list[CaseEntry]] = defaultdict(list)
    for case in cases(stress.place.lines):
        sessions[case.session].append(case)
    assert len(sessions) > 1
    assert all(in_order(blocks) for blocks in sessions.values())
    medians = [case for file in (suite.root / "perflogs").rglob("*.jsonl") for case in cases(file)]
    ids = [case.id for case in medians if case.check == "Stress"]
    assert len(ids) == len(set(ids))
    counted = {case.session.rpartition("-")[0] for case in medians if case.check == "Stress"}
    assert counted == sessions.keys()


def test_a_node_that_dies_is_left_out_while_the_stress_runs(suite: Suite) -> None:
    suite.testbed.down()
    suite.testbed.up(nodes=3, shares=[suite.root])
    try:
        stress = Controller(suite)
        stress.start()
        stress.until(stress.blocks, "a block")
        assert stress.blocks()[0].nodes == ("n1", "n2")
        suite.testbed.kill_daemon("slurmd.n2")
        stress.until(lambda: "n2" in str(stress.status()["dead"]), "n2 is dead")
        stress.until(lambda: stress.blocks()[-1].nodes == ("n1", "n3"), "a block of the others")
        stress("stop", "--now")
        done = stress(
            "start", "--system=testbed", "--name=t", f"--mix={suite.root / 'mix.yaml'}", "--for=20m"
        )
        assert "left out: n2: Slurm reports " in done.stderr
        stress.until(stress.blocks, "a block of the others")
        assert {each.nodes for each in stress.blocks()} == {("n1", "n3")}
        assert stress("stop").returncode == 0
    finally:
        suite.testbed.down()
