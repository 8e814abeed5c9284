import numpy as np
from tests.trend.made import DAY, FIRST, noise, series, stepped

from fabricheck.trend.detect import analyse
from fabricheck.trend.events import Kind


def test_changes_of_one_night_are_one_event_with_what_they_share():
    members = []
    for number, transport in enumerate(("rc", "tcp")):
        for size in (8, 1024, 65536):
            for environ in ("openmpi", "mpich"):
                seed = 10 * size + number
                values = noise(100, seed) if transport == "tcp" else stepped(at=92, seed=seed)
                members.append(series(values, transport=transport, size=size, environ=environ))
    (event,) = analyse(members, {}).events
    assert event.kind is Kind.REGRESSION
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
        (Kind.REGRESSION, FIRST + 95 * DAY),
        (Kind.IMPROVEMENT, FIRST + 95 * DAY),
        (Kind.REGRESSION, FIRST + 80 * DAY),
    ]


def test_the_largest_change_comes_first():
    members = [series(stepped(at=90, size=size, seed=7), size=int(100 * size))
               for size in (0.1, 0.3, 0.2)]  # fmt: skip
    (event,) = analyse(members, {}).events
    effects = [change.effect or 0.0 for change in event.changes]
    assert effects == sorted(effects, reverse=True)
    assert np.ptp(effects) > 0.1
