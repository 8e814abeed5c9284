"""The prerequisites, rules.csv, and what a survey shows of each: one line for equal nodes."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from fabricheck.judge.levels import Level
from fabricheck.node_health import nodes
from fabricheck.node_health.facts import Facts
from fabricheck.node_health.survey import Answer, Line, Outcome, Prerequisite, Survey
from fabricheck.nodes.names import fold
from fabricheck.tables import TEXT, one_of, rows

LAUNCH, CLOCK = "launch", "clock"

_JUDGES: Mapping[str, Callable[[Facts, Survey], Answer]] = {
    LAUNCH: nodes.launch, "kernel": nodes.kernel, CLOCK: nodes.clock, "memlock": nodes.memlock,
    "hugepages": nodes.hugepages, "governor": nodes.governor, "rdma": nodes.rdma,
    "ports": nodes.ports, "pcie": nodes.pcie, "optics": nodes.optics, "cards": nodes.cards,
    "numa": nodes.numa, "mtu": nodes.mtu, "mpi version": nodes.mpi_version,
    "ucx version": nodes.ucx_version, "osu version": nodes.osu_version,
}  # fmt: skip
_APPLIES: Mapping[str, Callable[[Survey], bool]] = {
    "always": lambda _survey: True,
    "without MPI": lambda survey: not survey.family,
    "with MPI": lambda survey: bool(survey.family),
    "with UCX": lambda survey: any("ucx" in node.versions for node in survey.nodes),
}
_COLUMNS = {
    "name": one_of(tuple(_JUDGES)),
    "level": one_of((Level.WARNING, Level.CRITICAL)),
    "applies": one_of(_APPLIES),
    "expected": TEXT,
    "source": TEXT,
}
RULES = tuple(
    Prerequisite(judge=_JUDGES[row["name"]], **row)
    for row in rows(Path(__file__).with_name("rules.csv"), _COLUMNS)
)
"""The prerequisites, in the order in which they are shown."""


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


def unreached(states: Mapping[str, str], is_silent: Callable[[str], bool]) -> list[Line]:
    """Lines for nodes of the partition that were not looked at, by the scheduler's word for each.

    A node that doesn't answer the scheduler fails the launch. One that the scheduler has given to
    somebody, or keeps back, is a warning: nothing is known of it.
    """
    by_state: dict[str, list[str]] = {}
    for node, state in sorted(states.items()):
        by_state.setdefault(state, []).append(node)
    return [
        Line(
            LAUNCH,
            Level.CRITICAL if is_silent(state) else Level.WARNING,
            f"not reached: {state} when the job was submitted, nothing is known of it",
            tuple(nodes),
        )
        for state, nodes in by_state.items()
    ]


def _level(rule: Prerequisite, answer: Answer) -> Level | None:
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
