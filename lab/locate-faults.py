#!/usr/bin/env python3
"""Inject every fault that a fabric of leaves and spines can have, and see that it is named.

The testbed is one of its own; each fault is made, measured and judged as the check PairHealth does
it, and undone, as often as asked for. A healthy fabric comes first. A fault is named if one of its
places is in the set of an accusation; an accusation without any is a false one. A run of which
nothing can be told, since other programs had its ranks' cores (FABRICHECK_FOREIGN_SHARE=1: whatever
they had), is made again. Runs are kept in build/locate-faults until --anew: the next call goes on
where this one ended.

Exit code 0: every fault was named each time, and nothing else was. 1: not so, or not all were run.
2: bad input.

examples:
    . ./setup-env.sh && lab/locate-faults.py --write   # 5 times each, 20 times healthy
    lab/locate-faults.py --minutes 10                  # as much of it as that
    lab/locate-faults.py --times 1 --healthy 0 --only "leaf1-spine2 rate 20mbit"
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from drill.pairs import Measured, Programs, build, measure
from fabricheck.errors import FabricheckError
from fabricheck.localise.located import lines
from fabricheck.provenance import SUITE
from fabricheck.report.files import write_whole
from fabricheck_testbed import Testbed, fabric, faults
from fabricheck_testbed.errors import TestbedError
from generated import insert

FOLDER = SUITE / "build" / "locate-faults"
KEPT = FOLDER / "runs.jsonl"
DOCUMENT = SUITE / "docs" / "how-to" / "localisation.md"
COMMAND = "lab/locate-faults.py --write"
HEALTHY = "healthy"
ROUND_SECONDS = 0.5
TRIES = 6
# Each fault and its places; the way of flows is known in the first fabric, and not in the second.
FAULTS = {
    fabric.LEAF_SPINE_LFT: {
        "n3 rate 20mbit": ("n3 sends", "n3 receives"),
        "n5 delay 1ms": ("n5 sends", "n5 receives"),
        "n7 loss 5%": ("n7 sends", "n7 receives"),
        "n3-to-leaf2 rate 20mbit": ("n3 sends",),
        "leaf3-to-n6 rate 30mbit": ("n6 receives",),
        "leaf1-spine2 rate 20mbit": ("leaf1->spine2", "spine2->leaf1"),
        "leaf1-to-spine2 rate 20mbit": ("leaf1->spine2",),
        "leaf4-spine1 delay 1ms": ("leaf4->spine1", "spine1->leaf4"),
        "leaf4-to-spine1 loss 5%": ("leaf4->spine1",),
        "leaf2 rate 30mbit": (
            *("leaf2 up", "leaf2 down", "n3 sends", "n3 receives", "n4 sends", "n4 receives"),
            *("leaf2->spine1", "leaf2->spine2", "spine1->leaf2", "spine2->leaf2"),
        ),
        "n1-n6 rate 20mbit": ("n1->n6", "n6->n1"),
    },
    fabric.LEAF_SPINE: {
        "n3 rate 20mbit": ("n3 sends", "n3 receives"),
        "leaf1-spine2 rate 20mbit": ("leaf1 up", "leaf1 down"),
        "n1-n6 rate 20mbit": ("n1->n6", "n6->n1"),
    },
}


class Seen(NamedTuple):
    """What a run said of a fault."""

    named: bool
    false: list[str]
    smallest: int


class Row(NamedTuple):
    """A fault of a fabric, and its runs."""

    kind: str
    fault: str
    wanted: int
    runs: list[Seen]

    @property
    def passed(self) -> bool:
        """Whether it was named each time, and nothing else was."""
        named = self.fault == HEALTHY or all(run.named for run in self.runs)
        return named and len(self.runs) >= self.wanted and not any(run.false for run in self.runs)

    @property
    def outcome(self) -> str:
        """How often it was named, how often something else was, and the places of the set."""
        count = len(self.runs)
        named = (
            "-" if self.fault == HEALTHY else f"{sum(run.named for run in self.runs)} of {count}"
        )
        false = sorted({place for run in self.runs for place in run.false})
        wrong = sum(bool(run.false) for run in self.runs)
        told = f"{wrong} of {count} {', '.join(false)}".strip()
        largest = max((run.smallest for run in self.runs), default=0) or "-"
        return f"{named} | {told} | {largest}"


def table(rows: Sequence[Row]) -> str:
    """The table: faults of a fabric that came out alike share a row."""
    alike: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.runs:
            alike.setdefault((row.kind, row.outcome), []).append(row.fault)
    return "\n".join(
        ["| fabric | faults | named | runs with a false accusation | places in the set |",
         "|---|---|---|---|---|",
         *(f"| {kind} | {', '.join(names)} | {outcome} |"
           for (kind, outcome), names in alike.items())]
    )  # fmt: skip


def seen(accused: Iterable[Sequence[str]], places: Sequence[str]) -> Seen:
    """Compare the sets of accused places with the places of a fault; none of a healthy fabric."""
    sets = [set(each) for each in accused]
    right = [each for each in sets if each & set(places)]
    false = sorted(" or ".join(sorted(each)) for each in sets if not each & set(places))
    return Seen(bool(right), false, min(map(len, right), default=0))


def main() -> int:
    """Read the options, and go through both fabrics."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=5, help="each fault (5)")
    parser.add_argument("--healthy", type=int, default=10, help="of each fabric (10)")
    parser.add_argument("--only", action="append", metavar="FAULT", help="may be repeated")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no run after so many")
    parser.add_argument("--anew", action="store_true", help="forget the runs that were kept")
    parser.add_argument("--write", action="store_true", help=f"the table of {DOCUMENT.name}")
    options = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    if options.anew:
        KEPT.unlink(missing_ok=True)
    rows = planned(options)
    try:
        programs = build(FOLDER / "programs")
        until = time.monotonic() + 60 * options.minutes
        for kind in sorted(FAULTS, key=lambda kind: made(rows, kind)):
            hold(kind, rows, programs, until)
    except (FabricheckError, TestbedError) as error:
        sys.stderr.write(f"locate-faults: {error}\n")
        return error.exit_code
    written = table(rows)
    sys.stdout.write(f"{written}\n")
    if options.write:
        write_whole(DOCUMENT, insert(DOCUMENT.read_text(), COMMAND, [written], DOCUMENT))
    return 0 if all(row.passed for row in rows) else 1


def made(rows: Sequence[Row], kind: str) -> float:
    """The share of the wanted runs of a fabric that were made."""
    here = [row for row in rows if row.kind == kind]
    return sum(len(row.runs) for row in here) / max(sum(row.wanted for row in here), 1)


def planned(options: argparse.Namespace) -> list[Row]:
    """What is to be run, with the runs that were kept."""
    rows = [
        Row(kind, fault, options.healthy if fault == HEALTHY else options.times, [])
        for kind in FAULTS
        for fault in (HEALTHY, *FAULTS[kind])
        if not options.only or fault in options.only
    ]
    by_fault = {(row.kind, row.fault): row for row in rows}
    for line in KEPT.read_text().splitlines() if KEPT.exists() else ():
        kind, fault, *run = json.loads(line)
        if (kind, fault) in by_fault:
            by_fault[kind, fault].runs.append(Seen(*run))
    return rows


def hold(kind: str, rows: Sequence[Row], programs: Programs, until: float) -> None:
    """The runs of one fabric that are still to be made, those of the fewest first."""
    due = list(turns([row for row in rows if row.kind == kind]))
    if not due or time.monotonic() > until:
        return
    with tempfile.TemporaryDirectory(prefix="fabricheck-locate-") as directory:
        testbed = Testbed(Path(directory) / "tb")
        try:
            testbed.up(fabric=kind, shares=[SUITE, Path(directory)])
            for row in due:
                if time.monotonic() > until:
                    return
                run = one(testbed, programs, Path(directory) / "stage", row)
                row.runs.append(run)
                with KEPT.open("a") as kept:
                    kept.write(json.dumps([row.kind, row.fault, *run]) + "\n")
        finally:
            testbed.down()


def turns(rows: Sequence[Row]) -> Iterator[Row]:
    """Each row as often as it still is to be run, in turns."""
    for turn in range(max((row.wanted for row in rows), default=0)):
        yield from (row for row in rows if len(row.runs) <= turn < row.wanted)


def one(testbed: Testbed, programs: Programs, stage: Path, row: Row) -> Seen:
    """One run under one fault.

    Raises:
        FabricheckError: if nothing could be told however often it was tried.
    """
    target, *words = row.fault.split()
    for attempt in range(TRIES):
        shutil.rmtree(stage, ignore_errors=True)
        stage.mkdir()
        if words:
            faults.inject(testbed.files, target, words)
        try:
            found = measure(testbed, programs, stage, ROUND_SECONDS)
        except FabricheckError as error:
            tell(row, f"again: {error}")
            continue
        finally:
            if words:
                faults.clear(testbed.files, target)
        if not found.objections:
            return judged(row, found)
        tell(row, f"again: {'; '.join(found.objections)}")
        time.sleep(2**attempt)
    raise FabricheckError(f"expected a run under {row.fault} that tells something, found none")


def judged(row: Row, found: Measured) -> Seen:
    """Whether the run named the fault; what else it said is told."""
    verdict = found.located.verdict
    run = seen((each.names for each in verdict.accused), FAULTS[row.kind].get(row.fault, ()))
    good = not run.false and (run.named or row.fault == HEALTHY)
    tell(row, "good" if good else "\n    ".join(lines(found.located)))
    return run


def tell(row: Row, text: str) -> None:
    """Say how far it is."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {row.kind}, {row.fault}: {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
