import math

import numpy as np
import pytest
from scipy import stats

from fabricheck.trend.window import tail


@pytest.mark.parametrize("deviate", [2.0, 3.0, 4.0])
def test_sums_of_normal_values_have_normal_tails(deviate: float):
    values = np.clip(stats.norm.ppf((np.arange(2000) + 0.5) / 2000), -3, 3)[None, :]
    scale = math.sqrt(5 * float(np.var(values)) + 0.5)
    found = tail(values, np.array([deviate * scale]), 5, np.array([0.5]), 3.0)
    assert found[0] == pytest.approx(stats.norm.sf(deviate), rel=0.15)


def test_sums_of_two_modes_end_where_all_values_are_in_the_upper_one():
    modes = np.tile([-1.0, 1.0], 30)[None, :]

    def found(total: float) -> float:
        return float(tail(modes, np.array([total]), 5, np.array([0.1]), 3.0)[0])

    # All five in the upper mode: 1 in 32, and half of them at 5 or more.
    assert 1 / 128 < found(5.0) < 1 / 32
    assert found(7.0) < 0.2 * stats.norm.sf(7 / math.sqrt(5.1))


def test_values_that_were_never_seen_are_improbable_not_impossible():
    history = np.linspace(-1, 1, 60)[None, :]
    found = tail(history, np.array([9.0]), 3, np.array([0.1]), 3.0)
    assert 1e-12 < found[0] < 1e-4


def test_nobody_asks_for_sums_in_the_middle_and_missing_nights_do_not_count():
    values = np.array([[-1.0, 1.0, np.nan, np.nan]])
    assert tail(values, np.array([0.0]), 3, np.array([0.1]), 3.0)[0] == 0.5
    whole = tail(np.array([[-1.0, 1.0]]), np.array([3.0]), 3, np.array([0.1]), 3.0)
    assert tail(values, np.array([3.0]), 3, np.array([0.1]), 3.0) == pytest.approx(whole)
