#!/usr/bin/env python3
"""Measures the schemes of allreduce_lab in its networks, and writes the tables of its page.

It starts a testbed, with each rank behind a link of its own, and needs root. Give it a machine with
nothing else to do, and the program as it was built. Each run is kept, so that it may be called for
one part after the other; the last call writes.

    cmake -S src/bench -B build/bench-lab -DFABRICHECK_MPI=OFF && cmake --build build/bench-lab
    lab/measure-allreduce-lab.py build/bench-lab/allreduce_lab/allreduce_lab --parts idle elastic4
    lab/measure-allreduce-lab.py --write
"""

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fabricheck.launch.awake import keep_awake
from fabricheck.programs.allreduce_lab.entries import MODELS, NETWORKS
from fabricheck.programs.allreduce_lab.read import time_to
from fabricheck.provenance import SUITE
from fabricheck_testbed import Testbed

DOCUMENT = SUITE / "docs" / "reference" / "programs" / "allreduce_lab.md"
KEPT = SUITE / "build" / "allreduce-lab.jsonl"
MARK = "<!-- measured -->\n"
LINK = SUITE / "src" / "fabricheck" / "programs" / "allreduce_lab" / "shaped_link.sh"
RATE = 100
"""Mbit/s of a link."""
GRADIENTS = 196_608
COUNTS = {"short": 600, "elastic4": 120, "elastic16": 80}
"""Sums of a run where they are not 300: bursts that are rare, and sums that take long."""
STEPS = 200
LIMITS = ("1.1", "1.5", "2")

Row = dict[str, Any]


class Lab:
    """Runs of the program on nodes of a testbed."""

    def __init__(self, testbed: Testbed, program: Path, folder: Path) -> None:
        self._testbed, self._program, self._folder = testbed, program, folder
        self._count = 0

    def run(self, part: str, place: str, *words: str, ranks: int = 4) -> None:
        """Measures once, and keeps it."""
        self._count += 1
        network = NETWORKS[place]
        path = self._folder / f"{self._count}.json"
        given = {
            "--size": ranks, "--shared-path": self._folder, "--prefix": self._count,
            "--json": path, "--timeout": 30, "--environment": network.kind, "--tail": network.tail,
            "--flows": network.flows, "--halt-loss": 100, "--tail-target": network.longest,
        }  # fmt: skip
        options = [str(word) for pair in given.items() if pair[1] is not None for word in pair]
        link = f"{RATE}:{network.dropped}" if network.dropped else str(RATE)
        started = [
            subprocess.Popen(
                self._testbed.command(
                    f"n{rank + 1}", str(LINK), link, str(self._program), *options, "--realtime",
                    "--rank", str(rank), *words,
                ),
                stdout=subprocess.DEVNULL,
            )
            for rank in range(ranks)
        ]  # fmt: skip
        codes = [each.wait() for each in started]
        sys.stderr.write(f"{part} {place} {' '.join(words)}: {codes}\n")
        if any(codes):
            return  # its network could not be made, as the program says
        document = json.loads(path.read_text())
        rows = {each["scheme"]: each for each in document["results"]}
        with KEPT.open("a") as file:
            found = {"part": part, "place": place, "environment": document["environment"]}
            file.write(json.dumps({**found, "words": words, **rows}) + "\n")


@contextlib.contextmanager
def testbed(nodes: int) -> Iterator[tuple[Testbed, Path]]:
    """A testbed whose nodes see the suite, and a folder that they share."""
    with tempfile.TemporaryDirectory(prefix="allreduce-lab-") as name:
        folder = Path(name)
        found = Testbed(folder / "tb")
        try:
            found.up(nodes=nodes, shares=[SUITE, folder])
            yield found, folder
        finally:
            found.down()


def measure(lab: Lab, part: str) -> None:
    """One run of a part."""
    kind, _, place = part.partition(":")
    if kind == "sum":
        lab.run("sum", place, "--elements", "16384", "--iteration-count",
                str(COUNTS.get(place, 300)), "ring", "tar_tcp", "optireduce")  # fmt: skip
    elif kind == "learn":
        for seed in ("1", "2", "3"):
            lab.run("learn", place, "--elements", "16384", "--iteration-count", str(STEPS),
                    "--warmup-iters", "0", "--train", "--seed", seed,
                    "ring", "optireduce")  # fmt: skip
    elif kind == "limit":
        for limit in LIMITS:
            lab.run("limit", "tail3", "--elements", "16384", "--tail-target", limit,
                    "ring", "optireduce")  # fmt: skip
    elif kind == "paced":
        # A third of a link that two flows use: no more than TCP would give it.
        lab.run("paced", "elastic4", "--elements", "16384", "--iteration-count", "120", "--rate",
                str(RATE // 3), "ring", "optireduce")  # fmt: skip
    else:
        buckets = ",".join(map(str, MODELS["gpt2"].scaled(GRADIENTS)))
        lab.run("training", place, "--elements", "16384", "--compute", "10", "--buckets", buckets,
                "--hadamard-block", "256", "--iteration-count", "100",
                "ring", "bcube", "tar_tcp", "optireduce")  # fmt: skip


PARTS = (
    *(f"sum:{place}" for place in NETWORKS if place != "tail1_5"),
    *("limit", "paced", "training:tail1_5", "training:tail3"),
    *(f"learn:{place}" for place in ("idle", "tail3", "short", "elastic4", "lossy")),
)


def spread(found: Sequence[Row], figure: Callable[[Row], float], factor: float = 1.0) -> str:
    """The median of a figure over all runs, with the least and the greatest."""
    values = [factor * figure(each) for each in found]
    ends = f" ({min(values):.3g}\N{EN DASH}{max(values):.3g})" if len(values) > 1 else ""
    return f"{statistics.median(values):.3g}{ends}"


def of(scheme: str, *path: str) -> Callable[[Row], float]:
    """A figure of a scheme."""

    def find(run: Row) -> float:
        found = run[scheme]
        for each in path:
            found = found[each]
        return float(found)

    return find


def gain(run: Row) -> float:
    """How many times as long the ring takes on average as the bounded transport."""
    return float(run["ring"]["time"]["avg"] / run["optireduce"]["time"]["avg"])


def reached(run: Row) -> float:
    """Of the most that any scheme gains in that run."""
    return float(run["optireduce"]["time"]["p50"] / run["optireduce"]["time"]["avg"])


def skipped(run: Row) -> float:
    """The share of sums."""
    found = run["optireduce"]
    return float(found["sums_skipped"] / found["iterations"] / 4)


def network_row(found: Sequence[Row]) -> list[str]:
    """Of the sums in one network."""
    return [
        str(len(found)),
        spread(found, of("ring", "hit"), 100),
        spread(found, of("ring", "tail")),
        spread(found, gain),
        spread(found, lambda run: run["tar_tcp"]["time"]["avg"] / run["optireduce"]["time"]["avg"]),
        spread(found, reached),
        spread(found, of("optireduce", "tail")),
        spread(found, of("optireduce", "loss"), 100),
        spread(found, skipped, 100),
    ]


def beside_row(found: Sequence[Row]) -> list[str]:
    """Mbit/s of the other traffic of each sender: alone, and beside each scheme."""
    return [
        spread(found, lambda run: run["environment"].get("background_alone", 0), 8e-6),
        *(
            spread([run for run in found if each in run], of(each, "beside"), 4e-6)
            if any(each in run for run in found)
            else "-"
            for each in ("ring", "tar_tcp", "optireduce")
        ),
        spread(found, gain),
    ]


def learned_row(found: Sequence[Row]) -> list[str]:
    """Of what learned in one network, over its seeds."""

    def sooner(run: Row) -> float:
        times = [
            time_to(run[each]["accuracies"], run[each]["learned_seconds"]) or float("nan")
            for each in ("optireduce", "ring")
        ]
        return times[0] / times[1]

    return [
        str(len(found)),
        *(spread(found, of(each, "accuracy"), 100) for each in ("ring", "optireduce")),
        spread(found, lambda run: run["ring"]["accuracy"] - run["optireduce"]["accuracy"], 100),
        spread(found, of("optireduce", "loss"), 100),
        spread(found, of("optireduce", "drift"), 100),
        spread(found, sooner),
    ]


def training_row(found: Sequence[Row]) -> list[str]:
    """Milliseconds of an iteration by each scheme."""
    schemes = ("ring", "bcube", "tar_tcp", "optireduce")
    return [
        str(len(found)),
        *(spread(found, of(each, "time", "avg"), 1e3) for each in schemes),
        spread(found, gain),
        spread(found, of("optireduce", "loss"), 100),
        spread(found, lambda run: skipped(run) / 4, 100),
    ]


def table(head: str, rows: Sequence[Sequence[str]]) -> str:
    """Markdown."""
    columns = head.count("|") + 1
    lines = [f"| {head} |", "|" + "---|" * columns, *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def tables() -> Iterator[str]:
    """All that was kept, as the page has it."""
    runs = [json.loads(line) for line in KEPT.read_text().splitlines()]

    def rows_of(part: str, make: Callable[[Sequence[Row]], list[str]]) -> list[list[str]]:
        found = {place: [] for place in NETWORKS}
        for run in runs:
            if run["part"] == part:
                found[run["place"]].append(run)
        return [[place, *make(each)] for place, each in found.items() if each]

    yield (
        "\nMedians of so many runs of `lab/measure-allreduce-lab.py` "
        "(least\N{EN DASH}greatest), 4 ranks at 100 Mbit/s, sums of 64 KiB, all schemes in turns. "
        "Shares in percent; the ring's and `tar_tcp`'s times are averages over that of "
        "`optireduce`:\n"
    )
    yield table(
        "network | n | hit | ring p99/p50 | ring | tar_tcp | of the most | p99/p50 | loss | "
        "skipped",
        rows_of("sum", network_row),
    )
    yield "Mbit/s of the flows in each direction, alone and beside sums, and the ring's time:\n"
    rows = [row for row in rows_of("sum", beside_row) if row[0].startswith("elastic")]
    rows += [[f"elastic4, `--rate {RATE // 3}`", *row[1:]] for row in rows_of("paced", beside_row)]
    yield table("network | alone | ring | tar_tcp | optireduce | ring over optireduce", rows)
    yield "What `--tail-target` makes of long bursts (`tail3`):\n"
    limits = {
        limit: [run for run in runs if run["part"] == "limit" and limit in run["words"]]
        for limit in LIMITS
    }
    yield table(
        "target | n | t_B, ms | ring | of the most | p99/p50 | loss | skipped",
        [
            [
                limit,
                str(len(found)),
                spread(found, of("optireduce", "bound"), 1e3),
                *network_row([{"tar_tcp": run["ring"], **run} for run in found])[3:4],
                *network_row([{"tar_tcp": run["ring"], **run} for run in found])[5:],
            ]
            for limit, found in limits.items()
            if found
        ],
    )
    yield (
        "Milliseconds for an iteration of GPT-2 scaled down to 192 KiB with 10 ms of computing:\n"
    )
    yield table(
        "network | n | ring | bcube | tar_tcp | optireduce | ring over it | loss | skipped",
        rows_of("training", training_row),
    )
    yield (
        f"A network that learns, after {STEPS} steps, one seed a run; the last column is the time "
        "to an accuracy of 50 %, over the ring's:\n"
    )
    yield table(
        "network | n | ring | optireduce | points below | loss | drift | time to half",
        rows_of("learn", learned_row),
    )


def main() -> None:
    """Measure, and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path, nargs="?")
    parser.add_argument("--runs", type=int, default=1, help="of each part (1)")
    parser.add_argument("--parts", nargs="*", default=PARTS, choices=PARTS)
    parser.add_argument("--write", action="store_true", help="what was kept, into the page")
    asked = parser.parse_args()
    KEPT.parent.mkdir(exist_ok=True)
    if asked.program:
        keep_awake()
        with testbed(4) as (nodes, folder):
            lab = Lab(nodes, asked.program.resolve(), folder)
            for _ in range(asked.runs):
                for part in asked.parts:
                    measure(lab, part)
    if asked.write:
        text = DOCUMENT.read_text()
        parts = list(tables())
        kept = [
            f"{textwrap.fill(words.strip(), 100)}\n\n{rows}"
            for words, rows in zip(parts[::2], parts[1::2], strict=True)
            if rows.count("\n") > 2  # of what was not measured there is no table
        ]
        text = text[: text.index(MARK) + len(MARK)] + "\n" + "\n".join(kept)
        DOCUMENT.write_text(text.rstrip() + "\n")


if __name__ == "__main__":
    main()
