"""Few nodes, of which one or more are slow, in the noise of the testbed or in a quiet one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from fabricheck.localise.evidence import Round
from fabricheck.localise.fabric import Ints
from fabricheck.localise.judging import LocationVerdict, judge
from fabricheck.localise.schedules import Schedule
from fabricheck.trend.robust import Array
from simulation.pairs import Kind, Simulated

BOTH, SENDS, RECEIVES = WAYS = ("both", "sends", "receives")
NODES: Final = (3, 4, 5, 8)
FACTORS: Final = (1.25, 1.5, 2.0, 4.0)
SEVERAL: Final = ("2 nodes", "3 nodes", "2 links", "1 node, 1 link", "2 nodes, 1 link")
"""Faults of eight nodes, four leaves and two spines, whose routes are known."""
SEVERAL_FACTOR: Final = 5.0


@dataclass(frozen=True, slots=True)
class Scatter:
    """Standard deviations, relative.

    Attributes:
        pairing: of who is paired with whom in a round; the same each time it comes again.
        round: of a round.
        test: of a test.
    """

    pairing: float
    round: float
    test: float


SCATTERS: Final = {
    "quiet": Scatter(0, 0, 0.02),
    "as the testbed": Scatter(0.10, 0.06, 0.04),
}


class Few(Simulated):
    """A fabric whose slow places are given."""

    def __init__(self, kind: Kind, seed: int, scatter: Scatter) -> None:
        super().__init__(kind, seed)
        self.scatter = scatter
        self._pairings: dict[frozenset[frozenset[int]], tuple[float, float]] = {}

    def slow_node(self, node: int, factor: float, way: str = BOTH) -> None:
        """Make a node FACTOR times slow."""
        if way != RECEIVES:
            self.sends[node] = np.log(factor)
        if way != SENDS:
            self.receives[node] = np.log(factor)

    def slow_link(self, leaf: int, spine: int, factor: float) -> None:
        """Make a link FACTOR times slow, both ways."""
        self.links[:, leaf, spine] = np.log(factor)

    def truth(self) -> set[str]:
        """Names of the places that are slow; a leaf all of whose links are."""
        self.bad_links = np.flatnonzero(self.links.ravel())
        whole = np.flatnonzero(self.links.all(axis=(0, 2)))
        return super().truth() | {f"leaf{leaf} {way}" for leaf in whole for way in ("up", "down")}

    def measure(self, pairs: Ints) -> Round:
        """One round; latency scatters as bandwidth does, with shifts of its own."""
        key = frozenset(frozenset(pair) for pair in pairs.tolist())
        drawn = self.random.normal(0, 1, 2)
        shifts = np.array(self._pairings.setdefault(key, tuple(drawn))) * self.scatter.pairing
        shifts += self.random.normal(0, self.scatter.round, 2)
        measured = super().measure(pairs)
        return Round(
            pairs,
            measured.latency * np.exp(shifts[1]),
            measured.there * np.exp(-shifts[0]),
            measured.back * np.exp(-shifts[0]),
        )

    def _noise(self, count: int) -> Array:
        return self.random.normal(0, self.scatter.test, count)


def one_slow(nodes: int, factor: float, way: str, scatter: Scatter, seed: int) -> Few:
    """A fabric without a topology, one of whose nodes is slow; none for a factor of 1."""
    made = Few(Kind(1, nodes, bad=0), seed, scatter)
    if factor > 1:
        made.slow_node(seed % nodes, factor, way)
    return made


def several(words: str, scatter: Scatter, seed: int, factor: float = SEVERAL_FACTOR) -> Few:
    """Eight nodes with some of ``SEVERAL``, the places by chance."""
    made = Few(Kind(4, 2, 2, bad=0), seed, scatter)
    for part in words.split(", "):
        count = int(part[0])
        if "node" in part:
            for node in made.random.choice(8, count, replace=False):
                made.slow_node(int(node), factor)
        else:
            for link in made.random.choice(8, count, replace=False):
                made.slow_link(int(link) // 2, int(link) % 2, factor)
    return made


def judged(simulated: Simulated, seed: int) -> LocationVerdict:
    """What ``fabricheck locate`` says of a fabric."""
    fabric = simulated.fabric()
    schedule = Schedule(fabric, seed)
    rounds: list[Round] = []
    while (pairs := schedule.next(rounds)) is not None:
        rounds.append(simulated.measure(pairs))
    return judge(rounds, fabric)


@dataclass(frozen=True, slots=True)
class Said:
    """Of one run: named all, accused a sound place, could tell nothing, or cleared not all."""

    named: bool
    false: bool
    untrusted: bool
    open: bool


def said(simulated: Simulated, seed: int) -> Said:
    """What was said, beside what is true."""
    verdict, truth = judged(simulated, seed), simulated.truth()
    sets = [set(each.names) for each in verdict.accused]
    trusted = not verdict.untrusted
    return Said(
        trusted and all(_is_in(place, set().union(*sets)) for place in truth),
        trusted and any(not each & truth for each in sets),
        not trusted,
        trusted and not sets and bool(verdict.open),
    )


def _is_in(place: str, named: set[str]) -> bool:
    """Whether a place is named, or for a link the whole leaf."""
    one, _, other = place.partition("->")
    return bool({place, f"{one} up", f"{other} down"} & named)


def tables(
    runs: int, seed: int, scatters: Sequence[str] = tuple(SCATTERS)
) -> Iterator[tuple[str, Iterator[dict[str, Any]]]]:
    """How often a slow node of few is named, and how often a sound one; then several faults."""
    yield "one slow node of few", (
        {"nodes": nodes, "slow": f"{factor:g} times, {way}" if factor > 1 else "none",
         "scatter": words}
        | row([said(one_slow(nodes, factor, way, SCATTERS[words], n), n)
               for n in range(seed, seed + runs)], sound=factor == 1)
        for words in scatters
        for nodes in NODES
        for factor, way in [(1.0, BOTH), *((f, w) for w in WAYS for f in FACTORS)]
    )  # fmt: skip
    yield (
        "several faults, 5 times slow, of eight nodes",
        (
            {"faults": faults, "scatter": words}
            | row([said(several(faults, SCATTERS[words], n), n) for n in range(seed, seed + runs)])
            for words in scatters
            for faults in SEVERAL
        ),
    )


def row(found: Sequence[Said], *, sound: bool = False) -> dict[str, Any]:
    """The figures of some runs."""
    return {
        "runs": len(found),
        "all named": "-" if sound else _share([each.named for each in found]),
        "a false accusation": _share([each.false for each in found]),
        "untrusted": _share([each.untrusted for each in found]),
        "not cleared": _share([each.open for each in found]),
    }


def _share(of: Sequence[bool]) -> str:
    return f"{100 * sum(of) / len(of):.1f} %"
