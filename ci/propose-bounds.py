#!/usr/bin/env python3
"""Write a system's reference file with absurdity bounds, from the values in its perflogs.

For systems on which absolute times mean little, such as the embedded testbed: the bounds catch what
is absurd (a latency below what the path can do, or a thousand times what it usually is), not what
is a little slower. Each value is the best of all the runs in the perflogs, over all environments
(for a latency the lowest median, for a bandwidth the highest average), since noise only ever makes
things worse; each bound is a multiple of it. The ratios between transports, which do mean something
there, are kept as they stand in the file.

example:
    . ./setup-env.sh && ci/propose-bounds.py --system testbed
"""

import argparse
import re
import sys
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path

from fabricheck.benchmarks.curve import split_variable
from fabricheck.benchmarks.registry import REGISTRY, Metric, find
from fabricheck.errors import FabricheckError
from fabricheck.history import perflog
from fabricheck.history.record import Record
from fabricheck.judge.reference_file import load

SUITE = Path(__file__).resolve().parents[1]
CHECKS = ("MpiPointToPoint", "MpiCollective")
KEPT_FROM = "TransportOrder:"

# Fractions (critical lower, critical upper) of the best value. A machine of two cores that other
# work shares stops a rank for milliseconds at a time, and now and then a median of few samples too.
LATENCY_BOUNDS = {"avg": (-0.95, 5000), "p50": (-0.95, 2000), "p99": (-0.95, 50000)}
BANDWIDTH_BOUNDS = (-0.9995, 20)
LATENCY_WARNING = "[-0.9, 1000]"
BANDWIDTH_WARNING = "[-0.995, 10]"
SHARED_CORES_WARNING = "[-0.99, 1000]"
# Where the ranks of more than two nodes take turns on two cores, neither the form of a curve nor
# its floor says much: the same case can be twenty times faster when the turns happen to fit.
OWN_CORES, SHARED_CORES = "(shm-1n|.*-2n)", ".*"
SHARED_CORES_FLOOR = -0.999
MONOTONE = 4.0
SOURCE = "multiples of the best of runs on this system, ci/propose-bounds.py"

Case = tuple[str, str]
Best = dict[Case, dict[int, dict[str, tuple[float, str]]]]


def read_best(system: str, check: str) -> Best:
    """Best value and unit of each variable, by (benchmark, placement) and size.

    Every statistic of a latency gets the lowest median: an average or a tail can't be below it.

    Raises:
        FabricheckError: if the system has no perflog of this check.
    """
    logs = sorted((SUITE / "perflogs" / system).glob(f"*/{check}.log"))
    if not logs:
        raise FabricheckError(
            f"expected a perflog {check}.log in {SUITE / 'perflogs' / system}, found none: "
            "run the checks of this system first"
        )
    values: dict[tuple[Case, int, str], list[Record]] = defaultdict(list)
    for record in (record for log in logs for record in perflog.read(log)):
        if record.value:
            case = (record.benchmark, f"{record.transport}-{record.nodes}n")
            values[case, int(record.size or 0), record.metric].append(record)
    best: Best = {}
    for (case, size, _), records in values.items():
        value = pick(records)
        variables = {record.variable: (value, record.unit) for record in records}
        best.setdefault(case, {}).setdefault(size, {}).update(variables)
    return best


def pick(records: list[Record]) -> float:
    """The lowest median of a latency, the highest average of anything else."""
    if records[0].metric == Metric.LATENCY:
        return min(float(record.value) for record in records if record.statistic == "p50")
    return max(float(record.value) for record in records)


def write_reference(placement: str, variable: str, value: float, unit: str) -> str:
    """One variable with its bounds, in YAML's flow style."""
    _, statistic, _ = split_variable(variable)
    lower, upper = LATENCY_BOUNDS[statistic] if unit == "us" else BANDWIDTH_BOUNDS
    if not re.fullmatch(OWN_CORES, placement):
        lower = SHARED_CORES_FLOOR
    rounded = float(f"{value:.3g}")
    return f"{variable}: [{rounded}, {lower}, {upper}, {unit}]"


def write_curve(placement: str, sizes: dict[int, dict[str, tuple[float, str]]]) -> list[str]:
    """The variables of one curve, a line for each size."""
    return [
        "          "
        + ", ".join(write_reference(placement, name, *found) for name, found in sizes[size].items())
        + ","
        for size in sorted(sizes)
    ]


def write_check(check: str, system: str, best: Best) -> list[str]:
    """The section of one check and the levels beside it."""
    benchmarks = [name for name in REGISTRY if any(name == case[0] for case in best)]
    lines = [f"{check}:", "  $index: [$system, benchmark, placement]", f"  {system}:"]
    levels = [f"{check}.levels:", "  $index: [$system, benchmark, placement]", f"  {system}:"]
    for benchmark in benchmarks:
        lines.append(f"    {benchmark}:")
        for (_, placement), sizes in ((c, s) for c, s in best.items() if c[0] == benchmark):
            curve = write_curve(placement, sizes)
            lines += [f"      {placement}:", "        {", *curve, "        }"]
        is_latency = Metric.LATENCY in find(benchmark).metrics
        levels += [
            f"    {benchmark}:",
            *write_levels(OWN_CORES, LATENCY_WARNING if is_latency else BANDWIDTH_WARNING),
            f"        monotone: {MONOTONE}",
            *write_levels(SHARED_CORES, SHARED_CORES_WARNING if is_latency else BANDWIDTH_WARNING),
        ]
    return [*lines, "", *levels, ""]


def write_levels(placement: str, warning: str) -> list[str]:
    """When to warn on a placement, and what its references are."""
    return [
        f"      {placement}:",
        f"        warning: {warning}",
        "        kind: bound",
        f"        source: {SOURCE}",
        f"        date: {datetime.now(UTC):%Y-%m-%d}",
    ]


def kept_section(path: Path) -> list[str]:
    """The ratios at the end of the file as it stands."""
    lines = path.read_text().splitlines() if path.exists() else []
    return lines[lines.index(KEPT_FROM) :] if KEPT_FROM in lines else []


def write(system: str) -> Path:
    """Write the reference file, checked, in one step.

    Raises:
        FabricheckError: without perflogs.
    """
    path = SUITE / "references" / f"{system}.yaml"
    lines = [f"# Absurdity bounds of system {system}, written by ci/propose-bounds.py."]
    for check in CHECKS:
        lines += ["", *write_check(check, system, read_best(system, check))]
    part = path.with_suffix(".part")
    try:
        part.write_text("\n".join([*lines, *kept_section(path)]) + "\n")
        load(part)
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)
    return path


def main() -> int:
    """Read the options and write the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--system", required=True, help="name of the system in sites/")
    try:
        path = write(parser.parse_args().system)
    except FabricheckError as error:
        sys.stderr.write(f"propose-bounds: {error}\n")
        return error.exit_code
    sys.stdout.write(f"wrote {path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
