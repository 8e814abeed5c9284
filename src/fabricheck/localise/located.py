"""What a run of ``pair_probe`` left in a directory, judged, and in words for all who read it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from fabricheck.errors import FabricheckError
from fabricheck.judge.levels import Level
from fabricheck.launch.evidence import RESULT_JSON
from fabricheck.localise.evidence import Round
from fabricheck.localise.explaining import Finding
from fabricheck.localise.fabric import Fabric
from fabricheck.localise.judging import LocationVerdict, judge
from fabricheck.localise.steer import read_rounds, read_routes
from fabricheck.schedulers import to_copy
from fabricheck.units import percent, times

FEWEST_NODES: Final = 3
"""Of two nobody can tell which is slow, but over several ports, which of these."""
ROUND_SECONDS: Final = 2.0
"""Of a round: long enough for a hundred windows of a fast link."""
KEPT: Final = "located.json"
"""What the rounds don't say: topology, states of all nodes, what ports counted, dead ports."""

_PAIR: Final = 2
_OF_PAIR: Final = "two nodes: fabricheck locate compares this port with their others"
_SHOWN: Final = 6
"""Lines of a kind before the rest is counted."""
_NAMED: Final = 8
_TENTH: Final = 0.1
"""A share below it has two significant digits."""
_IN_PART: Final = 0.85
"""Of the tests of a leaf; if fewer were slow, it is one of its links."""
_COUNTERS: Final = "card, cable and port of the leaf switch: only their counters separate them"


@dataclass(frozen=True, slots=True)
class Located:
    """A run that looked for places.

    Attributes:
        fabric: its nodes.
        verdict: on them.
        rounds: how many.
        absent: nodes that were not measured, with why.
        counters: what the ports of a node counted, in words.
        dead: nodes of which a port is down, and which; they were left out.
        rates: the median bandwidth from a node to another, of those that measured together.
        is_pair: whether two nodes measured over one port of several, which the others judge.
    """

    fabric: Fabric
    verdict: LocationVerdict
    rounds: int
    absent: Mapping[str, str]
    counters: Mapping[str, str]
    dead: Mapping[str, str]
    rates: Mapping[tuple[str, str], float] = field(default_factory=dict)
    is_pair: bool = False

    @property
    def level(self) -> Level:
        """Critical if a place is accused or a port dead, a warning for one that is not cleared."""
        if self.is_pair:
            return Level.CRITICAL if self.dead else Level.NO_REFERENCE
        if self.verdict.untrusted:
            return Level.UNTRUSTED
        if self.verdict.accused or self.dead:
            return Level.CRITICAL
        return Level.WARNING if self.verdict.open else Level.GOOD

    @property
    def bad(self) -> list[str]:
        """Names of the accused nodes, and of those with a dead port."""
        found = [] if self.is_pair else self.verdict.bad.tolist()
        return [*self.dead, *(self.fabric.nodes[node] for node in found)]

    @property
    def good(self) -> list[str]:
        """Names of the nodes that nothing speaks against."""
        return [self.fabric.nodes[node] for node in self.verdict.good]


def dead_ports(stage: Path) -> dict[str, str]:
    """The nodes of a job of which a port is down, and which; they left it there before it began."""
    told = {
        path.name.removeprefix("port."): path.read_text().split() for path in stage.glob("port.*")
    }
    return {node: " and ".join(words[1:]) for node, words in sorted(told.items())
            if words[:1] == ["down"]}  # fmt: skip


def write_told(
    directory: Path,
    topology: Path | None,
    states: Mapping[str, str],
    counters: Mapping[str, str],
    dead: Mapping[str, str],
    *,
    port: str = "",
) -> None:
    """Leave what the rounds don't say beside them; ``port`` where they had one of several."""
    told = {"states": dict(states), "counters": dict(counters), "dead": dict(dead), "port": port}
    (directory / KEPT).write_text(json.dumps({"topology": str(topology or ""), **told}))


def locate(directory: Path) -> Located:
    """The verdict on the rounds in a directory.

    Raises:
        FabricheckError: if there are none, or they can't be read.
    """
    try:
        told = json.loads((directory / KEPT).read_text())
        topology, states, counters = told["topology"], told["states"], told["counters"]
        dead, port = told["dead"], told.get("port", "")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FabricheckError(
            f"FC1702 expected what PairHealth leaves in {directory}, found: {error!r}: run it again"
        ) from error
    nodes, rounds = read_rounds(directory / RESULT_JSON)
    fabric = Fabric(nodes, read_routes(Path(topology) if topology else None))
    absent = {name: state for name, state in states.items() if name not in {*nodes, *dead}}
    verdict, is_pair = judge(rounds, fabric), bool(port) and len(nodes) == _PAIR
    rates = _rates(nodes, rounds)
    return Located(fabric, verdict, len(rounds), absent, counters, dead, rates, is_pair)


def _rates(nodes: Sequence[str], rounds: Sequence[Round]) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], list[float]] = {}
    for each in rounds:
        for (one, other), there, back in zip(each.pairs, each.there, each.back, strict=True):
            found.setdefault((nodes[one], nodes[other]), []).append(there)
            found.setdefault((nodes[other], nodes[one]), []).append(back)
    return {way: float(np.median(rates)) for way, rates in found.items()}


def findings(located: Located) -> list[str]:
    """A sentence for each accused place and each that is not cleared; the gravest first."""
    verdict = located.verdict
    dead = [f"{node} was left out: {ports} down" for node, ports in located.dead.items()]
    dead = _few(dead, "nodes with a dead port")
    if verdict.untrusted:
        return [*dead, _OF_PAIR if located.is_pair else verdict.untrusted]
    accused = [_accusation(each, located) for each in _merged(verdict.accused)]
    doubts = list(
        dict.fromkeys(
            f"not cleared: {' or '.join(each.names)} ({each.slow} of {each.tests} tests slow, "
            f"typically by {percent(np.expm1(each.slower))[1:]})"
            for each in verdict.open
        )
    )
    return [*dead, *_few(accused, "accused places"), *_few(doubts, "places that are not cleared")]


def lines(located: Located) -> list[str]:
    """The verdict in at most twenty lines, with those to copy."""
    verdict = located.verdict
    nodes = len(located.fabric.nodes)
    bandwidth, latency = verdict.tests
    told = [
        f"{len(verdict.good)} of {nodes} nodes good, {len(verdict.bad)} accused"
        + (f", {len(verdict.suspects)} not cleared" if len(verdict.suspects) else "")
        + f"; {located.rounds} rounds; no evidence of more than "
        f"{percent(np.expm1(bandwidth.visible))[1:]} in bandwidth, "
        f"{percent(np.expm1(latency.visible))[1:]} in latency where nothing is named"
    ]
    told += findings(located)
    if located.bad:
        told += [f"    {line}" for line in to_copy(located.bad, _reason(located))]
    if located.absent:
        absent = [f"{name} ({why})" for name, why in sorted(located.absent.items())]
        told.append(f"not measured: {', '.join(absent[:_NAMED])}{_more(absent)}")
    return told


def cards(found: Sequence[tuple[str, Located]]) -> list[str]:
    """For each accused node whether it is a card of several, or the node.

    Args:
        found: the runs over one port each of the same nodes, with the port.
    """
    bad: dict[str, list[str]] = {}
    for port, located in found:
        for node in located.bad:
            bad.setdefault(node, []).append(port)
    told = []
    for node, ports in sorted(bad.items()):
        others = len(found) - len(ports)
        good = f"its {others} other{'s are' if others > 1 else ' is'} not accused"
        named = f"card{'s' if len(ports) > 1 else ''} {', '.join(ports)}; {good}"
        told.append(f"{node}: {named if others else f'all {len(ports)} cards: the node itself'}")
    return _few(told, "nodes with accused cards")


def as_json(located: Located) -> dict[str, Any]:
    """The same as data; ``slower`` is a ratio to the normal pair, such as 0.1 for 10 % slower."""
    verdict = located.verdict
    return {
        "level": str(located.level),
        "untrusted": verdict.untrusted,
        "rounds": located.rounds,
        "nodes": list(located.fabric.nodes),
        "accused": [_data(each) for each in verdict.accused],
        "not_cleared": [_data(each) for each in verdict.open],
        "accused_nodes": located.bad,
        "dead_ports": dict(located.dead),
        "good_nodes": located.good,
        "not_measured": dict(located.absent),
        "seen": {each.metric: float(np.expm1(each.visible)) for each in verdict.tests},
        "noise": {each.metric: each.noise for each in verdict.tests},
    }


def _data(finding: Finding) -> dict[str, Any]:
    data = asdict(finding)
    del data["names"]
    return data | {"places": list(finding.names), "slower": float(np.expm1(finding.slower))}


def _merged(accused: Sequence[Finding]) -> list[Sequence[Finding]]:
    """Findings that are of the same nodes or places, told in one line."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for each in accused:
        groups.setdefault(tuple(sorted({name.split()[0] for name in each.names})), []).append(each)
    return list(groups.values())


def _accusation(group: Sequence[Finding], located: Located) -> str:
    first = group[0]
    figures = "; ".join(_figure(each) for each in group)
    sentence = f"{first.names[0].split()[0]} {figures}"
    nodes = {name.split()[0] for name in first.names if " " in name}
    counted = [located.counters[node] for node in sorted(nodes) if node in located.counters]
    if counted:
        sentence += f", {'; '.join(counted)}"
    others = [name for name in first.names[1:] if name.split()[0] != first.names[0].split()[0]]
    if others:
        sentence += f" | same evidence: {' or '.join(others)}"
    if nodes & set(located.fabric.nodes):
        sentence += f" | {_COUNTERS}"
    return sentence


def _figure(finding: Finding) -> str:
    way = finding.names[0].partition(" ")[2]
    if finding.metric == "latency":
        what = f"has {times(float(np.exp(finding.slower)))} the latency of its peers"
    else:
        verb = way if way in ("sends", "receives") else f"{way} carries".strip()
        if way in ("up", "down") and finding.slow <= _IN_PART * finding.tests:
            verb += " some flows"
        what = f"{verb} at {_share(finding.slower)} of its peers"
    leaves = f" on {finding.leaves} leaves" if finding.leaves > 1 else ""
    return (
        f"{what}, {finding.slow} of {finding.tests} tests slow, {finding.partners} partners{leaves}"
    )


def _reason(located: Located) -> str:
    if not located.verdict.accused:
        return "a port is down"
    slow = [each for each in located.verdict.accused if " " in each.names[0]]
    return f"{_share(max((each.slower for each in slow), default=0.0))} of its peers at worst"


def _share(slower: float) -> str:
    share = float(np.exp(-slower))
    return f"{share:.2f}" if share >= _TENTH else f"{share:.2g}"


def _few(sentences: Sequence[str], what: str) -> list[str]:
    rest = len(sentences) - _SHOWN
    shown = list(sentences[:_SHOWN])
    return [*shown, f"and {rest} more {what}: see --json"] if rest > 0 else shown


def _more(names: Sequence[str]) -> str:
    return f" and {len(names) - _NAMED} more: see --json" if len(names) > _NAMED else ""
