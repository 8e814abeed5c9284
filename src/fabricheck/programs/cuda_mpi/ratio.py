"""What the two paths show beside each other: how many times faster CUDA-aware MPI is.

On one node the GPUs exchange data themselves, so that for large messages CUDA-aware MPI is never
slower than copies through the host. Between nodes the staged path falls behind for large messages
where the cards read the memory of the GPU.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fabricheck.errors import FabricheckError
from fabricheck.launch.cases import Case
from fabricheck.launch.ratio import Ratio
from fabricheck.measures.curve import Curve
from fabricheck.measures.gpu import GpuPath
from fabricheck.measures.metrics import Metric
from fabricheck.programs.cuda_mpi.entries import COMPARED, benchmark_name
from fabricheck.units import MIB, format_size

_LEAST = MIB


@dataclass(frozen=True, slots=True)
class BandwidthRatio(Ratio):
    """Bandwidth of the aware path over that of the staged one, at 1 MiB and above."""

    def divide(self, upper: Curve, lower: Curve) -> dict[int, float]:
        """The ratio at each size of 1 MiB and more.

        Raises:
            FabricheckError: if the sides have no such size in common, or a bandwidth is 0.
        """
        above, below = map(_bandwidths, (upper, lower))
        sizes = [size for size in above if size in below and below[size] and size >= _LEAST]
        if not sizes:
            raise FabricheckError(
                f"FC1201 expected bandwidths of both paths at {format_size(_LEAST)} or more, found "
                "none: raise extras.max_message_size of the partition"
            )
        return {size: above[size] / below[size] for size in sizes}

    def remark(self, ratios: Mapping[int, float]) -> tuple[str, ...]:
        """The size at which the aware path is worst."""
        size = min(ratios, key=ratios.__getitem__)
        return (
            f"at {format_size(size)} CUDA-aware MPI has {ratios[size]:.3g} times the bandwidth of "
            "copies through the host",
        )


def shapes() -> list[Case]:
    """The comparison on each placement of the aware path."""
    return [Case("aware_over_staged", aware) for aware in COMPARED]


def shape_ratio(case: Case) -> BandwidthRatio:
    """What is divided on a placement."""
    aware = str(case.placement)
    upper = Case(benchmark_name("bw", "device", GpuPath.AWARE), aware)
    lower = Case(benchmark_name("bw", "device", GpuPath.STAGED), COMPARED[aware])
    return BandwidthRatio(upper, lower)


def _bandwidths(curve: Curve) -> dict[int, float]:
    return {point.size or 0: point.values[Metric.BANDWIDTH, "avg"] for point in curve.points}
