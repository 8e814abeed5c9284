"""Bytes on the wire, against what each collective must move."""

import pytest

from fabricheck.errors import FabricheckError
from fabricheck.measures.wire import WIRE, effective_bandwidth, has_wire, wire_bytes
from fabricheck.programs.osu.entries import BENCHMARKS as MPI_BENCHMARKS


def test_the_bytes_of_each_kind_of_collective():
    # By hand, for four ranks and 100 bytes.
    expected = {"allreduce": 150, "bcast": 100, "reduce": 100, "reduce_scatter": 75}
    expected |= dict.fromkeys(("allgather", "alltoall", "gather", "scatter"), 300)
    assert {name: wire_bytes(name, 100, 4) for name in expected} == expected


def test_two_ranks_exchange_each_others_part():
    assert wire_bytes("allreduce", 1 << 20, 2) == 1 << 20
    assert wire_bytes("alltoall", 1 << 20, 2) == 1 << 20


def test_other_forms_of_a_collective_move_the_same():
    for name in ("iallreduce", "allreduce_persistent"):
        assert wire_bytes(name, 64, 8) == wire_bytes("allreduce", 64, 8)
    assert wire_bytes("ialltoallv", 64, 8) == 64 * 7


def test_every_collective_with_a_payload_is_known_and_nothing_else():
    families = ("collective", "nonblocking", "persistent")
    for benchmark in MPI_BENCHMARKS.values():
        assert has_wire(benchmark.name) == (
            benchmark.family in families and benchmark.min_size is not None
        )
    assert set(WIRE) <= set(MPI_BENCHMARKS)


def test_bytes_over_time_are_megabytes_in_a_second():
    # 1 MiB over two ranks in 100 us.
    assert effective_bandwidth("allreduce", 1 << 20, 2, 100.0) == pytest.approx(10485.76)


@pytest.mark.parametrize(
    ("benchmark", "ranks", "message"),
    [
        ("latency", 2, "expected a collective"),
        ("barrier", 4, "expected a collective"),
        ("allreduce", 1, "expected two ranks or more, found 1"),
    ],
)
def test_what_has_no_bytes_is_refused(benchmark, ranks, message):
    with pytest.raises(FabricheckError, match=message):
        wire_bytes(benchmark, 8, ranks)
