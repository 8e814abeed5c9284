"""How soon a slow node is named by the history, and how often a healthy one is."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fabricheck.localise.lemons import Jobs, lemons
from fabricheck.trend.robust import Array

_BAD = 0
"""The node that is slow."""

_ONSET = 15
_NIGHTS = 45
_POINTS = 12
_SIZES = (2, 2, 2, 4)
"""Nodes of a case, over and over."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """A system whose nights take part of its nodes.

    Attributes:
        words: what is special about it.
        nodes: nodes of the system.
        share: of them a night takes so many.
        series: series a night; twelve belong to a case.
        together: each case runs on all nodes of the night, instead of some of them.
        noise: of a value, relative standard deviation.
        nights: noise that all values of a night share.
        bursts: share of nights that are 1.3 times as slow.
        heavy: noise of Student's t with 3 degrees of freedom.
        slow: by how much cases with the bad node are slower.
    """

    words: str
    nodes: int = 20
    share: float = 0.25
    series: int = 200
    together: bool = False
    noise: float = 0.02
    nights: float = 0.0
    bursts: float = 0.0
    heavy: bool = False
    slow: float = 0.1


FLEETS = (
    Fleet("normal noise"),
    Fleet("heavy tails", heavy=True),
    Fleet("5 % of nights 1.3 times as slow, nights ±2 %", bursts=0.05, nights=0.02),
    Fleet("the same with heavy tails", bursts=0.05, nights=0.02, heavy=True),
    Fleet("slow by 5 % only", slow=0.05),
    Fleet("each case on all nodes of its night", together=True),
    Fleet("the same, 5 % of nights 1.3 times as slow", together=True, bursts=0.05),
    Fleet("no slow node, heavy tails, bursts, nights ±2 %", slow=0, heavy=True, bursts=0.05,
          nights=0.02),
)  # fmt: skip


def _history(fleet: Fleet, generator: np.random.Generator) -> Jobs:
    rows = []
    cases = fleet.series // _POINTS
    noise = _heavy if fleet.heavy else _normal
    for night in range(_NIGHTS):
        part = generator.permutation(fleet.nodes)[: max(2, round(fleet.nodes * fleet.share))]
        shared = fleet.nights * generator.standard_normal()
        shared += np.log(1.3) * (generator.random() < fleet.bursts)
        placed: dict[tuple[int, ...], list[float]] = defaultdict(list)
        for case in range(cases):
            chosen = part if fleet.together else generator.permutation(part)[: _SIZES[case % 4]]
            slower = np.log1p(fleet.slow) if night >= _ONSET and _BAD in chosen else 0.0
            value = shared + slower + float(np.median(fleet.noise * noise(generator)))
            placed[tuple(sorted(map(int, chosen)))].append(value)
        rows += [(night, nodes, float(np.median(values))) for nodes, values in placed.items()]
    members = np.zeros((len(rows), fleet.nodes), dtype=bool)
    for place, (_, nodes, _) in enumerate(rows):
        members[place, list(nodes)] = True
    return Jobs(
        np.array([night for night, _, _ in rows]),
        np.arange(_NIGHTS).astype("datetime64[D]").astype("datetime64[s]"),
        members,
        np.array([value for _, _, value in rows]),
        [str(node) for node in range(fleet.nodes)],
    )


def _normal(generator: np.random.Generator) -> Array:
    return generator.standard_normal(_POINTS)


def _heavy(generator: np.random.Generator) -> Array:
    return generator.standard_t(3, _POINTS)


def _until(jobs: Jobs, night: int) -> Jobs:
    """What was known after a night; levels of series are then those of the nights so far."""
    known = jobs.nights <= night
    slower = jobs.slower[known] - np.median(jobs.slower[known])
    return Jobs(jobs.nights[known], jobs.times, jobs.members[known], slower, jobs.names)


def tables(rounds: int, seed: int) -> Iterator[tuple[str, Iterator[dict[str, str]]]]:
    """For each fleet: named after the first nights with the slow node, and false accusations."""
    yield "slow nodes from the history", (_row(fleet, rounds, seed) for fleet in FLEETS)


def _row(fleet: Fleet, rounds: int, seed: int) -> dict[str, str]:
    generator = np.random.default_rng(seed)
    named: dict[int, list[bool]] = {1: [], 2: [], 3: [], 5: []}
    sizes, false, nights = [], 0, 0
    for _ in range(rounds):
        jobs = _history(fleet, generator)
        parts, accused = 0, set[str]()
        for night in range(_ONSET - 5, _NIGHTS):
            found = lemons(_until(jobs, night))
            names = {name for each in found for name in each.nodes}
            bad = {str(_BAD)} if fleet.slow and night >= _ONSET else set()
            # Who is accused night after night was accused once.
            false += len(names - bad - accused)
            accused = names
            nights += 1
            if bad and jobs.members[jobs.nights == night, _BAD].any():
                parts += 1
                if parts in named:
                    named[parts].append(bad <= names)
            sizes += [len(each.nodes) for each in found if bad & set(each.nodes)]
    return {
        "20 nodes, 200 series a night": fleet.words,
        **{
            f"night {part}": f"{100 * np.mean(each):.1f} %" if each else "-"
            for part, each in named.items()
        },
        "nodes named together": f"{np.mean(sizes):.2f}" if sizes else "-",
        "false per 1000 node-nights": f"{1000 * false / (nights * fleet.nodes):.3f}",
    }
