#!/usr/bin/env python3
"""Record how much measurements differ when nothing changes, as the simulation's noise.

Runs mpi_probe with two ranks on this machine, round after round, and writes a record with one
session for each round. The recorded rounds of the repository were made by this on a virtual machine
with two cores that others used at the same time: noise as bad as it gets.

example:
    lab/record-noise.py --rounds 200 --probe build/bench/*/mpi_probe/mpi_probe noise.jsonl.gz
"""

import argparse
import gzip
import json
import subprocess
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fabricheck.record.entries import CaseEntry, Sample, to_line

BENCHMARKS = {
    "latency": ["-m", "8:65536", "-z50,99"],
    "bw": ["-m", "1024:1048576"],
    "allreduce": ["-T", "mpi_float", "-m", "8:16384", "-z50,99"],
}
SIZES = frozenset({8, 64, 1024, 4096, 16384, 65536, 1048576})
STATISTICS = ("avg", "p50", "p99")


def measure(probe: Path, benchmark: str, directory: Path) -> dict[str, Any]:
    """The results of one benchmark."""
    path = directory / f"{benchmark}.json"
    options = [*BENCHMARKS[benchmark], "--time-budget=0.02", f"--json={path}"]
    subprocess.run(
        ["mpirun", "-n", "2", str(probe), benchmark, *options], check=True, stdout=subprocess.PIPE
    )
    return dict(json.loads(path.read_text()))


def case(results: dict[str, Any], when: datetime, session: str) -> CaseEntry:
    """The results of one benchmark as a case of the record."""
    benchmark = results["benchmark"]
    metric = "bandwidth" if benchmark == "bw" else "latency"
    unit, factor = ("MB/s", 1e-6) if benchmark == "bw" else ("us", 1e6)
    return CaseEntry(
        time=when.isoformat(timespec="seconds"),
        session=session,
        system="recorded",
        partition="here",
        environ="openmpi",
        check="MpiCollective" if benchmark == "allreduce" else "MpiPointToPoint",
        benchmark=benchmark,
        transport="shm",
        num_nodes=1,
        ranks=2,
        ranks_per_node=2,
        program=results["program"],
        program_version=results["version"],
        level="good",
        result="pass",
        samples=tuple(
            Sample(
                metric=metric,
                statistic=statistic,
                size=result["size"],
                value=float(f"{result[metric][statistic] * factor:.6g}"),
                unit=unit,
                level="good",
            )
            for result in results["results"]
            if result["size"] in SIZES
            for statistic in (("avg",) if metric == "bandwidth" else STATISTICS)
        ),
    )


def main() -> None:
    """Record the rounds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path, help="record to write, compressed")
    parser.add_argument("--probe", type=Path, required=True, help="the program mpi_probe")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--pause", type=float, default=4.0, help="seconds between rounds")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as directory,
        gzip.open(arguments.output, "wt", encoding="utf-8") as output,
    ):
        for number in range(arguments.rounds):
            results = [measure(arguments.probe, name, Path(directory)) for name in BENCHMARKS]
            when = datetime.now(UTC)
            for each in results:
                output.write(to_line(case(each, when, f"round-{number}")))
            time.sleep(arguments.pause)


if __name__ == "__main__":
    main()
