import pytest

from fabricheck.benchmarks.registry import DIRECTIONS, REGISTRY, UNITS, Metric, find, sweep
from fabricheck.errors import FabricheckError


def test_every_metric_has_a_unit_and_a_direction():
    assert set(UNITS) == set(Metric) == set(DIRECTIONS)


def test_titles_are_unique():
    titles = [title for benchmark in REGISTRY.values() for title in benchmark.titles]
    assert len(titles) == len(set(titles)) == len(REGISTRY)


@pytest.mark.parametrize("name", ["allreduce", "reduce", "reduce_scatter"])
def test_reductions_never_run_with_the_default_datatype(name):
    assert find(name).datatype == "mpi_float"


def test_only_barrier_has_no_sizes():
    assert [b.name for b in REGISTRY.values() if b.min_size is None] == ["barrier"]


def test_unknown_benchmark_lists_the_known_ones():
    with pytest.raises(FabricheckError, match=r"unknown benchmark 'latncy': known are latency, bw"):
        find("latncy")


def test_sweep_doubles_and_starts_at_zero_if_asked():
    assert sweep(4, 40) == (4, 8, 16, 32)
    assert sweep(0, 4) == (0, 1, 2, 4)
    assert sweep(8, 8) == (8,)


@pytest.mark.parametrize(("smallest", "largest"), [(8, 4), (-1, 4)])
def test_sweep_refuses_inverted_or_negative_sizes(smallest, largest):
    with pytest.raises(FabricheckError, match="0 <= MIN <= MAX"):
        sweep(smallest, largest)
