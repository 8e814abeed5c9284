"""Two sides of the record beside each other."""

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.history.recorded import case, read
from tests.refusals import refused

from fabricheck.acceptance.named_sides import read_named_sides
from fabricheck.acceptance.side_by_side import WHOLE, estimate, side_by_side
from fabricheck.acceptance.side_by_side_text import lines
from fabricheck.history.selection import Selection
from fabricheck.history.store import History
from fabricheck.record.entries import CaseEntry, Sample
from fabricheck.record.write import append

Ratio = dict[str, Any]


def night(number: int, factor: float, **changes: Any) -> CaseEntry:
    """A case whose nights differ by much, whose sizes by little, and which has a factor."""
    noise = 1 + 0.003 * math.sin(7 * number + 100 * factor)
    return case(number, 9.5 * (1 + number / 4) * factor * noise, **changes)


def sides(nights: Iterable[int], factor: float = 1.0, **changes: Any) -> list[CaseEntry]:
    """Two environments in each night, the second slower by a factor."""
    return [
        each
        for number in nights
        for each in (
            night(number, 1.0, job=f"{number}a", **changes),
            night(number, factor, job=f"{number}b", **{**changes, "environ": "openmpi5"}),
        )
    ]


def compared(root: Path, cases: list[CaseEntry], a: str, b: str, *terms: str) -> Ratio:
    append(root / "logs", cases)
    read(root / "store", root / "logs")
    with History.open_to_read(root / "store") as history:
        found = read_named_sides(history, (a, b), Selection.read(terms))
    return {"a": a, "b": b, **side_by_side(*found)}


def of(found: Ratio, scope: str) -> list[Ratio]:
    return [row for row in found["ratios"] if row["scope"] == scope]


def test_a_session_with_both_sides_is_its_own_measure(tmp_path: Path):
    found = compared(tmp_path, sides(range(6), 1.1), "openmpi", "openmpi5")
    (whole,) = of(found, WHOLE)
    assert found["paired"]
    assert found["left_out"] == found["lacking"] == []
    assert whole["ratio"] == pytest.approx(1 / 1.1, rel=0.01)
    assert whole["interval"][0] < 1 / 1.1 < whole["interval"][1] < 0.95
    assert {row["says"] for row in found["ratios"]} == {"B worse"}
    assert len(of(found, "series")) == 4
    assert of(found, "series")[0]["name"].startswith("testbed:main+openmpi|openmpi5 latency tcp-2n")


def test_what_is_alike_is_not_called_different(tmp_path: Path):
    found = compared(tmp_path, sides(range(6)), "openmpi", "openmpi5")
    assert {row["says"] for row in found["ratios"]} == {"no difference shown"}


@pytest.mark.parametrize(
    ("metric", "unit", "says"),
    [("bandwidth", "MB/s", "B better"), ("latency", "us", "B worse"), ("figure", "1", "differs")],
)
def test_above_1_is_better_whatever_the_metric(tmp_path: Path, metric: str, unit: str, says: str):
    cases = [
        night(number, factor, environ=environ, job=f"{number}{environ}", samples=(sample,))
        for number in range(6)
        for environ, factor in (("openmpi", 1.0), ("openmpi5", 1.1))
        for sample in [
            Sample(metric=metric, value=(100 + number) * factor, unit=unit, size=8, level="good")
        ]
    ]
    (series,) = of(compared(tmp_path, cases, "openmpi", "openmpi5"), "series")
    assert series["says"] == says
    assert (series["ratio"] > 1) == (metric != "latency")


def test_one_session_gives_ratios_and_no_interval(tmp_path: Path):
    found = compared(tmp_path, sides([1], 1.5), "openmpi", "openmpi5")
    assert {row["says"] for row in found["ratios"]} == {"one session: no interval"}
    assert of(found, WHOLE)[0]["interval"] is None


def test_sides_that_no_session_has_together_are_not_paired(tmp_path: Path):
    cases = [
        night(number, 1.0 if number < 6 else 10.0, system="one" if number < 6 else "other")
        for number in range(12)
    ]
    found = compared(tmp_path, cases, "one", "other")
    assert not found["paired"]
    assert {tuple(row["sessions"]) for row in found["ratios"]} == {(6, 6)}
    assert {row["says"] for row in found["ratios"]} == {"B worse"}


@pytest.mark.parametrize(
    ("a", "b"), [("session-0", "session-1"), ("20261101:20261102", "20261102:20261103")]
)
def test_runs_may_be_the_sides(tmp_path: Path, a: str, b: str):
    found = compared(tmp_path, [night(0, 1.0), night(1, 1.0)], a, b)
    assert found["sessions"] == ["session-0", "session-1"]
    assert of(found, WHOLE)[0]["ratio"] == pytest.approx(0.8, rel=0.01)


def test_sessions_of_other_suites_pair_by_their_time(tmp_path: Path):
    found = compared(tmp_path, sides(range(3), 1.2, session=""), "openmpi", "openmpi5")
    assert len(found["sessions"]) == 3
    assert found["paired"]


def test_what_has_no_partner_is_counted_and_named(tmp_path: Path):
    cases = sides(range(3)) + [night(number, 1.0, transport="rc") for number in range(3)]
    cases += [night(8, 1.0, job="8a")]
    found = compared(tmp_path, cases, "openmpi", "openmpi5")
    (lone,) = found["lacking"]
    assert (lone["series"], lone["a"], lone["b"]) == (4, 3, 0)
    assert found["left_out"] == [
        {"why": "in sessions without the other side", "side": "A", "values": 4}
    ]
    words = "\n".join(lines(found))
    assert "without partner: testbed:main+openmpi|openmpi5 latency rc-2n, 4 series" in words
    assert "4 values of A, in sessions without the other side" in words


@pytest.mark.parametrize("level", ["untrusted", "disturbed"])
def test_what_is_not_trusted_is_left_out_and_counted(tmp_path: Path, level: str):
    bad = night(9, 50.0, environ="openmpi5", job="9b")
    samples = tuple(replace(each, level=level) for each in bad.samples)
    cases = [*sides(range(4)), night(9, 1.0, job="9a"), replace(bad, samples=samples)]
    found = compared(tmp_path, cases, "openmpi", "openmpi5")
    assert {"why": level, "side": "B", "values": 4} in found["left_out"]
    assert "session-9" not in found["sessions"]
    assert of(found, WHOLE)[0]["says"] == "no difference shown"


def test_what_is_critical_is_compared_and_counted(tmp_path: Path):
    slow = sides(range(4), 2.0)
    samples = tuple(replace(each, level="critical") for each in slow[-1].samples)
    found = compared(
        tmp_path, [*slow[:-1], replace(slow[-1], samples=samples)], "openmpi", "openmpi5"
    )
    assert found["critical"] == [{"side": "B", "values": 4}]
    assert len(found["sessions"]) == 4
    assert "compared though critical: 4 values of B" in list(lines(found))


def test_values_that_nobody_measured_are_counted(tmp_path: Path):
    cases = [*sides(range(2)), case(5, None, job="5a"), case(5, None, environ="openmpi5")]
    found = compared(tmp_path, cases, "openmpi", "openmpi5")
    assert [(each["why"], each["side"]) for each in found["left_out"]] == [
        ("without value", "A"),
        ("without value", "B"),
    ]


def test_several_fields_may_tell_the_sides_apart(tmp_path: Path):
    cases = [
        night(number, 1.0, environ=environ, transport=transport, job=f"{number}{environ}")
        for number in range(2)
        for environ, transport in (("openmpi", "tcp"), ("openmpi5", "ofi_tcp"))
    ]
    found = compared(tmp_path, cases, "openmpi+tcp", "environ=openmpi5+ofi_tcp")
    assert len(of(found, "series")) == 4
    with refused("FC2023", "name all that differs"):
        compared(tmp_path, [], "openmpi", "openmpi5")


@pytest.mark.parametrize(
    ("a", "b", "code", "words"),
    [
        (
            "openmpi",
            "opnmpi5",
            "FC2020",
            "did you mean 'openmpi5'.*environ openmpi, openmpi5; transport tcp",
        ),
        ("openmpi", "tcp", "FC2020", "same fields"),
        ("openmpi", "openmpi", "FC2020", "differ"),
        ("openmpi+openmpi5", "openmpi", "FC2020", "openmpi"),
        ("openmpi+nothing", "openmpi5", "FC2020", "openmpi.nothing"),
        ("environ=tcp", "openmpi", "FC2020", "environ=tcp"),
        ("session-0", "session-7", "FC2020", "session-7"),
        ("main", "openmpi", "FC2021", "partition and system: write partition=main or system=main"),
        ("session-0", "20261101:20261109", "FC2022", "session-0 on both"),
        ("a:b", "c:d", "FC2009", "a:b"),
    ],
)
def test_sides_that_are_none_are_refused_with_what_the_record_has(
    tmp_path: Path, a: str, b: str, code: str, words: str
):
    cases = [*sides(range(2)), night(0, 1.0, system="main", environ="openmpi5")]
    with refused(code, words):
        compared(tmp_path, cases, a, b)


def test_a_selection_of_nothing_is_refused(tmp_path: Path):
    with refused("FC2020", "as it is selected, nothing"):
        compared(tmp_path, sides(range(2)), "openmpi", "openmpi5", "transport=rc")


def test_the_estimate_of_few_values_is_students():
    middle, reach, p = estimate(np.array([0.1, 0.2, 0.3]))
    assert (middle, reach, p) == pytest.approx((0.2, 0.2484, 0.0742), abs=1e-4)
    assert estimate(np.array([0.1])) == (0.1, None, 1.0)
    assert estimate(np.array([0.1, 0.2]), np.array([0.1]))[1] is None


def test_the_estimate_of_two_sides_is_welchs():
    one, other = np.array([1.0, 1.2, 0.8, 1.1]), np.array([0.5, 0.9, 0.1])
    middle, _, p = estimate(one, other)
    assert (middle, p) == pytest.approx((0.525, 0.1384), abs=1e-4)


def test_a_wild_value_hardly_moves_the_estimate():
    quiet = np.linspace(-0.01, 0.01, 20)
    wild = quiet.copy()
    wild[-1] = 9.0
    assert estimate(wild)[:2] == pytest.approx(estimate(quiet)[:2], abs=1e-3)


def test_values_far_apart_have_an_interval_that_json_can_hold(tmp_path: Path):
    cases = sides([0], 1e-250) + sides([1], 1e250)
    (whole,) = of(compared(tmp_path, cases, "openmpi", "openmpi5"), WHOLE)
    assert all(math.isfinite(end) for end in whole["interval"])
