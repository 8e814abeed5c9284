"""What is judged and what comes of it: a survey of nodes, rules, answers, lines."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from fabricheck.judge.levels import Level
from fabricheck.node_health.clocks import Skew
from fabricheck.node_health.expectations import Expectations
from fabricheck.node_health.facts import Facts


class Outcome(Enum):
    """How a node stands to a prerequisite."""

    MET = "met"
    UNMET = "not met"
    UNKNOWN = "cannot be told"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Answer:
    """A node's standing to a prerequisite, and in words what was found and what expected."""

    outcome: Outcome
    words: str


@dataclass(frozen=True, slots=True)
class Survey:
    """The nodes that answered, and what is known of them together.

    Attributes:
        nodes: the facts of each.
        expected: what the site expects.
        launcher: what launched the probe; empty where nothing is launched on another node.
        family: the MPI family of the environment; empty without MPI.
        skews: how far each node's clock is from the others; empty where it was not compared.
    """

    nodes: tuple[Facts, ...]
    expected: Expectations
    launcher: str = ""
    family: str = ""
    skews: Mapping[str, Skew] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rule:
    """One prerequisite.

    Attributes:
        name: short name, shown on its line.
        expected: what is expected, in words; braces hold the key of ``extras.node_health``.
        source: why it matters, or who asks for it.
        level: the level of a node that doesn't meet it.
        judge: a node's standing.
        applies: whether the rule belongs to a survey at all.
    """

    name: str
    expected: str
    source: str
    level: Level
    judge: Callable[[Facts, Survey], Answer]
    applies: Callable[[Survey], bool]


@dataclass(frozen=True, slots=True)
class Line:
    """What one prerequisite looks like on some nodes.

    Attributes:
        rule: name of the rule.
        level: ``None`` where the rule is not applicable, which is neither good nor bad.
        words: what was found.
        nodes: the nodes of which that is so.
    """

    rule: str
    level: Level | None
    words: str
    nodes: tuple[str, ...]
