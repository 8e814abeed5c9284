"""The benchmarks that fabricheck runs and judges, by name: data, not classes."""

from collections.abc import Mapping
from types import MappingProxyType

from fabricheck.benchmarks.matmul import MATMUL_BENCHMARKS
from fabricheck.benchmarks.model import Benchmark, Family, RanksRule
from fabricheck.benchmarks.osu import MPI_BENCHMARKS
from fabricheck.benchmarks.pairs import PAIR_BENCHMARKS
from fabricheck.benchmarks.programs import PROGRAM_BENCHMARKS
from fabricheck.benchmarks.streams import STREAM_BENCHMARKS
from fabricheck.errors import FabricheckError

REGISTRY: Mapping[str, Benchmark] = MappingProxyType(
    {
        **MPI_BENCHMARKS,
        **PAIR_BENCHMARKS,
        **PROGRAM_BENCHMARKS,
        **STREAM_BENCHMARKS,
        **MATMUL_BENCHMARKS,
    }
)


def find(name: str) -> Benchmark:
    """The benchmark of that name.

    Raises:
        FabricheckError: if there is none; the message lists the known names.
    """
    try:
        return REGISTRY[name]
    except KeyError:
        known = ", ".join(REGISTRY)
        raise FabricheckError(f"unknown benchmark {name!r}: known are {known}") from None


def sweep(min_size: int, max_size: int) -> tuple[int, ...]:
    """Message sizes in bytes that the programs measure with ``-m MIN:MAX``: doubling from MIN.

    As in OSU, a sweep that starts at 0 goes on with 1.

    Raises:
        FabricheckError: if MIN is negative or greater than MAX.
    """
    if not 0 <= min_size <= max_size:
        raise FabricheckError(
            f"expected message sizes MIN:MAX with 0 <= MIN <= MAX, found {min_size}:{max_size}"
        )
    sizes = [min_size]
    while (following := next_size(sizes[-1])) <= max_size:
        sizes.append(following)
    return tuple(sizes)


def next_size(size: int) -> int:
    """The message size that follows ``size`` in a sweep, in bytes."""
    return size * 2 if size else 1


def names(family: Family, ranks: RanksRule | None = None) -> list[str]:
    """Names of the benchmarks of a family, or of those of MPI with a rule on ranks, in order."""
    return [
        benchmark.name
        for benchmark in REGISTRY.values()
        if benchmark.family == family
        and (ranks is None or getattr(benchmark, "ranks", None) is ranks)
    ]
