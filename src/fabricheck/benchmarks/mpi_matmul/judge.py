"""What the phases of matrix multiplications show beside each other, as ratios.

The observations are those of "Performance Analysis of MPI Over Cluster" (2 nodes of 16 cores, 8 to
32 processes, matrices of order 2000 to 10000). Each is a ratio that was 1 or more there. Left out
are two: that shared memory and InfiniBand come close to each other for small matrices, since it
gives no figures, and that Open MPI was better than MVAPICH2, whose configuration it doubts itself.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from fabricheck.benchmarks.curve import Curve, Point
from fabricheck.benchmarks.metrics import Metric
from fabricheck.benchmarks.mpi_matmul.entries import PHASES, RANKS, TRANSFERS, benchmark_name
from fabricheck.benchmarks.quantity import amount
from fabricheck.errors import FabricheckError
from fabricheck.judge.references import Tolerance
from fabricheck.judge.verdict import Verdict

_SHARE_APART = 0.05
_BARRIERS = 1000.0
"""Microseconds that the three barriers of a repetition may take, which are in the total alone."""


def _median(point: Point, metric: Metric) -> float:
    return point.values[metric, "p50"]


def _communication(point: Point) -> float:
    return sum(_median(point, metric) for metric in TRANSFERS)


def _compute_share(point: Point) -> float:
    return _median(point, Metric.COMPUTE) / _communication(point)


def _broadcast(point: Point) -> float:
    return _median(point, Metric.BROADCAST_B)


def _larger_transfer(point: Point) -> float:
    return max(_median(point, Metric.TRANSFER_A), _median(point, Metric.TRANSFER_C))


def _variation(point: Point) -> float:
    return point.values[Metric.VARIATION, "max"]


@dataclass(frozen=True, slots=True)
class Measured:
    """A case of matrix multiplication: name in the registry and placement."""

    benchmark: str
    placement: str


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a ratio: what is taken of each order of a case.

    Attributes:
        quantity: the figure of one order.
        mode: how the data move.
        transport: another transport than that of the placement; empty for the same.
        times: how many times the ranks.
    """

    quantity: Callable[[Point], float]
    mode: str = "blocking"
    transport: str = ""
    times: int = 1

    def case(self, placement: str, ranks: int) -> Measured:
        """The case that has this side."""
        own = f"{self.transport}-{1 if self.transport == 'shm' else 2}n"
        return Measured(
            benchmark_name(self.mode, self.times * ranks), own if self.transport else placement
        )


@dataclass(frozen=True, slots=True)
class Shape:
    """An observation: the upper side over the lower one is 1 or more.

    Attributes:
        sentence: the observation in words.
        upper: the numerator.
        lower: the denominator.
        transports: of the placements on which it is looked at.
    """

    sentence: str
    upper: Side
    lower: Side
    transports: tuple[str, ...] = ("shm", "tcp", "rc")


SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        "shm_fastest": Shape(
            "shared memory moves the matrices faster than the network",
            Side(_communication),
            Side(_communication, transport="shm"),
            transports=("tcp", "rc"),
        ),
        "rdma_faster": Shape(
            "RDMA moves the matrices faster than TCP",
            Side(_communication),
            Side(_communication, transport="rc"),
            transports=("tcp",),
        ),
        "compute_falls": Shape(
            "with twice the ranks the compute phase falls, and communication falls less",
            Side(_compute_share),
            Side(_compute_share, times=2),
        ),
        "broadcast_largest": Shape(
            "the broadcast of B takes longer than either transfer",
            Side(_broadcast),
            Side(_larger_transfer),
        ),
        "nonblocking_faster": Shape(
            "non-blocking calls move the matrices faster than blocking ones",
            Side(_communication),
            Side(_communication, mode="nonblocking"),
        ),
        "nonblocking_unsteady": Shape(
            "non-blocking calls vary more from repetition to repetition than blocking ones",
            Side(_variation, mode="nonblocking"),
            Side(_variation),
        ),
    }
)


def refine(
    verdict: Verdict,
    curve: Curve,
    tolerance: Tolerance | None,
    extras: Mapping[str, Any],
    features: Collection[str],
) -> Verdict:
    """The verdict with what the phases say against each other.

    On nodes that share cores, ranks wait for one in every phase: there it says nothing.
    """
    del tolerance, extras
    return verdict if "shared_cores" in features else verdict.warned(apart(curve))


def apart(curve: Curve) -> tuple[str, ...]:
    """Sentences on orders whose phases do not add up to their total, averages with averages.

    Ranks that share a core begin their clock of a phase when they get the core, not when the phase
    begins: the phases then are too short, and tell nothing.
    """
    found = []
    for point in curve.points:
        if (Metric.TOTAL, "avg") not in point.values:
            continue
        total = point.values[Metric.TOTAL, "avg"]
        phases = sum(point.values[each, "avg"] for each in PHASES if each is not Metric.TOTAL)
        if abs(total - phases) > _SHARE_APART * total + _BARRIERS:
            found.append(
                f"the phases of N {point.size} add up to {phases / total:.0%} of the total, "
                f"{amount(total, Metric.TOTAL.row.unit)}: more ranks than cores, or other work on "
                "them, so the phases tell nothing"
            )
    return tuple(found)


def shape_cases(placements: Sequence[str]) -> Iterator[tuple[str, str, int]]:
    """Each shape with each placement and number of ranks for which both of its sides exist.

    Args:
        placements: those that have cases.
    """
    for name, shape in SHAPES.items():
        for placement in placements:
            for ranks in RANKS:
                sides = [side.case(placement, ranks) for side in (shape.upper, shape.lower)]
                if (
                    placement.partition("-")[0] in shape.transports
                    and all(side.placement in placements for side in sides)
                    and ranks * max(shape.upper.times, shape.lower.times) in RANKS
                ):
                    yield name, placement, ranks


def ratios(shape: Shape, upper: Curve, lower: Curve) -> dict[int, float]:
    """The ratio of a shape at each order.

    Raises:
        FabricheckError: if the curves have different orders, or a side lacks its figure or is 0.
    """
    above, below = ({point.size or 0: point for point in c.points} for c in (upper, lower))
    if above.keys() != below.keys():
        raise FabricheckError(
            f"expected the same orders of matrices in both cases, found {sorted(above)} and "
            f"{sorted(below)}: give both partitions the same matrix_orders"
        )
    try:
        return {
            order: shape.upper.quantity(point) / shape.lower.quantity(below[order])
            for order, point in above.items()
        }
    except (KeyError, ZeroDivisionError) as error:
        raise FabricheckError(
            f"expected a figure above 0 on both sides of the ratio, found none ({error!r}): one "
            "repetition tells no variation, and a phase that moves nothing takes no time"
        ) from None
