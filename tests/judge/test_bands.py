"""Bands of single variables: their edges are exact, and belong to the warnings."""

from dataclasses import replace
from pathlib import Path

import pytest

from fabricheck.errors import FabricheckError
from fabricheck.judge.levels import Level
from fabricheck.judge.references import CaseKey, Reference, Tolerance, resolve
from fabricheck.judge.verdict import judge_values
from fabricheck.measures.curve import Variable
from fabricheck.measures.metrics import Metric

ORIGIN = Tolerance("paper", "test", "2026-11-21")
NAME = Variable(Metric.LATENCY, "avg", 1 << 20)
PLAIN = Reference(10.6, None, 20 / 10.6 - 1, "us", warning=(-0.5, 0.5))
MILLISECONDS = {NAME: replace(PLAIN, warning=(None, 0.5), good=10.0)}


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
    verdict = judge_values({NAME: (value, "us")}, MILLISECONDS, ORIGIN)
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
    name = Variable(Metric.BANDWIDTH, "avg", 1 << 20)
    expected = {name: Reference(25.0, 10 / 25 - 1, None, "MB/s", warning=(-0.5, None), good=20.0)}
    verdict = judge_values({name: (value, "MB/s")}, expected, ORIGIN)
    assert verdict.level is level
    assert bound in verdict.judgements[0].message


def test_the_bounds_of_a_band_are_those_that_are_recorded():
    measured = {NAME: (5.0, "us")}
    (banded,) = judge_values(measured, MILLISECONDS, ORIGIN).judgements
    assert banded.good == (None, 10.0)
    (unbanded,) = judge_values(measured, {NAME: PLAIN}, ORIGIN).judgements
    assert unbanded.good == (10.6 * 0.5, 10.6 * 1.5)


FILE = """\
rules:
- for: {check: MpiCollective, benchmark: allreduce}
  value: {latency_avg_1MiB: 10600, latency_avg_2MiB: 21000}
  band: {latency_avg_1MiB: [10000, 20000]}
  bound: [null, 1]
  warning: [null, null]
  kind: measured
  source: a table
  date: 2026-11-21
"""
KEY = CaseKey("hpc", "hpc:cpu", "gnu", "allreduce", "rc-8n")
EDGES = "[10000, 20000]"


def test_a_band_is_read_and_its_edge_is_exact(tmp_path: Path):
    path = tmp_path / "hpc.yaml"
    path.write_text(FILE)
    references, _ = resolve(path, "MpiCollective", KEY)
    banded, other = references[NAME], references[Variable(Metric.LATENCY, "avg", 2 << 20)]
    assert (banded.good, banded.lower, other.good, other.upper) == (10000, None, None, 1)
    assert 20000 <= (banded.bounds()[1] or 0) < 20000.0001


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ("10000", "expected [edge of good, edge of critical]"),
        ("[fast, 1]", "expected a number, found 'fast'"),
        ("[1]", "expected [edge of good, edge of critical]"),
        ("[30000, 20000]", "ends at 30000, outside of the critical bounds"),
    ],
)
def test_a_band_that_makes_no_sense_is_named(tmp_path: Path, edges: str, message: str):
    path = tmp_path / "hpc.yaml"
    path.write_text(FILE.replace(EDGES, edges))
    with pytest.raises(FabricheckError) as caught:
        resolve(path, "MpiCollective", KEY)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{path}: line 4: rules > 1 > band > {NAME}")
