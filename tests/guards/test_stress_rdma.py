"""A stress over RDMA beside a load that fills the cable: latency and real marks rise together."""

import re
import sys
from pathlib import Path

import pytest
import yaml
from tests.guards.suite import SITE, Suite
from tests.guards.test_stress import Controller
from tests.on_testbed.test_congestion import Script, load
from tests.stress.made import absurd

from fabricheck_testbed import faults

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("guest"), pytest.mark.timeout(1800)]

MIX = """\
pause: 0
block_limit: 120
blocks:
  - {benchmark: allreduce, size: 64B, iterations: 30}
"""
RULES = absurd("64B")
CORRELATION = """\
import sys
from pathlib import Path
from fabricheck.monitor.stress import Stress
for each in Stress(Path(sys.argv[1])).read():
    if each.family.name == "fabricheck_stress_ecn_latency_correlation":
        print(each.value)
"""
# Messages of 4 KiB under way beside a block: RED begins to mark at 10 in the queue.
DEPTHS = (0, 14, 0, 18, 0, 24)
BLOCKS = 2


def test_marks_and_latency_of_a_stress_over_rc_go_together(rdma_suite: Suite, on: Script) -> None:
    suite = rdma_suite
    stress = Controller(suite)
    (suite.root / "mix.yaml").write_text(MIX)
    suite.write("references/testbed.yaml", RULES)
    site = yaml.safe_load((suite.root / SITE).read_text())
    rdma = next(each for each in site["systems"][0]["partitions"] if each["name"] == "rdma")
    options = {"options": ["--partition=rdma"]}
    rdma["extras"]["stress"] = {"environ": "openmpi", "placement": "rc-2n", **options}
    suite.write(SITE, yaml.safe_dump(site))
    # A shorter wait for an acknowledgement than the queue is long would send all of it again.
    faults.inject(suite.testbed.files, "rx1", ["red", "8mbit"])
    words = ("--system=testbed", "--name=t", "--partition=rdma", "--for=30m")
    try:
        done = stress("start", *words, f"--mix={suite.root / 'mix.yaml'}")
        assert done.returncode == 0, done.stderr
        stress.until(stress.blocks, "a block")
        for depth in DEPTHS:
            with load(suite.testbed, on, depth):
                # The first one began before the load.
                begun = len(stress.blocks()) + 1
                wanted = begun + BLOCKS
                stress.until(lambda: len(stress.blocks()) >= wanted, f"depth {depth}")  # noqa: B023
        for each in stress.blocks():
            told = [s.value for s in each.samples if s.metric == "ecn_rate"]
            p50 = [s.value for s in each.samples if (s.metric, s.statistic) == ("latency", "p50")]
            sys.stdout.write(f"{each.id} {each.level}: {p50} us, {told} marks/s\n")
        reports = str(Path(suite.root / "reports"))
        found = stress.slurm(*stress.python, "-c", CORRELATION, reports).stdout
        (together,) = map(float, re.findall(r"\S+", found))
        sys.stdout.write(f"Spearman {together:.2f}, n = {len(stress.blocks())}\n")
        assert together > 0.8
    finally:
        stress("stop", "--now")
        faults.clear(suite.testbed.files, "rx1")
