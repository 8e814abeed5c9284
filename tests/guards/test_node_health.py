"""Node health on a real testbed: the node at fault is named, whatever is wrong with it."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.guards.suite import Outcome, Suite
from tests.guards.test_guards import assert_red
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("guards")]

PROBE = "src/fabricheck/node_health/node_probe.sh"
SITE = "sites/testbed.yaml"
DATE = "/usr/bin/date"


def look(suite: Suite, environ: str = "builtin") -> Outcome:
    return suite.run("", benchmark="node_health", environ=environ, check="node_health")


@contextmanager
def replaced(suite: Suite, node: str, program: str, script: str) -> Iterator[None]:
    """Another program in the place of one, on one node only."""
    other = suite.root / "other-program"
    other.write_text(f"#!/bin/sh\n{script}\n")
    other.chmod(0o755)
    done = suite.testbed.run(node, "mount", "--bind", str(other), program)
    assert done.returncode == 0, done.stderr
    yield
    suite.testbed.run(node, "umount", program)


def levels(outcome: Outcome) -> dict[str, str | None]:
    return {line["rule"]: line["level"] for line in outcome.case["prerequisites"]}


def test_healthy_nodes_are_good_and_nothing_is_good_by_omission(suite: Suite) -> None:
    outcome = look(suite)
    assert (outcome.reframe_exit, outcome.report_exit) == (0, 0)
    assert outcome.case["level"] == "good"
    assert outcome.case["nodes"] == ("n1", "n2")
    found = levels(outcome)
    good = ("launch", "kernel", "clock", "mtu", "ucx version")
    assert {found[rule] for rule in good} == {"good"}
    assert {found[rule] for rule in ("memlock", "rdma", "numa")} == {None}
    assert "L: launch: good on n[1-2]: reached by srun" in outcome.output
    assert "L: rdma: not applicable on n[1-2]: this partition does not offer rdma" in outcome.output
    (values,) = (case["values"] for case in outcome.record["cases"])
    assert values["unmet_max"]["value"] == 0
    assert values["clock_skew_max"]["value"] < values["clock_skew_max"]["upper"] == 128_000


def test_one_node_with_another_clock_and_mtu(suite: Suite) -> None:
    real = suite.root / "real-date"
    shutil.copy(DATE, real)
    suite.edit(SITE, "ucx_net_devices: {tcp: eth0}", "ucx_net_devices: {tcp: eth0}\n"
               "          node_health: {mtu: {eth0: 1500}}")  # fmt: skip
    suite.testbed.run("n2", "ip", "link", "set", "eth0", "mtu", "1400")
    try:
        with replaced(suite, "n2", DATE, f'exec {real} -d "5 seconds" "$@"'):
            outcome = look(suite)
    finally:
        suite.testbed.run("n2", "ip", "link", "set", "eth0", "mtu", "1500")
    # On a busy machine date itself starts late.
    assert_red(outcome, "critical", "clock of n2: 5")
    assert_red(outcome, "critical", " s ahead of the other nodes")
    assert_red(outcome, "critical", "mtu of n2: eth0 1400, expected eth0 1500")
    assert not any("mtu of n1" in finding for finding in outcome.case["findings"])
    (case,) = outcome.record["cases"]
    assert case["values"]["clock_skew_max"]["level"] == "critical"
    assert case["values"]["unmet_max"]["value"] == 2


def test_a_node_that_was_not_reached_is_named(suite: Suite) -> None:
    suite.testbed.kill_daemon("slurmd.n2")
    # What the daemon sent last could bring back a node that is called down before.
    state = ("sinfo", "--noheader", "--nodes=n2", "--partition=main", "--format=%T")
    wait_until(lambda: "*" in suite.testbed.run("login", *state).stdout, "n2 is silent")
    # Slurm does so for itself later.
    suite.testbed.run("login", "scontrol", "update", "NodeName=n2", "State=DOWN", "Reason=test")
    outcome = look(suite)
    assert_red(outcome, "critical", "launch of n2: not reached: down")
    assert_red(outcome, "critical", " when the job was submitted, nothing is known of it")
    assert outcome.case["nodes"] == ("n1",)


def test_facts_that_are_cut_are_untrusted_and_name_their_node(suite: Suite) -> None:
    suite.edit(PROBE, '} >"$part" && mv', '} | if [ "$node" = n2 ]; then head -3; else cat; fi '
               '>"$part" && mv')  # fmt: skip
    outcome = look(suite)
    assert_red(
        outcome,
        "untrusted",
        "node.n2: expected what the kernel and the programs report, each with its 'end'",
    )


def test_another_mpi_on_one_node_is_named(suite: Suite) -> None:
    with replaced(suite, "n2", "/usr/bin/ompi_info", "echo Open MPI v4.0.0"):
        outcome = look(suite, "openmpi")
    assert_red(outcome, "critical", "mpi version of n2: Open MPI v4.0.0 here, Open MPI v")
    assert any(re.search(r"Open MPI v[\d.]+ on n1$", each) for each in outcome.case["findings"])
    assert levels(outcome)["osu version"] is None
