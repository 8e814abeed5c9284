import numpy as np
import polars as pl
import pytest
from tests.acceptance.made import values

from fabricheck.acceptance.pairs import CASE, compared, paired, typical
from fabricheck.acceptance.settings import Settings
from fabricheck.measures.metrics import Metric
from fabricheck.trend.robust import Array
from simulation.acceptance import Campaign

TIMES = ("us", "ms")


def pairs_of(frame: pl.DataFrame) -> pl.DataFrame:
    return paired(compared(frame, Settings()))


def shifts(pairs: pl.DataFrame) -> Array:
    """By how much each pair is worse."""
    return (pairs["log_after"] - pairs["log_before"]).to_numpy()


def test_the_first_run_before_meets_the_first_after():
    found = pairs_of(values(Campaign(4)))
    one = found.filter(pl.col("size") == 8, pl.col("statistic") == "p50")
    assert one["session_before"].to_list() == ["night-0", "night-3", "night-4", "night-7"]
    assert one["session_after"].to_list() == ["night-1", "night-2", "night-5", "night-6"]
    ratios = np.log(one["after"] / one["before"]).to_numpy()
    assert shifts(one) == pytest.approx(ratios)


def test_lower_bandwidth_is_worse():
    frame = values(Campaign(4, 0.5)).with_columns(metric=pl.lit("bandwidth"))
    assert shifts(pairs_of(frame)).max() < 0


def test_a_run_counts_once_with_its_median():
    frame = values(Campaign(4))
    twice = pl.concat([frame, frame.with_columns(value=pl.col("value") * 1.1)])
    assert len(pairs_of(twice)) == len(pairs_of(frame))
    assert shifts(pairs_of(twice)) == pytest.approx(shifts(pairs_of(frame)))


def test_a_value_that_is_missing_leaves_the_pairs_of_the_others():
    frame = values(Campaign(4))
    hole = (pl.col("size") == 8) & (pl.col("session") == "night-1")
    found = pairs_of(frame.with_columns(value=pl.when(hole).then(None).otherwise("value")))
    assert found.filter(pl.col("size") == 8)["pair"].unique().to_list() == [1, 2, 3]
    assert found.filter(pl.col("size") == 64)["pair"].unique().to_list() == [0, 1, 2, 3]


def test_runs_without_partner_are_left_out():
    frame = values(Campaign(4)).filter(pl.col("session") != "night-6")
    assert pairs_of(frame)["pair"].max() == 2


def test_health_is_not_compared():
    frame = values(Campaign(4)).with_columns(metric=pl.lit("error_ratio"))
    assert compared(frame, Settings()).is_empty()


@pytest.mark.parametrize("metric", [metric for metric in Metric if metric.row.unit in TIMES])
def test_every_time_but_skew_and_pure_computation_is_compared(metric):
    frame = values(Campaign(4, 1.0)).with_columns(metric=pl.lit(metric.value))
    left_out = metric in {Metric.CLOCK_SKEW, Metric.COMPUTATION}
    assert compared(frame, Settings()).is_empty() == left_out


def test_unknown_metrics_of_other_suites_are():
    frame = values(Campaign(4)).with_columns(metric=pl.lit("triad"))
    assert compared(frame, Settings())["worse"].unique().to_list() == [0]


def test_tails_have_a_wider_margin():
    settings = Settings()
    wide = {"p99", "p99.9", "p999", "p95", "p90", "max"}
    for statistic in (*wide, "p50", "p5", "avg", "min", ""):
        assert (settings.margin_of(statistic) == np.log1p(0.25)) == (statistic in wide)


def test_a_case_is_typical_without_its_tails():
    frame = values(Campaign(4, 0.3, changed=6))
    found = typical(pairs_of(frame), CASE)
    assert len(found) == 4
    assert np.median(shifts(found)) == pytest.approx(np.log(1.3), abs=0.02)
