"""The OSU Micro-Benchmarks as data: which there are, how they are called, what they print."""

import re
from pathlib import Path

import pytest
from tests.programs.results import named
from tests.refusals import refused

from fabricheck.measures.benchmark import FULL, RUNS, RanksRule
from fabricheck.measures.metrics import Metric
from fabricheck.measures.parser import check_complete, parse, parse_file
from fabricheck.measures.registry import find, names, sweep
from fabricheck.programs.osu.entries import BENCHMARKS as MPI_BENCHMARKS
from fabricheck.programs.osu.entries import PROBE_BENCHMARKS
from fabricheck.programs.osu.launch import PERCENTILES, counts, exchanges, options

# Printed by OSU 7.4 with the options of ``options``: those of MPI 4 by MPICH 4.0.2, the others by
# Open MPI 4.1.4; osu_bw_fan_in and osu_bw_fan_out on two nodes of the testbed.
PRINTED = Path(__file__).parents[1] / "data" / "osu-7.4" / "families"

# What "make install" of OSU 7.4 leaves in libexec/osu-micro-benchmarks/mpi, without accelerators.
INSTALLED = set(
    re.findall(
        r"\w+",
        """
        latency latency_mp latency_mt bw bibw mbw_mr multi_lat
        latency_persistent bw_persistent bibw_persistent bw_fan_in bw_fan_out
        put_latency put_bw put_bibw get_latency get_bw
        acc_latency get_acc_latency fop_latency cas_latency
        allgather allgatherv allreduce alltoall alltoallv alltoallw barrier bcast gather gatherv
        reduce reduce_scatter reduce_scatter_block scatter scatterv
        iallgather iallgatherv iallreduce ialltoall ialltoallv ialltoallw ibarrier ibcast igather
        igatherv ireduce ireduce_scatter ireduce_scatter_block iscatter iscatterv
        neighbor_allgather neighbor_allgatherv
        neighbor_alltoall neighbor_alltoallv neighbor_alltoallw
        ineighbor_allgather ineighbor_allgatherv
        ineighbor_alltoall ineighbor_alltoallv ineighbor_alltoallw
        allgather_persistent allgatherv_persistent allreduce_persistent alltoall_persistent
        alltoallv_persistent alltoallw_persistent barrier_persistent bcast_persistent
        gather_persistent gatherv_persistent reduce_persistent reduce_scatter_persistent
        scatter_persistent scatterv_persistent
        init hello
        """,
    )
)

# The letters of osu_util_options.h and osu_util.c of OSU 7.4, by family, of those that are used.
LETTERS = {
    "pt2pt": "ixmzcT",
    "one_sided": "ixmz",
    "congestion": "ixmzT",
    "collective": "ixmzfcT",
    "nonblocking": "ixmzfcT",
    "neighborhood": "ixmzfcT",
    "persistent": "ixmzfcT",
    "startup": "",
}
ATOMICS = ("acc_latency", "fop_latency", "cas_latency")
BARRIERS = ("barrier", "ibarrier", "barrier_persistent")


def test_every_program_of_osu_is_there_but_the_one_that_forks():
    assert set(MPI_BENCHMARKS) == INSTALLED - {"latency_mp"}
    assert all(b.osu_program == f"osu_{name}" for name, b in MPI_BENCHMARKS.items())


def test_mpi_probe_has_thirteen_of_them():
    assert set(PROBE_BENCHMARKS) == {*names("pt2pt")[:4], *names("collective")[:9]}
    assert len(PROBE_BENCHMARKS) == 13


@pytest.mark.parametrize("name", MPI_BENCHMARKS)
def test_no_program_gets_an_option_of_another_family(name):
    benchmark = MPI_BENCHMARKS[name]
    sizes = () if benchmark.min_size is None else sweep(benchmark.min_size, 4 * benchmark.min_size)
    words = options(benchmark, sizes)
    letters = {word[1] for word in words if word.startswith("-")}
    allowed = set(LETTERS[benchmark.family])
    if name in ATOMICS:
        allowed |= set("cT")
    if name in BARRIERS:
        allowed -= set("cTm")
    assert letters <= allowed
    assert ("c" in letters) == benchmark.validates
    assert not any(re.fullmatch("-[zc].", word) for word in words), "lists are attached whole"


def test_a_latency_is_asked_for_its_median_its_tail_and_its_worst():
    words = options(find("latency"), sweep(1, 8))
    assert words == ["-i", "1000", "-x", "100", "-m", "1:8", "-z50,99,100", "-c"]
    assert PERCENTILES == (50, 99, 100)
    assert find("latency").statistics == ("avg", "p50", "p99", "max")


def test_a_site_may_repeat_less_often():
    words = options(find("allreduce"), sweep(4, 8), 30)
    assert words == [
        "-i",
        "30",
        "-x",
        "3",
        "-m",
        "4:8",
        "-f",
        "-z50,99,100",
        "-c",
        "-T",
        "mpi_float",
    ]
    assert counts(find("bw"), 5).warmup == 1


def test_each_rank_exchanges_at_least_what_it_was_asked_to():
    assert exchanges(find("latency"), (1, 2)) == {1: 1000, 2: 1000}
    assert exchanges(find("bw"), (8,)) == {8: 50 * 64}
    assert exchanges(find("barrier"), ()) == {None: 200}
    assert exchanges(find("allreduce"), (4,), 10) == {4: 10}
    assert exchanges(find("init"), ()) == {None: 1}


@pytest.mark.parametrize("name", [b.name for b in MPI_BENCHMARKS.values() if b.family != "startup"])
def test_reads_what_every_program_prints(name):
    benchmark = MPI_BENCHMARKS[name]
    curve = parse((PRINTED / f"{name}.txt").read_text(), name, name)
    assert (curve.benchmark, curve.program, curve.version) == (name, "osu", "7.4")
    if benchmark.min_size is not None:
        check_complete(curve, sweep(benchmark.min_size, min(512, benchmark.max_size)))
    for point in curve.points:
        assert set(benchmark.recorded) <= set(point.values)
        assert point.valid is (True if benchmark.validates else None)
        if benchmark.ranks.all_at_once and Metric.LATENCY in benchmark.metrics:
            assert (Metric.LATENCY, "rank_max") in point.values or benchmark.metrics[1:]
        if (Metric.LATENCY, "max") in point.values:
            assert point.values[Metric.LATENCY, "max"] >= point.values[Metric.LATENCY, "p50"]


def test_a_ring_of_neighbours_has_three_ranks_at_least():
    assert {b.ranks.least for b in MPI_BENCHMARKS.values() if b.family == "neighborhood"} == {3}
    assert find("allreduce").ranks.least == RanksRule.EXACTLY_TWO.least == 2


def test_overlap_stands_beside_the_time_that_it_hides():
    first = parse_file(PRINTED / "iallreduce.txt")[0].points[0]
    kinds = {metric for metric, _ in first.values}
    assert kinds == {Metric.LATENCY, Metric.COMMUNICATION, Metric.OVERLAP}
    assert 0 <= first.values[Metric.OVERLAP, "avg"] <= 100
    assert first.values[Metric.COMMUNICATION, "avg"] <= first.values[Metric.LATENCY, "avg"]


def test_a_title_of_several_programs_needs_the_name_of_the_one():
    text = (PRINTED / "neighbor_alltoallw.txt").read_text()
    assert parse(text, "named", "neighbor_alltoallw").benchmark == "neighbor_alltoallw"
    assert parse(text, "unnamed").benchmark == "alltoallw"
    assert parse(text, "of another title", "latency").benchmark == "alltoallw"


def test_the_header_of_congestion_says_latency_above_bandwidths():
    text = (PRINTED / "bw_fan_in.txt").read_text()
    assert "Avg Latency(us)" in text
    curve = parse(text, "fan in", "bw_fan_in")
    assert {metric for point in curve.points for metric, _ in point.values} == {Metric.BANDWIDTH}
    with refused("FC1110", "expected columns for average bandwidth"):
        parse(text, "taken for osu_bw")


def test_times_of_init_and_ranks_of_hello():
    [curve] = parse_file(PRINTED / "init.txt")
    assert named(curve.variables()).keys() == {"startup_avg", "startup_min", "startup_max"}
    assert curve.metadata == {"ranks": "3"}
    assert parse_file(PRINTED / "hello.txt")[0].metadata == {"ranks": "3"}


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("nprocs", "npro"),
        lambda text: text + text.splitlines()[-1] + "\n",
        lambda text: text.replace(" ms, avg", ""),
        lambda text: text.splitlines()[0] + "\n",
    ],
)
def test_a_damaged_start_is_no_start(damage):
    text = damage((PRINTED / "init.txt").read_text())
    with refused("FC1211"):
        parse(text, "init")


@pytest.mark.parametrize("word", ["failed", "Fail"])
def test_atomics_that_got_wrong_data_are_refused(word):
    text = (PRINTED / "cas_latency.txt").read_text().replace("passed", word)
    with refused("FC1110", "the received data was wrong"):
        parse(text, "cas")


def test_a_validation_that_was_skipped_is_none():
    text = (PRINTED / "cas_latency.txt").read_text().replace("passed", "skipped")
    assert parse(text, "cas").points[0].valid is None


def test_every_benchmark_belongs_to_the_full_run_and_each_run_holds_the_one_before():
    for benchmark in MPI_BENCHMARKS.values():
        assert benchmark.runs >= FULL
        first = min(RUNS.index(run) for run in benchmark.runs)
        assert benchmark.runs == set(RUNS[first:])
    counted = [sum(run in b.runs for b in MPI_BENCHMARKS.values()) for run in RUNS]
    assert counted == sorted(set(counted))


def test_the_page_lists_every_benchmark_below_its_family_and_first_run():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "osu.md").read_text().splitlines()
    rows: dict[tuple[str, str], list[str]] = {}
    for name, benchmark in MPI_BENCHMARKS.items():
        first = min(benchmark.runs, key=RUNS.index)
        mark = "\\*" if benchmark.in_probe else ""
        rows.setdefault((benchmark.family, first), []).append(f"`{name}`{mark}")
    for (family, run), listed in rows.items():
        assert f"| {family} | {run} | {', '.join(listed)} |" in page
