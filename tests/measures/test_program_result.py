"""Results of our own programs: read whole, refused wherever they are damaged or incomplete."""

import json
import random

import pytest
from tests.programs.results import PHASES, changed, matmul, named, sample
from tests.refusals import refused

from fabricheck.errors import FabricheckError, ParseError
from fabricheck.measures.curve import Variable
from fabricheck.measures.gpu import GpuPath
from fabricheck.measures.metrics import Metric
from fabricheck.measures.parser import check_complete, parse
from fabricheck.programs.mpi_matmul.entries import (
    BENCHMARKS,
    GPU_RANKS,
    MODES,
    RANKS,
    benchmark_name,
)

PROGRAMS = ("mpi_probe", "mpi_matmul", "rdma_batch", "rdma_stream")


def put(*keys, value):
    """A change of what lies at the end of the keys."""
    *way, last = keys

    def change(document):
        for key in way:
            document = document[key]
        document[last] = value

    return change


def drop(*keys):
    *way, last = keys

    def change(document):
        for key in way:
            document = document[key]
        del document[last]

    return change


def results(edit):
    """A change of the results that the program would not notice: it expects as many."""

    def change(document):
        document["results"] = edit(document["results"])
        document["expected"] = len(document["results"])

    return change


ANY = {
    "interrupted": (put("interrupted", value="SIGINT"), "was ended by SIGINT, with .* results"),
    "wrong data": (put("results", 0, "valid", value=False), "data validation failed"),
    "said to be wrong": (put("validation", value="failed"), "data validation failed"),
    "failed": (
        put("failures", value=["rank 2 did not come to its end: gave up after 10.00 s"]),
        "found: rank 2 did not come to its end: gave up after",
    ),
    "incomplete": (put("complete", value=False), "run was cut short"),
    "a result less": (drop("results", -1), "results are missing"),
    "no results": (put("results", value=[]), "expected [0-9]+ results, found 0"),
    "another schema": (put("schema", value="fabricheck-result-2"), "or of another version"),
    "no schema": (drop("schema"), "'schema' is a required property"),
    "no environment": (drop("environment", "hosts"), "'hosts' is a required property"),
    "a negative number": (put("results", 0, "latency", value=-1), "is damaged"),
    "a statistic of no name": (put("results", 0, "latency", value={"mean": 1}), "is damaged"),
    "an unknown unit": (put("units", "latency", value="us"), "'us' is not one of"),
    "an unknown program": (put("program", value="other"), "found those of other"),
    "no integer": (put("results", 0, "iterations", value="x"), "'x' is not of type 'integer'"),
}  # fmt: skip
OF_ONE = {
    "size missing": ("mpi_probe", results(lambda r: r[:3] + r[4:]), "expected size 8 after 4"),
    "size twice": ("mpi_probe", results(lambda r: r[:3] + r[2:]), "expected size 8 after 4"),
    "size of none": ("mpi_probe", put("results", 3, "size", value=None), "expected size in each"),
    "a curve of another": ("mpi_probe", put("benchmark", value="pot"), "unknown benchmark 'pot'"),
    "metric missing": ("mpi_probe", drop("results", 3, "latency"), "expected latency in each"),
    "unit of another": ("mpi_probe", put("units", "latency", value="B/s"), "in a unit of us"),
    "percentiles fall": (
        "mpi_probe", put("results", 3, "latency", "p50", value=1.0), "in rising order",
    ),
    "phase missing": ("mpi_matmul", results(lambda r: r[:2] + r[3:]), "N 240: expected the phases"),
    "phase twice": ("mpi_matmul", results(lambda r: r[:3] + r[2:]), "N 240: expected the phases"),
    "orders fall": ("mpi_matmul", results(lambda r: r[5:] + r[:5]), "orders rising"),
    "unknown mode": ("mpi_matmul", put("benchmark", value="x"), "mode x on 4 ranks"),
    "unusual ranks": ("mpi_matmul", put("environment", "ranks", value=3), "nonblocking on 3 ranks"),
    "an initiator less": (
        "rdma_batch", put("environment", "ranks", value=3), "rows of all 3 initiators, found 2",
    ),
    "another sweep": ("rdma_batch", results(lambda r: r[:2] + r[3:]), "same sizes and batches"),
    "bytes": ("rdma_batch", put("results", 0, "bytes", value=129), "expected 128 bytes from size"),
    "bandwidth": (
        "rdma_batch", put("results", 0, "bandwidth", "avg", value=1.0), "expected 128 bytes from",
    ),
    "no median": ("rdma_batch", drop("results", 0, "latency", "p50"), "found not all"),
    "on other nodes": (
        "rdma_stream", put("results", 1, "transmitter_host", value="n1"), "topologies T1 to T7",
    ),
    "missed": ("rdma_stream", put("results", 1, "missed", value=3), "received messages to be the"),
    "rate": ("rdma_stream", put("results", 0, "receive_rate", value=2e8), "expected a rate of 2"),
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_whole_run_is_read(program):
    curve = parse(json.dumps(sample(program)), "out")
    assert (curve.program, curve.version, curve.is_whole) == (program, "0.1.0", True)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("damage", ANY)
def test_damage_is_refused(program, damage):
    change, message = ANY[damage]
    with pytest.raises(ParseError, match=f"(?s)^out: .*{message}") as caught:
        parse(changed(sample(program), change), "out")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("damage", OF_ONE)
def test_damage_of_one_program_is_refused(damage):
    program, change, message = OF_ONE[damage]
    with pytest.raises(ParseError, match=f"^out: .*{message}"):
        parse(changed(sample(program), change), "out")


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_file_cut_at_any_byte_is_refused(program):
    text = json.dumps(sample(program), indent=1)
    for end in range(1, len(text), 7):
        with refused("FC1114"):
            parse(text[:end], "out")


@pytest.mark.parametrize(
    "number", ["NaN", "1e999", "-Infinity", "9" * 5000, '{"p50": ' * 3000], ids=lambda n: n[:9]
)
def test_what_is_no_number_is_refused(number):
    text = json.dumps(sample("mpi_probe")).replace(
        '"iterations": 200', f'"iterations": {number}', 1
    )
    with refused("FC1114"):
        parse(text, "out")


def test_random_damage_is_an_error_or_a_whole_curve():
    chance = random.Random(1)
    texts = [json.dumps(sample(program), indent=1) for program in PROGRAMS]
    refused = 0
    for _ in range(600):
        text = list(chance.choice(texts))
        for _ in range(chance.randrange(1, 5)):
            place = chance.randrange(len(text))
            text[place : place + chance.randrange(3)] = chance.choice(
                ["", "7", "\n", "é", "-", "}"]
            )
        try:
            curve = parse("".join(text), "out")
        except ParseError as error:
            assert "\n" not in str(error)
            refused += 1
        else:
            assert curve.is_whole
    assert refused > 300


@pytest.mark.parametrize(
    ("title", "program"),
    [
        ("# mpi_probe MPI Latency Test v0.1.0\n1 2.0\n", "mpi_probe"),
        ("# mpi_matmul MPI Matrix Multiplication v0.1.0\n", "mpi_matmul"),
        ("Rank 0 transmitter data rate is 1.0 Gbps\n\n# rdma_stream v0.1.0\n", "rdma_stream"),
        ("rdma_batch 0.1.0 Benchmark Configurations:\n", "rdma_batch"),
    ],
)
def test_a_table_for_people_is_refused_with_what_to_give(title, program):
    with refused("FC1106", rf"expected the JSON of {program}, .* --json FILE"):
        parse(title, "out")


def test_units_of_results_become_those_of_the_metrics():
    values = parse(json.dumps(sample("mpi_probe")), "out").points[0].values
    assert values[Metric.LATENCY, "p50"] == pytest.approx(9.10)
    values = parse(json.dumps(sample("rdma_stream")), "out").points[0].values
    assert values[Metric.BANDWIDTH, "min"] == pytest.approx(0.0998386552 * 125, rel=1e-4)


def test_a_whole_multiplication():
    curve = parse(json.dumps(matmul(240, 480)), "out")
    assert curve.benchmark == "matmul_nonblocking_np4"
    assert curve.metadata["mpi"] == "Open MPI v4.1.4"
    assert [(point.size, point.iterations, point.valid) for point in curve.points] == [
        (240, 10, True),
        (480, 10, True),
    ]
    values = curve.points[0].values
    assert values[Metric.TRANSFER_A, "min"] == pytest.approx(240)
    assert values[Metric.BROADCAST_B, "avg"] == pytest.approx(244)
    assert values[Metric.TOTAL, "p50"] == pytest.approx(246)
    assert list(named(curve.variables()))[:7] == [
        *("total_p50_N240", "transfer_a_p50_N240", "broadcast_b_p50_N240", "compute_p50_N240"),
        *("transfer_c_p50_N240", "variation_max_N240", "total_p50_N480"),
    ]
    with refused("FC1108", r"N960 is missing"):
        check_complete(curve, (240, 480, 960))


@pytest.mark.parametrize(
    ("variations", "greatest"),
    [((0.1, 0.4, 0.2, 0.3, 0.9), 0.4), ((None,) * 5, None)],
    ids=["that of the phase that varies most, not of the total", "none of one repetition"],
)
def test_the_variation_of_a_multiplication(variations, greatest):
    text = json.dumps(matmul(240, variations=variations))
    assert parse(text, "out").points[0].values.get((Metric.VARIATION, "max")) == greatest


def test_labels_of_orders():
    variable = Variable(Metric.COMPUTE, "p50", 2000)
    assert str(variable) == "compute_p50_N2000"
    assert Variable.read("compute_p50_N2000") == variable
    for wrong in ("compute_p50_N0", "compute_p50_N02000", "compute_p50_2KiB", "latency_p50_N2000"):
        with pytest.raises(FabricheckError):
            Variable.read(wrong)


def test_every_mode_and_number_of_ranks_is_a_benchmark():
    on_gpus = [benchmark_name(m, ranks, p) for p in GpuPath for m in MODES for ranks in GPU_RANKS]
    assert list(BENCHMARKS) == [
        *(benchmark_name(mode, ranks) for mode in MODES for ranks in RANKS),
        *on_gpus,
    ]
    for name, benchmark in BENCHMARKS.items():
        of_gpu = ("--compute", "gpu", "--path", benchmark.path) if name in on_gpus else ()
        assert benchmark.options == ("--mode", benchmark.mode, *of_gpu)


@pytest.mark.parametrize("path", list(GpuPath))
def test_a_multiplication_on_gpus_has_its_path_in_its_name(path):
    phases = ("transfer_a", "broadcast_b", "copy_in", "compute", "copy_out", "transfer_c", "total")
    found = matmul(240, phases=phases if path is GpuPath.STAGED else PHASES)
    found["options"] = {"compute": "gpu", "path": str(path)}
    curve = parse(json.dumps(found), "out")
    assert curve.benchmark == f"matmul_gpu_{path}_nonblocking_np4"
    copies = {f"{copy}_p50_N240" for copy in ("copy_in", "copy_out")} & set(
        named(curve.variables())
    )
    assert bool(copies) == (path is GpuPath.STAGED)
    found["options"]["path"] = str(next(each for each in GpuPath if each is not path))
    with refused("FC1112", "N 240: expected the phases"):
        parse(json.dumps(found), "out")
