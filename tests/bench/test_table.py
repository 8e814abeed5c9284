"""The table is OSU 7.x's: titles, widths and order of the columns."""

import re
from pathlib import Path

import pytest

from fabricheck.measures.parser import parse
from fabricheck.programs.osu.entries import PROBE_BENCHMARKS

pytestmark = [pytest.mark.e2e, pytest.mark.ranks]

SAMPLES = Path(__file__).parents[1] / "data" / "osu-7.4"
QUICK = ("-i", "20", "-x", "2")
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
def test_the_reader_takes_every_benchmark_of_every_mpi(built, benchmark):
    sizes = () if benchmark == "barrier" else ("-m", "4:64", "-c")
    full = ("-f",) if PROBE_BENCHMARKS[benchmark].family == "collective" else ()
    done = built.run(2, benchmark, *sizes, *full, "-z50,99", *QUICK, "--json", "-")
    assert done.returncode == 0, done.stdout + done.stderr
    curve = parse(done.stdout, benchmark)
    assert curve.benchmark == benchmark
    assert curve.metadata["ranks"] == "2"
    expected = [None] if benchmark == "barrier" else [4, 8, 16, 32, 64]
    assert [point.size for point in curve.points] == expected
    for point in curve.points:
        assert all(value > 0 for value in point.values.values())
        assert point.valid is (None if benchmark == "barrier" else True)
        assert point.iterations == 20


@pytest.mark.parametrize(
    "benchmark",
    [name for name in PROBE_BENCHMARKS if PROBE_BENCHMARKS[name].family == "collective"],
)
def test_collectives_are_right_with_an_odd_number_of_ranks(built, benchmark):
    options = () if benchmark == "barrier" else ("-c", "-m", "1:16")
    done = built.run(3, benchmark, *options, "-i", "2", "-x", "1")
    assert done.returncode == 0, done.stdout + done.stderr


def test_reductions_are_right_in_every_datatype(built):
    for benchmark in ("allreduce", "reduce", "reduce_scatter"):
        for datatype in ("mpi_char", "mpi_int", "mpi_float"):
            done = built.run(2, benchmark, "-c", "-m", "4:1024", "-T", datatype, "-i", "3")
            assert done.returncode == 0, done.stdout + done.stderr


def test_mbw_mr_counts_its_pairs(built, table_of):
    lines = table_of(built.run(4, "mbw_mr", "-c", "-m", "8:8", "-i", "2", "-x", "1", "-W", "16"))
    assert "# [ pairs: 2 ] [ window size: 16 ]" in lines
    size, bandwidth, rate, valid = lines[-2].split()
    assert (size, valid) == ("8", "Pass")
    assert float(bandwidth) == pytest.approx(float(rate) * 8 / 1e6, abs=0.006)
