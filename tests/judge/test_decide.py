"""The table of what a case comes to: verdict, disturbance, attempt, and faults of the fabric."""

import pytest

from fabricheck.judge.decide import Attempt, Disturbance, Fabric, of_evidence, of_verdict
from fabricheck.judge.judgement import Judgement
from fabricheck.judge.levels import Level
from fabricheck.judge.references import Reference
from fabricheck.judge.verdict import Verdict
from fabricheck.measures.curve import Variable
from fabricheck.measures.metrics import Metric

ONLY, FIRST, SECOND = Attempt.ONLY, Attempt.FIRST, Attempt.SECOND
QUIET = Disturbance()
SOME = Disturbance(some=("a little",))
MUCH = Disturbance(("much",), ("much",))
NOTICED = Disturbance(noticed=("the clock jumped",))
SOUND = Fabric()
LOST = Fabric(Level.WARNING, remarks=("lost",), faulty=True)
DOWN = Fabric(Level.CRITICAL, ("link down",), ("marks",), ("link down",), faulty=True)
OBJECTION = ("no proof",)


@pytest.mark.parametrize(
    ("objections", "disturbance", "attempt", "fabric", "level"),
    [
        ((), QUIET, FIRST, DOWN, None),
        ((), SOME, FIRST, SOUND, None),
        ((), MUCH, FIRST, SOUND, "disturbed"),
        ((), MUCH, FIRST, DOWN, "disturbed"),
        ((), MUCH, ONLY, SOUND, "disturbed"),
        ((), NOTICED, FIRST, SOUND, "disturbed"),
        ((), MUCH, SECOND, SOUND, None),
        ((), MUCH, SECOND, DOWN, None),
        (OBJECTION, QUIET, FIRST, SOUND, "untrusted"),
        (OBJECTION, SOME, FIRST, SOUND, "disturbed"),
        (OBJECTION, SOME, ONLY, SOUND, "untrusted"),
        (OBJECTION, SOME, SECOND, SOUND, "untrusted"),
        (OBJECTION, MUCH, SECOND, SOUND, "disturbed"),
        (OBJECTION, MUCH, SECOND, DOWN, "untrusted"),
        (OBJECTION, MUCH, FIRST, DOWN, "disturbed"),
    ],
)
def test_evidence(objections, disturbance, attempt, fabric, level):
    outcome = of_evidence(objections, disturbance, attempt, fabric)
    assert (outcome and outcome.level) == level
    assert not (outcome and outcome.fails), "it fails in ReFrame's sanity stage already"


def verdict(level: Level, value: float = 1.0, *, whole: bool = False) -> Verdict:
    """On one bandwidth that is critical below 8; whole: on the shape of a curve alone."""
    reference = Reference(10.0, -0.2, None, "MB/s")
    own = Level.GOOD if whole else level
    judged = Judgement(Variable(Metric.BANDWIDTH, "avg", 8), own, value, "MB/s", reference, "slow")
    return Verdict(level, (judged,), () if level is Level.GOOD else ("slow",))


@pytest.mark.parametrize(
    ("given", "disturbance", "attempt", "fabric", "level"),
    [
        ("good", QUIET, FIRST, SOUND, "good"),
        ("good", SOME, FIRST, SOUND, "good"),
        ("good", MUCH, SECOND, SOUND, "disturbed"),
        ("good", MUCH, SECOND, DOWN, "critical"),
        ("good", QUIET, FIRST, LOST, "warning"),
        ("warning", SOME, FIRST, SOUND, "warning"),
        ("warning", SOME, SECOND, SOUND, "warning"),
        ("critical", QUIET, FIRST, SOUND, "critical"),
        ("critical", SOME, FIRST, SOUND, "disturbed"),
        ("critical", SOME, FIRST, DOWN, "critical"),
        ("critical", SOME, FIRST, LOST, "critical"),
        ("critical", SOME, SECOND, SOUND, "critical"),
        ("critical", MUCH, SECOND, SOUND, "disturbed"),
        ("critical", SOME, ONLY, SOUND, "critical"),
        ("untrusted", QUIET, FIRST, SOUND, "disturbed"),
        ("untrusted", QUIET, SECOND, SOUND, "untrusted"),
        ("untrusted", QUIET, ONLY, SOUND, "untrusted"),
        ("no-reference", SOME, FIRST, SOUND, "no-reference"),
    ],
)
def test_values(given, disturbance, attempt, fabric, level):
    outcome = of_verdict(verdict(Level(given), 5.0), disturbance, attempt, fabric)
    assert outcome.level == level
    assert outcome.fails == (level in ("critical", "no-reference"))
    assert outcome.gave == (given if level == "disturbed" else None)


def test_load_alone_is_not_why_a_bandwidth_is_an_eighth_or_a_whole_curve_is_poor():
    for poor in (verdict(Level.CRITICAL, 1.0), verdict(Level.CRITICAL, 5.0, whole=True)):
        assert of_verdict(poor, MUCH, SECOND, SOUND).level == "critical"


def test_causes_come_first_and_remarks_last():
    told = ("link down", "slow", "marks")
    outcome = of_verdict(verdict(Level.CRITICAL), QUIET, FIRST, DOWN)
    assert (outcome.findings, outcome.causes) == (told, ("link down",))
    disturbed = of_evidence(OBJECTION, MUCH, FIRST, SOUND)
    assert disturbed
    assert disturbed.findings == ("much", "what it gave: no proof")
    told_first = of_verdict(verdict(Level.CRITICAL, 5.0), SOME, FIRST, SOUND).findings
    assert told_first == ("a little", "what it gave: slow")
