import numpy as np
import pytest
from tests.trend.made import DAY, FIRST, noise, series, stepped

from fabricheck.history.series import Series
from fabricheck.trend.detect import analyse
from fabricheck.trend.events import Change, Detector, EventKind, EventState, doubts
from simulation.nights import FIRST_NIGHT, Injected, Shape, World, latencies


def test_changes_of_one_night_are_one_event_with_what_they_share():
    members = []
    for number, transport in enumerate(("rc", "tcp")):
        for size in (8, 1024, 65536):
            for environ in ("openmpi", "mpich"):
                seed = 10 * size + number
                values = noise(100, seed) if transport == "tcp" else stepped(at=92, seed=seed)
                members.append(series(values, transport=transport, size=size, environ=environ))
    (event,) = analyse(members, {}).events
    assert event.kind is EventKind.REGRESSION
    assert dict(event.shared) == {"transport": ("rc",)}
    assert (len(event.changes), event.alike) == (6, 6)
    assert event.since == FIRST + 92 * DAY


def test_some_of_the_series_alike_are_counted_among_all():
    members = [
        series(stepped(at=92, seed=size) if size > 100 else noise(100, size), size=size)
        for size in (8, 16, 1024, 2048)
    ]
    (event,) = analyse(members, {}).events
    assert dict(event.shared) == {"size": (1024, 2048)}
    assert (len(event.changes), event.alike) == (2, 2)


def test_changes_of_other_nights_and_kinds_are_other_events():
    members = [
        series(stepped(at=95, seed=1), size=1),
        series(stepped(at=80, seed=2), size=2),
        series(stepped(at=95, size=-0.1, seed=3), size=4),
    ]
    events = analyse(members, {}).events
    assert [(event.kind, event.since) for event in events] == [
        (EventKind.REGRESSION, FIRST + 95 * DAY),
        (EventKind.IMPROVEMENT, FIRST + 95 * DAY),
        (EventKind.REGRESSION, FIRST + 80 * DAY),
    ]


def test_the_largest_change_comes_first():
    members = [series(stepped(at=90, size=size, seed=7), size=int(100 * size))
               for size in (0.1, 0.3, 0.2)]  # fmt: skip
    (event,) = analyse(members, {}).events
    effects = [change.effect or 0.0 for change in event.changes]
    assert effects == sorted(effects, reverse=True)
    assert np.ptp(effects) > 0.1


def fleet(size: float, nights: int, count: int = 1200, at: int = 100) -> list[Series]:
    """Series that all step by some share."""
    world = World(recorded=False)
    step = Injected(Shape.STEP, size, at)
    return latencies(world, step, [np.zeros(1)], nights=at + nights, count=count, seed=1)


@pytest.mark.parametrize(("nights", "count"), [(3, 300), (5, 300), (10, 1200), (30, 300)])
def test_one_cause_is_one_event_dated_at_its_night(nights: int, count: int):
    events = analyse(fleet(0.05, nights, count), {}).events
    (event,) = (event for event in events if event.kind is EventKind.REGRESSION)
    assert event.since == FIRST_NIGHT + 100 * DAY
    assert len(event.changes) > count * 2 // 3


def test_another_change_in_the_shadow_of_a_thousand_is_an_event_of_its_own():
    many = fleet(0.05, 10)
    values = many[0].values.copy()
    values[100:] /= 1.05
    values[88:] *= 1.1
    many[0] = Series(many[0].key, many[0].times, values, many[0].sessions)
    small = [event for event in analyse(many, {}).events if len(event.changes) == 1]
    assert [event.since for event in small] == [FIRST_NIGHT + 88 * DAY]


def test_a_date_that_is_wrong_by_a_month_is_no_second_cause():
    values = stepped(nights=110, at=100, size=0.05)
    early = Change(
        series(values), EventKind.REGRESSION, EventState.OPEN, Detector.CHANGE_POINT, index=70,
        start=0, end=110, before=10, after=10.2, effect=0.02, low=0.01, high=0.03, p=1e-7, q=1e-4,
    )  # fmt: skip
    first = FIRST.astype("datetime64[D]")
    own, true, end = doubts([early], first + np.array([70, 100, 109]))[0]
    assert true < own == 0 < end


def test_two_causes_four_nights_apart_are_two_events():
    first, second = fleet(0.05, 14, count=60), fleet(0.05, 10, count=120, at=104)[60:]
    found = analyse([*first, *second], {}).events
    assert [(event.since - FIRST_NIGHT) // DAY for event in found] == [104, 100]


def test_a_weak_change_that_is_dated_late_does_not_make_an_old_event_new():
    event = max(analyse(fleet(0.03, 20), {}).events, key=lambda event: len(event.changes))
    assert EventState.NEW in {change.state for change in event.changes}
    assert event.state is EventState.OPEN
