"""The checks of rdma_batch, with a program that does all that it should not."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.fabric.conftest import unpack
from tests.reframe_ext.pair_suite import BIN, ROOT, SLOW, Ran

pytestmark = pytest.mark.integration

PROGRAMS = (Path(__file__).with_name("bin_rdma_batch"), BIN)


@pytest.fixture
def ran(tmp_path: Path) -> Iterator[Callable[..., Ran]]:
    def run(benchmark: str, extras: Any = SLOW, **fake: object) -> Ran:
        return Ran(
            tmp_path,
            "rdma_batch.py",
            f"benchmark == {benchmark!r}",
            extras=extras,
            programs=PROGRAMS,
            variables={
                "FAKE": json.dumps(fake),
                "FABRICHECK_NODE_ROOT": str(unpack("rxe", tmp_path / "tree")),
            },
            system=tmp_path.name,
        )

    yield run
    # Where the suite builds for a system of that name.
    for folder in (ROOT / "build" / "bench").glob(f"{tmp_path.name}-*"):
        shutil.rmtree(folder)


def test_a_good_sweep_is_believed(ran: Callable[..., Ran]) -> None:
    good = ran("rdma_batch_write")
    # The system has no reference file, so nothing judges what has been proved.
    assert good.level == "no-reference", good.findings
    options = good.command.partition(" ")[2]
    assert options.startswith("--enable-sess --enable-batch-transfer --op write ")
    assert "--all --sizes 8,256,8192,65536 --gid-index 1 " in options
    assert options.endswith(" --time-budget 0.05 ::: --json -")
    assert [each.variable for each in good.case["samples"]][:3] == [
        "latency_min_8B", "latency_avg_8B", "bandwidth_avg_8B",
    ]  # fmt: skip
    assert good.case["program_version"] == "9.9.9"
    assert good.case["evidence"] == (
        "rdma_batch used devices rxe1:1, mtu 4096, gid_index 1; ports sent 10000000 packets from "
        "n0, 10000000 packets from n1"
    )


def test_a_sweep_of_batches_has_the_bytes_of_a_batch_as_size(ran: Callable[..., Ran]) -> None:
    batches = ran("rdma_batch_write_batches")
    assert batches.level == "no-reference", batches.findings
    assert " --all-batch --batches 1,8,64 " in batches.command
    names = {each.variable.rpartition("_")[2] for each in batches.case["samples"]}
    assert names == {"1KiB", "8KiB", "64KiB"}


UNTRUSTED = {
    "not compared": (
        {"options": {"validate": False}},
        "expected data that were compared, found that they were not",
    ),
    "silent port": (
        {"sent": {"1": 0}},
        "packets or more from the RDMA ports of n1, found 0: the messages went another way",
    ),
    "interrupted": ({"interrupted": "SIGTERM"}, "was ended by SIGTERM"),
    "no device": (
        {"faults": {"target": "this machine has no RDMA device"}},
        "this machine has no RDMA device",
    ),
    "wrong data": (
        {"faults": {"initiator": "initiator rank 0: wrong data at 8 bytes x 128"}},
        "run 1: the client",
    ),
}


@pytest.mark.parametrize("benchmark", ["rdma_batch_write", "rdma_batch_polling"])
def test_a_path_with_another_mtu_than_the_sites_is_not_believed(ran, benchmark) -> None:
    extras = {**SLOW, "fabric_health": {"mtu": 4096}}
    doubtful = ran(benchmark, extras, settings={"mtu": 1024})
    assert doubtful.level == "untrusted"
    assert "expected a path MTU of 4096 B, found 1024 B: a port of" in " ".join(doubtful.findings)


@pytest.mark.parametrize("kind", UNTRUSTED)
def test_what_is_not_proved_is_not_believed(ran: Callable[..., Ran], kind: str) -> None:
    fake, message = UNTRUSTED[kind]
    doubtful = ran("rdma_batch_write", **fake)
    assert doubtful.level == "untrusted"
    assert message in " ".join(doubtful.findings)
    assert all(each.value is None for each in doubtful.case["samples"])


def test_two_programs_in_turns_give_a_ratio(ran: Callable[..., Ran]) -> None:
    both = ran("rdma_batch_read_latency")
    assert both.level == "no-reference", both.findings
    program, *runs = both.command.split(" ::: ")
    assert program == "env"
    assert len(runs) == 6
    assert runs[0].startswith("ib_read_lat -F -c RC -x 1 -s 8 -n ")
    assert "/rdma_batch --enable-sess --enable-batch-transfer --op read --buffer-size 8 " in runs[1]
    (value,) = (each.value for each in both.case["samples"])
    # The two programs' medians: 2.10 us, and what the fake of ours says of 8 bytes.
    assert value == pytest.approx(2.10 / 2.00, rel=0.01)


def test_a_clock_that_the_rival_cannot_tell_is_a_disturbance(ran: Callable[..., Ran]) -> None:
    delayed = ran("rdma_batch_read_latency", says="Correlation coefficient r^2: 0.868499 < 0.9")
    assert delayed.level == "disturbed"
    assert delayed.findings[0].startswith("perftest could not measure the processor's clock rate")
