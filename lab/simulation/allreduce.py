"""``lab/simulate allreduce``: sums over 4 to 64 ranks whose messages are late, by several schemes.

Times are those of a ring on an idle network. A message takes its bytes over its link, and a delay
of its own, lognormal. Its deviation is the one of which a ring of 8 ranks that waits for nothing
but delays has a p99 of 1.5 or 3 medians, as in the OptiReduce benchmarking guide; the median of
that ring is half an idle ring of the sum. Nothing models incast or retransmissions.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import typer

from fabricheck.trend.robust import Array
from simulation.tables import JsonOption, SeedOption, show

RANKS = (4, 8, 16, 32, 64)
TAILS = (1.5, 3.0)
LOSS = 0.002
_GUIDES = 8
"""Ranks of the guide's network."""
_SHARE = 0.5
"""The median of the ring of delays, in idle rings of the sum."""
_PAPERS_SUMS, _PAPERS_QUANTILE = 20, 95
"""The paper's t_B: of so many sums over TCP."""


class Delays:
    """Delays of messages."""

    def __init__(self, random: np.random.Generator, deviation: float, median: float = 1.0) -> None:
        self._random, self._deviation, self._median = random, deviation, median

    def draw(self, *shape: int) -> Array:
        """So many of them."""
        return self._median * np.exp(self._deviation * self._random.standard_normal(shape))


def tail_of(times: Array) -> float:
    """p99 over p50."""
    return float(np.percentile(times, 99) / np.median(times))


def rounds(delays: Delays, sums: int, ranks: int, bytes_of: list[float], steps: list[int]) -> Array:
    """Times of sums in dependent rounds: in each a rank sends one message, so many ranks on."""
    time = np.zeros((sums, ranks))
    for size, step in zip(bytes_of, steps, strict=True):
        come = np.roll(time + size + delays.draw(sums, ranks), step, axis=1)
        time = np.maximum(time + size, come)
    return np.asarray(time.max(axis=1))


def ring(delays: Delays, sums: int, ranks: int, length: float = 1.0) -> Array:
    """2 (N-1) rounds."""
    count = 2 * (ranks - 1)
    return rounds(delays, sums, ranks, [length / count] * count, [1] * count)


def bcube(delays: Delays, sums: int, ranks: int) -> Array:
    """Halving and doubling: 2 log N rounds between ranks that are ever nearer, and back."""
    halves = [2**power for power in range(ranks.bit_length() - 1)][::-1]
    whole = ranks / (2 * (ranks - 1))
    sizes = [whole * half / ranks for half in halves]
    return rounds(delays, sums, ranks, sizes + sizes[::-1], halves + halves[::-1])


def tar(delays: Delays, sums: int, ranks: int) -> Array:
    """Transpose allreduce over TCP: in each round another rank."""
    steps = [*range(1, ranks)] * 2
    return rounds(delays, sums, ranks, [1 / len(steps)] * len(steps), steps)


def tar_2d(delays: Delays, sums: int, ranks: int, groups: int) -> Array:
    """In two dimensions: within groups, across them, and within groups again."""
    members = ranks // groups
    size = ranks / (2 * (ranks - 1)) / members
    steps = [*[1] * (members - 1), *[members] * (groups - 1), *[1] * (members - 1)]
    return rounds(delays, sums, ranks, [size] * len(steps), steps)


def stages(delays: Delays, sums: int, ranks: int) -> tuple[Array, Array]:
    """When the messages of both stages of a bounded sum come, if nothing ends them."""
    first, second = (0.5 + delays.draw(sums, ranks, ranks - 1) for _ in range(2))
    return first, second


def bounded(come: tuple[Array, Array], bound: float) -> tuple[Array, float]:
    """Times of bounded sums, and the share of messages that they lose."""
    times: Array = np.zeros(len(come[0]))
    for stage in come:
        times = times + np.minimum(stage.max(axis=(1, 2)), bound)
    return times, float(np.mean([(stage > bound).mean() for stage in come]))


def deviation_of(random: np.random.Generator, tail: float) -> tuple[float, float]:
    """The deviation whose ring of the guide's ranks has that tail, and the median of that ring."""
    low, high = 0.1, 4.0
    for _ in range(18):
        middle = (low + high) / 2
        times = ring(Delays(random, middle), 6000, _GUIDES, length=0.0)
        low, high = (middle, high) if tail_of(times) < tail else (low, middle)
    return middle, float(np.median(times))


def rows(seed: int, sums: int) -> Iterator[dict[str, Any]]:
    """A row for each environment and number of ranks."""
    random = np.random.default_rng(seed)
    for tail in TAILS:
        deviation, median = deviation_of(random, tail)
        for ranks in RANKS:
            delays = Delays(random, deviation, _SHARE / median)
            count = max(200, sums * 16 // ranks**2 * 4)
            over_tcp = tar(delays, count, ranks)
            come = stages(delays, count, ranks)
            lost = float(np.percentile(np.concatenate(come), 100 * (1 - LOSS)))
            times, _ = bounded(come, lost)
            papers = [
                bounded(come, np.percentile(each, _PAPERS_QUANTILE) / 2)[1]
                for each in random.choice(over_tcp, (50, _PAPERS_SUMS))
            ]
            groups = [each for each in (2, 4, 8, 16) if ranks // each > 1]
            ring_mean = ring(delays, count, ranks).mean()
            yield {
                "p99/p50": tail,
                "ranks": ranks,
                "ring": f"{ring_mean:.2f}",
                "bcube": f"{bcube(delays, count, ranks).mean():.2f}",
                "TAR": f"{over_tcp.mean():.2f}",
                "TAR 2D": f"{min(tar_2d(delays, count, ranks, g).mean() for g in groups):.2f}",
                "bounded": f"{times.mean():.2f}",
                "its p99/p50": f"{tail_of(times):.2f}",
                "ring / bounded": f"{ring_mean / times.mean():.2f}",
                "loss by the paper's t_B": f"{100 * np.mean(papers):.3f} %",
            }


def allreduce(
    *,
    sums: int = typer.Option(2000, min=200, help="Sums of 8 ranks; of more ranks, fewer."),
    seed: SeedOption = 11,
    machine: JsonOption = False,
) -> None:
    """Simulate sums over 4 to 64 ranks whose messages are late, by several schemes.

    Prints a table of docs/reference/programs/allreduce_lab.md: mean times, in those of a ring on an
    idle network. A bounded sum loses 0.2 % of its messages; the last column is what it would lose
    by the paper's rule, the 95th percentile of 20 sums over TCP.

    Exit code 0: simulated.

    Examples:

        lab/simulate allreduce --sums 1000
    """
    show({"sums": sums, "seed": seed}, [("sums whose messages are late", rows(seed, sums))],
         machine=machine)  # fmt: skip
