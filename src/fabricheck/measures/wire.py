"""What an operation must move, whatever the algorithm: bytes on the wire, and what follows of them.

Of each collective the table has the least bytes that the busiest rank must send, or receive, in one
direction. They make times of other sizes and other numbers of ranks comparable: bytes over time is
the *effective bandwidth*, which a perfect fabric would keep as nodes are added, as long as messages
are large. NVIDIA calls it bus bandwidth; its factors (nccl-tests, ``doc/PERFORMANCE.md``) are those
of all-reduce, reduce-scatter, all-gather, broadcast and reduce. That no algorithm moves less is
proved for all-reduce by Patarasu and Yuan ("Bandwidth optimal all-reduce algorithms for clusters of
workstations", J. Parallel Distrib. Comput. 69, 2009); for the others it is what a rank has and
others need.

S is the message size as OSU prints it: of a gathering, a scattering and an exchange the part of one
rank, of all else the whole vector.
"""

from collections.abc import Callable, Mapping

from fabricheck.errors import FabricheckError

_ALL_TO_ALL = ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")
_ROOTED = ("gather", "gatherv", "scatter", "scatterv")
WIRE: Mapping[str, Callable[[int], float]] = {
    "allreduce": lambda ranks: 2 * (ranks - 1) / ranks,
    **dict.fromkeys(("reduce", "bcast"), lambda _: 1.0),
    **dict.fromkeys(("reduce_scatter", "reduce_scatter_block"), lambda ranks: (ranks - 1) / ranks),
    **dict.fromkeys((*_ALL_TO_ALL, *_ROOTED), lambda ranks: ranks - 1.0),
}
"""The bytes of each collective over S, for n ranks, by its name in the registry; its non-blocking
form, ``i`` before the name, and its persistent one move the same."""

_PERSISTENT = "_persistent"


def has_wire(benchmark: str) -> bool:
    """Whether the bytes of a benchmark are known."""
    return _plain(benchmark) in WIRE


def wire_bytes(benchmark: str, size: int, ranks: int) -> float:
    """Bytes that the busiest rank of a collective must move in one direction.

    Args:
        benchmark: name in the registry.
        size: message size in bytes, as OSU prints it.
        ranks: number of ranks, two at least.

    Raises:
        FabricheckError: for a benchmark without such bytes, and for less than two ranks.
    """
    if not has_wire(benchmark):
        raise FabricheckError(
            f"FC1121 expected a collective with a payload ({', '.join(WIRE)}), found "
            f"{benchmark!r}: the bytes of others are not known"
        )
    if ranks < 2:  # noqa: PLR2004
        raise FabricheckError(
            f"FC1122 expected two ranks or more, found {ranks}: one rank moves nothing on a wire"
        )
    return size * WIRE[_plain(benchmark)](ranks)


def effective_bandwidth(benchmark: str, size: int, ranks: int, latency: float) -> float:
    """The rate at which the busiest rank moved what it had to, in MB/s (10^6 bytes).

    Args:
        benchmark: name in the registry.
        size: message size in bytes.
        ranks: number of ranks.
        latency: time of the operation in us, above 0.

    Raises:
        FabricheckError: as ``wire_bytes``.
    """
    return wire_bytes(benchmark, size, ranks) / latency


def _plain(benchmark: str) -> str:
    name = benchmark.removesuffix(_PERSISTENT)
    return name if name in WIRE else name.removeprefix("i")
