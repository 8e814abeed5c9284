#!/usr/bin/env python3
"""Measure how fast the history reads perflogs, and print the tables of docs/history.md.

Perflogs are generated: series × sizes × nights lines, in files of a check each, as runs would
append them. The history reads them in a process of its own, twice: all of them, and after one more
night. Perflogs in ReFrame's layout follow, in one large file and in many small ones, and beside the
history a reader in pandas, in the manner of excalibur-tests' post-processing: read_csv for each
file, names and dictionaries taken apart row by row, one frame put together from file to file.

example:
    lab/measure-history.py                     # 10 million lines, 3.4 GB of text
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

from fabricheck.history.record import FIELDS, HEADER, Record

SIZES = [1 << power for power in range(20)]
CHECKS = 10
CORES = 2
FIRST = datetime(2023, 1, 1, 6, tzinfo=UTC)
NOISE = 0.02
SHAPES = {"one file of 1000000 lines": (1, 1_000_000), "2000 files of 50 lines": (2000, 50)}
NIGHTLY = (500, 1000)
NIGHT = 8
FOREIGN = (
    "job_completion_time|version|jobid|num_tasks|triad_value|triad_unit|triad_ref|"
    "triad_lower_thres|triad_upper_thres|spack_spec|display_name|system|partition|job_nodelist|"
    "environ|extra_resources|env_vars|spack_spec_dict|tags\n"
)
DICTIONARIES = ("extra_resources", "env_vars", "spack_spec_dict")
SPACK = {"stream": {"compiler": {"name": "gcc", "version": "11.2.0"}, "variants": {"openmp": True}}}
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
    rows = {"refresh": refresh, "series": series_of, "pandas": pandas_reader}[action](store, root)
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


def pandas_reader(_: Path, root: Path) -> int:
    """The perflogs of another suite as a frame of pandas, file by file and row by row."""
    import pandas as pd  # noqa: PLC0415

    whole = pd.DataFrame()
    for path in root.rglob("*.log"):
        frame = pd.read_csv(path, delimiter="|")
        names = [name.split(" %") for name in frame.pop("display_name")]
        frame["test"] = [name for name, *_ in names]
        told = [[dict(each.split("=") for each in rest) for _, *rest in names]]
        told += [[flat(json.loads(text)) for text in frame.pop(each)] for each in DICTIONARIES]
        for found in told:
            for name in sorted({key for each in found for key in each}):
                frame[name] = [each.get(name) for each in found]
        whole = pd.concat([whole, frame], ignore_index=True)
    return len(whole)


def flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """The leaves of nested dictionaries."""
    found = {}
    for key, value in tree.items():
        name = f"{prefix}{key}"
        found.update(flat(value, f"{name}_") if isinstance(value, dict) else {name: value})
    return found


def write_foreign(root: Path, files: int, nights: range) -> None:
    """Append lines in ReFrame's layout, eight a minute, to files of a test each."""
    dice = random.Random(nights.start)  # noqa: S311
    directory = root / "cluster" / "compute"
    directory.mkdir(parents=True, exist_ok=True)
    spack = json.dumps(SPACK)
    for number in range(files):
        with (directory / f"Test{number}.log").open("a") as file:
            if not file.tell():
                file.write(FOREIGN)
            for night in nights:
                ended = (FIRST + timedelta(minutes=night / 8)).isoformat()
                file.write(
                    f"{ended}|reframe 4.5.2|{night}|{night % 8}|{dice.gauss(10, 0.2):.3f}|GB/s|10|"
                    f"-0.2|null|stream@5.10 +openmp|Test{number} %tasks={night % 8}|cluster|"
                    f'compute|n1,n2|gcc|{{}}|{{"OMP_NUM_THREADS": "1"}}|{spack}|example\n'
                )


def compare(directory: Path) -> None:
    """Perflogs of another suite, read by the history and by pandas; print what both took."""
    say("\n| | history, CPU seconds | pandas, CPU seconds | ratio |")
    say("|---|---|---|---|")
    for name, (files, lines) in SHAPES.items():
        root, store = directory / f"foreign-{files}", directory / f"store-{files}"
        write_foreign(root, files, range(lines))
        ours, theirs = measured("refresh", store, root), measured("pandas", store, root)
        if ours["rows"] != theirs["rows"]:
            raise SystemExit(f"expected {theirs['rows']} rows of {name}, found {ours['rows']}")
        ratio = ours["cpu"] / theirs["cpu"]
        say(f"| {name} | {ours['cpu']:.1f} | {theirs['cpu']:.1f} | {ratio:.2f} |")
    root, store = directory / "nightly", directory / "store-nightly"
    files, lines = NIGHTLY
    write_foreign(root, files, range(lines))
    measured("refresh", store, root)
    write_foreign(root, files, range(lines, lines + NIGHT))
    night = measured("refresh", store, root)
    say(f"| {NIGHT} more lines in each of {files} files of {lines} | {night['cpu']:.1f} | | |")


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
    kept = sum(path.stat().st_size for path in store.iterdir())
    say(f"{text / 1e9:.2f} GB of perflogs become a store of {kept / 1e6:.0f} MB; {CORES} cores\n")
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
        compare(directory)
        table(options.series, options.nights, directory)
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
