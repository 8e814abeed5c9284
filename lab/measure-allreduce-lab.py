#!/usr/bin/env python3
"""Writes the table of docs/reference/programs/allreduce_lab.md: the schemes in tailed networks.

It starts a testbed, with each rank behind a link of its own, and needs root. Give it a machine with
nothing else to do, and the program as it was built:

    cmake -S src/bench -B build/bench-lab -DFABRICHECK_MPI=OFF && cmake --build build/bench-lab
    lab/measure-allreduce-lab.py build/bench-lab/allreduce_lab/allreduce_lab --runs 3
"""

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fabricheck.programs.allreduce_lab.entries import MODELS
from fabricheck.provenance import SUITE
from fabricheck_testbed import Testbed

DOCUMENT = SUITE / "docs" / "reference" / "programs" / "allreduce_lab.md"
MARK = "<!-- measured -->\n"
LINK = SUITE / "src" / "fabricheck" / "programs" / "allreduce_lab" / "shaped_link.sh"
SCHEMES = ("ring", "bcube", "tar_tcp", "optireduce")
PAYLOAD = 1448 / 1514
"""What TCP carries of a frame."""
GRADIENTS = 196_608

Row = tuple[str, str, Callable[[], float], str]


class Lab:
    """Runs of the program on nodes of a testbed."""

    def __init__(self, testbed: Testbed, program: Path, folder: Path) -> None:
        self._testbed, self._program, self._folder = testbed, program, folder
        self._count = 0

    def run(self, rate: int, *words: str, ranks: int = 4) -> dict[str, Any]:
        """The results by scheme, and ``environment``."""
        self._count += 1
        path = self._folder / f"{self._count}.json"
        common = ["--size", str(ranks), "--shared-path", str(self._folder), "--realtime",
                  "--prefix", str(self._count), "--json", str(path), "--timeout", "30"]  # fmt: skip
        started = [
            subprocess.Popen(
                self._testbed.command(
                    f"n{rank + 1}", str(LINK), str(rate), str(self._program), *common,
                    "--rank", str(rank), *words,
                ),
                stdout=subprocess.DEVNULL,
            )
            for rank in range(ranks)
        ]  # fmt: skip
        codes = [each.wait() for each in started]
        if any(codes):
            raise SystemExit(f"run {self._count} ({' '.join(words)}) ended with {codes}")
        document = json.loads(path.read_text())
        sys.stderr.write(f"run {self._count}: {' '.join(words)[:100]}\n")
        found = {each["scheme"]: each for each in document["results"]}
        return {**found, "environment": document["environment"]}


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


def environments(lab: Lab, rate: int, ranks: int, count: int, runs: int) -> list[list[str]]:
    """Tails, their probes, and each scheme in them."""
    rows = []
    for tail in ("1.5", "3"):
        found = [
            lab.run(rate, "--tail", tail, "--elements", "16384", "--iteration-count", str(count),
                    "--halt-loss", "100",
                    *SCHEMES, ranks=ranks)
            for _ in range(runs)
        ]  # fmt: skip
        cells = [middle(found, lambda one: one["environment"]["tail"])]
        cells += [middle([one[scheme] for one in found], tail_of) for scheme in SCHEMES]
        cells.append(100 * middle(found, lambda one: one["optireduce"]["loss"]))
        rows.append([f"{ranks} at {rate} Mbit/s", tail, *(f"{cell:.3g}" for cell in cells)])
    return rows


def trade(lab: Lab, rate: int, runs: int) -> list[list[str]]:
    """How t_B, loss and tail go together in the environment of 3."""
    rows = []
    for target in ("0.2", "2", "10"):
        found = [
            lab.run(rate, "--tail", "3", "--elements", "16384", "--loss-target", target,
                    "--skip-loss", "100", "--halt-loss", "100", "ring", "optireduce")
            for _ in range(runs)
        ]  # fmt: skip
        bounded = [one["optireduce"] for one in found]
        rows.append(
            [
                target,
                f"{1e3 * middle(bounded, lambda one: one['bound']):.3g}",
                f"{100 * middle(bounded, lambda one: one['loss']):.3g}",
                f"{middle(bounded, lambda one: one['tail']):.3g}",
                f"{middle(found, ratio_of_averages):.3g}",
            ]
        )
    return rows


def trainings(lab: Lab, rate: int, models: Sequence[str], runs: int) -> list[list[str]]:
    """Seconds for an iteration of each model in both environments."""
    rows = []
    for name in models:
        buckets = MODELS[name].scaled(GRADIENTS)
        for tail in ("1.5", "3"):
            found = [
                lab.run(rate, "--tail", tail, "--elements", "16384", "--compute", "10",
                        "--buckets", ",".join(map(str, buckets)), "--hadamard-block", "256",
                        "--halt-loss", "100",
                        "--iteration-count", "100", *SCHEMES)
                for _ in range(runs)
            ]  # fmt: skip
            times = [middle([one[scheme] for one in found], average_of) for scheme in SCHEMES]
            cells = [f"{1e3 * time:.3g} ({time / times[-1]:.2f}x)" for time in times]
            loss = 100 * middle(found, lambda one: one["optireduce"]["loss"])
            rows.append([MODELS[name].title, tail, *cells, f"{loss:.2g}"])
    return rows


def single(lab: Lab, rate: int, runs: int) -> list[list[str]]:
    """What needs no tail."""
    rates = [
        lab.run(rate, "--elements", "2048000", "--iteration-count", "5", "--warmup-iters", "1",
                "ring")["ring"]
        for _ in range(runs)
    ]  # fmt: skip
    carried = middle(rates, lambda one: 1.5 * 8 * one["size"] / one["time"]["p50"])
    lossy = ("--elements", "8400", "--iteration-count", "50", "--inject-loss", "50",
             "--hadamard-block", "256", "--tr-timeout", "500")  # fmt: skip
    peaks = [
        lab.run(rate, *lossy, "optireduce")["optireduce"]["peak_error"]
        / lab.run(rate, *lossy, "--no-hadamard", "optireduce")["optireduce"]["peak_error"]
        for _ in range(runs)
    ]
    return [
        ["ring of 8 MB, idle: of the payload that its link carries",
         f"{carried / (rate * 1e6 * PAYLOAD):.3g}"],
        ["peak error with the Hadamard transform over that without, at 2 % loss, in a bucket of a "
         "model that is scaled down",
         f"{statistics.median(peaks):.3g}"],
    ]  # fmt: skip


def middle(found: Sequence[Any], figure: Callable[[Any], float]) -> float:
    """The median of a figure over all runs."""
    return statistics.median(map(figure, found))


def tail_of(scheme: dict[str, Any]) -> float:
    """p99 over p50."""
    return float(scheme["tail"])


def average_of(scheme: dict[str, Any]) -> float:
    """Seconds."""
    return float(scheme["time"]["avg"])


def ratio_of_averages(found: dict[str, Any]) -> float:
    """How many times as long the ring takes as the bounded transport."""
    return float(found["ring"]["time"]["avg"] / found["optireduce"]["time"]["avg"])


def table(head: str, rows: Sequence[Sequence[str]]) -> str:
    """Markdown."""
    columns = head.count("|") + 1
    lines = [f"| {head} |", "|" + "---|" * columns, *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--runs", type=int, default=3, help="medians of so many (3)")
    parser.add_argument("--models", nargs="*", default=["gpt2", "bert_large"], choices=MODELS)
    asked = parser.parse_args()
    named = " | ".join(SCHEMES)
    with testbed(8) as (nodes, folder):
        lab = Lab(nodes, asked.program.resolve(), folder)
        tails = environments(lab, 100, 4, 300, asked.runs)
        alone = single(lab, 100, asked.runs)
        trained = trainings(lab, 100, asked.models, asked.runs)
        traded = trade(lab, 100, asked.runs)
        tails += environments(lab, 50, 8, 100, asked.runs)
    text = DOCUMENT.read_text()
    text = text[: text.index(MARK) + len(MARK)] + "\n".join(
        [
            f"\n`lab/measure-allreduce-lab.py --runs {asked.runs}`, on the testbed: medians of "
            "runs, all schemes in turns in each.\n\np99 over p50 of a probe and of each scheme's "
            "sums of 64 KiB, and the loss of `optireduce` in percent:\n",
            table(f"ranks | tail | probe | {named} | loss", tails),
            table("what | measured", alone),
            "Milliseconds for an iteration of a model scaled down to 192 KiB with 10 ms of "
            "computing, and how many times those of `optireduce` that is:\n",
            table(f"model | tail | {named} | loss, %", trained),
            "The trade in the environment of 3: what `--loss-target` makes of t_B (ms), loss (%), "
            "p99 over p50, and of the average time of a ring over that of `optireduce`:\n",
            table("target, % | t_B | loss | p99/p50 | ring / optireduce", traded),
        ]
    )
    DOCUMENT.write_text(text.rstrip() + "\n")


if __name__ == "__main__":
    main()
