"""What the red cases of a run share and the good ones do not: node, transport, MPI, partition."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from fabricheck.measures.registry import FAMILIES, REGISTRY
from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.report.status import Status

FEWEST: Final = 3
"""Red cases that make a pattern."""

PURITY: Final = 0.8
"""Share of the cases with a fact that must be red."""

CONTRAST: Final = 0.5
"""The others may be red at most this often, as a share of that."""

MOST: Final = 3
"""Facts that are told, the one that covers most first."""

_RED: Final = (Status.CRITICAL, Status.UNTRUSTED, Status.FAILED, Status.ABORTED)
_GOOD: Final = (Status.GOOD, Status.WARNING)


def shared(run: ReportedRun) -> tuple[str, ...]:
    """Sentences that say what red cases share; none where fewer than three are red.

    Facts are a node, a transport, an environment, a layer, a partition, a port of several, an
    environment over a transport, and a transport on a number of nodes; a node only where another
    case of the placement did without it. Told is the fact with the largest harmonic mean of
    precision (how many cases with it are red) and recall (how many red cases have it), then the
    best for the red cases that it leaves, and so on.
    """
    red = {number for number, case in enumerate(run.cases) if case.status in _RED}
    judged = red | {number for number, case in enumerate(run.cases) if case.status in _GOOD}
    if len(red) < FEWEST:
        return ()
    telling = _telling_nodes([run.cases[number] for number in judged])
    having: dict[str, set[int]] = {}
    for number in judged:
        for fact in _facts(run.cases[number], telling):
            having.setdefault(fact, set()).add(number)
    sentences: list[str] = []
    left = set(red)
    while len(sentences) < MOST and (fact := _best(having, left, judged - red)):
        found = having[fact]
        left -= found
        sentences.append(
            f"{fact[0].upper()}{fact[1:]}: {len(found & red)} of {len(found)} cases are red; "
            f"elsewhere {len(red - found)} of {len(judged - found)}."
        )
    if not sentences:
        return (
            f"{len(red)} of {len(judged)} cases are red, and no node, transport, MPI or partition "
            "stands out.",
        )
    return tuple(sentences)


def _telling_nodes(cases: Sequence[ReportedCase]) -> set[str]:
    """Nodes that some case of a placement has and another lacks; the others tell nothing."""
    by_placement: dict[str, list[set[str]]] = {}
    for case in cases:
        by_placement.setdefault(case.placement, []).append(set(case.nodes))
    return {
        node
        for sets in by_placement.values()
        for node in sets[0].union(*sets) - sets[0].intersection(*sets)
    }


def _facts(case: ReportedCase, telling: set[str]) -> Iterator[str]:
    """What may be to blame for a case, the most telling kind first."""
    yield from (f"node {node}" for node in case.nodes if node in telling)
    if case.transport:
        yield f"transport {case.transport}"
    yield f"environment {case.environ}"
    benchmark = REGISTRY.get(case.benchmark)
    if benchmark and (layer := FAMILIES[benchmark.family].layer):
        yield f"layer {layer}"
    yield f"partition {case.system}:{case.partition}"
    if case.port:
        yield f"port {case.port}"
    if case.transport:
        yield f"environment {case.environ} over {case.transport}"
        nodes = f"{case.num_nodes} nodes" if case.num_nodes > 1 else "one node"
        yield f"transport {case.transport} on {nodes}"


def _best(having: Mapping[str, set[int]], red: set[int], good: set[int]) -> str:
    """The fact that tells red from good cases best; empty where none does."""
    best, highest = "", 0.0
    for fact, cases in having.items():
        hit, miss = len(cases & red), len(cases & good)
        others = len(red) + len(good) - hit - miss
        if hit < FEWEST or not others:
            continue
        precision, elsewhere = hit / (hit + miss), (len(red) - hit) / others
        score = 2 * hit / (len(red) + hit + miss)
        if precision >= PURITY and elsewhere <= CONTRAST * precision and score > highest:
            best, highest = fact, score
    return best
