"""Bands of single variables: their edges are exact, and belong to the warnings."""

from pathlib import Path

import pytest

from fabricheck.errors import FabricheckError
from fabricheck.judge.levels import Level
from fabricheck.judge.references import CaseKey, Reference, Tolerance, resolve
from fabricheck.judge.verdict import judge_values

BAND = Tolerance((None, 0.5), "paper", "test", "2026-11-21", None, good={"latency_avg_1MiB": 10.0})
MILLISECONDS = {"latency_avg_1MiB": Reference(10.6, None, 20 / 10.6 - 1, "us")}


@pytest.mark.parametrize(
    ("value", "level", "bound"),
    [
        (9.99, Level.GOOD, "allowed up to 20 us"),
        (10.0, Level.WARNING, "good only below 10 us"),
        (10.01, Level.WARNING, "good only below 10 us"),
        (20.0, Level.WARNING, "good only below 10 us"),
        (20.01, Level.CRITICAL, "critical above 20 us"),
    ],
)
def test_edges_of_a_latency_band(value, level, bound):
    verdict = judge_values({"latency_avg_1MiB": (value, "us")}, MILLISECONDS, BAND)
    assert verdict.level is level
    assert bound in verdict.judgements[0].message


@pytest.mark.parametrize(
    ("value", "level", "bound"),
    [
        (20.01, Level.GOOD, "allowed from 10 MB/s"),
        (20.0, Level.WARNING, "good only above 20 MB/s"),
        (10.0, Level.WARNING, "good only above 20 MB/s"),
        (9.99, Level.CRITICAL, "critical below 10 MB/s"),
    ],
)
def test_edges_of_a_bandwidth_band(value, level, bound):
    name = "bandwidth_avg_1MiB"
    tolerance = Tolerance((-0.5, None), "paper", "test", "2026-11-21", None, good={name: 20.0})
    expected = {name: Reference(25.0, 10 / 25 - 1, None, "MB/s")}
    verdict = judge_values({name: (value, "MB/s")}, expected, tolerance)
    assert verdict.level is level
    assert bound in verdict.judgements[0].message


def test_the_bounds_of_a_band_are_those_that_are_recorded():
    measured = {"latency_avg_1MiB": (5.0, "us")}
    (banded,) = judge_values(measured, MILLISECONDS, BAND).judgements
    assert banded.good == (None, 10.0)
    plain = Tolerance((-0.5, 0.5), "paper", "test", "2026-11-21", None)
    (unbanded,) = judge_values(measured, MILLISECONDS, plain).judgements
    assert unbanded.good == (10.6 * 0.5, 10.6 * 1.5)


FILE = """\
MpiCollective:
  $index: [benchmark]
  allreduce: {latency_avg_1MiB: [10600, -0.5, 1, us], latency_avg_2MiB: [21000, null, 1, us]}
MpiCollective.levels:
  $index: [benchmark]
  allreduce:
    warning: [null, null]
    good: {latency_avg_1MiB: 10000}
    kind: measured
    source: a table
    date: 2026-11-21
"""
KEY = CaseKey("hpc", "hpc:cpu", "gnu", "allreduce", "rc-8n")
EDGE = "{latency_avg_1MiB: 10000}"


def test_a_band_is_read(tmp_path: Path):
    path = tmp_path / "hpc.yaml"
    path.write_text(FILE)
    _, tolerance = resolve(path, "MpiCollective", KEY)
    assert tolerance.good == {"latency_avg_1MiB": 10000}


@pytest.mark.parametrize(
    ("edge", "message"),
    [
        ("10000", "expected variables with the edge of the good band of each, found 10000"),
        ("{}", "expected variables with the edge of the good band of each"),
        ("{latency_avg_1MiB: fast}", "expected a number as edge of the good band"),
        ("{latenzy_1MiB: 1}", "unknown variable"),
        (
            "{latency_avg_4MiB: 1}",
            "a good band or a target for latency_avg_4MiB, which has no reference",
        ),
        ("{latency_avg_1MiB: 30000}", "ends at 30000, outside of the critical bounds"),
        ("{latency_avg_1MiB: 5000}", "ends at 5000, outside of the critical bounds"),
    ],
)
def test_a_band_that_makes_no_sense_is_named(tmp_path: Path, edge: str, message: str):
    path = tmp_path / "hpc.yaml"
    path.write_text(FILE.replace(EDGE, edge))
    with pytest.raises(FabricheckError) as caught:
        resolve(path, "MpiCollective", KEY)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}: line ")
