import numpy as np
import polars as pl
import pytest
from tests.acceptance.made import NO_NOISE, ONE_CASE, accepted, judged, question, values, worst
from tests.refusals import refused

from fabricheck.acceptance.accept import accept
from fabricheck.acceptance.answers import AcceptanceVerdict, Question, Scope, most_further, together
from fabricheck.acceptance.judging import judge
from fabricheck.acceptance.settings import Settings
from fabricheck.acceptance.wording import cautions
from fabricheck.history.provenance import Provenance
from simulation.acceptance import NOTHING_KNOWN, Campaign, tables

NOISE = np.random.default_rng(4).normal(0, 0.01, 10)


def verdict_on(given: Question) -> AcceptanceVerdict:
    (answer,) = judge([given], Settings())
    return answer.verdict


def test_a_shift_has_its_verdict_and_where_nobody_knows_what_is_worse_both_directions_are():
    verdicts = {0.0: "accept", -0.2: "accept", 0.05: "inconclusive", 0.2: "reject"}
    for shift, verdict in verdicts.items():
        assert verdict_on(question(NOISE + shift)) == verdict
    for shift, verdict in {0.0: "accept", 0.2: "reject", -0.2: "reject"}.items():
        assert verdict_on(question(NOISE + shift, two_sided=True)) == verdict


def test_four_pairs_never_accept_and_it_is_said_how_many_may():
    (answer,) = judge([question(NOISE[:3])], Settings())
    assert (answer.verdict, answer.further, answer.low) == (AcceptanceVerdict.INCONCLUSIVE, 2, None)
    assert verdict_on(question(NOISE[:4])) is AcceptanceVerdict.INCONCLUSIVE
    assert verdict_on(question(NOISE[:5])) is AcceptanceVerdict.ACCEPT


def test_three_pairs_reject_what_is_many_times_worse_where_the_spread_is_known():
    worse = NOISE[:3] + np.log(75)
    assert verdict_on(question(worse)) is AcceptanceVerdict.INCONCLUSIVE
    assert verdict_on(question(worse, spread=0.05)) is AcceptanceVerdict.REJECT
    assert verdict_on(question(worse, spread=2.0)) is AcceptanceVerdict.INCONCLUSIVE
    assert verdict_on(question(worse, scope=Scope.TRANSPORT)) is AcceptanceVerdict.REJECT
    assert (
        verdict_on(question(NOISE[:3] + 0.1, scope=Scope.TRANSPORT))
        is AcceptanceVerdict.INCONCLUSIVE
    )


def test_three_pairs_reject_one_series_among_many_that_hardly_scatter():
    def verdict_among(number: int, apart: float) -> AcceptanceVerdict:
        wide = question(NOISE[:3] + np.array([0.0, apart, 0.0]))
        fine = [question(NOISE[:3]) for _ in range(number)]
        return judge([question(NOISE[:3] + np.log(40)), wide, *fine], Settings())[0].verdict

    assert verdict_among(202, 0.1) is AcceptanceVerdict.REJECT
    assert verdict_among(202, 1.0) is AcceptanceVerdict.INCONCLUSIVE
    assert verdict_among(10, 0.1) is AcceptanceVerdict.INCONCLUSIVE


def test_a_series_that_looks_wild_is_accepted_for_what_the_others_show_and_not_with_a_shift():
    generator = np.random.default_rng(2)
    wild = np.where(np.arange(12) % 4 == 0, 0.07, 0.0)

    def verdict_among(number: int, shift: float) -> AcceptanceVerdict:
        quiet = [question(*generator.normal(0, 0.01, (2, 12))) for _ in range(number)]
        before = wild + generator.normal(0, 0.01, 12)
        after = wild[::-1] + generator.normal(0, 0.01, 12) + shift
        return judge([question(after, before), *quiet], Settings())[0].verdict

    assert verdict_among(100, 0.0) is AcceptanceVerdict.ACCEPT
    assert verdict_among(100, 0.045) is AcceptanceVerdict.INCONCLUSIVE


@pytest.mark.parametrize(("pairs", "change"), [(3, 74.0), (4, 1.0), (12, 0.1)])
def test_a_transport_that_is_worse_is_rejected_soon_among_others(pairs, change):
    frame = values(Campaign(pairs, change), ONE_CASE)
    fine = values(Campaign(pairs), 8 * ONE_CASE, seed=2).with_columns(transport=pl.lit("tcp"))
    assert judged(pl.concat([frame, fine])).verdict is AcceptanceVerdict.REJECT


@pytest.mark.parametrize(
    ("critical", "verdict"), [(3, AcceptanceVerdict.REJECT), (1, AcceptanceVerdict.INCONCLUSIVE)]
)
def test_levels_that_turn_critical_speak_for_themselves(critical, verdict):
    given = question(np.empty(0), scope=Scope.FAILURES, failed=(0, 3, 3, 3), critical=critical)
    assert verdict_on(given) is verdict
    also_before = question(np.empty(0), scope=Scope.FAILURES, failed=(1, 3, 3, 3), critical=3)
    assert verdict_on(also_before) is AcceptanceVerdict.INCONCLUSIVE


def test_a_shift_at_the_margin_needs_more_runs_than_anybody_makes():
    (answer,) = judge([question(NOISE - np.median(NOISE) + 0.05)], Settings())
    assert (answer.verdict, answer.further) == (AcceptanceVerdict.INCONCLUSIVE, None)
    assert most_further([answer]) is None


@pytest.mark.parametrize(
    ("before", "after", "verdict", "has_advice"),
    [
        *((0, 0, "accept", False), (3, 3, "accept", False), (0, 9, "reject", False)),
        *((0, 1, "inconclusive", False), (0, 2, "inconclusive", True)),
    ],
)
def test_failing_more_often_has_its_verdict_and_advice(before, after, verdict, has_advice):
    given = question(np.empty(0), scope=Scope.FAILURES, failed=(before, 10, after, 10))
    (answer,) = judge([given], Settings())
    assert (answer.verdict, bool(answer.further)) == (verdict, has_advice)


def test_of_many_series_chance_rejects_none():
    generator = np.random.default_rng(5)
    at_margin = [question(generator.normal(0.05, 0.03, 20)) for _ in range(200)]
    answers = judge(at_margin, Settings())
    assert min(each.p_worse for each in answers) < 0.025
    assert AcceptanceVerdict.REJECT not in {each.verdict for each in answers}


def test_together_worse_comes_first_and_nothing_is_not_fine():
    fine, unclear, bad = (
        AcceptanceVerdict.ACCEPT,
        AcceptanceVerdict.INCONCLUSIVE,
        AcceptanceVerdict.REJECT,
    )
    assert together([fine, unclear, bad]) is bad
    assert together([fine, unclear]) is unclear
    assert together([fine, fine]) is fine
    assert together([]) is unclear


def test_nothing_changed():
    found = accepted(Campaign(20))
    assert found.verdict is AcceptanceVerdict.ACCEPT
    assert {each.verdict for each in found.answers} == {AcceptanceVerdict.ACCEPT}
    assert (found.interleaved, found.missing, found.differences) == (True, [], [])


def test_a_change_is_seen_and_named():
    found = accepted(Campaign(20, 0.1, changed=1), 2 * ONE_CASE)
    assert found.verdict is AcceptanceVerdict.REJECT
    series = worst(found.of(Scope.SERIES))
    assert series.verdict is AcceptanceVerdict.REJECT
    assert series.low < 0.1 < series.high
    cases = {each.question.fields["benchmark"]: each for each in found.of(Scope.CASE)}
    assert cases["latency0"].why == "1 of 13 parts worse"
    assert cases["latency0"].verdict is AcceptanceVerdict.REJECT
    assert cases["latency1"].verdict is AcceptanceVerdict.ACCEPT
    (transport,) = found.of(Scope.TRANSPORT)
    assert transport.verdict is AcceptanceVerdict.REJECT


def test_an_improvement_is_accepted():
    assert accepted(Campaign(20, -0.2)).verdict is AcceptanceVerdict.ACCEPT


@pytest.mark.parametrize("changes", [{"level": "untrusted", "value": None}, {"value": None}])
def test_a_case_that_fails_after_the_change_is_rejected(changes):
    frame = values(Campaign(20))
    after = pl.col("side") == "after"
    found = judged(
        frame.with_columns(
            pl.when(after).then(pl.lit(value)).otherwise(name).alias(name)
            for name, value in changes.items()
        ).vstack(values(Campaign(20), 2 * ONE_CASE).filter(pl.col("benchmark") != "latency0"))
    )
    assert found.verdict is AcceptanceVerdict.REJECT
    assert [each.verdict for each in found.of(Scope.FAILURES)].count(AcceptanceVerdict.REJECT) == 1


def test_a_case_that_leaves_nothing_in_some_runs_has_failed_in_them():
    frame = values(Campaign(20), 2 * ONE_CASE)
    crashed = pl.col("session").is_in([f"night-{number}" for number in (1, 2, 5)])
    found = judged(frame.filter(~((pl.col("benchmark") == "latency1") & crashed)))
    assert found.verdict is AcceptanceVerdict.INCONCLUSIVE
    assert {each.verdict for each in found.of(Scope.SERIES)} == {AcceptanceVerdict.ACCEPT}
    failures = {each.question.fields["benchmark"]: each for each in found.of(Scope.FAILURES)}
    assert failures["latency1"].question.failed == (0, 20, 3, 20)
    assert failures["latency0"].verdict is AcceptanceVerdict.ACCEPT
    # Of runs that only their time tells nobody knows what was asked for in them.
    by_time = (
        pl.col("session")
        .str.replace("night-", "2026-01-01T00:00:")
        .str.replace(r":(\d)$", ":0${1}")
    )
    told = frame.filter(~((pl.col("benchmark") == "latency1") & crashed))
    found = judged(told.with_columns(session=by_time + "Z"))
    failures = {each.question.fields["benchmark"]: each for each in found.of(Scope.FAILURES)}
    assert failures["latency1"].question.failed == (0, 20, 0, 17)


@pytest.mark.parametrize("side", ["before", "after"])
def test_what_was_measured_on_one_side_only_is_not_accepted(side):
    frame = values(Campaign(20), 2 * ONE_CASE)
    gone = (pl.col("side") == side) & (pl.col("benchmark") == "latency1")
    found = judged(frame.filter(~gone))
    assert found.verdict is AcceptanceVerdict.INCONCLUSIVE
    (missing,) = found.missing
    assert (missing.series, missing.fields["benchmark"]) == (ONE_CASE, "latency1")


def test_a_size_that_is_cut_off_is_not_accepted():
    frame = values(Campaign(20))
    cut = (pl.col("side") == "after") & (pl.col("size") == 262144)
    found = judged(frame.filter(~cut))
    assert found.verdict is AcceptanceVerdict.INCONCLUSIVE
    assert found.missing[0].series == 2


def test_sets_of_nodes_are_judged_by_themselves():
    frame = values(Campaign(20, 0.2))
    good = values(Campaign(20)).with_columns(node_list=pl.lit("n4,n3"))
    frame = pl.concat([frame.with_columns(node_list=pl.lit("n2,n1")), good])
    found = judged(frame)
    verdicts = {each.question.fields["nodes"]: each.verdict for each in found.of(Scope.NODES)}
    assert verdicts == {"n1,n2": AcceptanceVerdict.REJECT, "n3,n4": AcceptanceVerdict.ACCEPT}


def test_runs_that_do_not_take_turns_are_noticed():
    assert not accepted(Campaign(6, interleaved=False)).interleaved


def test_a_control_finds_what_got_better_too():
    frame = values(Campaign(12, -0.3))
    spreads = NOTHING_KNOWN
    assert accept(frame, Settings(), Provenance(), spreads).verdict is AcceptanceVerdict.ACCEPT
    assert (
        accept(frame, Settings(), Provenance(), spreads, control=True).verdict
        is AcceptanceVerdict.REJECT
    )
    same = accept(values(Campaign(12)), Settings(), Provenance(), spreads, control=True)
    assert (same.verdict, same.control) == (AcceptanceVerdict.ACCEPT, True)


@pytest.mark.parametrize("metric", ["startup", "launch", "total", "compute", "communication"])
def test_a_time_that_doubles_is_not_accepted(metric):
    frame = values(Campaign(12, 1.0)).with_columns(metric=pl.lit(metric))
    assert judged(frame).verdict is AcceptanceVerdict.REJECT


def test_metrics_that_are_not_compared_are_named():
    frame = values(Campaign(6))
    shares = frame.head(5).with_columns(metric=pl.lit("overlap"))
    found = judged(pl.concat([frame, shares]))
    assert found.not_compared == {"overlap": 5}
    assert any("overlap (5)" in line for line in cautions(found))


def test_values_without_run_are_counted():
    frame = values(Campaign(6))
    nameless = frame.head(3).with_columns(session=pl.lit(""))
    assert judged(pl.concat([frame, nameless])).without_run == 3
    with refused("FC2001"):
        judged(frame.with_columns(session=pl.lit("")))


@pytest.mark.lab
def test_error_rates_hold_at_the_margin(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("simulation.acceptance.WORLDS", {"x": Campaign(1).world})
    title, rows = next(tables(NO_NOISE, Settings(), count=400, rounds=2, seed=1))
    assert title == "one series"
    shares = {row["worse by"]: row for row in rows}
    for pairs in ("6 pairs", "12 pairs", "20 pairs"):
        fine, bad, _ = map(float, shares["5 %"][pairs].split(" / "))
        assert fine <= 5
        assert bad <= 5
    assert shares["0 %"]["20 pairs"] == "100.0 / 0.0 / 0.0"
    assert shares["10 %"]["20 pairs"] == "0.0 / 100.0 / 0.0"
