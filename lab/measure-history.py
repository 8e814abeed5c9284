#!/usr/bin/env python3
"""Measure how fast the history reads a record: the figures of docs/how-to/history.md.

A record is generated as runs would append it: series × sizes × nights values, in files of a
partition and a month. The history reads it in a process of its own: all of it, then nothing new,
then one more night.

example:
    lab/measure-history.py                     # 10 million values, 2 GB of text
    lab/measure-history.py --nights 50         # a twentieth of that
"""

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fabricheck.record.entries import CaseEntry, Sample
from fabricheck.record.write import append

SIZES = [1 << power for power in range(20)]
CORES = 2
FIRST = datetime(2023, 1, 1, 6, tzinfo=UTC)
NOISE = 0.02
TRANSPORTS = ("rc", "ud", "dc", "tcp")
MPI_VERSION = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4"


def case(series: int, night: int, total: int, dice: random.Random) -> CaseEntry:
    """A case of a night with a value at each size."""
    start = FIRST + timedelta(days=night)
    return CaseEntry(
        time=(start + timedelta(seconds=20 * series)).isoformat(timespec="seconds"),
        session=f"{start:%Y%m%dT%H%M%SZ}-login-4711",
        system="cluster",
        partition="compute",
        environ=("openmpi", "mpich")[series % 2],
        check="MpiCollective",
        benchmark=f"benchmark{series // 8}",
        transport=TRANSPORTS[series // 2 % 4],
        num_nodes=2,
        ranks=2,
        ranks_per_node=1,
        program="mpi_probe",
        program_version="0.1.0",
        result="pass",
        level="good",
        nodes=("n1", "n2"),
        job=str(night * total + series),
        mpi="openmpi",
        mpi_version=MPI_VERSION,
        ucx_version="1.13.1",
        reference_kind="bound",
        commit="b59301a",
        samples=tuple(
            Sample(
                metric="latency",
                statistic="p50",
                size=size,
                value=round(dice.gauss(10, 10 * NOISE), 2),
                unit="us",
                level="good",
                reference=9.33,
                lower=0.4665,
                upper=46659.33,
                warning_lower=0.933,
                warning_upper=9339.33,
            )
            for size in SIZES
        ),
    )


def write_nights(root: Path, series: int, nights: range) -> None:
    """Append nights to the record."""
    for night in nights:
        dice = random.Random(night)  # noqa: S311
        append(root, [case(number, night, series, dice) for number in range(series)])


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")


def measured(action: str, store: Path, root: Path) -> dict[str, Any]:
    """What an action of this script took, in a process of its own on two cores."""
    command = [sys.executable, __file__, "--action", action, "--store", store, "--root", root]
    ended = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(ended.stdout))


def act(action: str, store: Path, root: Path) -> None:
    """Do one thing, and print what it took as JSON."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    began = time.monotonic()
    rows = {"refresh": refresh, "series": series_of}[action](store, root)
    used = resource.getrusage(resource.RUSAGE_SELF)
    result = {
        "rows": rows,
        "seconds": time.monotonic() - began,
        "cpu": used.ru_utime + used.ru_stime,
        "memory": used.ru_maxrss * 1024,
    }
    json.dump(result, sys.stdout)


def refresh(store: Path, root: Path) -> int:
    """Read what is new."""
    from fabricheck.history.store import History

    with History.open(store) as history:
        return history.refresh(perflogs=[root]).values


def series_of(store: Path, _: Path) -> int:
    """Every series, as the detectors take them."""
    from fabricheck.history.store import History

    with History.open_to_read(store) as history:
        return sum(len(series) for series in history.series())


def table(series: int, nights: int, directory: Path) -> None:
    """Generate, measure, print."""
    root, store = directory / "perflogs", directory / "store"
    write_nights(root, series, range(nights))
    text = sum(path.stat().st_size for path in root.rglob("*.jsonl"))
    lines = [("first read", measured("refresh", store, root))]
    lines.append(("nothing new", measured("refresh", store, root)))
    write_nights(root, series, range(nights, nights + 1))
    lines.append(("one more night", measured("refresh", store, root)))
    lines.append(("all series into memory", measured("series", store, root)))
    kept = sum(path.stat().st_size for path in store.iterdir())
    say(f"{text / 1e9:.2f} GB of record become a store of {kept / 1e6:.0f} MB; {CORES} cores\n")
    say("| | rows | seconds | CPU seconds | memory, MB |")
    say("|---|---|---|---|---|")
    for name, found in lines:
        say(
            f"| {name} | {found['rows']} | {found['seconds']:.1f} | {found['cpu']:.1f} | "
            f"{found['memory'] / 1e6:.0f} |"
        )


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--series", type=int, default=500, metavar="N", help="without sizes")
    parser.add_argument("--nights", type=int, default=1000, metavar="N")
    parser.add_argument(
        "--directory", type=Path, metavar="DIR", help="for 3 GB, emptied at the end"
    )
    parser.add_argument("--action", choices=("refresh", "series"), help=argparse.SUPPRESS)
    parser.add_argument("--store", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--root", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.action:
        act(options.action, options.store, options.root)
        return
    directory = Path(tempfile.mkdtemp(prefix="history-", dir=options.directory))
    try:
        table(options.series, options.nights, directory)
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
