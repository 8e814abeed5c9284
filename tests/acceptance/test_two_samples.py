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
        for ours, alternative in ((two_samples.p_greater, "greater"), (two_samples.p_less, "less")):
            theirs = stats.mannwhitneyu(
                after - shift, before, alternative=alternative, method="exact"
            )
            assert ours(found, shift) == pytest.approx(theirs.pvalue, rel=1e-9)


def test_many_runs_have_the_normal_approximation():
    before, after = sides(40, shift=0.1)
    theirs = stats.mannwhitneyu(after, before, alternative="greater", method="asymptotic").pvalue
    found = two_samples.differences(before, after)
    assert two_samples.p_greater(found, 0.0) == pytest.approx(theirs)


def test_six_runs_on_each_side_can_say_one_in_924():
    found = two_samples.differences(np.zeros(6), np.ones(6))
    assert two_samples.p_greater(found, 0.5) == pytest.approx(1 / 924)


def test_the_interval_is_where_the_tests_do_not_refuse():
    found = two_samples.differences(*sides(7))
    low, high = two_samples.interval(found, 0.05)
    assert two_samples.p_greater(found, low - 1e-9) <= 0.05 < two_samples.p_greater(found, low)
    assert two_samples.p_less(found, high + 1e-9) <= 0.05 < two_samples.p_less(found, high)


@pytest.mark.parametrize(("runs", "is_there"), [(3, False), (4, True)])
def test_too_few_runs_have_no_interval(runs, is_there):
    found = two_samples.differences(*sides(runs))
    assert (two_samples.interval(found, 0.02) is not None) == is_there
    assert two_samples.least_pairs(0.02) == 4


def test_the_interval_holds_the_truth_as_often_as_it_says():
    generator = np.random.default_rng(3)
    hits = 0
    for _ in range(1000):
        found = two_samples.differences(*generator.standard_cauchy((2, 8)))
        low, high = two_samples.interval(found, 0.05)
        hits += low <= 0 <= high
    assert 0.88 < hits / 1000 < 0.94


def test_equal_values_make_the_test_cautious():
    found = two_samples.differences(np.zeros(10), np.full(10, 0.05))
    assert two_samples.p_less(found, 0.05) == 1
    assert two_samples.p_greater(found, 0.05) == 1


def test_no_runs_say_nothing():
    assert two_samples.p_less(two_samples.differences(np.empty(0), np.empty(0)), 0.0) == 1


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
