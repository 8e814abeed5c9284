"""What the phases of matrix multiplications show beside each other, as ratios.

The observations are those of "Performance Analysis of MPI Over Cluster" (2 nodes of 16 cores, 8 to
32 processes, matrices of order 2000 to 10000). Each is a ratio that was 1 or more there. Left out
are two: that shared memory and InfiniBand come close to each other for small matrices, since it
gives no figures, and that Open MPI was better than MVAPICH2, whose configuration it doubts itself.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fabricheck.errors import FabricheckError
from fabricheck.launch.cases import Case
from fabricheck.launch.ratio import Ratio
from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.metrics import Metric
from fabricheck.programs.mpi_matmul.entries import RANKS, TRANSFERS, benchmark_name


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

    def case(self, placement: str, ranks: int) -> Case:
        """The case that has this side."""
        own = f"{self.transport}-{1 if self.transport == 'shm' else 2}n"
        name = benchmark_name(self.mode, self.times * ranks)
        return Case(name, own if self.transport else placement)


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


SHAPES: Mapping[str, Shape] = {
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


@dataclass(frozen=True, slots=True)
class ShapeRatio(Ratio):
    """An observation on the phases; judged is the smallest ratio over all orders.

    Attributes:
        shape: the observation.
    """

    shape: Shape

    def divide(self, upper: Curve, lower: Curve) -> dict[int, float]:
        """The ratio at each order.

        Raises:
            FabricheckError: if the curves have different orders, or a side lacks its figure or is
                0.
        """
        above, below = ({point.size or 0: point for point in c.points} for c in (upper, lower))
        if above.keys() != below.keys():
            raise FabricheckError(
                f"FC1202 expected the same orders of matrices in both cases, found {sorted(above)} "
                f"and {sorted(below)}: give both partitions the same matrix_orders"
            )
        try:
            return {
                order: self.shape.upper.quantity(point) / self.shape.lower.quantity(below[order])
                for order, point in above.items()
            }
        except (KeyError, ZeroDivisionError) as error:
            raise FabricheckError(
                "FC1203 expected a figure above 0 on both sides of the ratio, found none "
                f"({error!r}): one repetition has no variation, and a phase that moves nothing "
                "takes no time"
            ) from None

    def remark(self, ratios: Mapping[int, float]) -> tuple[str, ...]:
        """The observation in words."""
        order = min(ratios, key=ratios.__getitem__)
        return (f"at N {order} it does not hold here that {self.shape.sentence}",)


def shapes(placements: Sequence[str]) -> list[Case]:
    """Each shape with each placement and number of ranks for which both of its sides exist.

    Args:
        placements: those that have cases.
    """
    return [
        Case(f"{name}_np{ranks}", placement)
        for name, shape in SHAPES.items()
        for placement in placements
        for ranks in RANKS
        if placement.partition("-")[0] in shape.transports
        and ranks * max(shape.upper.times, shape.lower.times) in RANKS
        and all(
            str(side.case(placement, ranks).placement) in placements
            for side in (shape.upper, shape.lower)
        )
    ]


def shape_ratio(case: Case) -> ShapeRatio:
    """What is divided for a shape."""
    name, _, ranks = case.benchmark.rpartition("_np")
    shape, placement = SHAPES[name], str(case.placement)
    upper, lower = (side.case(placement, int(ranks)) for side in (shape.upper, shape.lower))
    return ShapeRatio(upper, lower, shape)
