import numpy as np
import pytest
from tests.report.test_page import unpack

from fabricheck.history.series import Series, SeriesKey
from fabricheck.report.explorer import MISSING, STEP, lay_out
from fabricheck.report.packing import packed, packed_steps

FIRST = np.datetime64("2026-01-01T03:00:00", "s")


def series(values, *, size=8, names=None):
    key = SeriesKey(
        *("hpc", "main", "openmpi", "Check", "latency", "rc", 2, "", "", 2, 1, "", "mpi_probe", ""),
        *("latency", "p50", size, "us"),
    )
    names = range(len(values)) if names is None else names
    times = FIRST + np.array(names) * np.timedelta64(1, "D")
    sessions = np.array([f"s{name}" for name in names], dtype=str)
    return Series(key, times, np.array(values, dtype=float), sessions)


def restored(nights, row):
    """The values of a row as the page computes them."""
    steps = nights.steps[row].astype(float)
    steps[nights.steps[row] == MISSING] = np.nan
    one = nights.rows[row]
    return one.middle * np.exp(steps * STEP) if one.step is None else one.middle + steps * one.step


@pytest.mark.parametrize(
    ("values", "near"),
    [
        (np.random.default_rng(1).uniform(1e-3, 1e6, 200).tolist(), {"rel": 1.001e-3}),
        ([-5.0, 0.0, 5.0, 1.0], {"abs": 0.01}),
        ([0.0, 0.0], {"abs": 0, "rel": 0}),
        ([7.0, 7.0], {"abs": 0, "rel": 0}),
    ],
)
def test_values_are_kept_to_a_tenth_of_a_percent_and_equal_ones_exactly(values, near):
    assert restored(lay_out([series(values)]), 0) == pytest.approx(values, **near)


def test_a_night_without_value_is_missing_not_zero():
    nights = lay_out([series([1, 2], names=[0, 2]), series([1, np.nan, 3], size=16)])
    assert np.isnan(restored(nights, 0)).tolist() == [False, True, False]
    assert np.isnan(restored(nights, 1)).tolist() == [False, True, False]


def test_the_last_nights_are_kept_and_the_others_counted():
    nights = lay_out([series(range(1, 101))], most_values=30)
    assert nights.sessions[0] == "s70"
    assert len(nights.sessions) == 30
    assert nights.before == 70
    assert nights.place("s70") == 0
    assert nights.place("s69") == -1


def test_a_series_that_ended_long_ago_has_no_row():
    nights = lay_out([series([1, 2]), series([1, 2], size=16, names=[50, 51])], most_values=4)
    assert [row.series.key.size for row in nights.rows] == [16]


def test_nothing_makes_an_empty_table():
    nights = lay_out([])
    assert (nights.sessions, nights.rows, nights.steps.shape) == ((), (), (0, 0))


def test_what_is_packed_can_be_unpacked():
    nights = lay_out([series([1, 2, 300]), series([5, 4, 3], size=16)])
    low, high = np.frombuffer(unpack(packed_steps(nights.steps)), np.uint8).reshape(2, -1)
    zigzag = low | high.astype(np.int32) << 8
    assert (zigzag >> 1 ^ -(zigzag & 1)).tolist() == nights.steps.ravel().tolist()


def test_what_is_packed_has_no_character_that_html_reads():
    content = np.random.default_rng(1).bytes(100_003)
    text = packed(content)
    assert not set("<>&\"'") & set(text)
    assert unpack(text) == content
