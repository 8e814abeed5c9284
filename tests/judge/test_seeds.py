"""The tables of the projects that this suite began with, replayed and judged as they say."""

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from fabricheck.fabric.counters import BANDS
from fabricheck.judge.levels import Level
from fabricheck.judge.references import CaseKey, resolve
from fabricheck.judge.verdict import judge_curve, judge_value, judge_values
from fabricheck.measures.curve import Curve, Variable
from fabricheck.measures.metrics import Metric
from fabricheck.measures.parser import parse
from fabricheck.planning.references import rows as list_rows
from fabricheck.provenance import SUITE
from fabricheck.units import format_size

SEEDS = Path(__file__).parents[1] / "data" / "seeds"
ROCE = SUITE / "references" / "roce25g-8n.yaml"
OPTIREDUCE = SUITE / "references" / "optireduce-8n.yaml"


def rows(name: str) -> list[dict[str, str]]:
    with (SEEDS / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


LATENCIES = [row for row in rows("roce25g-8n") if row["size_bytes"]]


def roce(operation: str):
    key = CaseKey("roce25g-8n", "roce25g-8n:compute", "openmpi", operation, "ud_verbs_sm-8n")
    return resolve(ROCE, "MpiCollective", key)


def levels_at(operation: str, size: int, *values: float) -> list[Level]:
    """The levels of values in us, by the reference of one size."""
    references, tolerance = roce(operation)
    name = Variable(Metric.LATENCY, "avg", size)
    one = {name: references[name]} if name in references else {}
    return [judge_values({name: (value, "us")}, one, tolerance).level for value in values]


def recorded() -> list[Curve]:
    """The tables as OSU prints them: each size of an operation was a run of its own."""
    text = (SEEDS / "roce25g-8n.txt").read_text()
    return [parse(f"# OSU{block}", "roce25g-8n.txt") for block in text.split("\n# OSU")[1:]]


@pytest.mark.parametrize("operation", ["allreduce", "bcast", "alltoall", "reduce", "allgather"])
def test_the_measured_latencies_have_the_level_of_the_seed(operation):
    curves = [curve for curve in recorded() if curve.benchmark == operation]
    points = sorted((point for each in curves for point in each.points), key=lambda p: p.size)
    verdict = judge_curve(replace(curves[0], points=tuple(points)), *roce(operation))
    # 10.6 ms meets the target of 15 ms, but is no longer in the good band below 10 ms.
    warned = [Variable(Metric.LATENCY, "avg", 1 << 20)] if operation == "allreduce" else []
    assert [j.variable for j in verdict.judgements if j.level is Level.WARNING] == warned
    assert verdict.level is (Level.WARNING if warned else Level.GOOD)
    assert len(verdict.judgements) == len([r for r in LATENCIES if r["op"] == operation])


@pytest.mark.parametrize("row", LATENCIES, ids=lambda row: f"{row['op']}-{row['size_bytes']}")
def test_every_figure_of_the_tables_is_a_reference(row):
    references, _ = roce(row["op"])
    reference = references[Variable(Metric.LATENCY, "avg", int(row["size_bytes"]))]
    assert reference.value == float(row["measured_us"])
    edge = float(row["critical_us"] or row["target_us"])
    assert reference.bounds()[1] == pytest.approx(edge, rel=1e-15)
    assert reference.good == float(row["good_us"] or row["target_us"])


@pytest.mark.parametrize("row", [r for r in LATENCIES if r["op"] == "allreduce"], ids=str)
def test_the_figures_under_load_are_those_of_the_stress_test(row):
    key = CaseKey(
        "roce25g-8n", "roce25g-8n:compute", "openmpi", "allreduce_under_load", "ud_verbs_sm-8n"
    )
    references, _ = resolve(ROCE, "MpiUnderLoad", key)
    reference = references[Variable(Metric.LOADED_LATENCY, "avg", int(row["size_bytes"]))]
    assert reference.value == float(row["measured_us"])
    edge = float(row["critical_us"] or row["target_us"])
    assert reference.bounds()[1] == pytest.approx(edge, rel=1e-15)


BANDED = [row for row in LATENCIES if row["critical_us"]]


@pytest.mark.parametrize("row", BANDED, ids=lambda row: f"{row['op']}-{row['size_bytes']}")
def test_the_edges_of_the_bands_are_exact(row):
    good, critical = float(row["good_us"]), float(row["critical_us"])
    found = levels_at(row["op"], int(row["size_bytes"]), good - 10, good, critical, critical + 10)
    assert found == [Level.GOOD, Level.WARNING, Level.WARNING, Level.CRITICAL]


TARGETS = [row for row in LATENCIES if not row["critical_us"]]


@pytest.mark.parametrize("row", TARGETS, ids=lambda row: f"{row['op']}-{row['size_bytes']}")
def test_a_target_that_is_missed_is_critical(row):
    target = float(row["target_us"])
    found = levels_at(row["op"], int(row["size_bytes"]), target * 0.99, target, target * 1.01)
    assert found == [Level.GOOD, Level.WARNING, Level.CRITICAL]


@pytest.mark.parametrize(
    ("operation", "size", "value", "level"),
    [
        ("allreduce", 4 << 20, 44977.66, Level.WARNING),
        ("bcast", 4 << 20, 22456.69, Level.GOOD),
        ("alltoall", 1 << 20, 123488.25, Level.CRITICAL),
        ("allgather", 2 << 20, 127229.43, Level.NO_REFERENCE),
    ],
)
def test_the_sample_of_metrics_is_judged(operation, size, value, level):
    assert levels_at(operation, size, value) == [level]


def test_the_bands_of_ecn_marks_are_the_seeds():
    (row,) = [row for row in rows("roce25g-8n") if not row["size_bytes"]]
    assert BANDS["ecn"].warning == float(row["good_us"])
    assert BANDS["ecn"].critical == float(row["critical_us"])


def test_every_target_of_the_seed_is_listed():
    listed = {
        (row.keys["benchmark"], row.variable): row.target
        for row in list_rows(SUITE, "roce25g-8n")
        if row.check == "MpiCollective"
    }
    assert listed == {
        (row["op"], f"latency_avg_{format_size(int(row['size_bytes']))}"): float(row["target_us"])
        for row in LATENCIES
    }


def test_every_time_of_a_training_is_a_reference_and_good():
    found = {}
    for row in rows("optireduce-8n"):
        model = "".join(letter if letter.isalnum() else "_" for letter in row["model"].lower())
        benchmark = f"{model.replace('gpt_2', 'gpt2')}_tail{row['env_p99_p50'].replace('.', '_')}"
        key = CaseKey("optireduce-8n", "optireduce-8n:gpu", "builtin", benchmark, "tcp-8n")
        for scheme in list(row)[2:]:
            name = scheme.removesuffix("_s")
            nccl = replace(key, benchmark=f"{benchmark}_{name}", placement="nccl_socket-8n")
            check, of = ("TrainingIteration", key), ("NcclIteration", nccl)
            references, _ = resolve(OPTIREDUCE, *(of if name.startswith("nccl") else check))
            reference = references[Variable(Metric(name), "avg")]
            assert reference.value == float(row[scheme])
            found[benchmark, name] = reference
    assert len(found) == 72
    for (_, name), reference in found.items():
        variable = Variable(Metric(name), "avg")
        levels = [
            judge_value(variable, reference.value * times, "s", reference, reference.warning).level
            for times in (1, 1.09, 1.11, 1.26)
        ]
        assert levels == [Level.GOOD, Level.GOOD, Level.WARNING, Level.CRITICAL]
