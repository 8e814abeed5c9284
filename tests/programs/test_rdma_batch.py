"""Tables of rdma_batch and of MORI-IO: the seed's rows, and each damage with its sentence."""

import csv
import json
import random
import re
from pathlib import Path

import pytest
from tests.refusals import refused

from fabricheck.errors import ParseError
from fabricheck.judge.levels import Level
from fabricheck.judge.references import CaseKey, resolve
from fabricheck.judge.verdict import judge_curve
from fabricheck.measures.curve import Variable
from fabricheck.measures.metrics import Metric
from fabricheck.measures.parser import parse as parse_any
from fabricheck.programs.rdma_batch.entries import SWEEPS
from fabricheck.programs.rdma_batch.judge import batch_shapes
from fabricheck.programs.rdma_batch.read import confirm_case, curve, read, read_result

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
REFERENCES = ROOT / "references" / "thor2-2n.yaml"
SEED = {
    "rdma_batch_read": "read_8dev_qp2_b256",
    "rdma_batch_write": "write_1dev_qp4_b128",
    "rdma_batch_write_batches": "write_1dev_qp16_batches",
}
READ = (DATA / "mori-io" / "read_8dev_qp2_b256.txt").read_text()
WRITE = (DATA / "mori-io" / "write_1dev_qp4_b128.txt").read_text()
OWN = (DATA / "rdma_batch" / "write.two.json").read_text()
WRITE_1KIB = next(line for line in WRITE.splitlines() if line.startswith("|     1024 "))


def replayed(benchmark: str, text: str):
    by_total = benchmark.endswith("batches")
    return curve(read(text, benchmark), benchmark, by_total=by_total)


def judged(benchmark: str, text: str):
    found = replayed(benchmark, text)
    key = CaseKey("thor2-2n", "thor2-2n:compute", "builtin", benchmark, "rc-2n")
    references, tolerance = resolve(REFERENCES, "RdmaBatch", key)
    shapes = batch_shapes(found, tolerance.monotone, by_batch=benchmark.endswith("batches"))
    return judge_curve(found, references, tolerance), shapes


@pytest.mark.parametrize(("benchmark", "name"), SEED.items())
def test_the_seeds_rows_are_good_against_their_references(benchmark, name):
    verdict, shapes = judged(benchmark, (DATA / "mori-io" / f"{name}.txt").read_text())
    assert (verdict.level, verdict.findings, shapes) == (Level.GOOD, (), ())


def test_all_52_rows_of_the_seed_are_there():
    texts = [(DATA / "mori-io" / f"{name}.txt").read_text() for name in SEED.values()]
    assert sum(len(read(text, "seed").tables[0]) for text in texts) == 52
    assert SWEEPS.keys() == SEED.keys()


def test_a_slower_row_is_critical_and_named():
    slower = WRITE_1KIB.replace("3.53", "2.62").replace("37.09", "50.00")
    slow = WRITE.replace(WRITE_1KIB, slower)
    verdict, shapes = judged("rdma_batch_write", slow)
    assert verdict.level == Level.CRITICAL
    assert any("latency_avg_1KiB" in finding or "1KiB" in finding for finding in verdict.findings)
    assert shapes == ()


def test_bandwidth_comes_from_total_and_time_which_have_more_digits():
    row = read(WRITE, "write").tables[0][0]
    assert (row.size, row.batch, row.total) == (8, 128, 1024)
    assert row.bandwidth["avg"] == pytest.approx(1024 / 36.33)
    assert row.iterations is None


def test_a_table_without_batches_takes_them_from_the_configuration():
    output = read(READ, "read")
    assert {row.batch for row in output.tables[0]} == {256}
    assert output.settings["num_initiator_dev"] == "8"
    with refused("FC1110", "expected a column BatchSize, or transfer_batch_size"):
        read(READ[READ.index("+--") :], "read")


def test_our_own_results_have_percentiles_and_iterations():
    output = read_result(OWN, "own")
    assert output.version
    first = output.tables[0][0]
    assert first.iterations
    assert first.latency["min"] <= first.latency["p50"] <= first.latency["p99"]
    assert {"op_type", "mtu", "devices", "validate"} <= output.settings.keys()


def test_of_two_initiators_the_slower_one_counts():
    output = read_result(OWN, "own")
    assert len(output.tables) == 2, "the aggregate is no initiator"
    found = curve(output, "rdma_batch_write", by_total=False)
    for point, rows in zip(found.points, zip(*output.tables, strict=True), strict=True):
        assert point.values[Metric.LATENCY, "avg"] == max(row.latency["avg"] for row in rows)
        assert point.values[Metric.BANDWIDTH, "avg"] == min(row.bandwidth["avg"] for row in rows)
        assert point.valid


def test_fabricheck_parse_reads_our_own_output():
    found = parse_any(OWN, "own")
    assert (found.program, found.benchmark) == ("rdma_batch", "rdma_batch_write")
    with refused("FC1228"):
        parse_any(WRITE, "seed")


@pytest.mark.parametrize(("benchmark", "name"), SEED.items())
def test_the_seeds_tables_are_read_by_the_name_of_their_benchmark(benchmark, name):
    text = (DATA / "mori-io" / f"{name}.txt").read_text()
    found = parse_any(text, "seed", benchmark)
    assert found == replayed(benchmark, text)
    assert found.is_whole


def one_row(operation: str) -> str:
    """The first row of one initiator alone."""
    document = json.loads(OWN)
    document["environment"]["ranks"] = document["expected"] = 1
    document["results"] = document["results"][:1]
    return json.dumps({**document, "benchmark": operation})


def test_a_table_without_its_last_size_is_not_whole():
    short = re.sub(r"(?m)^\|   1048576 .*\n", "", WRITE)
    assert short != WRITE
    assert not parse_any(short, "seed", "rdma_batch_write").is_whole


def test_one_row_is_a_size_and_no_sweep_of_batches():
    for operation in ("write", "read"):
        found = parse_any(one_row(operation), "single")
        assert found.benchmark == f"rdma_batch_{operation}"
        assert [point.size for point in found.points] == [8]


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        (OWN, "rdma_batch_read", "expected rdma_batch_read .*, found one of writes over sizes"),
        (WRITE, "latency", "expected latency .*, found one of unknown operations over sizes"),
        (
            WRITE,
            "rdma_batch_write_batches",
            "expected transfers of 1024 B as in rdma_batch_write_b",
        ),
    ],
)
def test_the_table_of_another_benchmark_is_refused(text, name, words):
    with pytest.raises(ParseError, match=words):
        parse_any(text, "out", name)


def test_a_run_with_other_options_is_not_the_benchmarks():
    def ran(**options: object):
        document = json.loads(OWN)
        document["options"] |= {"num_qp_per_transfer": 4, "transfer_batch_size": 128, **options}
        return parse_any(json.dumps(document), "out")

    confirm_case(ran(), "rc-2n", "out")
    for name, value in (("enable_sess", False), ("num_qp_per_transfer", 2)):
        with refused("FC1231", f"expected {name}: .* as in rdma_batch_write, found"):
            confirm_case(ran(**{name: value}), "rc-2n", "out")


DAMAGES = {
    "cut in a row": (lambda t: t[: t.index(WRITE_1KIB) + 30], "the table is cut"),
    "cut between rows": (lambda t: t[: t.index(WRITE_1KIB)], "the table is cut"),
    "total": (lambda t: t.replace(WRITE_1KIB, WRITE_1KIB.replace("0.13", "0.26")), "TotalSize"),
    "bandwidth": (lambda t: t.replace(WRITE_1KIB, WRITE_1KIB.replace("3.53", "3.54")), "Avg Bw"),
    "best": (lambda t: t.replace(WRITE_1KIB, WRITE_1KIB.replace("3.84", "3.94")), "Max BW"),
    "no number": (lambda t: t.replace(WRITE_1KIB, WRITE_1KIB.replace("3.84", " nan")), "number"),
    "negative": (lambda t: t.replace(WRITE_1KIB, WRITE_1KIB.replace("3.84", "-3.8")), "number"),
    "no batch": (lambda t: t.replace(WRITE_1KIB, WRITE_1KIB.replace(" 128 ", "  0  ")), "above"),
    "cell": (lambda t: t.replace(WRITE_1KIB, WRITE_1KIB.rpartition("|")[0]), "the table is cut"),
    "columns": (lambda t: t.replace("Avg Lat", "Mid Lat"), "expected the columns"),
    "twice": (lambda t: t + t, "found a second"),
    "row missing": (lambda t: t.replace(f"{WRITE_1KIB}\n", ""), "twice the size or batch"),
    "row repeated": (lambda t: t.replace(WRITE_1KIB, f"{WRITE_1KIB}\n{WRITE_1KIB}"), "repeated"),
    "digits": (lambda t: t.replace(" 128 ", f" {'9' * 5000} "), "whole number above zero"),
    "nothing": (lambda _: "srun: error\n", "expected a table of rdma_batch"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_refused(name):
    damage, words = DAMAGES[name]
    with pytest.raises(ParseError, match=words):
        read(damage(WRITE), "write")


def test_any_damaged_byte_is_refused_or_changes_nothing_by_much():
    generator = random.Random(1)
    for _ in range(300):
        place = generator.randrange(len(WRITE))
        damaged = WRITE[:place] + chr(generator.randrange(32, 127)) + WRITE[place + 1 :]
        try:
            found = read(damaged, "write").tables[0]
        except ParseError as error:
            assert str(error).startswith("write: ")
        else:
            assert len(found) == 18


def test_every_row_of_the_reference_data_has_its_reference():
    table = list(csv.DictReader((DATA / "mori-io" / "reference.csv").open()))
    assert len(table) == 52
    sweeps = {
        "batchsweep": "rdma_batch_write_batches",
        "b128": "rdma_batch_write",
        "b256": "rdma_batch_read",
    }
    for row in table:
        benchmark = sweeps[row["dataset"].rpartition("_")[2]]
        size = int(row["msg_size_B"])
        if benchmark.endswith("batches"):
            size *= int(row["batch"])
        key = CaseKey("thor2-2n", "thor2-2n:compute", "builtin", benchmark, "rc-2n")
        references, _ = resolve(REFERENCES, "RdmaBatch", key)
        for statistic in ("avg", "min"):
            reference = references[Variable(Metric.LATENCY, statistic, size)]
            assert reference.value == float(row[f"{statistic}_lat_us"])
