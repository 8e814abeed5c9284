#!/usr/bin/env python3
"""Measure what one allocation saves: cases of a second each, in one job of Slurm and in a job each.

Both runs are ReFrame's on a testbed of their own, one after the other.

example:
    lab/measure-allocation.py --cases 200
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fabricheck_testbed import Testbed

SUITE = Path(__file__).with_name("allocation") / "suite.py"
REFRAME = Path(sys.executable).with_name("reframe")


def run(testbed: Testbed, place: Path, scheduler: str, cases: int) -> tuple[float, int]:
    """Wall time in seconds, and the number of jobs that Slurm had."""
    place.mkdir()
    begin = time.monotonic()
    subprocess.run(
        testbed.command(
            "login", "env", f"PLACE={place}", f"SCHEDULER={scheduler}", f"CASES={cases}",
            str(REFRAME), f"--config-file={SUITE}", f"--checkpath={SUITE}", "--run",
        ),
        stdout=subprocess.DEVNULL,
        check=True,
    )  # fmt: skip
    took = time.monotonic() - begin
    found = json.loads((place / "report.json").read_text())["runs"][0]["testcases"]
    return took, len({case["jobid"].partition("/")[0] for case in found})


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=200, help="how many (default 200)")
    cases = parser.parse_args().cases
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as directory:
        place = Path(directory)
        testbed = Testbed(place / "tb")
        try:
            testbed.up(nodes=2, shares=[place])
            one, jobs = run(testbed, place / "allocation", "allocation", cases)
            each, many = run(testbed, place / "squeue", "squeue", cases)
        finally:
            testbed.down()
    sys.stdout.write(
        f"{cases} cases of 1 s: {jobs} jobs in {one:.0f} s, {many} jobs in {each:.0f} s, "
        f"ratio {one / each:.2f}\n"
    )


if __name__ == "__main__":
    main()
