#!/usr/bin/env python3
"""How long a scrape of the exporter takes while it reads new runs, and its resident memory.

Usage: lab/measure-exporter.py [--seconds S]

A run of 215 cases is replaced every 5 s, so that each refresh parses one; 20 scrapes a second are
timed by one client beside it.
"""

import argparse
import contextlib
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

SUITE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SUITE))

from tests.monitor.conftest import Suite
from tests.monitor.test_exporter import Exporter
from tests.report import sample as reports

CASES = 215
EVERY = 5.0
PAUSE = 0.05


def night() -> reports.Run:
    """A run of so many cases: those of the sample, again in other partitions."""
    run = reports.report()
    own = [each for each in run["cases"] if each.get("benchmark")]
    number = 0
    while len(run["cases"]) < CASES:
        number += 1
        room = CASES - len(run["cases"])
        run["cases"] += [
            dict(each, partition=f"part{number}", id=f"{each['id']}-{number}")
            for each in own[:room]
        ]
    return reports.announced(run)


def resident(pid: int) -> float:
    """MB of a process and of what it has started; what both share counts once."""
    total = 0
    for each in (pid, *children(pid)):
        with contextlib.suppress(OSError, StopIteration):
            lines = Path(f"/proc/{each}/smaps_rollup").read_text().splitlines()
            total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total * 1024 / 1e6


def children(pid: int) -> list[int]:
    """Processes that it has started, by any of its threads."""
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(each) for path in found for each in path.read_text().split()]


def measure(seconds: float) -> Iterator[str]:
    """The lines of the table."""
    with tempfile.TemporaryDirectory() as scratch:
        suite = Suite(Path(scratch))
        run = night()
        suite.ran(report=run)
        exporter = Exporter(f"--reports={scratch}")
        times: list[float] = []
        own: list[float] = []
        both: list[float] = []
        size = 0
        ended = threading.Event()

        def replace() -> None:
            number = 0
            while not ended.wait(EVERY):
                number += 1
                suite.ran(number, report=run)

        writer = threading.Thread(target=replace)
        writer.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.perf_counter()
            status, _, body = exporter.get("/metrics")
            times.append(time.perf_counter() - began)
            assert status == 200
            size = len(body)
            own.append(exporter.memory / 1e6)
            both.append(resident(exporter.process.pid))
            time.sleep(PAUSE)
        ended.set()
        writer.join()
        exporter.stop()
    times.sort()
    yield "| | |"
    yield "|---|---|"
    yield f"| cases of the run; page, kB | {CASES}; {size / 1e3:.0f} |"
    yield f"| scrapes; new runs | {len(times)}; {seconds / EVERY:.0f} |"
    for name, share in (("p50", 0.5), ("p99", 0.99), ("greatest", 1.0)):
        yield f"| scrape, {name}, ms | {1e3 * times[int(share * (len(times) - 1))]:.1f} |"
    yield f"| resident, MB | {max(own):.0f} |"
    yield f"| resident with the process that parses, MB | {max(both):.0f} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    for line in measure(parser.parse_args().seconds):
        sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
