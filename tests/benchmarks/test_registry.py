import pytest

from fabricheck.benchmarks.osu.entries import BENCHMARKS as MPI_BENCHMARKS
from fabricheck.benchmarks.perftest.entries import BENCHMARKS as VERBS_BENCHMARKS
from fabricheck.benchmarks.registry import REGISTRY, find, names, sweep
from fabricheck.benchmarks.ucx_perftest.entries import BENCHMARKS as UCX_BENCHMARKS
from fabricheck.errors import FabricheckError

PAIR_BENCHMARKS = {**VERBS_BENCHMARKS, **UCX_BENCHMARKS}


def test_titles_are_unique():
    titles = [benchmark.title for benchmark in REGISTRY.values()]
    assert len(titles) == len(set(titles)) == len(REGISTRY)


@pytest.mark.parametrize("name", [name for name, b in MPI_BENCHMARKS.items() if "reduce" in name])
def test_reductions_never_run_with_the_default_datatype(name):
    assert MPI_BENCHMARKS[name].datatype == "mpi_float"


def test_only_barriers_and_starts_have_no_sizes():
    """And what has one size, which a site may choose."""
    lab = {*names("allreduce-lab")}
    without = {b.name for b in REGISTRY.values() if b.min_size is None} - lab
    assert without == {"barrier", "ibarrier", "barrier_persistent", "init", "hello"}


def test_an_unknown_benchmark_is_told_what_is_spelled_alike():
    with pytest.raises(FabricheckError, match=r"unknown benchmark 'latncy': alike are latency, "):
        find("latncy")


def test_sweep_doubles_and_starts_at_zero_if_asked():
    assert sweep(4, 40) == (4, 8, 16, 32)
    assert sweep(0, 4) == (0, 1, 2, 4)
    assert sweep(8, 8) == (8,)


@pytest.mark.parametrize(("smallest", "largest"), [(8, 4), (-1, 4)])
def test_sweep_refuses_inverted_or_negative_sizes(smallest, largest):
    with pytest.raises(FabricheckError, match="0 <= MIN <= MAX"):
        sweep(smallest, largest)


def test_pairs_vary_one_thing_at_a_time_from_a_plain_test():
    plain = {
        b.program: b for b in PAIR_BENCHMARKS.values() if b.family == "verbs" and not b.options
    }
    assert {
        f"ib_{o}_{k}" for o in ("send", "write", "read", "atomic") for k in ("bw", "lat")
    } == set(plain)
    for benchmark in PAIR_BENCHMARKS.values():
        if benchmark.family == "verbs" and benchmark.options:
            assert benchmark.transports == ("rc",)
            assert sum(option.startswith("-") for option in benchmark.options) == 1
            assert benchmark.metrics == plain[benchmark.program].metrics


def test_verbs_run_only_over_what_can_carry_them():
    transports = {b.name: b.transports for b in PAIR_BENCHMARKS.values() if not b.options}
    assert transports["ib_send_bw"] == ("rc", "uc", "ud")
    assert transports["ib_write_lat"] == ("rc", "uc")
    assert transports["ib_read_lat"] == transports["ib_atomic_bw"] == ("rc",)


@pytest.mark.parametrize("family", ["verbs", "ucx"])
def test_each_run_holds_the_smaller_ones(family):
    runs = [b.runs for b in PAIR_BENCHMARKS.values() if b.family == family]
    assert set(runs) <= {
        frozenset({"full", "acceptance"}),
        frozenset({"full", "acceptance", "nightly"}),
        frozenset({"full", "acceptance", "nightly", "smoke"}),
    }
    smoke, nightly = (sum(tag in run for run in runs) for tag in ("smoke", "nightly"))
    assert 0 < smoke < nightly <= len(runs)


def test_atomics_have_one_size_and_inline_data_small_ones():
    sizes = {name: (b.min_size, b.max_size) for name, b in PAIR_BENCHMARKS.items()}
    assert sizes["ib_atomic_lat"] == sizes["ib_atomic_bw_qp4"] == (8, 8)
    assert sizes["ib_send_lat_inline"] == (2, 64)
