from datetime import date
from typing import Any

import numpy as np
import pytest
from tests.trend.made import DAY, FIRST, noise, series, stepped

from fabricheck.history.series import Series
from fabricheck.trend.accepted import Acceptance
from fabricheck.trend.detect import Trend, analyse
from fabricheck.trend.events import Change, Confidence, Detector, Event, EventKind, EventState
from fabricheck.trend.settings import Settings
from fabricheck.trend.trend_text import TrendVerdict, verdict


def trend(*values: Any, **key: Any) -> Trend:
    return analyse([series(each, size=2**number, **key) for number, each in enumerate(values)], {})


def event(found: Trend) -> Event:
    assert len(found.events) == 1, found.events
    return found.events[0]


def change(found: Trend) -> Change:
    changes = event(found).changes
    assert len(changes) == 1
    return changes[0]


def test_a_step_is_dated_and_measured():
    found = change(trend(stepped(at=94, size=0.1)))
    assert (found.kind, found.state, found.detector) == (
        EventKind.REGRESSION, EventState.NEW, Detector.CHANGE_POINT,
    )  # fmt: skip
    assert found.since == FIRST + 94 * DAY
    assert found.session == "night-94"
    assert found.effect == pytest.approx(0.1, abs=0.03)
    assert found.low is not None
    assert found.high is not None
    assert found.effect is not None
    assert found.low < 0.1 < found.high
    assert 0.05 < found.low < found.effect < found.high < 0.15
    assert found.p < 1e-4


def test_three_nights_raise_an_alarm_before_a_change_point_can():
    found = change(trend(stepped(at=97, size=0.1)))
    assert (found.detector, found.index) == (Detector.WINDOW, 97)


def spoiled(values: Any, places: Any, factor: float) -> Any:
    values[places] *= factor
    return values


STEADY = {
    "two nights are no step": stepped(at=98, size=0.1),
    "isolated outliers are no change": spoiled(noise(100), [20, 50, 51, 80, 95, 98], 1.3),
    "two young nights and a third of the same kind are none": [10.0, 12.0, 14.0],
    "quieter is no event": np.r_[noise(100, spread=0.1)[:60], noise(40, seed=3, spread=0.01)],
    "two modes that were always there": spoiled(noise(100, seed=2), slice(None, None, 3), 1.15),
}


@pytest.mark.parametrize("values", STEADY.values(), ids=STEADY)
def test_what_is_no_change_is_no_event(values: Any):
    assert not trend(values).events


@pytest.mark.parametrize(
    ("metric", "size", "kind"),
    [
        ("latency", 0.1, EventKind.REGRESSION),
        ("latency", -0.1, EventKind.IMPROVEMENT),
        ("bandwidth", 0.1, EventKind.IMPROVEMENT),
        ("bandwidth", -0.1, EventKind.REGRESSION),
        ("somebody_elses", 0.1, EventKind.CHANGED),
    ],
)
def test_the_direction_says_what_is_worse(metric: str, size: float, kind: EventKind):
    found = trend(stepped(at=95, size=size), metric=metric)
    assert change(found).kind is kind
    assert found.exit_code == (1 if kind is EventKind.REGRESSION else 0)


def test_a_ramp_is_found_as_it_goes_on():
    values = noise(110)
    values[90:] *= 1 + 0.1 * np.minimum(np.arange(1, 21) / 10, 1)
    found = trend(values)
    assert {each.kind for each in found.events} == {EventKind.REGRESSION}
    assert FIRST + 88 * DAY <= found.events[-1].since <= FIRST + 100 * DAY


@pytest.mark.parametrize("constant", [9.5, 0.0, -3.0])
def test_a_constant_series_is_steady(constant: float):
    found = trend(np.full(60, constant))
    assert not found.events
    assert found.judged == 1


def test_a_constant_series_that_steps_has_no_spread_to_divide_by():
    found = change(trend([*[10.0] * 60, *[11.0] * 4]))
    assert found.effect == pytest.approx(0.1)
    assert found.since == FIRST + 60 * DAY


def test_a_step_from_zero_has_no_relative_effect():
    found = change(trend([*[0.0] * 60, *[1.0] * 6], metric="unmet", unit="1"))
    assert found.effect is None
    assert (found.before, found.after) == (0.0, 1.0)
    assert found.kind is EventKind.REGRESSION


def test_a_step_smaller_than_asked_for_is_not_raised():
    values = stepped(at=80, size=0.005, spread=0.0005)
    assert not trend(values).events
    smaller = Settings(smallest_change=0.001)
    assert analyse([series(values)], {"hpc": smaller}).events


def test_values_that_are_none_are_left_out():
    values = stepped(at=90)
    values[[3, 40, 95]] = np.nan
    values[50] = np.inf
    found = change(trend(values))
    assert found.since == FIRST + 90 * DAY
    assert not trend(np.full(30, np.nan)).events
    assert trend(np.full(30, np.nan)).newest is None


def test_gaps_are_no_change_and_hide_none():
    nights = np.r_[0:40, 70:130]
    assert not analyse([series(noise(100), nights)], {}).events
    found = change(analyse([series(stepped(at=94), nights)], {}))
    assert found.since == FIRST + 124 * DAY


def test_short_series_are_counted_not_judged():
    found = trend(noise(8), noise(1))
    assert (found.short, found.judged, found.events) == (2, 0, ())


def test_a_young_series_that_falls_to_pieces_is_named_the_same_night():
    found = trend([10.0, 10.2, 60.0])
    assert (change(found).detector, event(found).confidence) == (
        Detector.SUDDEN, Confidence.ONE_NIGHT,
    )  # fmt: skip
    assert found.exit_code == 1


def curve(bad: set[tuple[str, int]]) -> list[Series]:
    """Three nights of a curve of eight sizes, in the last of which some variables are bad."""
    return [
        series(
            [10.0, 10.2, 60.0 if (statistic, size) in bad else 10.1], statistic=statistic, size=size
        )
        for statistic in ("avg", "p50", "p99")
        for size in (1, 2, 4, 8, 16, 32, 64, 128)
    ]


@pytest.mark.parametrize(
    ("bad", "raised"),
    [
        ({("p50", 8)}, 0),
        ({("p99", size) for size in (1, 2, 4, 8, 16)} | {("avg", 1)}, 0),
        ({("p50", 64), ("p50", 128)}, 2),
        ({(name, size) for name in ("avg", "p50", "p99") for size in (64, 128)}, 6),
    ],
)
def test_medians_of_several_sizes_bear_a_sudden_change_out(bad, raised):
    found = analyse(curve(bad), {})
    assert sum(len(each.changes) for each in found.events) == raised
    assert found.exit_code == int(raised > 0)


def test_one_size_that_is_slow_again_does_not_keep_a_sudden_change_open():
    def after(again: set[int]) -> Trend:
        sizes = (1, 2, 4, 8, 16, 32, 64, 128)
        nights = {size: [10.0, 10.2, 60.0, 60.0 if size in again else 10.1] for size in sizes}
        return analyse([series(nights[size], statistic="p50", size=size) for size in sizes], {})

    assert event(after({4})).state is EventState.RECOVERED
    assert after({4}).exit_code == 0
    assert after({64, 128}).exit_code == 1


def test_what_was_sudden_and_is_gone_has_recovered():
    found = trend([10.0, 10.2, 60.0, 10.1])
    assert event(found).state is EventState.RECOVERED
    assert found.exit_code == 0


def test_a_wild_series_must_go_beyond_what_it_has_shown():
    values = noise(100)
    values[[30, 60]] *= 3
    values[-1] *= 3
    assert not trend(values).events
    values[-1] *= 10
    assert change(trend(values)).detector is Detector.SUDDEN


def test_a_regression_that_went_away_has_recovered():
    values = noise(110)
    values[85:95] *= 1.1
    found = trend(values)
    kinds = {(each.kind, each.state) for each in found.events}
    assert kinds == {
        (EventKind.REGRESSION, EventState.RECOVERED), (EventKind.IMPROVEMENT, EventState.OPEN),
    }  # fmt: skip
    assert found.exit_code == 0


def test_an_old_regression_that_holds_is_open():
    found = trend(stepped(nights=140, at=90))
    assert event(found).state is EventState.OPEN
    assert (found.regressions, found.exit_code) == ({EventState.OPEN: 1}, 1)
    assert verdict(found, []) == (TrendVerdict.WORSE, "1 open regression")


def test_noisier_is_not_worse():
    values = noise(100)
    values[75:] = 10 * np.exp(0.1 * np.random.default_rng(5).standard_normal(25))
    found = trend(values)
    assert {each.kind for each in found.events} == {EventKind.NOISIER}
    assert found.exit_code == 0


def test_a_second_mode_is_not_called_a_step():
    values = noise(120)
    values[90::3] *= 1.15
    assert {each.kind for each in trend(values).events} == {EventKind.NOISIER}


def test_silent_series_are_counted_and_not_raised():
    old = series(stepped(nights=60, at=56), size=1)
    found = analyse([old, series(noise(100), size=2)], {})
    assert (found.silent, found.events) == (1, ())


def test_a_transport_without_series_left_is_no_steady_trend():
    def of(transport: str, nights: int) -> list[Series]:
        return [series(noise(nights, n), transport=transport, benchmark=f"b{n}") for n in range(9)]

    one = series(noise(60), size=2, benchmark="b0")
    found = analyse([*of("rc", 80), *of("tcp", 60), one], {})
    assert (found.silent, found.lost) == (10, ("hpc rdma tcp",))
    assert verdict(found, ()) == (TrendVerdict.CHANGED, "no value of hpc rdma tcp any more")
    # A size that is measured no more is counted; what is gone for good is no news.
    assert analyse([*of("rc", 80), one], {}).lost == ()
    assert analyse([*of("rc", 100), *of("tcp", 60)], {}).lost == ()
    case = "hpc:rdma+openmpi MpiPointToPoint latency rc-2n mpi_probe"
    assert analyse([*of("rc", 80), series(noise(60), size=2)], {}).lost == (case,)


def accepted(day: date, **fields: Any) -> Acceptance:
    named = {name: (value,) for name, value in fields.items()}
    return Acceptance("hpc", day, named, "Ada", day, "as it should be")


def test_a_step_that_was_accepted_is_not_raised_again():
    day = (FIRST + 94 * DAY).item().date()
    one = series(stepped(at=94))
    found = analyse([one], {}, [accepted(day, transport="rc")])
    assert {each.state for each in found.events} <= {EventState.ACCEPTED}
    assert found.exit_code == 0
    for other in (
        accepted(day, transport="tcp"),
        accepted((FIRST + 60 * DAY).item().date()),
        Acceptance("elsewhere", day, {}, "Ada", day, "another system"),
    ):
        assert analyse([one], {}, [other]).exit_code == 1


def test_what_gets_worse_after_it_was_accepted_is_raised():
    values = stepped(nights=130, at=94)
    values[-6:] *= 1.1
    found = analyse([series(values)], {}, [accepted((FIRST + 94 * DAY).item().date())])
    assert {EventState.ACCEPTED, EventState.NEW} == {each.state for each in found.events}
    assert found.exit_code == 1


def test_many_quiet_series_ask_for_more_of_a_single_alarm():
    weak = noise(100, seed=8)
    weak[97:] = np.median(weak[:97]) * np.array([1.058, 1.051, 1.054])
    assert analyse([series(weak)], {}).exit_code == 1
    quiet = [series(noise(100, seed=100 + n), benchmark=f"b{n}") for n in range(1500)]
    found = analyse([series(weak), *quiet], {})
    assert all(each.changes[0].key.benchmark != "latency" for each in found.events)


def test_systems_are_judged_apart():
    found = analyse([series(stepped(at=94), system="a"), series(stepped(at=94), system="b")], {})
    assert [each.system for each in sorted(found.events, key=lambda each: each.system)] == [
        "a",
        "b",
    ]


def test_an_empty_history_is_an_empty_trend():
    assert analyse([], {}) == Trend((), 0, 0, 0, 0, None)


def test_each_series_says_how_small_a_change_it_can_see():
    quiet, loud = (noise(105, spread=spread) for spread in (0.02, 0.08))
    found = trend(quiet, loud, np.ones(105), quiet[:10]).visible
    changes = [found.get(each.key) for each in (series(quiet, size=2**n) for n in range(4))]
    assert changes[0] is not None
    assert changes[1] is not None
    assert 0.03 < changes[0] < 0.08
    assert changes[1] == pytest.approx(4 * changes[0], rel=0.2)
    assert changes[2] == pytest.approx(0.01, rel=0.1)
    assert changes[3] is None


def test_a_walk_of_a_few_nights_can_show_nothing():
    walk = 10 * np.exp(np.cumsum(np.random.default_rng(3).normal(0.01, 0.002, 18)))
    assert trend(walk).visible == {}


def test_a_change_is_new_for_as_many_values_where_a_case_rests() -> None:
    values = stepped(nights=60, at=54, size=0.3)
    weekly = series(values, nights=7 * np.arange(60))
    found = analyse([weekly], {"hpc": Settings(silent_days=30)})
    assert [event.state for event in found.events] == [EventState.NEW]
    old = stepped(nights=60, at=50, size=0.3)
    found = analyse([series(old, nights=7 * np.arange(60))], {"hpc": Settings(silent_days=30)})
    assert [event.state for event in found.events] == [EventState.OPEN]
