"""What a survey left behind: the facts of its nodes, and how far apart their clocks are.

A survey is believed whole, or not at all with the names of the nodes at fault.

A node's answer lies between the asking and the last answer's arrival, both read from one clock, so
each round bounds how far that node's clock is ahead; the rounds together bound it tighter. Nothing
is assumed of how long either way took.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from ClusterShell.NodeSet import NodeSet

from fabricheck.errors import FabricheckError
from fabricheck.node_health.facts import Facts, read_facts
from fabricheck.nodes.told import PART, files

SURVEY = Path(__file__).with_name("survey.sh")
CLOCK = "clock"
"""The file of the survey; ``clock.part`` as long as it writes."""

_PAIR = 2
_ANSWER = re.compile(r"^answer \d+ (\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Skew:
    """How far a clock is from those of the other nodes: ahead by ``seconds``, give or take."""

    seconds: float
    uncertainty: float


@dataclass(frozen=True, slots=True)
class Exchange:
    """What ``survey.sh`` wrote down.

    Attributes:
        rounds: begin and end of each round that every node answered, in ns; 0 is the launch.
        answers: (round, node, time of its clock in ns).
    """

    rounds: Mapping[int, tuple[int, int]]
    answers: tuple[tuple[int, str, int], ...]


def read_exchange(directory: Path) -> Exchange:
    """The exchange of a job, from its working directory.

    Raises:
        FabricheckError: if the file is cut or damaged.
    """
    try:
        lines = (directory / CLOCK).read_text(errors="replace").splitlines()
    except OSError as error:
        raise FabricheckError(
            f"FC1501 {CLOCK}: expected the times of the nodes, found: {error.strerror}: run the "
            "case again"
        ) from error
    if not lines or lines[-1] != "end":
        raise FabricheckError(
            f"FC1502 {CLOCK}: expected 'end' as its last line, found "
            f"{lines[-1] if lines else 'an empty file'!r}: the times of the nodes are cut, run the "
            "case again"
        )
    rounds, answers = {}, []
    for number, line in enumerate(lines[:-1], start=1):
        key, *words = line.split() or [""]
        try:
            if key == "round":
                which, begin, end = map(int, words)
                rounds[which] = begin, end
            elif key == "answer":
                asked, node, time = words
                answers.append((int(asked), node, int(time)))
        except ValueError:
            raise FabricheckError(
                f"FC1503 {CLOCK}, line {number}: expected the words of {key!r}, found "
                f"{' '.join(words)!r}: the times of the nodes are damaged, run the case again"
            ) from None
    return Exchange(rounds, tuple(answers))


def read_allocation(directory: Path) -> str:
    """The nodes that the scheduler gave, as it writes them, also of a survey that never ended.

    Empty without scheduler, and where the survey did not even begin.
    """
    for path in (directory / CLOCK, directory / f"{CLOCK}{PART}"):
        if path.exists():
            words = path.read_text(errors="replace").partition("\n")[0].split()
            return words[1] if len(words) > 1 and words[1] != "-" else ""
    return ""


def unanswered(directory: Path) -> tuple[str, ...]:
    """The nodes that didn't answer the last question of a survey that never ended."""
    text = (directory / f"{CLOCK}{PART}").read_text(errors="replace")
    _, asked, answers = text.rpartition("\nask ")
    answered = _ANSWER.findall(answers)
    silent = NodeSet(read_allocation(directory)) - NodeSet.fromlist(answered)
    return tuple(silent) if asked else ()


def skews(exchange: Exchange, nodes: Iterable[Facts]) -> dict[str, Skew]:
    """How far each node's clock is from the median of all; of two nodes, from the other one.

    Of one node nothing: there is no other clock.

    A node whose answers contradict each other, since its clock was set meanwhile, gets the widest
    of its bounds.
    """
    ahead = {facts.node: _ahead(exchange, facts) for facts in nodes}
    if len(ahead) == 1:
        return {}
    found = {}
    for node, own in ahead.items():
        others = [each for name, each in ahead.items() if name != node]
        middle = others[0] if len(ahead) == _PAIR else None
        norm = middle.seconds if middle else median(each.seconds for each in ahead.values())
        spread = max(each.uncertainty for each in others)
        found[node] = Skew(own.seconds - norm, own.uncertainty + spread)
    return found


def _ahead(exchange: Exchange, facts: Facts) -> Skew:
    """How far a node is ahead of the clock that asked."""
    bounds = [
        (time - end, time - begin)
        for number, node, time in ((0, facts.node, facts.clock), *exchange.answers)
        if node == facts.node and number in exchange.rounds
        for begin, end in [exchange.rounds[number]]
    ]
    lowest, highest = max(low for low, _ in bounds), min(high for _, high in bounds)
    if lowest > highest:
        lowest, highest = min(low for low, _ in bounds), max(high for _, high in bounds)
    return Skew((lowest + highest) / 2e9, (highest - lowest) / 2e9)


def read_record(
    directory: Path,
    stderr: Path,
    num_nodes: int,
    states: Callable[[], Mapping[str, str]] = dict,
) -> tuple[tuple[Facts, ...], Exchange]:
    """The facts of every node of a job, by name, and the exchange that compares their clocks.

    Args:
        directory: the job's working directory.
        stderr: the job's error output.
        num_nodes: how many nodes the job was to have.
        states: asks the scheduler for the state of each node.

    Raises:
        FabricheckError: if a node told nothing, or facts are cut or damaged; it names the nodes.
    """
    nodes = sorted(map(read_facts, files(directory)), key=lambda facts: facts.node)
    told = NodeSet.fromlist([facts.node for facts in nodes])
    silent = NodeSet(read_allocation(directory)) - told
    if silent or len(nodes) != num_nodes:
        raise FabricheckError(
            f"FC1504 expected {num_nodes} node(s) to report their facts, found "
            f"{len(nodes)}{_named(silent, states())}; last words: {_last_words(stderr, silent)}"
        )
    if (directory / f"{CLOCK}{PART}").exists():
        silent = unanswered(directory)
        raise FabricheckError(
            "FC1505 expected every node to answer when asked for the time, found a survey that "
            f"never ended{_named(silent, states())}; last words: {_last_words(stderr, silent)}"
        )
    return tuple(nodes), read_exchange(directory)


def _named(silent: Iterable[str], states: Mapping[str, str]) -> str:
    named = [f"{node} ({states[node]})" if node in states else node for node in silent]
    return f" and nothing from {', '.join(named)}" if named else ""


def _last_words(stderr: Path, silent: Iterable[str]) -> str:
    """The last line about a silent node, which the end of the others follows; or the last one."""
    lines = stderr.read_text(errors="replace").splitlines() if stderr.exists() else []
    said = [line.strip() for line in lines if line.strip()]
    names = [re.compile(rf"\b{re.escape(node)}\b") for node in silent]
    about = [line for line in said if any(name.search(line) for name in names)]
    return (about or said or ["none"])[-1]
