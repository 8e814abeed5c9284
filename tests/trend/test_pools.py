"""Series that share a cause: what moved as a whole, what in part, and what did not."""

from dataclasses import replace

import numpy as np
from tests.trend.made import noise, series

from fabricheck.history.series import Series
from fabricheck.trend.detect import Trend, analyse
from fabricheck.trend.events import Detector, EventState
from fabricheck.trend.pools import Members, pooled
from fabricheck.trend.trend_text import where_words

NIGHTS = 75


def fleet(moved: int = 0, size: float = 0.0, nights: int = 3) -> list[Series]:
    """Twenty cases of each of three transports; some of ``tcp`` step in the last nights."""
    found = []
    for place, transport in enumerate(("rc", "tcp", "ud")):
        for number in range(20):
            values = noise(NIGHTS, seed=100 * place + number + 1)
            if transport == "tcp" and number < moved:
                values[-nights:] *= 1 + size
            found.append(series(values, transport=transport, benchmark=f"b{number}"))
    return found


def blamed(found: Trend) -> set[str]:
    return {
        change.key.transport
        for event in found.events
        if len(event.changes) > 10
        for change in event.changes
        if change.detector is Detector.POOL
    }


def members(values: np.ndarray) -> Members:
    keys = [series(np.ones(2), benchmark=f"b{n}").key for n in range(len(values))]
    times = np.datetime64("2026-01-01", "s") + np.arange(values.shape[1]) * np.timedelta64(1, "D")
    sessions = np.array([f"night-{n}" for n in range(values.shape[1])])
    return Members(keys, values, np.ones(len(values)), times, sessions)


def test_what_is_too_small_for_each_is_plain_in_all():
    (event,) = analyse(fleet(20, 0.025), {}).events
    assert event.state is EventState.NEW
    assert (len(event.changes), event.alike) == (20, 20)
    assert where_words(event) == "tcp"
    assert analyse(fleet(), {}).events == ()


def test_a_pool_of_which_few_moved_is_not_blamed_as_a_whole():
    found = analyse(fleet(5, 0.05, nights=5), {})
    assert blamed(found) == set()
    assert found.events


def test_of_a_pool_that_moved_the_one_inside_it_is_named_whose_move_explains_most():
    values = np.random.default_rng(1).standard_normal((60, 20))
    values[20:40, -5:] += 1.0
    made, (whole, *parts) = members(values), [np.arange(60), *np.arange(60).reshape(3, 20)]
    sets = [whole, *parts]
    assert made.narrowest(sets, whole, made.times[-5]).tolist() == [*range(20, 40)]
    values[:, -5:] += 3.0
    assert len(members(values).narrowest(sets, whole, made.times[-5])) == 60


def test_the_whole_is_blamed_where_it_is_a_thousand_times_as_likely():
    generator = np.random.default_rng(1)
    whole = generator.standard_normal((20, 20))
    some = whole.copy()
    whole[:, -5:] += 1.0
    some[:4, -5:] += 3.0
    for values, count, expected in ((whole, 20, True), (some, 4, False)):
        found, all_moved = members(values).moved(np.arange(20), members(values).times[-5])
        assert (len(found), all_moved) == (count, expected)


def test_a_series_that_plainly_stayed_is_not_named_with_the_whole():
    values = np.random.default_rng(1).standard_normal((20, 20))
    values[2:, -5:] += 5.0
    found, all_moved = members(values).moved(np.arange(20), members(values).times[-5])
    assert (found.tolist(), all_moved) == ([*range(2, 20)], True)


def test_of_a_part_only_those_are_named_that_moved_further_than_chance():
    deviates = np.array([3.5, 3.5, 3.5, 3.5, 2.2, *([0.0] * 15)])
    values = np.zeros((20, 20))
    values[:, -5:] = deviates[:, None] / np.sqrt(5)
    found, all_moved = members(values).moved(np.arange(20), members(values).times[-5])
    assert (found.tolist(), all_moved) == ([0, 1, 2, 3], False)


def test_a_pool_weighs_cases_and_leaves_out_nights_that_most_lack():
    values = np.zeros((8, 6))
    values[:, 3] = 0.5
    values[:5, 5] = np.nan
    (pool,) = pooled(members(values))
    assert list(np.round(np.log(pool.series.values), 6)) == [0, 0, 0, 0.5, 0]
    assert list(pool.members) == list(range(8))
    assert not list(pooled(members(values[:7])))


def test_nights_that_are_minutes_apart_are_nights():
    nights = fleet(20, 0.025)
    short = [
        replace(each, times=each.times[0] + (each.times - each.times[0]) // 600) for each in nights
    ]
    sessions = []
    for each in (nights, short):
        (event,) = analyse(each, {}).events
        sessions.append([change.session for change in event.changes])
    assert len(sessions[1]) == 20
    assert sessions[0] == sessions[1]
