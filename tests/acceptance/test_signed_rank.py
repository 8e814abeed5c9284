import numpy as np
import pytest
from scipy import stats

from fabricheck.acceptance import signed_rank


@pytest.mark.parametrize("pairs", [1, 4, 5, 6, 13, 40, 100])
def test_p_values_are_scipys(pairs):
    generator = np.random.default_rng(pairs)
    for shift in (0.0, 0.3):
        differences = generator.normal(0.2, 1, pairs)
        averages = signed_rank.walsh(differences)
        for ours, alternative in ((signed_rank.p_greater, "greater"), (signed_rank.p_less, "less")):
            theirs = stats.wilcoxon(differences - shift, alternative=alternative, method="exact")
            assert ours(averages, shift) == pytest.approx(theirs.pvalue, rel=1e-9)


def test_many_pairs_have_the_normal_approximation():
    differences = np.random.default_rng(1).normal(0.1, 1, 150)
    theirs = stats.wilcoxon(
        differences, alternative="greater", method="approx", correction=True
    ).pvalue
    assert signed_rank.p_greater(signed_rank.walsh(differences), 0.0) == pytest.approx(theirs)


def test_the_interval_is_where_the_tests_do_not_refuse():
    averages = signed_rank.walsh(np.random.default_rng(2).normal(0, 1, 9))
    low, high = signed_rank.interval(averages, 0.05)
    assert (
        signed_rank.p_greater(averages, low - 1e-9) <= 0.05 < signed_rank.p_greater(averages, low)
    )
    assert signed_rank.p_less(averages, high + 1e-9) <= 0.05 < signed_rank.p_less(averages, high)


@pytest.mark.parametrize(("pairs", "is_there"), [(4, False), (5, True)])
def test_too_few_pairs_have_no_interval(pairs, is_there):
    averages = signed_rank.walsh(np.arange(float(pairs)))
    assert (signed_rank.interval(averages, 0.05) is not None) == is_there
    assert signed_rank.least_pairs(0.05) == 5


def test_the_interval_holds_the_truth_as_often_as_it_says():
    generator = np.random.default_rng(3)
    hits = 0
    for _ in range(2000):
        low, high = signed_rank.interval(signed_rank.walsh(generator.standard_cauchy(8)), 0.05)
        hits += low <= 0 <= high
    assert 0.89 < hits / 2000 < 0.94


def test_equal_values_make_the_test_cautious():
    averages = signed_rank.walsh(np.full(10, 0.05))
    assert signed_rank.p_less(averages, 0.05) == 1
    assert signed_rank.p_greater(averages, 0.05) == 1


def test_no_pairs_say_nothing():
    averages = signed_rank.walsh(np.empty(0))
    assert signed_rank.p_less(averages, 0.0) == 1
