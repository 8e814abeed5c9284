"""What the judgements of the rules share: the four answers, and who differs from whom."""

from collections import Counter
from collections.abc import Callable, Hashable

from fabricheck.node_health.facts import Facts
from fabricheck.node_health.survey import Answer, Outcome, Survey
from fabricheck.nodes.names import fold


def met(words: str) -> Answer:
    """The node has what is expected."""
    return Answer(Outcome.MET, words)


def unmet(words: str) -> Answer:
    """The node lacks what is expected."""
    return Answer(Outcome.UNMET, words)


def unknown(words: str) -> Answer:
    """Whether the node has it cannot be told."""
    return Answer(Outcome.UNKNOWN, words)


def not_applicable(words: str) -> Answer:
    """The node needs no such thing, and why."""
    return Answer(Outcome.NOT_APPLICABLE, words)


def differing(node: Facts, survey: Survey, value: Callable[[Facts], Hashable]) -> str:
    """What the other nodes have, where this node is not of the majority; empty if it is.

    Where no value has a majority of its own, all of them differ: two nodes can't tell who is right.
    """
    counts = Counter(value(each) for each in survey.nodes).most_common()
    if value(node) == counts[0][0] and (len(counts) == 1 or counts[0][1] > counts[1][1]):
        return ""
    others: dict[Hashable, list[str]] = {}
    for each in survey.nodes:
        if value(each) != value(node):
            others.setdefault(value(each), []).append(each.node)
    return "; ".join(f"{found or 'none'} on {fold(names)}" for found, names in others.items())
