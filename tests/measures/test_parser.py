"""The parser on real output: what it reads."""

from pathlib import Path

import pytest
from tests.programs.results import named
from tests.refusals import refused

from fabricheck.measures.metrics import Metric
from fabricheck.measures.parser import check_complete, parse, parse_file
from fabricheck.measures.registry import find, sweep

DATA = Path(__file__).parents[1] / "data"
OSU = DATA / "osu-7.4"
PROBE = DATA / "mpi_probe"
LAYOUT = DATA / "osu-layout"
NOISE = (
    "[1700000000.123456] [n1:123:0]   ucp_worker.c:1763 UCX  INFO  ep_cfg[0]: tag(tcp/eth0)\n"
    "[1700000000.1] [n1:1:0] UCX INFO   | 0..2038 | short | tcp/eth0 |\n"
    "srun: warning: can't run 1 processes on 2 nodes, setting nnodes to 1\n"
    "Information: 12 links are up\n"
    "\n"
    "--------------------------------------------------------------------------\n"
)


@pytest.mark.parametrize(
    ("file", "benchmark", "datatype", "sizes"),
    [
        ("openmpi.lat.txt", "latency", "MPI_CHAR", sweep(1, 4 << 20)),
        ("openmpi.lat_tail.txt", "latency", "MPI_CHAR", sweep(1, 1 << 16)),
        ("openmpi.lat_valid.txt", "latency", "MPI_INT", sweep(4, 1 << 16)),
        ("openmpi.bw.txt", "bw", "MPI_CHAR", sweep(1, 4 << 20)),
        ("openmpi.bibw.txt", "bibw", "MPI_CHAR", sweep(1, 1 << 20)),
        ("openmpi.mbw.txt", "mbw_mr", "MPI_CHAR", sweep(1, 1 << 16)),
        ("openmpi.allreduce_full.txt", "allreduce", "MPI_FLOAT", sweep(4, 1 << 20)),
        ("openmpi.allreduce_full_tail.txt", "allreduce", "MPI_FLOAT", sweep(4, 1 << 16)),
        ("openmpi.reduce.txt", "reduce", "MPI_FLOAT", sweep(4, 1 << 20)),
        ("openmpi.bcast.txt", "bcast", "MPI_CHAR", sweep(1, 1 << 20)),
        ("openmpi.alltoall.txt", "alltoall", "MPI_CHAR", sweep(1, 1 << 20)),
        ("openmpi.allgather.txt", "allgather", "MPI_CHAR", sweep(1, 1 << 20)),
    ],
)
def test_reads_osu_output(file, benchmark, datatype, sizes):
    [curve] = parse_file(OSU / file)
    assert (curve.benchmark, curve.program, curve.version) == (benchmark, "osu", "7.4")
    assert curve.datatype == datatype
    assert tuple(point.size for point in curve.points) == sizes
    check_complete(curve, sizes)


def test_finds_columns_by_their_names():
    first, *_ = parse_file(OSU / "openmpi.allreduce_full_tail.txt")[0].points
    expected = {"avg": 0.26, "rank_min": 0.23, "rank_max": 0.29, "p50": 0.26, "p99": 0.31}
    assert first.values == {(Metric.LATENCY, s): v for s, v in expected.items()}
    assert (first.iterations, first.valid) == (200, None)


def test_reads_the_columns_of_osu_5_and_of_bandwidth_percentiles():
    old = (
        "# OSU MPI Latency Test v5.9\n# Size          Latency (us)\n0                       0.31\n"
    )
    assert parse(old, "old").points[0].values == {(Metric.LATENCY, "avg"): 0.31}
    tail = (
        "# OSU MPI Bandwidth Test v7.4\n# Datatype: MPI_CHAR.\n"
        "# Size      Bandwidth (MB/s) P50 Tail BW(MB/s) P99 Tail BW(MB/s)\n"
        "1024                 3056.81           3161.56           3327.21\n"
    )
    values = parse(tail, "tail").points[0].values
    assert values == {
        (Metric.BANDWIDTH, "avg"): 3056.81,
        (Metric.BANDWIDTH, "p50"): 3161.56,
        (Metric.BANDWIDTH, "p99"): 3327.21,
    }


def test_reads_message_rates_and_bracketed_metadata():
    [curve] = parse_file(OSU / "openmpi.mbw.txt")
    assert curve.metadata == {"pairs": "1", "window size": "64"}
    assert named(curve.variables())["message_rate_avg_1B"] == (12111348.71, "messages/s")


def test_barrier_has_one_row_without_size():
    [curve] = parse_file(OSU / "openmpi.barrier.txt")
    assert named(curve.variables()) == {"latency_avg": (0.21, "us")}
    check_complete(curve, ())


def test_validation_column_is_read():
    [curve] = parse_file(OSU / "openmpi.lat_valid.txt")
    assert all(point.valid is True for point in curve.points)


@pytest.mark.parametrize(
    ("name", "ranks", "hosts"),
    [
        ("latency", "2", "n1 n2"),
        ("bw", "2", "n1 n2"),
        ("mbw_mr", "2", "n1"),
        ("allreduce", "4", "n1 n2 n3 n4"),
        ("barrier", "4", "n1 n2 n3 n4"),
    ],
)
def test_reads_mpi_probe_output(name, ranks, hosts):
    [curve] = parse_file(PROBE / f"{name}.json")
    assert (curve.benchmark, curve.program, curve.version) == (name, "mpi_probe", "0.1.0")
    assert (curve.metadata["ranks"], curve.metadata["hosts"]) == (ranks, hosts)
    assert curve.metadata["mpi"].startswith("Open MPI v4.1.4, package: ")
    statistics = {statistic for p in curve.points for _, statistic in p.values}
    assert statistics | {"max"} >= set(find(name).statistics)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("file", [OSU / "openmpi.lat_tail.txt", LAYOUT / "allreduce.txt"])
def test_noise_between_any_two_lines_is_skipped(file, line_end):
    [clean] = parse_file(file)
    noisy = NOISE + NOISE.join(file.read_text().splitlines(keepends=True)) + NOISE
    assert parse(noisy.replace("\n", line_end), "noisy") == clean


def test_prelude_with_numbers_is_no_row():
    text = "4\n2 nodes allocated\n" + (LAYOUT / "latency.txt").read_text()
    assert [parse(text, "job")] == parse_file(LAYOUT / "latency.txt")


def test_missing_and_unasked_sizes_are_named():
    [curve] = parse_file(OSU / "openmpi.lat_tail.txt")
    with refused("FC1108", "expected 18 message sizes, but 128KiB is missing"):
        check_complete(curve, sweep(1, 1 << 17))
    with refused("FC1109", "x: expected 15 message sizes, but found 1B, 2B as well"):
        check_complete(curve, sweep(4, 1 << 16), "x")
