#!/usr/bin/env python3
"""Inject every fault that a fabric of leaves and spines can have, and see that locate names it.

The testbed is one of its own; each fault is made, measured by `fabricheck locate`, and undone, as
often as asked for, on a quiet machine: locate says nothing where other programs had its ranks'
cores. A healthy fabric comes first. A fault is named if one of its places is in the
set of an accusation; an accusation without any is a false one.

Exit code 0: every fault was named each time, and nothing else was. 1: not so. 2: bad input.

examples:
    . ./setup-env.sh && lab/locate-faults.py           # 5 times each, 20 times healthy; an hour
    lab/locate-faults.py --times 1 --healthy 0 --only "leaf1-spine2 rate 20mbit"
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from fabricheck.errors import FabricheckError
from fabricheck.provenance import SUITE
from fabricheck.testbed import Testbed, fabric, faults

SECONDS = 600.0
# Each fault and its places; the way of flows is known in the first fabric, and not in the second.
FAULTS = {
    fabric.LEAF_SPINE_LFT: {
        "n3 rate 20mbit": ("n3 sends", "n3 receives"),
        "n5 delay 1ms": ("n5 sends", "n5 receives"),
        "n7 loss 20%": ("n7 sends", "n7 receives"),
        "n3-to-leaf2 rate 20mbit": ("n3 sends",),
        "leaf3-to-n6 rate 30mbit": ("n6 receives",),
        "leaf1-spine2 rate 20mbit": ("leaf1->spine2", "spine2->leaf1"),
        "leaf1-to-spine2 rate 20mbit": ("leaf1->spine2",),
        "leaf4-spine1 delay 1ms": ("leaf4->spine1", "spine1->leaf4"),
        "leaf4-to-spine1 loss 20%": ("leaf4->spine1",),
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
    options = parser.parse_args()
    sys.stdout.write("| fabric | fault | named | false accusations | smallest set |\n")
    sys.stdout.write("|---|---|---|---|---|\n")
    try:
        passed = [drill(kind, options) for kind in FAULTS]
    except FabricheckError as error:
        sys.stderr.write(f"locate-faults: {error}\n")
        return error.exit_code
    return 0 if all(passed) else 1


def drill(kind: str, options: argparse.Namespace) -> bool:
    """All faults of one fabric; whether they were named, and nothing else."""
    wanted = {"healthy": ()} | FAULTS[kind]
    times = dict.fromkeys(wanted, options.times) | {"healthy": options.healthy}
    if options.only:
        times = {fault: count for fault, count in times.items() if fault in options.only}
    if not any(times.values()):
        return True
    passed = True
    with tempfile.TemporaryDirectory(prefix="fabricheck-locate-") as directory:
        testbed = Testbed(Path(directory) / "tb")
        try:
            testbed.up(fabric=kind, shares=[SUITE])
            for fault, count in times.items():
                runs = [one(testbed, fault, wanted[fault]) for _ in range(count)]
                passed &= told(kind, fault, runs)
        finally:
            testbed.down()
    return passed


def told(kind: str, fault: str, runs: Sequence[Seen]) -> bool:
    """Write the row of a fault; whether all runs were right."""
    named = "-" if fault == "healthy" else f"{sum(run.named for run in runs)} of {len(runs)}"
    false = [place for run in runs for place in run.false]
    row = f"{len(false)} in {len(runs)} runs {', '.join(sorted(set(false)))}".strip()
    smallest = max((run.smallest for run in runs), default=0)
    sys.stdout.write(f"| {kind} | {fault} | {named} | {row} | {smallest or '-'} |\n")
    sys.stdout.flush()
    return not false and all(run.named for run in runs if fault != "healthy")


def one(testbed: Testbed, fault: str, places: Sequence[str]) -> Seen:
    """One run under one fault."""
    target, *words = fault.split()
    if words:
        faults.inject(testbed.files, target, words)
    try:
        return seen(located(testbed), places)
    finally:
        if words:
            faults.clear(testbed.files, target)


def located(testbed: Testbed) -> list[list[str]]:
    """The places of each accusation.

    Raises:
        FabricheckError: if nothing could be told.
    """
    done = subprocess.run(
        [
            *(sys.executable, "-m", "fabricheck", "locate", "--json", "--seconds=1"),
            *("--environ=openmpi", "--transport=tcp", f"--topology={testbed.files.topology}"),
        ],
        cwd=SUITE,
        env={**os.environ, "FABRICHECK_TESTBED": str(testbed.files.root)},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    if done.returncode not in (0, 1):
        raise FabricheckError(f"fabricheck locate: {done.stderr.strip()[-400:]}")
    return [each["places"] for case in json.loads(done.stdout) for each in case["accused"]]


if __name__ == "__main__":
    sys.exit(main())
