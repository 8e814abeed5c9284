"""Fabrics with slow nodes and links, as ``fabricheck locate`` and its rivals would measure them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fabricheck.localise.evidence import Round
from fabricheck.localise.fabric import Fabric, Ints
from fabricheck.trend.robust import Array

_LATENCY = 2e-6
RATE = 12.5e9


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fabric.

    Attributes:
        leaves: how many leaf switches.
        hosts: nodes of a leaf.
        spines: links of a leaf; 0: nothing is known of the topology.
        bad: slow nodes: a third in sending, a third in receiving, the others in both.
        links: slow links between leaf and spine.
        noise: standard deviation of a measurement, relative.
        heavy: tails of Student's t with 3 degrees, and one in 100 is slower by 1.3 to 3.
        by: least and most that a bad node is slower by.
        often: share of rounds in which it is.
        correlated: one leaf is congested for some rounds, and each round is faster or slower.
    """

    leaves: int
    hosts: int
    spines: int = 0
    bad: int = 10
    links: int = 0
    noise: float = 0.02
    heavy: bool = False
    correlated: bool = False
    by: tuple[float, float] = (0.1, 0.5)
    often: float = 1.0

    @property
    def nodes(self) -> int:
        """All of them."""
        return self.leaves * self.hosts


class Simulated:
    """One fabric of a kind. The routing is by destination, as InfiniBand's is."""

    def __init__(self, kind: Kind, seed: int) -> None:
        self.kind = kind
        self.random = np.random.default_rng(seed)
        nodes = kind.nodes
        self.sends, self.receives = np.zeros(nodes), np.zeros(nodes)
        self.bad = self.random.choice(nodes, kind.bad, replace=False)
        slow = -np.log1p(-self.random.uniform(*kind.by, kind.bad))
        way = np.arange(kind.bad) % 3
        self.sends[self.bad[way != 1]] = slow[way != 1]
        self.receives[self.bad[way != 0]] = slow[way != 0]
        spines = max(kind.spines, 1)
        self.links = np.zeros((2, kind.leaves, spines))
        self.bad_links = self.random.choice(self.links.size, kind.links, replace=False)
        self.links.ravel()[self.bad_links] = -np.log1p(-self.random.uniform(0.2, 0.5, kind.links))
        self.leaf_of = np.arange(nodes) // kind.hosts
        self.congested = int(self.random.integers(kind.leaves)) if kind.correlated else -1
        self.from_round = int(self.random.integers(6))
        self.until_round = self.from_round + int(self.random.integers(1, 12))
        self.rounds = 0
        self.now = np.ones(nodes, dtype=bool)

    def leaf(self, node: str) -> str | None:
        """As ``Routes``."""
        return f"leaf{int(node[1:]) // self.kind.hosts}" if self.kind.spines else None

    def path(self, sender: str, receiver: str) -> tuple[str, ...] | None:
        """As ``Routes``."""
        one, other = int(sender[1:]), int(receiver[1:])
        if not self.kind.spines or one // self.kind.hosts == other // self.kind.hosts:
            return None
        spine = other % self.kind.spines
        hosts = self.kind.hosts
        return f"leaf{one // hosts}->spine{spine}", f"spine{spine}->leaf{other // hosts}"

    def spread(self, leaf: str) -> int:
        """As ``Routes``."""
        del leaf
        return 1

    def fabric(self) -> Fabric:
        """As the judge knows it."""
        names = [f"n{node}" for node in range(self.kind.nodes)]
        return Fabric(names, self if self.kind.spines else None)

    def truth(self) -> set[str]:
        """Names of the places that are slow."""
        names = {f"n{node} sends" for node in np.flatnonzero(self.sends)}
        names |= {f"n{node} receives" for node in np.flatnonzero(self.receives)}
        shape = self.links.shape
        for way, leaf, spine in zip(*np.unravel_index(self.bad_links, shape), strict=True):
            ends = (f"leaf{leaf}", f"spine{spine}")
            names.add("->".join(ends if way == 0 else ends[::-1]))
        return names

    def measure(self, pairs: Ints) -> Round:
        """One round."""
        first, second = pairs[:, 0], pairs[:, 1]
        drift = self.random.normal(0, 0.02) if self.kind.correlated else 0.0
        if self.kind.often < 1:
            self.now = self.random.random(self.kind.nodes) < self.kind.often
        there = drift + self._slow(first, second)
        back = drift + self._slow(second, first)
        latency = self._noise(len(pairs))
        self.rounds += 1
        return Round(pairs, _LATENCY * np.exp(latency), RATE * np.exp(-there), RATE * np.exp(-back))

    def _slow(self, sender: Ints, receiver: Ints) -> Array:
        mine, theirs = self.leaf_of[sender], self.leaf_of[receiver]
        across = mine != theirs
        spine = receiver % self.links.shape[2]
        way = np.where(
            across, np.maximum(self.links[0, mine, spine], self.links[1, theirs, spine]), 0
        )
        slow = np.maximum(
            np.maximum(
                self.sends[sender] * self.now[sender], self.receives[receiver] * self.now[receiver]
            ),
            way,
        )
        if self.from_round <= self.rounds < self.until_round:
            busy = across & ((mine == self.congested) | (theirs == self.congested))
            slow = slow + np.where(busy, self.random.uniform(0.1, 0.7, len(slow)), 0)
        return np.asarray(slow + self._noise(len(slow)))

    def _noise(self, count: int) -> Array:
        if not self.kind.heavy:
            return self.random.normal(0, self.kind.noise, count)
        noise = self.random.standard_t(3, count) * self.kind.noise
        burst = self.random.random(count) < 0.01
        return np.asarray(noise + burst * np.log(self.random.uniform(1.3, 3, count)))


Measure = Callable[[Ints], Round]
