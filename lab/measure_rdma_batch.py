"""rdma_batch beside perftest, on two nodes with RDMA devices."""

from collections.abc import Sequence
from typing import Protocol

from fabricheck.measures.metrics import Metric
from fabricheck.programs.perftest.launch import perftest_options
from fabricheck.programs.rdma_batch import in_turns
from fabricheck.programs.rdma_batch.entries import COMPARISONS, Comparison
from fabricheck.programs.rdma_batch.launch import rdma_batch_options
from fabricheck.sites.extras import PartitionExtras
from fabricheck.units import format_size

DOCUMENT = "docs/reference/programs/rdma_batch.md"
_ROUNDS = 9
_BATCHES = {1: 2000, 64: 8, 128: 40, 256: 5}


class Pair(Protocol):
    """Two nodes, with what their ports need."""

    extras: PartitionExtras

    def program(self, name: str) -> str:
        """Path of one of our programs."""

    def run(self, runs: Sequence[Sequence[str]]) -> list[str]:
        """What the second node's end of each run printed; the first one is its server."""


def measure(pair: Pair) -> dict[str, str]:
    """The tables of the page, by name."""
    return {"perftest": _table_beside(pair)}


def _table_beside(pair: Pair) -> str:
    lines = [
        "| case | size | transfers | beside | its median | rdma_batch | ratio |",
        "|---|---|---|---|---|---|---|",
    ]
    for entry in COMPARISONS.values():
        size = entry.min_size or 0
        runs = in_turns.turns(entry, [size], _setting(pair, entry), _ROUNDS)
        sides = in_turns.read(entry, runs, pair.run([turn.words for turn in runs]), entry.name)
        unit = "us" if entry.of is Metric.LATENCY else "MB/s"
        other = " ".join((entry.rival, *entry.rival_options))
        lines.append(
            f"| `{entry.name}` | {format_size(size)} | {entry.batch} | `{other}` | "
            f"{sides.rival[size]:.4g} {unit} | {sides.own[size]:.4g} {unit} | "
            f"{in_turns.ratio(entry, sides, size):.3f} |"
        )
    return "\n".join(lines)


def _setting(pair: Pair, entry: Comparison) -> in_turns.Setting:
    return in_turns.Setting(
        program=pair.program("rdma_batch"),
        own_options=rdma_batch_options(pair.extras, 1),
        perftest_options=perftest_options(pair.extras, "RC"),
        count=lambda _: _BATCHES[entry.batch],
    )
