#!/usr/bin/env python3
"""Measure how fast the history reads perflogs, and print the table of docs/history.md.

Perflogs are generated: series × sizes × nights lines, in files of a check each, as runs would
append them. The history reads them in a process of its own, twice: all of them, and after one more
night. Beside it stands the reader that other suites have, one row at a time into pandas, on every
hundredth of the lines.

example:
    ci/measure-history.py                     # 10 million lines, 3.4 GB of text
    ci/measure-history.py --nights 50         # a twentieth of that
"""

import argparse
import csv
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

from fabricheck.history.record import FIELDS, HEADER, Record

SIZES = [1 << power for power in range(20)]
CHECKS = 10
CORES = 2
FIRST = datetime(2023, 1, 1, 6, tzinfo=UTC)
NOISE = 0.02
SAMPLE = 100
TRANSPORTS = ("rc", "ud", "dc", "tcp")
MPI_VERSION = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4"


def template(series: int) -> tuple[int, list[str]]:
    """Check of a series, and its lines with fields left open for the night."""
    check, place = series % CHECKS, series // CHECKS
    fields = {
        **dict.fromkeys(FIELDS, ""),
        "time": "{time}",
        "level": "good",
        "result": "pass",
        "system": "cluster",
        "partition": "compute",
        "environment": ("openmpi", "mpich")[place % 2],
        "check": f"Check{check}",
        "benchmark": f"benchmark{place // 8}",
        "transport": TRANSPORTS[place // 2 % 4],
        "nodes": "2",
        "ranks": "2",
        "metric": "latency",
        "statistic": "p50",
        "unit": "us",
        "reference": "9.33",
        "lower": "0.4665",
        "upper": "46659.33",
        "warning_lower": "0.933",
        "warning_upper": "9339.33",
        "reference_kind": "bound",
        "mpi": "openmpi",
        "mpi_version": MPI_VERSION,
        "ucx_version": "1.13.1",
        "program": "mpi_probe",
        "program_version": "0.1.0",
        "job_id": "{job}",
        "node_list": "n1,n2",
        "commit": "b59301a",
        "session": "{session}",
    }
    return check, [
        Record(
            **{
                **fields,
                "variable": f"latency_p50_{size}B",
                "size": str(size),
                "value": f"{{v{n}}}",
            }
        ).line()
        for n, size in enumerate(SIZES)
    ]


def write_nights(root: Path, series: int, nights: range) -> None:
    """Append nights to the perflogs."""
    dice = random.Random(nights.start)  # noqa: S311
    directory = root / "cluster" / "compute"
    directory.mkdir(parents=True, exist_ok=True)
    files = [(directory / f"Check{number}.log").open("a") for number in range(CHECKS)]
    for file in files:
        if not file.tell():
            file.write(HEADER)
    templates = [(check, "".join(lines)) for check, lines in map(template, range(series))]
    names = [f"v{n}" for n in range(len(SIZES))]
    for night in nights:
        start = FIRST + timedelta(days=night)
        for number, (check, text) in enumerate(templates):
            values = {name: f"{dice.gauss(10, 10 * NOISE):.2f}" for name in names}
            ended = (start + timedelta(seconds=20 * number)).isoformat()
            job = night * series + number
            session = f"{start:%Y%m%dT%H%M%SZ}-login-4711"
            files[check].write(text.format(time=ended, job=job, session=session, **values))
    for file in files:
        file.close()


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
    rows = {"refresh": refresh, "series": series_of, "pandas": pandas_loop}[action](store, root)
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
    from fabricheck.history.refresh import Request  # noqa: PLC0415
    from fabricheck.history.store import History  # noqa: PLC0415

    with History.open(store) as history:
        return history.refresh(Request(perflogs=[root])).values


def series_of(store: Path, _: Path) -> int:
    """Every series, as the detectors take them."""
    from fabricheck.history.store import History  # noqa: PLC0415

    with History.open_to_read(store) as history:
        return sum(len(series) for series in history.series())


def pandas_loop(_: Path, root: Path) -> int:
    """Every hundredth line of the perflogs by the loop of other suites: a row, a dictionary."""
    import pandas as pd  # noqa: PLC0415

    rows = []
    for path in sorted(root.rglob("*.log")):
        with path.open() as file:
            header = next(csv.reader([file.readline()], delimiter="|"))
            for number, line in enumerate(file):
                if number % SAMPLE:
                    continue
                row = dict(zip(header, next(csv.reader([line], delimiter="|")), strict=True))
                found = {**row, "value": float(row["value"]), "time": pd.Timestamp(row["time"])}
                rows.append(found)
    frame = pd.DataFrame(rows)
    return len(frame.sort_values("time"))


def table(series: int, nights: int, directory: Path) -> None:
    """Generate, measure, print."""
    root, store = directory / "perflogs", directory / "store"
    write_nights(root, series, range(nights))
    text = sum(path.stat().st_size for path in root.rglob("*.log"))
    lines = [("first read", measured("refresh", store, root))]
    lines.append(("nothing new", measured("refresh", store, root)))
    write_nights(root, series, range(nights, nights + 1))
    lines.append(("one more night", measured("refresh", store, root)))
    lines.append(("all series into memory", measured("series", store, root)))
    loop = measured("pandas", store, root)
    lines.append((f"pandas loop, 1 line of {SAMPLE}", loop))
    kept = sum(path.stat().st_size for path in store.iterdir())
    say(f"{text / 1e9:.2f} GB of perflogs become a store of {kept / 1e6:.0f} MB; {CORES} cores\n")
    say("| | rows | seconds | CPU seconds | memory, MB |")
    say("|---|---|---|---|---|")
    for name, found in lines:
        say(
            f"| {name} | {found['rows']} | {found['seconds']:.1f} | {found['cpu']:.1f} | "
            f"{found['memory'] / 1e6:.0f} |"
        )
    first = lines[0][1]
    ratio = (loop["cpu"] / loop["rows"]) / (first["cpu"] / first["rows"])
    say(f"\nFor each row the pandas loop takes {ratio:.0f} times the CPU of the first read.")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--series", type=int, default=500, metavar="N", help="without sizes")
    parser.add_argument("--nights", type=int, default=1000, metavar="N")
    parser.add_argument(
        "--directory", type=Path, metavar="DIR", help="for 4 GB, emptied at the end"
    )
    parser.add_argument("--action", choices=("refresh", "series", "pandas"), help=argparse.SUPPRESS)
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
