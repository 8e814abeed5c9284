from dataclasses import replace

import pytest
from tests.acceptance.made import ONE_CASE, accepted, judged, values

from fabricheck.acceptance import wording
from fabricheck.acceptance.answers import AcceptanceVerdict, Scope
from simulation.acceptance import Campaign


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "+0.0 %"), (-0.021, "-2.1 %"), (0.25, "+25 %"), (1.5, "2.5x"), (41.0, "42x")],
)
def test_a_change_in_words(share: float, text: str):
    assert wording.change(share) == text


def test_every_scope_has_a_name():
    found = accepted(Campaign(6))
    names = {
        each.question.scope: wording.name(each.question.scope, each.question.fields)
        for each in found.answers
    }
    assert names[Scope.TRANSPORT] == "simulated rc"
    assert names[Scope.CASE] == names[Scope.FAILURES] == "simulated:fabric+openmpi latency0 rc-2n"
    assert names[Scope.SERIES] == "simulated:fabric+openmpi latency0 rc-2n latency_p99_256KiB"


def test_what_is_settled_needs_no_advice():
    found = accepted(Campaign(20))
    assert found.verdict is AcceptanceVerdict.ACCEPT
    assert wording.next_step(found) == "the change may stay"
    assert {wording.advice(each) for each in found.answers} == {""}


def test_three_pairs_are_told_that_two_more_are_needed():
    found = accepted(Campaign(3))
    assert wording.next_step(found) == "make 2 pairs of runs more"
    assert "(too few pairs for an interval)" in wording.shift(found.of(Scope.SERIES)[0])


def test_what_more_runs_will_hardly_settle_is_said():
    found = accepted(Campaign(20, 0.05))
    assert found.verdict is AcceptanceVerdict.INCONCLUSIVE
    assert "more runs will hardly settle them" in wording.next_step(found)


def test_the_worst_is_named_with_its_figure_before_all_else():
    found = accepted(Campaign(6, 2.0))
    assert wording.next_step(found).startswith("go back to the state before")
    transport, series, sees = wording.worst(found)
    assert transport.startswith("worst transport: simulated rc, 2.97x (")
    assert series.startswith("worst series: simulated:fabric+openmpi latency0 rc-2n latency_")
    assert sees.startswith("these runs see changes of")


def test_a_control_says_whether_acceptances_can_be_trusted():
    found = replace(accepted(Campaign(20)), control=True)
    assert "can be trusted" in wording.next_step(found)
    found = replace(accepted(Campaign(20, 1.0)), control=True)
    assert "what else takes turns" in wording.next_step(found)


def test_runs_without_partner_are_told():
    frame = values(Campaign(6), ONE_CASE)
    (line,) = wording.cautions(judged(frame.filter(frame["session"] != "night-0")))
    assert line == "5 runs before and 6 after: those without partner were left out"
