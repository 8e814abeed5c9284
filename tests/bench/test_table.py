"""The table is OSU 7.x's: titles, widths and order of the columns."""

import re
from pathlib import Path

import pytest

from fabricheck.measures import program_result
from fabricheck.measures.parser import parse
from fabricheck.programs.osu.entries import PROBE_BENCHMARKS

pytestmark = [pytest.mark.e2e, pytest.mark.ranks]

SAMPLES = Path(__file__).parents[1] / "data" / "osu-7.4"
QUICK = ("-i", "20", "-x", "2")
STATISTICS = ["avg", "min", "max", "p50", "p90", "p95", "p99", "p99.9"]
# OSU's output, and the options that give the same columns.
LAYOUTS = {
    "openmpi.lat.txt": ("latency",),
    "openmpi.lat_tail.txt": ("latency", "-z"),
    "openmpi.lat_valid.txt": ("latency", "-c", "-T", "mpi_int"),
    "openmpi.bw.txt": ("bw",),
    "openmpi.bibw.txt": ("bibw",),
    "openmpi.mbw.txt": ("mbw_mr",),
    "openmpi.allreduce_full.txt": ("allreduce", "-f", "-T", "mpi_float"),
    "openmpi.allreduce_full_tail.txt": ("allreduce", "-f", "-z50,99", "-T", "mpi_float"),
    "openmpi.allgather.txt": ("allgather", "-f"),
    "openmpi.alltoall.txt": ("alltoall",),
    "openmpi.reduce.txt": ("reduce", "-T", "mpi_float"),
    "openmpi.bcast.txt": ("bcast",),
    "openmpi.barrier.txt": ("barrier",),
}
OWN_METADATA = re.compile(r"# (Ranks|Hosts|MPI|Clock|Complete): .+")


def column_ends(row: str) -> list[int]:
    return [match.end() for match in re.finditer(r"\S+", row)][1:]


def without_own_lines(lines: list[str]) -> list[str]:
    return [line for line in lines if not OWN_METADATA.fullmatch(line)]


@pytest.mark.parametrize("sample", LAYOUTS)
def test_layout_is_that_of_osu(openmpi, table_of, sample):
    osu = (SAMPLES / sample).read_text().splitlines()
    sizes = () if "barrier" in sample else ("-m", "1:64")
    ours = without_own_lines(table_of(openmpi.run(2, *LAYOUTS[sample], *sizes, *QUICK)))

    osu_head = [line for line in osu if not re.match(r"\s*\d", line)]
    our_head = [line for line in ours if not re.match(r"\s*\d", line)]
    as_ours = [re.sub(r"# OSU (.*) v7\.4", r"# mpi_probe \1 v0.1.0", line) for line in osu_head]
    assert our_head == as_ours
    osu_row, our_row = osu[len(osu_head)], ours[len(our_head)]
    assert column_ends(our_row) == column_ends(osu_row)
    if "barrier" in sample:
        assert len(our_row) == len(osu_row)


def test_bandwidth_percentiles_have_osu_titles(openmpi, table_of):
    lines = table_of(openmpi.run(2, "bw", "-m", "1:4", "-z50,99", *QUICK))
    assert "# Size      Bandwidth (MB/s) P50 Tail BW(MB/s) P99 Tail BW(MB/s)" in lines


def test_metadata_stands_in_order_before_the_columns(openmpi, table_of):
    lines = table_of(openmpi.run(4, "allreduce", "-T", "mpi_float", "-m", "4:8", *QUICK))
    keys = [line.split(":")[0] for line in lines if re.match(r"# \w+: ", line)]
    assert keys == ["# Datatype", "# Ranks", "# Hosts", "# MPI", "# Clock", "# Complete"]
    assert "# Ranks: 4" in lines
    assert lines[-1] == "# Complete: 2 sizes"


@pytest.mark.parametrize("benchmark", list(PROBE_BENCHMARKS))
def test_every_benchmark_of_every_mpi_is_right_and_read(built, benchmark):
    """Collectives with an odd number of ranks."""
    entry = PROBE_BENCHMARKS[benchmark]
    ranks, full, extra = 2, (), []
    if entry.family == "collective":
        ranks, full, extra = 3, ("-f",), ["rank_min", "rank_max"]
    sizes = () if benchmark == "barrier" else ("-m", "1:1024", "-c")
    done = built.run(ranks, benchmark, *sizes, *full, "-z50,99", *QUICK, "--json", "-")
    assert done.returncode == 0, done.stdout + done.stderr
    document = program_result.read(done.stdout, "result")
    assert (document.program, document.benchmark) == ("mpi_probe", benchmark)
    assert (document.environment["ranks"], len(document.environment["hosts"])) == (ranks, 1)
    costs = document.environment["clock_overhead"]
    assert len(costs) == ranks
    assert all(0 < cost < 1e-3 for cost in costs)
    for result in document.results:
        found = result[entry.metrics[0]]
        assert list(found) == [*STATISTICS, *extra]
        assert ("message_rate" in result) == (benchmark == "mbw_mr")
        assert (result["iterations"], result["warmup"]) == (20, 2)
        assert found["min"] <= found["avg"] <= found["max"]
    curve = parse(done.stdout, benchmark)
    assert (curve.benchmark, curve.metadata["ranks"]) == (benchmark, str(ranks))
    expected = [None] if benchmark == "barrier" else [1 << power for power in range(11)]
    assert [point.size for point in curve.points] == expected
    for point in curve.points:
        assert all(value > 0 for value in point.values.values())
        assert point.valid is (None if benchmark == "barrier" else True)
        assert point.iterations == 20


@pytest.mark.parametrize("benchmark", ["allreduce", "reduce", "reduce_scatter"])
def test_reductions_are_right_in_every_datatype(built, benchmark):
    """Characters are those of the other tests."""
    for datatype in ("mpi_int", "mpi_float"):
        limits = ("-m", "4:1024", "-i", "3", "-x", "1")
        done = built.run(2, benchmark, "-c", "-T", datatype, *limits)
        assert done.returncode == 0, done.stdout + done.stderr


def test_mbw_mr_counts_its_pairs(built, table_of):
    lines = table_of(built.run(4, "mbw_mr", "-c", "-m", "8:8", "-i", "2", "-x", "1", "-W", "16"))
    assert "# [ pairs: 2 ] [ window size: 16 ]" in lines
    size, bandwidth, rate, valid = lines[-2].split()
    assert (size, valid) == ("8", "Pass")
    assert float(bandwidth) == pytest.approx(float(rate) * 8 / 1e6, abs=0.006)
