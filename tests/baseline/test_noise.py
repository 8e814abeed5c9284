"""Tolerances: as wide as the noise asks for, and no wider for one bad night."""

import numpy as np
import pytest

from fabricheck.baseline.noise import WIDEST, Rates, estimates, is_too_noisy
from fabricheck.measures.metrics import Direction

SIZES = 20


def windows(nights: int, seed: int = 1, spread: float = 0.02) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [10 * np.exp(spread * row) for row in generator.standard_normal((SIZES, nights))]


def made(values: list[np.ndarray], direction: Direction = Direction.LOWER, **rates: float):
    return estimates(values, direction, Rates(**rates), len(values))


def test_the_value_is_the_median():
    values = windows(21)
    assert [each.value for each in made(values)] == pytest.approx([np.median(v) for v in values])


@pytest.mark.lab
@pytest.mark.parametrize("nights", [20, 60])
def test_quiet_cases_are_raised_as_rarely_as_asked_for(nights: int):
    """Of cases in normal noise, nights that are raised: those allowed, within counting errors."""
    critical = warned = 0
    cases, later = 60, 50
    for seed in range(cases):
        values = windows(nights + later, seed)
        found = made([v[:nights] for v in values], critical=0.01, warning=0.1)
        share = max(each.warning for each in found)
        above = np.array([v[nights:] / e.value - 1 for v, e in zip(values, found, strict=True)])
        upper = np.array([[each.upper] for each in found])
        critical += int((above > upper).any(0).sum())
        warned += int((above > share * upper).any(0).sum())
    assert critical <= 0.01 * cases * later * 1.3
    assert 0.03 * cases * later <= warned <= 0.1 * cases * later * 1.3


def test_more_noise_and_fewer_nights_are_wider():
    def upper(nights: int, spread: float) -> float:
        return float(np.median([each.upper for each in made(windows(nights, 1, spread))]))

    assert 0.06 < upper(60, 0.02) < upper(20, 0.02) < 0.15
    assert upper(60, 0.04) == pytest.approx(2 * upper(60, 0.02), rel=0.1)


def test_one_bad_night_of_sixty_changes_little_and_more_do():
    quiet, one, many = windows(60), windows(60), windows(60)
    for values in one:
        values[7] *= 3
    for values in many:
        values[::6] *= 3
    upper = [np.median([each.upper for each in made(found)]) for found in (quiet, one, many)]
    assert upper[1] < 1.4 * upper[0]
    assert upper[2] > 2.0


def test_better_by_half_is_not_credible():
    latency, bandwidth = made(windows(40)), made(windows(40), Direction.HIGHER)
    assert all(each.lower == pytest.approx(-0.5) for each in latency)
    assert all(each.upper == pytest.approx(1.0) for each in bandwidth)
    assert all(-0.15 < each.lower < 0 for each in bandwidth)


def test_values_without_any_noise_get_a_tolerance():
    found = made([np.full(30, 5.0)] * 3)
    assert all(0.001 < each.upper < 0.02 for each in found)


def test_wild_values_are_too_noisy():
    found = made(windows(30, spread=1.0))
    assert is_too_noisy(found)
    assert all(each.upper <= WIDEST - 1 + 1e-9 for each in found)
    assert not is_too_noisy(made(windows(30)))
