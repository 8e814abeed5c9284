"""Faults of the machine and of the set-up around the checks: each is named as what it is."""

import re
import subprocess
from collections.abc import Callable, Iterator

import pytest
from tests.guards.suite import (
    BOUND,
    ETHERNET_PLACEMENTS,
    LARGEST_SIZE,
    REFERENCES,
    SITE,
    Outcome,
    Suite,
)
from tests.guards.test_guards import assert_red
from tests.waiting import wait_until

from fabricheck.transports.witness import unfinished_ranks

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("guards")]


def run_and(suite: Suite, placement: str, fault: Callable[[], None]) -> Outcome:
    """Run a case, and let the fault happen once all its ranks have begun."""
    run = subprocess.Popen(
        suite.command([placement]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        stages = (suite.root / "stage").glob
        wait_until(
            lambda: sum(len(unfinished_ranks(each)) for each in stages("*/*/*/*")) == 2, "two ranks"
        )
        fault()
        output, _ = run.communicate()
    except BaseException:
        suite.testbed.down()  # and ReFrame with it; the next test starts it afresh
        run.wait()
        raise
    return suite.outcome(run.returncode, output)


def measure_for(suite: Suite, seconds: float) -> None:
    """Lets each size take longer than the testbed's 0.05 s."""
    budget = "time_budget: {}\n          # Slower than on an idle machine"
    suite.edit(SITE, budget.format("0.05"), budget.format(seconds))


@pytest.mark.parametrize("node", [pytest.param("n1", marks=pytest.mark.lab), "n2"])
def test_a_node_that_dies_in_mid_job_is_named(suite: Suite, node: str) -> None:
    """n1 runs the batch script, and takes the job's error output with it."""
    measure_for(suite, 60)
    outcome = run_and(suite, "tcp-2n", lambda: suite.testbed.kill_node(node))
    assert_red(outcome, "untrusted", f"node failure: Slurm lost node {node}")
    assert f"on {node} never ended" in outcome.case["findings"][0].replace(",", " never ended")
    assert len(outcome.case["findings"]) == 1, "what follows from a dead node is no second fault"


@pytest.mark.parametrize(
    "hang",
    [
        pytest.param("set -- sleep 600", marks=pytest.mark.lab),
        """[ "$rank" = 1 ] && set -- sh -c 'kill -STOP $$; exec "$@"' rank "$@" """,
    ],
)
def test_a_hang_is_a_time_limit(suite: Suite, hang: str) -> None:
    """A rank that is stopped answers to nothing but SIGKILL, and the other waits for it."""
    suite.break_rank(hang)
    check = "checks/mpi_pt2pt.py"
    text = (suite.root / check).read_text()
    assert 'time_limit = "3m"' in text
    suite.write(check, text.replace('time_limit = "3m"', 'time_limit = "5s"'))
    outcome = suite.run("shm-1n")
    assert_red(outcome, "untrusted", "time limit: Slurm ended the job")
    assert re.search(r"rank 0 on n\d, rank 1 on n\d", outcome.case["findings"][0])


def test_a_world_of_singletons_is_named(suite: Suite) -> None:
    environment = "mpicxx.openmpi\n    ftn: ''\n    features: [mpi, ofi]\n    extras: "
    suite.edit(
        SITE,
        environment + "{mpi_family: openmpi, pmi: pmix}",
        environment + "{mpi_family: openmpi, pmi: none}",
    )
    outcome = suite.run("tcp-2n")
    # Open MPI 5 begins as two worlds of one rank, 4 as none.
    found = "none" if "found none" in outcome.case["findings"][0] else "1: the launcher's PMI"
    assert_red(outcome, "untrusted", f"expected a world of 2 ranks, found {found}")
    assert "extras.pmi of the environment" in outcome.case["findings"][0]


def test_the_interfaces_alone_tell_that_the_network_carried_the_data(suite: Suite) -> None:
    # The first witness is blind: a tcp lane is fine with it. On a busy machine 0.05 s are so few
    # messages that they hide among those of the launcher.
    measure_for(suite, 0.5)
    suite.edit("src/fabricheck/transports/table.py", '{"sysv", ', '{"tcp", "sysv", ')
    suite.break_rank("export UCX_TLS=tcp,self UCX_NET_DEVICES=lo")
    outcome = suite.run("shm-1n")
    assert_red(outcome, "untrusted", "expected the interfaces of n1 to stay still for shm")
    assert len(outcome.case["findings"]) == 1


def test_ranks_beside_their_nodes_and_bytes_beside_the_wire(suite: Suite) -> None:
    together = '"--nodes=1", "--ntasks-per-node=2", "--overcommit"'
    launch = '"--kill-on-bad-exit=1"'
    suite.edit("src/fabricheck/schedulers/slurm.py", launch, f"{launch}, {together}")
    # What ranks say to srun crosses the network, too.
    suite.write(SITE, (suite.root / SITE).read_text().replace(f": {LARGEST_SIZE}\n", ": 4096\n"))
    outcome = suite.run("tcp-2n")
    assert_red(outcome, "untrusted", "expected ranks on 2 host(s), found 1 (n1)")
    # UCX says tcp/eth0, and the kernel leads what a node sends to itself over lo.
    assert_red(outcome, "untrusted", "on eth0 of n1 for tcp")
    assert not any("data lanes" in each for each in outcome.case["findings"])


def test_a_log_that_ucx_did_not_write_is_missed(suite: Suite) -> None:
    suite.break_rank("[ $rank = 1 ] && unset UCX_LOG_LEVEL")
    assert_red(suite.run(), "untrusted", "none on a rank without endpoint configuration")


def test_a_ratio_of_what_was_not_measured_is_untrusted(suite: Suite) -> None:
    outcome = suite.run("tcp-2n", benchmark="transport_order")
    (ratio,) = (case for case in outcome.testcases if case["benchmark"] == "transport_order")
    # The copy's sweep ends long before 1 MiB.
    assert (ratio["result"], ratio["level"]) == ("fail", "untrusted")
    assert (
        "MpiPointToPoint %benchmark=latency %transport=shm %num_nodes=1: expected latency_p50_1MiB"
        in ratio["findings"][0]
    )
    assert ratio["findings"][0] in outcome.output
    assert outcome.record["counts"]["untrusted"] == 1
    assert (outcome.reframe_exit, outcome.report_exit) == (1, 1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (f"bound: {BOUND}", "bound: [", "expected rules of references in YAML"),
        pytest.param(f"bound: {BOUND}", "bound: [0.9, 0.1]",
                     "bound > 1: expected a lower bound of 0", marks=pytest.mark.lab),
    ],
    ids=["no YAML", "inverted bounds"],
)  # fmt: skip
def test_a_malformed_reference_file_fails_every_case(
    suite: Suite, old: str, new: str, message: str
) -> None:
    suite.edit(REFERENCES, old, new)
    outcome = suite.run(*ETHERNET_PLACEMENTS)
    assert len(outcome.testcases) == len(ETHERNET_PLACEMENTS)
    for case in outcome.testcases:
        assert (case["result"], case["level"]) == ("fail", "")
        assert case["fail_reason"].count(f"{REFERENCES}: line ") == 1, case["fail_reason"]
        assert message in case["fail_reason"]
    assert message in outcome.output
    assert outcome.reframe_exit != 0
    assert "Traceback" not in outcome.output
    assert outcome.record["counts"]["good"] == 0
    assert outcome.report_exit == 1
    assert not any(each.samples for each in suite.recorded())


@pytest.fixture
def tiny_disk(suite: Suite) -> Iterator[None]:
    """A disk of one page under the perflogs; it goes with the node if all else fails."""
    directory = suite.root / "perflogs"
    directory.mkdir()
    mount = ("mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(directory))
    assert suite.testbed.run("login", *mount).returncode == 0
    yield
    suite.testbed.run("login", "umount", str(directory))


def test_a_full_disk_stops_the_run_and_leaves_no_half_record(suite: Suite, tiny_disk: None) -> None:
    outcome = suite.run()
    assert outcome.reframe_exit != 0
    assert outcome.output.count("found: No space left on device; nothing was written") == 1
    assert "Traceback" not in outcome.output
    record = suite.root / "perflogs" / "testbed" / suite.partition
    written = suite.testbed.run("login", "sh", "-c", f"cat {record}/*.jsonl").stdout
    # The lines of the build and of the nodes are small enough.
    assert '"check":"MpiPointToPoint"' not in written
    assert written.endswith("\n") or not written
    assert (outcome.report_exit, outcome.record) == (2, {}), "nothing was measured"


def test_a_job_that_never_begins_ends_all_the_same(suite: Suite) -> None:
    site = (suite.root / SITE).read_text()
    suite.write(SITE, site.replace("max_pending_time: 10m", "max_pending_time: 3s"))
    nodes = ["scontrol", "update", "nodename=n[1-2]"]
    suite.testbed.run("login", *nodes, "state=drain", "reason=test", timeout_seconds=20)
    try:
        outcome = suite.run("shm-1n")
    finally:
        suite.testbed.run("login", *nodes, "state=resume", timeout_seconds=20)
    assert (outcome.reframe_exit, outcome.report_exit) == (1, 1)
    assert "the allocation did not last: no nodes in time" in outcome.case["fail_reason"]
