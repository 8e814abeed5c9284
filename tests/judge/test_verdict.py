"""Levels of values and curves, and what a reader is told."""

import math
import random
from types import MappingProxyType

import pytest
from tests.refusals import refused

from fabricheck.judge.levels import Level
from fabricheck.judge.references import Reference, Tolerance
from fabricheck.judge.verdict import judge_curve, judge_value, judge_values
from fabricheck.measures.curve import Curve, Point, Variable
from fabricheck.measures.metrics import Metric
from fabricheck.measures.registry import sweep

SIZES = sweep(1, 1 << 20)
TOLERANCE = Tolerance("measured", "test", "2026-11-21")


def latency(times: dict[int, float], statistic: str = "p50") -> Curve:
    points = tuple(
        Point(size, MappingProxyType({(Metric.LATENCY, statistic): time}), None, None)
        for size, time in times.items()
    )
    return Curve("latency", "mpi_probe", "0.1.0", None, {}, points)


def references(value=10.0, lower=-0.9, upper=1.0, sizes=SIZES, **more) -> dict[Variable, Reference]:
    names = latency(dict.fromkeys(sizes, 1.0)).variables()
    more = {"warning": (-0.5, 0.5), **more}
    return {name: Reference(value, lower, upper, "us", **more) for name in names}


FLAT = dict.fromkeys(SIZES, 10.0)
SMALL = Variable(Metric.LATENCY, "p50", 8)


@pytest.mark.parametrize(
    ("value", "level", "bound"),
    [
        (10.0, Level.GOOD, "allowed from 1 us up to 20 us"),
        (15.0, Level.GOOD, "allowed"),
        (15.1, Level.WARNING, "warning above 15 us"),
        (20.0, Level.WARNING, "warning above 15 us"),
        (20.1, Level.CRITICAL, "critical above 20 us"),
        (4.9, Level.WARNING, "warning below 5 us"),
        (0.9, Level.CRITICAL, "critical below 1 us"),
    ],
)
def test_levels_of_a_value(value, level, bound):
    judgement = judge_value(SMALL, value, "us", Reference(10.0, -0.9, 1.0, "us"), (-0.5, 0.5))
    assert judgement.level is level
    assert judgement.message.startswith(f"latency_p50_8B is {value:g} us, ")
    assert bound in judgement.message


def test_expired_references_are_never_good():
    tolerance = Tolerance("measured", "test", "2026-11-21", expired="180 days old")
    verdict = judge_values({SMALL: (10.0, "us")}, references(sizes=[8]), tolerance)
    assert verdict.level is Level.WARNING
    assert verdict.findings == ("the references have expired: 180 days old; propose new ones",)


def test_message_names_found_expected_and_bound():
    judgement = judge_value(SMALL, 38.4, "us", Reference(12.0, None, 1.0, "us"))
    assert judgement.message == (
        "latency_p50_8B is 38.4 us, 3.2x the reference of 12 us: critical above 24 us"
    )


def test_bounds_are_absolute_where_the_reference_is_zero():
    reference = Reference(0.0, None, 5.0, "us")
    assert judge_value(SMALL, 5.0, "us", reference, (None, 2.0)).level is Level.WARNING
    judgement = judge_value(SMALL, 5.1, "us", reference)
    assert judgement.message.endswith(" is 5.1 us, the reference is 0 us: critical above 5 us")


def test_nothing_judges_a_value_without_reference():
    judgement = judge_value(SMALL, 1.0, "us", None)
    assert judgement.level is Level.NO_REFERENCE
    assert judgement.reference is None


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_value_that_is_no_number_is_untrusted(value):
    reference = Reference(10.0, None, 1.0, "us")
    assert judge_value(SMALL, value, "us", reference).level is Level.UNTRUSTED


def test_units_must_agree():
    with refused("FC0801", "reference of latency_p50_8B in us, found ms"):
        judge_value(SMALL, 1.0, "us", Reference(10.0, None, 1.0, "ms"))


@pytest.mark.parametrize(
    ("value", "note"),
    [
        (30.0, "known failure: bug 7"),
        (10.0, "meets a reference that is marked as known failure (bug 7): remove the mark"),
    ],
)
def test_expected_failures_are_warnings_either_way(value, note):
    reference = Reference(10.0, None, 1.0, "us", "bug 7")
    judgement = judge_value(SMALL, value, "us", reference)
    assert judgement.level is Level.WARNING
    assert judgement.note == note
    assert judgement.message.endswith(f"; {note}")


def test_a_curve_inside_all_bounds_is_good():
    verdict = judge_curve(latency(FLAT), references(), TOLERANCE)
    assert verdict.level is Level.GOOD
    assert verdict.findings == ()
    assert len(verdict.judgements) == len(SIZES)


def test_one_bad_size_decides_and_is_named():
    verdict = judge_curve(latency(FLAT | {1024: 32.0}), references(), TOLERANCE)
    assert verdict.level is Level.CRITICAL
    assert verdict.findings == (
        "latency_p50_1KiB is 32 us, 3.2x the reference of 10 us: critical above 20 us",
    )


def test_neighbouring_sizes_are_one_sentence():
    bad = {size: 30.0 for size in SIZES if 1024 <= size <= 131072} | {65536: 32.0}
    verdict = judge_curve(latency(FLAT | bad), references(), TOLERANCE)
    assert verdict.findings == (
        "latency_p50 critical at 8 sizes 1KiB..128KiB, worst 3.2x the reference at 64KiB "
        "(32 us, critical above 20 us)",
    )


def test_ranges_are_broken_by_good_sizes_and_levels_are_apart():
    bad = {1: 25.0, 2: 26.0, 8: 27.0, 64: 16.0, 128: 17.0}
    verdict = judge_curve(latency(FLAT | bad), references(), TOLERANCE)
    assert verdict.findings == (
        "latency_p50 critical at 3 sizes 1B..2B, 8B, worst 2.7x the reference at 8B "
        "(27 us, critical above 20 us)",
        "latency_p50 warning at 2 sizes 64B..128B, worst 1.7x the reference at 128B "
        "(17 us, warning above 15 us)",
    )


def test_the_worst_of_slow_and_fast_is_the_farther_from_the_reference():
    verdict = judge_curve(latency(FLAT | {1: 25.0, 2: 0.5}), references(), TOLERANCE)
    assert "worst 0.05x the reference at 2B (0.5 us, critical below 1 us)" in verdict.findings[0]


def test_sizes_without_reference_are_named_and_not_good():
    some = {n: r for n, r in references().items() if n.size < 1024}
    verdict = judge_curve(latency(FLAT), some, TOLERANCE)
    assert verdict.level is Level.NO_REFERENCE
    assert verdict.findings == (
        "no reference for latency_p50 at 11 sizes 1KiB..1MiB: nothing judges them",
    )


def test_a_curve_without_any_reference_is_one_sentence():
    points = tuple(
        Point(s, {(Metric.LATENCY, "avg"): 1.0, (Metric.LATENCY, "p50"): 1.0}, None, None)
        for s in SIZES
    )
    verdict = judge_curve(Curve("latency", "osu", "7.4", None, {}, points), {}, None)
    assert verdict.level is Level.NO_REFERENCE
    assert verdict.findings == (
        "no reference for latency_avg, latency_p50 at 21 sizes 1B..1MiB: nothing judges them",
    )


def test_a_reference_for_what_was_not_measured_is_critical():
    short = {size: 10.0 for size in SIZES if size <= 65536}
    verdict = judge_curve(latency(short), references(), TOLERANCE)
    assert verdict.level is Level.CRITICAL
    assert verdict.findings[0].startswith(
        "latency_p50 has references but was not measured at 4 sizes 128KiB..1MiB"
    )


def test_no_reference_does_not_hide_critical():
    verdict = judge_curve(latency({1: 99.0, 2: 1.0}), references(sizes=[1]), TOLERANCE)
    assert verdict.level is Level.CRITICAL
    assert [finding.split()[0] for finding in verdict.findings] == ["latency_p50_1B", "no"]


def test_expected_failures_are_grouped_apart_from_warnings():
    expected = references(sizes=[1, 2], expected_failure="bug 7") | references(sizes=[4, 8])
    verdict = judge_curve(latency({1: 30, 2: 31, 4: 16, 8: 17}), expected, TOLERANCE)
    assert verdict.level is Level.WARNING
    assert len(verdict.findings) == 2
    assert "known failure: bug 7" in "".join(verdict.findings)


def test_values_that_are_no_curve():
    verdict = judge_values(
        {Variable(Metric.RATIO, "min"): (0.7, "1")},
        {
            Variable(Metric.RATIO, "min"): Reference(1.0, 0.0, None, "1"),
            Variable(Metric.RATIO, "max"): Reference(1.0, 0.0, None, "1"),
        },
        None,
    )
    assert verdict.level is Level.CRITICAL
    assert verdict.findings == (
        "ratio_min is 0.7, 0.7x the reference of 1: critical below 1",
        "ratio_max has a reference but was not measured",
    )


def test_nothing_at_all_is_not_good():
    assert judge_values({}, {}, TOLERANCE).level is Level.NO_REFERENCE


def test_a_barrier_is_judged_like_any_other():
    point = Point(None, {(Metric.LATENCY, "avg"): 50.0}, None, None)
    curve = Curve("barrier", "osu", "7.4", None, {}, (point,))
    expected = {Variable(Metric.LATENCY, "avg"): Reference(10.0, None, 1.0, "us")}
    verdict = judge_curve(curve, expected, TOLERANCE)
    assert verdict.findings == (
        "latency_avg is 50 us, 5x the reference of 10 us: critical above 20 us",
    )


def shaped(noise: float | None) -> Tolerance:
    return Tolerance("bound", "test", "2026-11-21", noise)


LOOSE = references(upper=1000.0, lower=None, warning=(None, None))


def test_latency_that_falls_with_the_size_is_a_warning():
    times = dict(zip(SIZES, [10.0 * 1.3**n for n in range(len(SIZES))], strict=True))
    assert judge_curve(latency(times), LOOSE, shaped(0.0)).level is Level.GOOD
    verdict = judge_curve(latency(times | {4: 80.0}), LOOSE, shaped(1.0))
    assert verdict.level is Level.WARNING
    assert verdict.findings == (
        "latency_p50 falls with the size: 4B takes 80 us, but 8B..32B only 21.97 us at the least, "
        "beyond the allowed noise of 2x",
    )


def test_noise_is_a_fraction_of_the_smaller_latency():
    times = FLAT | {2: 13.0}
    assert judge_curve(latency(times), LOOSE, shaped(0.3)).level is Level.GOOD
    assert judge_curve(latency(times), LOOSE, shaped(0.29)).level is Level.WARNING


def test_a_slow_fall_is_seen_against_the_running_maximum():
    times = dict(zip(SIZES, [100.0 * 0.9**n for n in range(len(SIZES))], strict=True))
    verdict = judge_curve(latency(times), LOOSE, shaped(0.5))
    assert "1B takes 100 us, but 16B..1MiB" in verdict.findings[0]


def test_the_shape_is_checked_only_where_it_is_asked_for():
    falling = latency(FLAT | {1: 90.0})
    assert judge_curve(falling, LOOSE, shaped(None)).level is Level.GOOD
    assert judge_curve(falling, LOOSE, None).level is Level.GOOD


def test_bandwidth_has_no_such_shape():
    point = [Point(s, {(Metric.BANDWIDTH, "avg"): 9.0 / s}, None, None) for s in (1, 2)]
    curve = Curve("bw", "osu", "7.4", None, {}, tuple(point))
    expected = {n: Reference(1.0, -0.9, None, "MB/s") for n in curve.variables()}
    assert judge_curve(curve, expected, shaped(0.0)).level is Level.GOOD


def test_the_average_is_looked_at_where_there_is_no_median():
    falling = latency(FLAT | {1: 90.0}, "avg")
    expected = {n: Reference(10.0, None, 100.0, "us") for n in falling.variables()}
    assert "latency_avg falls" in judge_curve(falling, expected, shaped(0.5)).findings[0]


def reaching(best: float) -> Tolerance:
    return Tolerance("bound", "test", "2026-11-21", None, best)


def bandwidth(values: dict[int, float]) -> Curve:
    points = [Point(s, {(Metric.BANDWIDTH, "avg"): v}, None, None) for s, v in values.items()]
    return Curve("bw", "osu", "7.4", None, {}, tuple(points))


def test_a_bandwidth_must_reach_its_best_at_one_size():
    curve = bandwidth({1: 0.1, 2: 3.0, 4: 0.2})
    wide = {n: Reference(3.0, -0.99, None, "MB/s") for n in curve.variables()}
    assert judge_curve(curve, wide, reaching(3.0)).level is Level.GOOD
    verdict = judge_curve(curve, wide, reaching(3.1))
    assert verdict.level is Level.CRITICAL
    assert verdict.findings == (
        "bandwidth_avg is 3 MB/s at the most (at 2B), expected 3.1 MB/s or more at some large "
        "size: something limits the path: look at the rate of the link, at shaping and congestion",
    )


def test_small_messages_that_fit_into_buffers_make_no_bandwidth():
    curve = bandwidth({1: 90.0, 32: 90.0, 64: 2.0, 1024: 2.5})
    wide = {n: Reference(90.0, -0.99, None, "MB/s") for n in curve.variables()}
    verdict = judge_curve(curve, wide, reaching(30.0))
    assert verdict.level is Level.CRITICAL
    assert "2.5 MB/s at the most (at 1KiB)" in verdict.findings[0]
    assert judge_curve(curve, wide, reaching(2.5)).level is Level.GOOD


@pytest.mark.parametrize("statistic", ["p50", "avg"])
def test_a_latency_must_reach_its_best_at_one_size(statistic):
    slow = latency(dict.fromkeys(SIZES, 900.0) | {8: 100.0}, statistic)
    wide = {n: Reference(10.0, None, 100.0, "us") for n in slow.variables()}
    assert judge_curve(slow, wide, reaching(100.0)).level is Level.GOOD
    verdict = judge_curve(slow, wide, reaching(99.0))
    assert verdict.level is Level.CRITICAL
    (finding,) = verdict.findings
    assert finding.startswith(
        f"latency_{statistic} is 100 us at the least (at 8B), expected 99 us or less at some size"
    )


def test_a_poor_best_comes_before_what_is_wrong_with_single_sizes():
    verdict = judge_curve(latency(FLAT | {4: 500.0}), references(), reaching(5.0))
    assert [finding.split()[0] for finding in verdict.findings] == ["latency_p50", "latency_p50_4B"]
    assert "at the least" in verdict.findings[0]


def test_findings_never_hide_a_bad_size():
    """Whatever is measured, each size that is not good is inside a range of some finding."""
    rng = random.Random(3)
    for _ in range(200):
        times = {size: rng.choice([0.5, 10.0, 10.0, 17.0, 40.0]) for size in SIZES}
        verdict = judge_curve(latency(times), references(), TOLERANCE)
        bad = [j for j in verdict.judgements if j.level is not Level.GOOD]
        assert verdict.level is max((j.level for j in verdict.judgements), key=lambda v: v.severity)
        counted = 0
        for finding in verdict.findings:
            words = finding.split(" sizes ")
            counted += int(words[0].split()[-1]) if len(words) > 1 else 1
        assert counted == len(bad)
