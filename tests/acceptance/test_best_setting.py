"""Which setting of a sweep is better than the default."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.history.recorded import case
from tests.refusals import refused

from fabricheck.acceptance.best_setting import best_setting
from fabricheck.acceptance.best_setting_text import lines
from fabricheck.record.entries import CaseEntry, Sample
from fabricheck.runner.sweep import order_of

SIZES = (8, 256, 4096, 32768, 262144, 1048576)
SETTINGS = [{}, *({"UCX_RNDV_THRESH": value} for value in ("8k", "64k", "inf"))]
ROUNDS = 12
SPREAD = 0.03
SWEEPS = 400
Found = dict[str, Any]


def swept(
    seed: int = 0,
    gains: Mapping[int, float] | None = None,
    *,
    tails: bool = False,
    metric: str = "latency",
    sizes: Sequence[int] = SIZES,
) -> tuple[list[Mapping[str, str]], list[int], list[CaseEntry]]:
    """The runs of a sweep on a machine that drifts by a fifth; some settings are better.

    The noise of a run is common to its sizes, as that of a machine mostly is, and half as much is
    each size's own.
    """
    order = order_of(len(SETTINGS), ROUNDS, str(seed))
    chance = np.random.default_rng(seed)
    draw = (lambda size: chance.standard_t(3, size)) if tails else chance.standard_normal
    runs, own = SPREAD * draw(len(order)), SPREAD / 2 * draw((len(order), len(sizes)))
    drift = np.linspace(0, 0.2, len(order))
    found = []
    for place, setting in enumerate(order):
        gain = (gains or {}).get(setting, 1.0)
        values = np.exp(runs[place] + own[place] + drift[place]) * 20
        values = values / gain if metric == "latency" else values * gain
        samples = tuple(
            Sample(metric=metric, statistic=s, size=size, value=float(v) * f, level="no-reference")
            for size, v in zip(sizes, values, strict=True)
            for s, f in (("avg", 1.3), ("p50" if metric == "latency" else "max", 1.0))
        )
        found.append(case(samples=samples, job=f"7/{place}", repeat=place, level="no-reference"))
    return SETTINGS, order, found


def told(found: Found) -> str:
    where = ("benchmark", "placement", "system", "partition", "environ")
    return "\n".join(lines({**dict.fromkeys(where, "x"), **found}))


def changed(
    made: tuple[Any, list[int], list[CaseEntry]], setting: int, count: int, **changes: Any
) -> Found:
    """What is said where the first runs of a setting are otherwise."""
    settings, order, cases = made
    places = [place for place, each in enumerate(order) if each == setting][:count]
    cases = [replace(c, **changes) if place in places else c for place, c in enumerate(cases)]
    return best_setting(settings, order, cases)


@pytest.mark.parametrize("tails", [False, True])
def test_without_a_difference_one_sweep_in_twenty_at_most_calls_something_better(*, tails: bool):
    wrong = sum(bool(best_setting(*swept(seed, tails=tails))["best"]) for seed in range(SWEEPS))
    assert wrong <= 0.05 * SWEEPS, wrong


def test_a_gain_of_a_tenth_is_found_at_twelve_rounds_and_three_percent_of_noise():
    found = [best_setting(*swept(seed, {2: 1.1})) for seed in range(SWEEPS)]
    whole = [row for each in found for row in each["best"] if row["range"] == "all sizes"]
    right = [row for row in whole if row["variables"] == SETTINGS[2]]
    assert len(right) >= 0.95 * SWEEPS, len(right)
    holds = [row for row in right if row["interval"][0] <= 1.1 <= row["interval"][1]]
    assert len(holds) >= 0.95 * len(right), len(holds)


@pytest.mark.parametrize("metric", ["latency", "bandwidth"])
def test_above_1_is_better_whatever_the_metric(metric: str):
    found = best_setting(*swept(metric=metric, gains={1: 1.3, 3: 0.7}))
    says = {row["variables"]["UCX_RNDV_THRESH"]: row["says"] for row in found["ratios"][:3]}
    assert says == {"8k": "better", "64k": "no difference shown", "inf": "worse"}
    assert found["best"][0]["ratio"] == pytest.approx(1.3, rel=0.03)
    assert found["statistic"] == ("p50" if metric == "latency" else "avg")


def test_a_gain_of_some_sizes_is_shown_for_them_with_the_line_for_the_site_file():
    settings, order, cases = swept(gains={2: 0.98})
    for place, setting in enumerate(order):
        if setting == 2:
            first, *others = cases[place].samples[1:]
            small = replace(first, value=(first.value or 0) / 1.3)
            cases[place] = replace(cases[place], samples=(small, *others))
    found = best_setting(settings, order, cases)
    assert [row["range"] for row in found["best"]] == ["up to 1 KiB"]
    words = told({**found, "environ": "openmpi"})
    assert "best for up to 1 KiB: UCX_RNDV_THRESH=64k, 1.1" in words
    assert "over all sizes it is not shown better): env_vars: [[UCX_RNDV_THRESH, '64k']]" in words


def test_nothing_better_is_said_plainly():
    assert "nothing is shown to be better than the default" in told(best_setting(*swept()))


def test_one_range_of_sizes_is_not_asked_twice():
    found = best_setting(*swept(sizes=(8, 16)))
    assert [row["range"] for row in found["ratios"]] == ["all sizes"] * 3


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"level": "untrusted", "findings": ("wrong lane",)}, "1 untrusted, 11 no-r"),
        ({"level": "", "result": "fail", "fail_reason": "it hung"}, "1 fail, 11 no-r"),
    ],
)
def test_a_setting_that_cannot_be_trusted_once_is_never_the_best(changes: dict[str, Any], why: str):
    found = changed(swept(gains={2: 1.5}), 2, 1, **changes)
    rows = [row for row in found["ratios"] if row["variables"] == SETTINGS[2]]
    assert {row["says"] for row in rows} == {"untrusted"}
    assert len(rows) == 4
    assert found["best"] == []
    assert f"UCX_RNDV_THRESH=64k can't be trusted ({why}" in told(found)
    assert told(found).splitlines()[1].endswith(("): wrong lane", "): it hung"))


def test_disturbed_runs_cost_their_rounds_and_too_many_the_answer():
    few = changed(swept(gains={2: 1.5}), 2, 3, level="disturbed", findings=("others ran",))
    assert "UCX_RNDV_THRESH=64k: 3 of 12 runs left out: others ran" in told(few)
    (row,) = [r for r in few["best"] if r["range"] == "all sizes"]
    assert row["rounds"] == ROUNDS - 3
    many = changed(swept(gains={2: 1.5}), 2, 7, level="disturbed")
    rows = [row for row in many["ratios"] if row["variables"] == SETTINGS[2]]
    assert {row["says"] for row in rows} == {"too few rounds"}


def test_a_default_that_is_disturbed_throughout_leaves_nothing_to_compare():
    found = changed(swept(), 0, ROUNDS, level="disturbed")
    assert {row["says"] for row in found["ratios"]} == {"too few rounds"}
    assert {row["ratio"] for row in found["ratios"]} == {None}
    settings, order, cases = swept()
    none = best_setting(settings, order, [replace(c, level="disturbed", samples=()) for c in cases])
    assert {row["says"] for row in none["ratios"]} == {"too few rounds"}
    assert "settings, no values; all" in told(none)


def test_a_default_that_cannot_be_trusted_is_named():
    found = changed(swept(), 0, 1, level="untrusted", findings=("wrong lane",))
    assert "the default can't be trusted (1 untrusted" in told(found)


def test_what_nothing_confirms_and_a_second_allocation_are_named():
    found = changed(swept(), 1, 12, evidence="lanes; nothing says whether FOO is read", job="8/1")
    words = told(found)
    assert "UCX_RNDV_THRESH=8k: nothing says whether FOO is read" in words
    assert "NOT IN ONE ALLOCATION, but in 7, 8" in words


def test_a_benchmark_without_values_to_compare_is_refused():
    settings, order, cases = swept(metric="overlap")
    with refused("FC2910", "in 48 runs of latency"):
        best_setting(settings, order, cases)
