#!/usr/bin/env python3
"""How long a scrape of the exporter takes while it reads new runs, and what memory it needs.

Usage: lab/measure-exporter.py [--cases N] [--scrapers N] [--every S] [--seconds S]

A real Prometheus scrapes it with so many jobs every 5 s, and keeps nothing but what it says of
scrapes: how long each took, whether it was answered, and how many samples it had. A run of so many
cases is recorded every few seconds, made before the measurement begins.
"""

import argparse
import contextlib
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

SUITE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SUITE))

from tests.monitor.conftest import Suite
from tests.monitor.test_exporter import Exporter
from tests.monitor.test_loop import asked, serving
from tests.report import sample as reports

SCRAPE = 5
PAUSE = 0.1


def run_of(number: int) -> reports.Run:
    """A run of so many cases: those of the sample, again in other partitions."""
    run = reports.report()
    own = [each for each in run["cases"] if each.get("benchmark")]
    part = 0
    while len(run["cases"]) < number:
        part += 1
        room = number - len(run["cases"])
        run["cases"] += [
            dict(each, partition=f"part{part}", id=f"{each['id']}-{part}") for each in own[:room]
        ]
    return reports.announced(run)


class Runs:
    """Runs that are ready to be recorded.

    Args:
        root: where they are made; the record is below it, too.
        cases: how many each has.
        count: how many there are.
    """

    def __init__(self, root: Path, cases: int, count: int) -> None:
        self._root = root
        self.suite = Suite(root / "reports")
        run = run_of(cases)
        for number in range(count):
            Suite(root / f"made{number}" / "reports").ran(number, report=run)
        self.left = list(range(count))

    def record(self) -> None:
        """Append the next one to the record; its end comes last."""
        made = self._root / f"made{self.left.pop(0)}" / "perflogs"
        for file in sorted(made.rglob("*.jsonl"), key=lambda each: -len(each.parts)):
            place = self.suite.perflogs / file.relative_to(made)
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("ab") as record:
                record.write(file.read_bytes())


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


def config(port: int, scrapers: int) -> dict[str, Any]:
    """A Prometheus that scrapes one exporter often, and keeps what it says of that alone."""
    job = {
        "static_configs": [{"targets": [f"127.0.0.1:{port}"]}],
        "metric_relabel_configs": [
            {"source_labels": ["__name__"], "regex": ".+", "action": "drop"}
        ],
    }
    jobs = [{"job_name": f"s{each}", **job} for each in range(scrapers)]
    return {"global": {"scrape_interval": f"{SCRAPE}s"}, "scrape_configs": jobs}


def measure(given: argparse.Namespace) -> Iterator[str]:
    """The lines of the table."""
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        root = Path(scratch)
        (root / "reports").mkdir()
        runs = Runs(root, given.cases, 1 + int(given.seconds / given.every))
        count = len(runs.left)
        runs.record()
        exporter = Exporter(f"--reports={root / 'reports'}")
        stack.callback(exporter.stop)
        while (
            f'{{status="good",system="testbed"}} {given.cases - 2}'
            not in exporter.get("/metrics")[2]
        ):
            time.sleep(1)
        page = len(exporter.get("/metrics")[2])
        port, _ = serving("prometheus", config(exporter.port, given.scrapers), root, stack)
        ended = threading.Event()

        def replace() -> None:
            while not ended.wait(given.every) and runs.left:
                runs.record()

        writer = threading.Thread(target=replace)
        writer.start()
        own, both, end = [0.0], [0.0], time.monotonic() + given.seconds
        while time.monotonic() < end:
            own.append(exporter.memory / 1e6)
            both.append(resident(exporter.process.pid))
            time.sleep(PAUSE)
        ended.set()
        writer.join()
        # What came before the first scrape of each job, and what is still under way, is no gap.
        past = f"[{int(given.seconds) - 2 * SCRAPE}s]"

        def one(expression: str) -> float:
            return float(asked(port, expression)[0]["value"][1])

        yield "| | |"
        yield "|---|---|"
        yield f"| cases of a run; runs; page, MB | {given.cases}; {count}; {page / 1e6:.2f} |"
        load = ", ".join(f"{each:.0f}" for each in os.getloadavg())
        yield f"| scrapers; load of 1, 5 and 15 minutes | {given.scrapers}; {load} |"
        samples = f"_over_time(scrape_samples_scraped{past})"
        scrapes = one(f"sum(count{samples})")
        up = one(f"avg(avg_over_time(up{past}))")
        yield f"| scrapes; share answered | {scrapes:.0f}; {up:.4f} |"
        least, most = one(f"min(min{samples})"), one(f"max(max{samples})")
        yield f"| samples of a scrape, fewest, most | {least:.0f}, {most:.0f} |"
        took = f"_over_time(scrape_duration_seconds{past})"
        for name, expression in (
            ("p50", f"quantile(0.5, quantile_over_time(0.5, scrape_duration_seconds{past}))"),
            (
                "p99, greatest of any job",
                f"max(quantile_over_time(0.99, scrape_duration_seconds{past}))",
            ),
            ("greatest", f"max(max{took})"),
        ):
            yield f"| scrape, {name}, ms | {1e3 * one(expression):.0f} |"
        yield f"| resident, MB | {max(own):.0f} |"
        yield f"| resident with the process that parses, MB | {max(both):.0f} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=3300)
    parser.add_argument("--scrapers", type=int, default=50)
    parser.add_argument("--every", type=float, default=10)
    parser.add_argument("--seconds", type=float, default=120)
    for line in measure(parser.parse_args()):
        sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
