"""The parts of the method against values known from elsewhere."""

import math

import numpy as np
import pytest
import ruptures
from scipy import stats
from tests.trend.made import noise, stepped

from fabricheck.trend import window
from fabricheck.trend.robust import (
    Rows,
    adjusted,
    align,
    inflation,
    medians,
    persistence,
    rank_test,
    spreads,
)
from fabricheck.trend.segments import (
    SHORTEST,
    LevelStep,
    change_points,
    partition,
    shift_between,
    standardised,
)
from fabricheck.trend.settings import Settings
from simulation.noise import read_noise


def _steps(*rows: np.ndarray) -> list[list[LevelStep]]:
    return change_points(rows, Settings(), [0.01] * len(rows))


def test_benjamini_and_hochbergs_own_example():
    # Benjamini and Hochberg 1995, table of 15 p-values: at 0.05 four are rejected.
    p = np.array([0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240,
                  0.4262, 0.5719, 0.6528, 0.7590, 1.0])  # fmt: skip
    q = stats.false_discovery_control(p)
    assert (q <= 0.05).sum() == 4
    assert q[3] == pytest.approx(0.0095 * 15 / 4)
    shuffled = np.random.default_rng(1).permutation(len(p))
    assert stats.false_discovery_control(p[shuffled]) == pytest.approx(q[shuffled])


def test_three_detectors_share_the_false_alarms():
    p = np.array([0.001, 0.02, 0.5, 1.0])
    assert adjusted(p) == pytest.approx([0.012, 0.12, 1.0, 1.0])


def test_adjusted_by_hand():
    # 0.01·4/1, 0.02·4/2, 0.03·4/3, 0.5·4/4; each no larger than those after it.
    assert stats.false_discovery_control(np.array([0.02, 0.5, 0.01, 0.03])) == pytest.approx(
        [0.04, 0.5, 0.04, 0.04]
    )


def test_medians_leave_out_what_is_not_there():
    matrix = align([np.array([1.0, 5.0, 3.0]), np.array([4.0, 2.0]), np.array([])])
    assert np.isnan(matrix[1, 0])
    assert medians(matrix) == pytest.approx([3.0, 3.0, np.nan], nan_ok=True)


def test_the_spread_is_the_standard_deviation_and_resists_outliers():
    values = np.random.default_rng(2).standard_normal((1, 5000))
    assert spreads(values)[0] == pytest.approx(1.0, abs=0.03)
    values[0, :250] = 50.0
    assert spreads(values)[0] == pytest.approx(1.0, abs=0.08)
    assert spreads(np.zeros((1, 10)))[0] == 0.0


def test_nights_that_follow_each_other_are_no_change_points():
    follow = np.random.default_rng(8).normal(0, 0.02, (100, 120))
    for night in range(1, 120):
        follow[:, night] += 0.5 * follow[:, night - 1]
    # Twenty of them, where the memory is not weighed.
    assert sum(map(bool, _steps(*follow))) <= 4
    stepped_up = follow[:20] + np.where(np.arange(120) >= 60, 0.1, 0.0)
    assert sum(map(bool, _steps(*stepped_up))) >= 18


def test_a_rank_test_of_values_that_remember_is_wider():
    first, second = np.arange(20.0), np.arange(20.0) + 9
    alone, remembering = rank_test(first, second), rank_test(first, second, 3.0)
    assert alone < 0.01 < remembering < 0.1
    assert rank_test(first[:6], second[:6] + 9, 3.0) > rank_test(first[:6], second[:6] + 9)


def test_persistence_of_nights_that_follow_each_other():
    generator = np.random.default_rng(3)
    white = generator.standard_normal((200, 100))
    follow = white.copy()
    for night in range(1, 100):
        follow[:, night] += 0.5 * follow[:, night - 1]
    assert np.mean(persistence(white, np.ones(200))) < 0.05
    assert np.mean(persistence(follow, np.full(200, 1.15))) == pytest.approx(0.5, abs=0.06)
    assert inflation(np.array([0.0, 0.5]), 3) == pytest.approx([1.0, 1 + 2 * (2 / 3 / 2 + 1 / 12)])


@pytest.mark.parametrize(("first", "second"), [(5, 40), (9, 100), (3, 7), (30, 60), (100, 100)])
def test_the_rank_test_agrees_with_scipy(first: int, second: int):
    generator = np.random.default_rng(first)
    one, other = generator.standard_normal(first) + 0.7, generator.standard_normal(second)
    method = "exact" if min(first, second) < 10 else "asymptotic"
    expected = stats.mannwhitneyu(one, other, method=method).pvalue
    assert rank_test(one, other) == pytest.approx(expected, rel=1e-9)


def test_the_rank_test_of_a_step_after_two_years_of_nights():
    after, before = np.arange(9.0) + 1000, np.arange(1000.0) / 2
    assert rank_test(after, before) == pytest.approx(2 / math.comb(1009, 9), rel=1e-6)


def test_the_rank_test_agrees_with_scipy_about_ties():
    generator = np.random.default_rng(4)
    one, other = generator.integers(0, 6, 40) * 1.0, generator.integers(1, 7, 50) * 1.0
    expected = stats.mannwhitneyu(one, other, method="asymptotic").pvalue
    assert rank_test(one, other) == pytest.approx(expected, rel=1e-9)
    assert rank_test(np.ones(20), np.ones(30)) == 1.0


def test_the_interval_of_a_shift_holds_the_shift_as_often_as_it_says():
    generator = np.random.default_rng(5)
    held = 0
    for _ in range(400):
        shift = shift_between(generator.standard_normal(40), generator.standard_normal(8) + 1)
        held += shift.low <= 1 <= shift.high
    assert held / 400 == pytest.approx(0.95, abs=0.03)


def test_change_points_are_those_of_ruptures_where_all_are_significant():
    for seed in range(8):
        values = np.log(stepped(nights=150, at=50, size=0.1, seed=seed))
        values[100:] -= 0.15
        found = [step.index for step in _steps(values)[0]]
        (standard,), _ = standardised(values[None, :])
        oracle = ruptures.Pelt(model="l2", min_size=5, jump=1).fit(standard)
        assert found == [int(point) for point in oracle.predict(pen=3 * np.log(150))[:-1]]
        assert np.abs(np.array(found) - [50, 100]).max() <= 2


def test_the_segments_are_those_of_ruptures():
    generator = np.random.default_rng(7)
    for nights in (10, 11, 14, 47, 200, *generator.integers(10, 120, 40)):
        values = generator.standard_normal(nights)
        for start in generator.integers(0, nights, 3):
            values[start:] += generator.normal(0, 2)
        values[nights // 2 : nights // 2 + 3] += 9
        # With small penalties, ruptures prunes segments that are a little better.
        for penalty in (3 * np.log(nights), 10 * np.log(nights), 1e9):
            oracle = ruptures.KernelCPD(kernel="linear", min_size=SHORTEST).fit(values)
            assert partition(values, penalty) == [0, *oracle.predict(pen=penalty)]


def test_plain_ruptures_with_a_rank_cost_dates_the_same_step():
    values = np.log(stepped(nights=120, at=70, size=0.1))
    values[[10, 11, 40, 100]] += 0.3
    ((step,),) = _steps(values)
    oracle = ruptures.Pelt(model="rank", min_size=5, jump=1).fit(values).predict(pen=20)
    assert abs(step.index - oracle[0]) <= 1


@pytest.mark.parametrize("nights", [0, 1, 5, 9])
def test_too_few_nights_have_no_change_points(nights: int):
    assert _steps(np.arange(nights, dtype=float)) == [[]]


def test_steps_that_alternate_with_every_night_have_no_change_point():
    values = np.log(noise(200))
    values[::2] += 0.2
    assert _steps(values) == [[]]


def test_series_of_other_lengths_are_judged_as_if_each_were_alone():
    rows = [np.log(stepped(nights, 60, seed=nights)) for nights in (80, 95, 80, 9)]
    assert _steps(*rows) == [_steps(row)[0] for row in rows]
    assert [len(steps) for steps in _steps(*rows)] == [1, 1, 1, 0]


def test_the_stairs_of_a_drift_are_one_change():
    values = np.log(noise(200))
    drift = values + np.linspace(0, 0.4, 200)
    (steps,) = _steps(drift)
    assert len(steps) == 1
    # Three levels far apart are no line, nor are a rise and a fall.
    stairs = values + 0.1 * (np.arange(200) >= 60) + 0.2 * (np.arange(200) >= 120)
    assert [step.index for step in _steps(stairs)[0]] == pytest.approx([60, 120], abs=2)
    wave = values + 0.1 * ((np.arange(200) >= 60) & (np.arange(200) < 120))
    assert [step.index for step in _steps(wave)[0]] == pytest.approx([60, 120], abs=2)


def _false(values: np.ndarray) -> float:
    rows = Rows(values, np.ones(len(values), bool), np.ones(len(values), np.int8))
    return float(np.mean(window.tonight(rows, Settings()).p <= Settings().alarm_p))


def test_alarms_of_normal_noise_are_as_rare_as_said():
    values = 0.02 * np.random.default_rng(6).standard_normal((6000, 110))
    assert _false(values) < 0.002


def test_two_modes_hide_no_step_and_heavy_tails_make_no_alarms():
    generator = np.random.default_rng(9)
    modes = 0.01 * generator.standard_normal((400, 67)) + 0.04 * (generator.random((400, 67)) < 0.5)
    tails = 0.0175 * generator.standard_t(3, (4000, 67))
    assert _false(modes) < 0.005
    assert _false(tails) < 0.004
    modes[:, -7:] += 0.05
    assert _false(modes) > 0.9


def test_outliers_at_any_distance_from_the_level_cost_the_same():
    whole = np.ones((1, 3))
    near, far = (window.gains(np.array([[size, size, 0.0]]), whole)[0] for size in (6.0, 60.0))
    assert near == pytest.approx(far)
    assert window.gains(np.array([[2.0, 2.0, 2.0]]), whole)[0] == pytest.approx(3 * 7 * np.log(2))


def test_the_alarm_weighs_the_two_directions_apart():
    values = 0.02 * np.random.default_rng(7).standard_normal((1, 110))
    values[:, -4:] += 0.05
    one = np.ones(1, np.int8)
    found = [
        window.tonight(Rows(values, one > 0, sign * one), Settings()).p[0] for sign in (1, 0, -1)
    ]
    assert found[0] < found[1] < found[2]
    assert found[2] == pytest.approx(9 * found[0], rel=0.01)


def _tonight(values: np.ndarray, ages: np.ndarray | None = None) -> np.ndarray:
    one = np.ones(len(values), np.int8)
    rows = Rows(values, one > 0, one) if ages is None else Rows(values, one > 0, one, ages)
    return window.tonight(rows, Settings()).p


def test_three_values_that_are_all_of_five_nights_are_asked_as_five_nights():
    values = 0.02 * np.random.default_rng(7).standard_normal((1, 110))
    values[:, -3:] += 0.05
    daily, gone = np.arange(7.0)[::-1][None, :], np.array([[8.0, 7, 6, 5, 4, 2, 0]])
    alone, nightly, seldom = (_tonight(values, ages)[0] for ages in (None, daily, gone))
    assert alone == nightly
    # And a series that has seven values of nine nights is asked in fewer nights.
    factors = window.SINGLE.factors
    assert nightly / seldom == pytest.approx(factors[3] / (factors[5] * 7 / 9), rel=0.01)
    # All of one day, or all far apart: the values are what there is, as ever.
    assert _tonight(values, np.zeros((1, 7)))[0] == nightly
    assert nightly >= _tonight(values, 7 * daily)[0] >= nightly / factors[3]


def test_a_step_among_nights_that_follow_each_other_shows_in_its_first_night():
    generator = np.random.default_rng(12)
    follow = generator.standard_normal((1500, 65))
    for night in range(1, 65):
        follow[:, night] = 0.5 * follow[:, night - 1] + np.sqrt(0.75) * follow[:, night]
    assert _false(0.02 * follow) < 0.003
    # A mean of five nights alone finds 43 %.
    follow[:, -5:] += np.log(1.05) / 0.02
    assert _false(0.02 * follow) > 0.5


def test_flat_noise_of_many_series_is_known_from_all_of_them():
    generator = np.random.default_rng(13)
    modes = 0.01 * generator.standard_normal((200, 65))
    modes += 0.04 * (generator.random((200, 65)) < 0.5)
    modes[:, -5:] += 0.035
    together = _tonight(modes)
    alone = np.array([_tonight(each[None, :])[0] for each in modes])
    assert np.mean(together <= 0.001) > np.mean(alone <= 0.001) + 0.03
    assert _tonight(np.ones((3, 65))) == pytest.approx(1.0)


def test_recorded_noise_hardly_makes_an_alarm():
    quiet = [each for each in read_noise() if np.mean(np.abs(each) > 4) < 0.1]
    assert len(quiet) > 10
    rows = align([0.02 * each for each in quiet])
    raised = [
        window.tonight(
            Rows(rows[:, :night], np.ones(len(rows), bool), np.ones(len(rows), np.int8)), Settings()
        ).p
        <= Settings().alarm_p
        for night in range(100, rows.shape[1])
    ]
    onsets = np.diff(np.array(raised).astype(int), axis=0) > 0
    # The machine was shared, and some of these are what its other users did.
    assert np.mean(onsets) < 0.01
