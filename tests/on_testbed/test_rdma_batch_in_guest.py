"""rdma_batch between two nodes of the guest: what it measures, refuses and leaves behind."""

import signal
from collections.abc import Callable

import pytest
from tests.on_testbed.rdma_batch_ends import ADDRESS, Ends, ended

from fabricheck.programs.rdma_batch import read as rdma_batch
from fabricheck_testbed import Testbed

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("guest")]
Script = Callable[[str, str], str]


@pytest.fixture
def ends(rdma_testbed: Testbed) -> Ends:
    found = Ends(rdma_testbed)
    if not found.program.exists():
        pytest.skip("libibverbs-dev is not installed, so rdma_batch is not built")
    return found


@pytest.mark.parametrize(
    "options",
    [
        ("--op", "read", "--enable-sess", "--enable-batch-transfer", "--num-qp-per-transfer", "2"),
        ("--op", "write", "--poll-cq-mode", "event", "--num-qp-per-transfer", "2"),
        ("--op", "write", "--num-qp-per-transfer", "4", "--num-worker-threads", "2"),
        ("--op", "read", "--num-initiator-dev", "2", "--num-target-dev", "2", "--max-mem", "9000"),
    ],
    ids=["session", "events", "threads", "two"],
)
def test_rdma_batch_measures_and_compares(options: tuple[str, ...], ends: Ends) -> None:
    quick = ("--all", "--sizes", "8,4096", "--transfer-batch-size", "16", "--iters", "3")
    devices = [("--dev", f"{d},{d}") if "2" in options[3:4] else () for d in ("rxe0", "rxe1")]
    target = ends.target("--wait", "60", *options, *quick, *devices[0])
    initiator = ended(ends.initiator(*options, *quick, *devices[1], "--json", "-"))
    assert (ended(target).code, initiator.code) == (0, 0), initiator.err
    output = rdma_batch.read_result(initiator.out, "initiator")
    assert [(row.size, row.batch) for row in output.tables[0]] == [(8, 16), (4096, 16)]
    assert output.settings["validate"] == "True"


@pytest.mark.parametrize("operation", ["read", "write"])
def test_rdma_batch_finds_one_wrong_byte(operation: str, ends: Ends) -> None:
    _, initiator = ends.run("--op", operation, "--buffer-size", "64", "--inject-error")
    assert initiator.code == 1
    assert "rdma_batch: initiator rank 0: wrong data at 64 bytes x 256: " in initiator.err


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        (("--dev", "mlx5_9"), 'unknown device "mlx5_9"; this machine has rxe1'),
        (("--gid-index", "9999"), "option --gid-index: 9999 is out of range"),
        (("--dev", "rxe1:2"), "the device has 1 port(s), counted from 1"),
        (("--wait", "0.2"), "expected a target on rx1, port 1, within 0.2 s, found none"),
    ],
)
def test_rdma_batch_refuses(option: tuple[str, ...], sentence: str, ends: Ends) -> None:
    done = ended(ends.start("rx2", ends.program, *ADDRESS, "-p", "1", *option, "rx1"))
    assert done.code == 2
    assert sentence in done.err


def test_rdma_batch_refuses_memory_that_may_not_be_locked(ends: Ends) -> None:
    limited = f"ulimit -l 64; exec setpriv --reuid 65534 {ends.program} --gid-index 1 rx1"
    done = ended(ends.start("rx2", "sh", "-c", limited))
    assert done.code == 2
    assert "raise it with `ulimit -l unlimited`" in done.err


@pytest.mark.lab
def test_a_stranger_and_a_silent_connection_do_not_end_a_target(ends: Ends) -> None:
    target = ends.target("--wait", "60")
    silent = f"until exec 3<>/dev/tcp/rx1/{ends.port}; do sleep 1; done; sleep 30"
    held = ends.start("rx2", "bash", "-c", silent)
    stranger = f"until echo GET /index.html HTTP/1.1 >/dev/tcp/rx1/{ends.port}; do sleep 1; done"
    assert ended(ends.start("rx2", "bash", "-c", stranger)).code == 0
    initiator = ended(ends.initiator())
    held.kill()
    assert initiator.code == 0, initiator.err
    found = ended(target)
    assert found.code == 0
    assert "is closed and ignored: " in found.err


@pytest.mark.lab
def test_the_mtu_that_rdma_batch_tells_is_that_of_the_connection(ends: Ends) -> None:
    target = ends.target("--wait", "60", "--mtu", "1024")
    initiator = ended(ends.initiator("--mtu", "2048", "--json", "-"))
    assert (ended(target).code, initiator.code) == (0, 0), initiator.err
    assert rdma_batch.read_result(initiator.out, "initiator").settings["mtu"] == "1024"


def test_rdma_batch_ends_with_a_target_that_was_killed(ends: Ends, on: Script) -> None:
    target = ends.target("--wait", "60")
    initiator = ends.initiator("--buffer-size", "8", "--iters", "1000000")
    own = f"[r]dma_batch.* -p {ends.port}"
    on("rx1", f"until [ $(pgrep -fc '{own}') = 2 ]; do sleep 0.2; done; sleep 3")
    on("rx1", f"pkill -KILL -o -f '{own}'")
    found = ended(initiator)
    assert found.code == 1
    assert "found that the target closed its connection: it died" in found.err
    assert ended(target).code != 0


def test_rdma_batch_names_the_device_that_tells_no_memory_node(ends: Ends) -> None:
    done = ended(ends.start("rx2", ends.program, *ADDRESS, "--numa", "device", "rx1"))
    assert done.code == 2
    assert "the device rxe1 does not tell its memory node" in done.err


def test_rdma_batch_tells_what_it_has_when_interrupted_and_leaves_nothing(
    ends: Ends, on: Script
) -> None:
    held = "rdma resource show | tr -s ' '"
    before = on("guest", held)
    target = ends.target("--wait", "60")
    initiator = ends.initiator("--all", "--sizes", "8,16", "--iters", "1000000")
    own = f"[r]dma_batch.* -p {ends.port} "  # not the shell that looks for it
    on("rx2", f"until pgrep -f '{own}' >/dev/null; do sleep 0.2; done; sleep 4")
    assert on("guest", held) != before
    on("rx2", f"pkill -INT -o -f '{own}'")
    found = ended(initiator)
    assert found.code == 128 + signal.SIGINT, found.err
    assert "# Interrupted: SIGINT after 1 of 2 rows\n" in found.out
    assert ended(target).code == 0
    assert on("guest", held) == before
