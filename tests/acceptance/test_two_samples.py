import numpy as np
import pytest
from scipy import stats

from fabricheck.acceptance import two_samples
from fabricheck.trend.robust import Array


def sides(runs: int, seed: int = 1, shift: float = 0.0) -> tuple[Array, Array]:
    generator = np.random.default_rng(seed)
    return generator.normal(0, 1, runs), generator.normal(shift, 1, runs)


@pytest.mark.parametrize("runs", [1, 4, 6, 12, 25])
def test_p_values_are_scipys(runs):
    before, after = sides(runs, seed=runs, shift=0.2)
    found = two_samples.differences(before, after)
    for shift in (0.0, 0.3):
        theirs = stats.mannwhitneyu(after - shift, before, alternative="greater", method="exact")
        assert two_samples.p_greater(found, shift) == pytest.approx(theirs.pvalue, rel=1e-9)


def test_many_runs_have_the_normal_approximation():
    before, after = sides(40, shift=0.1)
    theirs = stats.mannwhitneyu(after, before, alternative="greater", method="asymptotic").pvalue
    found = two_samples.differences(before, after)
    assert two_samples.p_greater(found, 0.0) == pytest.approx(theirs)


def test_six_runs_on_each_side_can_say_one_in_924():
    found = two_samples.differences(np.zeros(6), np.ones(6))
    assert two_samples.p_greater(found, 0.5) == pytest.approx(1 / 924)


def test_so_many_pairs_are_needed_for_an_error_rate():
    assert two_samples.least_pairs(0.02) == 4


@pytest.mark.parametrize("many", [5, 100])
@pytest.mark.parametrize("heavy", [False, True])
def test_the_interval_holds_the_truth_as_often_as_it_says(heavy, many):
    generator = np.random.default_rng(3)
    hits = 0
    for _ in range(1000 // many):
        noise = (
            generator.standard_t(3, (2, many, 8)) if heavy else generator.normal(size=(2, many, 8))
        )
        for found in two_samples.shifts(list(zip(*(0.02 * noise), strict=True))):
            low, high = found.interval(0.05)
            hits += low <= 0 <= high
            assert found.p_less(high) == pytest.approx(0.05)
    assert 0.87 < hits / 1000 < 0.94


def test_like_series_share_their_scatter_and_unlike_ones_do_not():
    generator = np.random.default_rng(5)

    def freedoms(scatter: Array) -> set[float]:
        runs = scatter[:, None, None] * generator.normal(size=(len(scatter), 2, 12))
        return {each.freedom for each in two_samples.shifts(list(runs))}

    own = 22 / 2
    assert freedoms(np.full(10, 0.02)) == {own}
    assert freedoms(np.full(100, 0.02)) == {own + 22}
    assert all(own < each < 1.3 * own for each in freedoms(np.geomspace(0.001, 1.0, 100)))


def test_series_may_have_different_numbers_of_pairs():
    generator = np.random.default_rng(6)
    several = [tuple(generator.normal(0, 0.02, (2, 4 + n % 3))) for n in range(30)]
    (alone,) = two_samples.shifts(several[:1])
    assert two_samples.shifts(several[:7])[0].estimate == pytest.approx(alone.estimate)
    assert len({each.freedom for each in two_samples.shifts(several)}) == 3


def test_equal_values_make_the_test_cautious():
    found = two_samples.differences(np.zeros(10), np.full(10, 0.05))
    assert two_samples.p_greater(found, 0.05) == 1
    (shift,) = two_samples.shifts([(np.zeros(10), np.full(10, 0.05))])
    assert shift.p_less(0.05) == pytest.approx(0.5)


def test_a_drift_is_taken_from_both_sides_alike():
    before, after = sides(12, shift=0.5)
    drift = np.arange(12) * 3.0
    steady = two_samples.without_drift(before + drift, after + drift)
    assert np.mean(steady[1] - steady[0]) == pytest.approx(np.mean(after - before))
    assert two_samples.deviation(*steady) < 1.2 * two_samples.deviation(before, after)
    assert two_samples.without_drift(before[:5], after[:5])[0] is not None


def test_the_t_test_is_scipys_and_grants_a_spread():
    before, after = sides(4, shift=2.0)
    theirs = stats.ttest_ind(after - 0.3, before, alternative="greater").pvalue
    assert two_samples.t_greater(before, after, 0.3, 0.0) == pytest.approx(theirs)
    assert two_samples.t_greater(before, after, 0.3, 9.0) > 0.3
