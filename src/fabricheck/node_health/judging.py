"""From a survey to one line for each prerequisite and each way in which nodes stand to it."""

from collections import Counter
from collections.abc import Iterable

from fabricheck.judge.levels import Level
from fabricheck.node_health.answers import fold
from fabricheck.node_health.model import Answer, Line, Outcome, Rule, Survey
from fabricheck.node_health.rules import RULES


def judge(survey: Survey) -> list[Line]:
    """The lines of all rules that belong to the survey; nodes with equal answers share a line."""
    lines = []
    for rule in RULES:
        if not rule.applies(survey):
            continue
        answers: dict[Answer, list[str]] = {}
        for node in survey.nodes:
            answers.setdefault(rule.judge(node, survey), []).append(node.node)
        lines += [
            Line(rule.name, _level(rule, answer), answer.words, tuple(nodes))
            for answer, nodes in answers.items()
        ]
    return lines


def _level(rule: Rule, answer: Answer) -> Level | None:
    return {
        Outcome.MET: Level.GOOD,
        Outcome.UNMET: rule.level,
        Outcome.UNKNOWN: Level.WARNING,
        Outcome.NOT_APPLICABLE: None,
    }[answer.outcome]


def findings(lines: Iterable[Line]) -> tuple[str, ...]:
    """One sentence for each line that is not good, worst first."""
    wrong = [line for line in lines if line.level not in (None, Level.GOOD)]
    wrong.sort(key=lambda line: -line.level.severity if line.level else 0)
    return tuple(f"{line.rule} of {fold(line.nodes)}: {line.words}" for line in wrong)


def most_unmet(lines: Iterable[Line]) -> int:
    """The number of prerequisites that the worst node does not meet."""
    unmet = Counter(
        node for line in lines if line.level not in (None, Level.GOOD) for node in line.nodes
    )
    return max(unmet.values(), default=0)
