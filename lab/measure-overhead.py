#!/usr/bin/env python3
"""Measure what the suite costs over the benchmark programs alone, on the embedded testbed.

Runs `fabricheck run --system testbed`, then the same programs with the same launcher, settings and
ranks one after another from a shell script on the login node, and prints the ratio of the two wall
times; before it, where the suite's own time went: ReFrame's phases, and the seconds of each case in
the record.

example:
    . ./setup-env.sh && lab/measure-overhead.py
    lab/measure-overhead.py -- --benchmark latency --benchmark allreduce
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from fabricheck.record.sessions import last
from fabricheck.report.load import load

SUITE = Path(__file__).resolve().parents[1]
FABRICHECK = Path(sys.executable).parent / "fabricheck"
SBATCH = "#SBATCH "
PARTS = ("waiting", "launch", "measuring")
PLACING = ("--ntasks", "--nodes", "--partition", "--time")


def run_suite(options: list[str]) -> tuple[float, dict[str, Any]]:
    """Seconds that the suite took, and its run report."""
    before = set((SUITE / "reports").glob("run-*.json"))
    start = time.monotonic()
    keep = {**os.environ, "FABRICHECK_KEEP_REPORTS": "1"}
    command = [FABRICHECK, "run", "--system=testbed", *options]
    subprocess.run(command, cwd=SUITE, env=keep, check=False)
    seconds = time.monotonic() - start
    (report,) = set((SUITE / "reports").glob("run-*.json")) - before
    found: dict[str, Any] = json.loads(report.read_text())
    newest = last(SUITE / "perflogs")
    assert newest, "the run was recorded"
    recorded = {
        (case.id, case.environ): case for case in load(SUITE / "perflogs", newest.session).cases
    }
    for case in found["runs"][0]["testcases"]:
        known = recorded.get((case["unique_name"], case["environ"]))
        parts = {name: getattr(known, name, None) for name in PARTS}
        case["seconds"] = {name: each for name, each in parts.items() if each is not None}
    return seconds, found


def phases(report: dict[str, Any], suite: float) -> list[str]:
    """Seconds of each phase: median of a case and sum of all, and the share that was measured."""
    cases = [case for case in report["runs"][0]["testcases"] if case["seconds"]]
    found: dict[str, list[float]] = {}
    for case in cases:
        for name in ("setup", "sanity", "performance"):
            found.setdefault(f"ReFrame: {name}", []).append(case[f"time_{name}"] or 0.0)
        for name in PARTS:
            found.setdefault(name, []).append(case["seconds"].get(name, 0.0))
        known = sum(case["seconds"].values())
        found.setdefault("ReFrame: run beside these", []).append((case["time_run"] or 0) - known)
    lines = [f"{'phase':<28}{'median s':>10}{'sum s':>10}"]
    lines += [f"{name:<28}{median(each):>10.3f}{sum(each):>10.1f}" for name, each in found.items()]
    share = 100 * sum(found.get("measuring", ())) / suite
    return [*lines, f"measuring: {share:.0f} % of {suite:.0f} s, {len(cases)} cases"]


def write_script(report: dict[str, Any]) -> list[str]:
    """The commands of every job of the run: its exports and its launcher line."""
    script = ["set -u"]
    for case in report["runs"][0]["testcases"]:
        job = Path(case["stagedir"] or "/nonexistent") / "rfm_job.sh"
        lines = job.read_text().splitlines() if job.exists() else []
        launches = [line for line in lines if line.startswith("srun ")]
        if not launches:
            continue
        placing = [
            line.removeprefix(SBATCH)
            for line in lines
            if line.startswith(SBATCH) and line.removeprefix(SBATCH).startswith(PLACING)
        ]
        commands = [line for line in lines if line.startswith("export ")]
        launch = launches[0].replace("srun ", f"srun {' '.join(placing)} ", 1)
        script += [
            "(",
            f"cd {shlex.quote(case['stagedir'])}",
            *commands,
            f"{launch} >/dev/null",
            ")",
        ]
    return script


def run_plainly(script: list[str]) -> float:
    """Seconds that the script took on the login node."""
    path = SUITE / "build" / "measure-overhead.sh"
    path.write_text("\n".join(script) + "\n")
    start = time.monotonic()
    subprocess.run([FABRICHECK, "testbed", "exec", "login", "--", "bash", path], check=True)
    return time.monotonic() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for machines")
    parser.add_argument("options", nargs="*", help="options of `fabricheck run`, after --")
    arguments = parser.parse_args()
    suite, report = run_suite(arguments.options)
    script = write_script(report)
    plain = run_plainly(script)
    jobs = script.count("(")
    if arguments.json:
        figures = {"jobs": jobs, "suite_s": suite, "plain_s": plain, "ratio": suite / plain}
        sys.stdout.write(json.dumps(figures) + "\n")
    else:
        sys.stdout.write("\n".join(phases(report, suite)) + "\n")
        sys.stdout.write(
            f"{jobs} jobs: suite {suite:.0f} s, programs alone {plain:.0f} s, "
            f"ratio {suite / plain:.2f}\n"
        )


if __name__ == "__main__":
    main()
