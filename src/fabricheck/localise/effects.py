"""How much slower than its peers each node, each pair and each suspect measured."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fabricheck.localise.evidence import Tests, median_of
from fabricheck.localise.explaining import Finding
from fabricheck.localise.fabric import Fabric, Ints
from fabricheck.localise.judging import LocationVerdict
from fabricheck.trend.robust import Array, Flags

SENDS, RECEIVES, LATENCY = WAYS = ("sends", "receives", "latency")


@dataclass(frozen=True, slots=True)
class Cell:
    """What tests of a place in one round, or of one pair, measured.

    Attributes:
        row: number of the place, or of the sender.
        column: number of the round from 1, or of the receiver.
        factor: how many times as slow as its peers, the median.
        words: who measured.
    """

    row: int
    column: int
    factor: float
    words: str


def by_leaf(fabric: Fabric) -> Ints:
    """The numbers of the nodes, leaf by leaf, in the order of the leaves' first nodes."""
    _, first, leaf = np.unique(fabric.leaf, return_index=True, return_inverse=True)
    return np.argsort(first[leaf], kind="stable")


def of_nodes(verdict: LocationVerdict, nodes: int) -> dict[str, Array]:
    """How many times as slow as its peers each node is, in each way; NaN without a test."""
    bandwidth, latency = verdict.tests
    ends = np.concatenate([latency.sender, latency.receiver])
    found = (
        median_of(bandwidth.sender, bandwidth.slower, nodes),
        median_of(bandwidth.receiver, bandwidth.slower, nodes),
        median_of(ends, np.tile(latency.slower, 2), nodes),
    )
    return {way: np.exp(each) for way, each in zip(WAYS, found, strict=True)}


def of_pairs(tests: Tests, fabric: Fabric) -> Iterator[Cell]:
    """A cell for each pair that was measured, sender and receiver."""
    nodes = len(fabric.nodes)
    ways = tests.sender * nodes + tests.receiver
    factors = np.exp(median_of(ways, tests.slower, nodes * nodes))
    for way, count in zip(*np.unique(ways, return_counts=True), strict=True):
        sender, receiver = divmod(int(way), nodes)
        names = f"{fabric.nodes[sender]}->{fabric.nodes[receiver]}"
        yield Cell(sender, receiver, float(factors[way]), f"{names}, {_tests(int(count))}")


def of_findings(
    findings: Sequence[Finding], verdict: LocationVerdict, fabric: Fabric
) -> Iterator[Cell]:
    """A cell for each round in which a place was measured; of places alike, the first."""
    for row, finding in enumerate(findings):
        tests = next(each for each in verdict.tests if each.metric == finding.metric)
        here = _passing(finding, tests, fabric)
        for number in np.unique(tests.round[here]):
            mine = np.flatnonzero(here & (tests.round == number))
            factor = float(np.exp(np.median(tests.slower[mine])))
            yield Cell(row, int(number) + 1, factor, _who(mine, tests, fabric))


def _passing(finding: Finding, tests: Tests, fabric: Fabric) -> Flags:
    """The tests that passed a place."""
    if finding.places[0] < fabric.size:
        return np.asarray((tests.passed == finding.places[0]).any(axis=1))
    one, other = map(fabric.nodes.index, finding.names[0].replace("<->", "->").split("->"))
    here: Flags = (tests.sender == one) & (tests.receiver == other)
    if tests.metric == "latency":
        here |= (tests.sender == other) & (tests.receiver == one)
    return here


def _who(mine: Ints, tests: Tests, fabric: Fabric) -> str:
    if len(mine) > 1:
        return _tests(len(mine))
    arrow = "->" if tests.metric == "bandwidth" else "<->"
    return arrow.join(fabric.nodes[ends[mine[0]]] for ends in (tests.sender, tests.receiver))


def _tests(count: int) -> str:
    return f"{count} test{'' if count == 1 else 's'}"
