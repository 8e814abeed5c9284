"""A stress on eight nodes of a leaf-spine fabric: it takes all in turns, and leaves out what dies.

A node is killed and the link of another is taken down while it runs. Times are scaled: a node that
is silent counts as lost after 10 s there (SlurmdTimeout), 300 s by Slurm's default, and a block is
ended after 20 s.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.stress.made import absurd
from tests.waiting import wait_until

from fabricheck.provenance import SUITE
from fabricheck.record.entries import CaseEntry
from fabricheck.stress.state import StressDirectory
from fabricheck_testbed import Testbed, fabric

pytestmark = pytest.mark.lab

MINUTE = 60.0
MIX = """\
pause: 0.1
block_limit: 20
blocks:
  - {benchmark: allreduce, size: 64KiB, iterations: 20}
"""
RULES = absurd("64KiB")
SERVED = """\
import sys
from pathlib import Path
from fabricheck.monitor.stress import Stress
for each in Stress(Path(sys.argv[1])).read():
    if each.family.name == "fabricheck_stress_node_dead" and each.value:
        print(each.labels[-1])
"""


class Fabric:
    """A testbed of two leaves and more, and a stress on it."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "suite"
        self.testbed = Testbed(directory / "tb")
        self.testbed.up(fabric=fabric.LEAF_SPINE_LFT, shares=[directory, SUITE])
        site = yaml.safe_load((SUITE / "sites" / "testbed.yaml").read_text())
        system = site["systems"][0] | {"name": "leaves"}
        main = next(each for each in system["partitions"] if each["name"] == "main")
        main["environs"] = ["mpich"]
        options = {"options": ["--partition=stress"], "every": "2m"}
        main["extras"]["stress"] = {"environ": "mpich", "placement": "tcp-2n", **options}
        mpich = next(each for each in site["environments"] if each["name"] == "mpich")
        made = {
            "systems": [system | {"partitions": [main]}],
            "environments": [mpich | {"target_systems": ["leaves"]}],
        }
        for folder, text in (("sites", yaml.safe_dump(made)), ("references", RULES)):
            (self.root / folder).mkdir(parents=True)
            (self.root / folder / "leaves.yaml").write_text(text)
        (self.root / "mix.yaml").write_text(MIX)
        self.place = StressDirectory(self.root / "reports" / "stress" / "t")

    def run(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """A command on the login node."""
        settings = ("env", f"FABRICHECK_SITES={self.root}", f"PATH={os.environ['PATH']}")
        command = self.testbed.command("login", *settings, sys.executable, *words)
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        sys.stdout.write(done.stdout + done.stderr)
        return done

    def stress(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return self.run("-m", "fabricheck", "stress", *words)

    def status(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.stress("status", "--name=t", "--json").stdout)
        return told

    def served(self) -> list[str]:
        """The nodes for which StressNodeDead fires."""
        return self.run("-c", SERVED, str(self.root / "reports")).stdout.split()

    def blocks(self) -> list[CaseEntry]:
        return self.place.read(self.place.state().session)

    def until(self, told: Callable[[], object]) -> float:
        """Wait; how long it took."""
        began = time.monotonic()
        wait_until(told, self.place.log.read_text)
        return time.monotonic() - began


@pytest.fixture
def leaves(can_run_testbeds: None, tmp_path: Path) -> Iterator[Fabric]:
    made = Fabric(tmp_path)
    try:
        yield made
    finally:
        made.stress("stop", "--name=t", "--now")
        made.testbed.down()


def test_a_dead_node_and_a_dead_link_are_left_out_while_all_others_have_their_turns(
    leaves: Fabric,
) -> None:
    told = leaves.root / "told"
    hook = f'echo "$NODE: $REASON" >>{told}'
    words = ("--system=leaves", "--name=t", f"--mix={leaves.root / 'mix.yaml'}", "--for=20m")
    assert leaves.stress("start", *words, f"--on-bad-node={hook}").returncode == 0
    everyone = {f"n{each}" for each in range(1, 9)}
    leaves.until(lambda: {node for each in leaves.blocks() for node in each.nodes} == everyone)

    # Of a turn that has just begun, and not the node that runs the worker, with whom the job goes.
    def second() -> str:
        before = leaves.blocks()[-1].job
        leaves.until(lambda: leaves.blocks()[-1].job != before)
        leaves.until(lambda: leaves.blocks()[-1].result == "pass")
        return leaves.blocks()[-1].nodes[1]

    lost = second()
    leaves.testbed.kill_node(lost)
    took = leaves.until(lambda: lost in leaves.status()["dead"] and lost in leaves.served())
    sys.stdout.write(f"node: {took:.0f} s\n")
    assert took < MINUTE
    cut = second()
    leaves.testbed.link_down(cut)
    took = leaves.until(lambda: cut in leaves.status()["dead"] and cut in leaves.served())
    sys.stdout.write(f"link: {took:.0f} s\n")
    assert took < MINUTE
    assert "link down on" in leaves.status()["dead"][cut]

    others, since = everyone - {lost, cut}, len(leaves.blocks())

    def covered() -> bool:
        good = [each for each in leaves.blocks()[since:] if each.result == "pass"]
        return {node for each in good for node in each.nodes} == others

    leaves.until(covered)
    last = [{*each.nodes} for each in leaves.blocks()[since + 1 :]]
    assert not any(nodes & {lost, cut} for nodes in last)
    assert leaves.status()["coverage"]["nodes"] == len(others)
    assert {line.partition(":")[0] for line in told.read_text().splitlines()} == {lost, cut}
    names = (leaves.root / "reports" / "events.log").read_text()
    assert f"event=node_left_out stress=t node={lost} " in names
    assert f"event=node_left_out stress=t node={cut} " in names


def test_a_run_lets_blocks_end_and_none_begin(leaves: Fabric) -> None:
    words = ("--system=leaves", "--name=t", f"--mix={leaves.root / 'mix.yaml'}", "--for=20m")
    assert leaves.stress("start", *words).returncode == 0
    leaves.until(leaves.blocks)
    with subprocess.Popen(["flock", str(leaves.root / "reports" / ".lock"), "cat"],
                          stdin=subprocess.PIPE) as run:  # fmt: skip
        leaves.until(lambda: leaves.status()["why"] == "a run measures in this checkout")
        count = len(leaves.blocks())
        time.sleep(10)
        assert len(leaves.blocks()) == count
        assert leaves.status()["phase"] == "waiting"
        run.communicate()
    job = leaves.status()["job"]
    command = leaves.testbed.command("login", "scontrol", "update", f"jobid={job}", "starttime=now")
    subprocess.run(command, check=True)
    leaves.until(lambda: len(leaves.blocks()) > count)
