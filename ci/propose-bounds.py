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
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from fabricheck.baseline.expire import measured_levels
from fabricheck.benchmarks.curve import split_variable
from fabricheck.benchmarks.metrics import Metric
from fabricheck.benchmarks.model import Benchmark
from fabricheck.benchmarks.registry import REGISTRY, find
from fabricheck.errors import FabricheckError
from fabricheck.history import perflog
from fabricheck.history.record import Record
from fabricheck.judge.reference_file import load

SUITE = Path(__file__).resolve().parents[1]
CHECKS = ("MpiPointToPoint", "MpiCollective", "VerbsPerftest", "UcxPerftest")
KEPT_FROM = "TransportOrder:"


@dataclass(frozen=True)
class Rule:
    """The bounds on some placements; pairs are fractions of the best value, (lower, upper).

    Attributes:
        placements: regular expression; the first rule that fits a placement counts.
        latency: critical bounds by statistic.
        bandwidth: critical bounds of bandwidths and message rates.
        latency_warning: when to warn of a latency.
        bandwidth_warning: when to warn of a bandwidth or a message rate.
        monotone: noise up to which a latency may fall with the size, or None.
        best_latency: us that some size between two ranks must reach, or None.
        best_bandwidth: MB/s that some size must reach, or None.
    """

    placements: str
    latency: Mapping[str, tuple[float, float]]
    bandwidth: tuple[float, float]
    latency_warning: tuple[float, float]
    bandwidth_warning: tuple[float, float]
    monotone: float | None
    best_latency: float | None = None
    best_bandwidth: float | None = None

    def is_for(self, placement: str) -> bool:
        """Whether a placement is one of the rule's."""
        return re.fullmatch(self.placements, placement) is not None


def tails(lower: float, upper: float) -> dict[str, tuple[float, float]]:
    """The bounds of both tails: the one message that waited longest may wait ten times as long."""
    return {"p99": (lower, upper), "max": (lower, 10 * upper)}


# A machine of two cores that other work shares stops a rank for milliseconds at a time, and now and
# then a median of few samples too.
OWN_CORES = Rule(
    placements="(shm-1n|tcp-2n)",
    latency={"avg": (-0.95, 5000), "p50": (-0.95, 2000), **tails(-0.95, 50000)},
    bandwidth=(-0.9995, 20),
    latency_warning=(-0.9, 1000),
    bandwidth_warning=(-0.995, 10),
    monotone=4.0,
    best_bandwidth=30,
)
# An emulated processor that the machine has no time for stops its ranks for whole ticks of 4 ms, a
# hundred times in a row: a message of a byte then takes as long as one of 64 KiB. That spoils sizes
# but hardly ever a whole curve: beside twenty busy threads the best latency of one was at most
# 3.6 ms, the best bandwidth at least 5 MB/s. A link of 20 Mbit/s carries 2.5. The runs from which
# the bounds come were stopped as well, so "too good" is what a hundred of them could not explain.
EMULATED = Rule(
    placements="(rc|uc)-2n",
    latency={"avg": (-0.99, 50000), "p50": (-0.99, 20000), **tails(-0.99, 200000)},
    bandwidth=(-0.9999, 200),
    latency_warning=(-0.98, 20000),
    bandwidth_warning=(-0.9998, 100),
    monotone=None,
    best_latency=4500,
    best_bandwidth=3,
)
# Their CPU does more for each datagram: that busy, it moves 1 to 6 MB/s at the best.
DATAGRAMS = replace(EMULATED, placements="ud-2n", best_bandwidth=None)
# Where the ranks of more than two nodes take turns on two cores, neither the form of a curve nor
# its floor says much: the same case can be twenty times faster when the turns happen to fit.
SHARED_CORES = Rule(
    placements=".*",
    latency={"avg": (-0.999, 5000), "p50": (-0.999, 2000), **tails(-0.999, 50000)},
    bandwidth=(-0.999, 20),
    latency_warning=(-0.99, 1000),
    bandwidth_warning=(-0.995, 10),
    monotone=None,
)
RULES = (OWN_CORES, EMULATED, DATAGRAMS, SHARED_CORES)
SOURCE = "multiples of the best of runs on this system, ci/propose-bounds.py"

Case = tuple[str, str]
Best = dict[Case, dict[int, dict[str, tuple[float, str]]]]


def read_best(system: str, check: str) -> Best:
    """Best value and unit of each variable, by (benchmark, placement) and size.

    Every statistic of a latency gets the lowest median: an average or a tail can't be below it.
    Few runs may each have been stopped at one size or another, so other sizes have a say: a message
    takes no longer than a larger one, there are no fewer of them in a second, and a larger one
    carries no less. Empty for a check that the system has never run.
    """
    logs = sorted((SUITE / "perflogs" / system).glob(f"*/{check}.log"))
    values: dict[tuple[Case, int, str], list[Record]] = defaultdict(list)
    for record in (record for log in logs for record in perflog.read(log)):
        if record.value:
            case = (record.benchmark, f"{record.transport}-{record.nodes}n")
            values[case, int(record.size or 0), record.metric].append(record)
    picked = {key: pick(records) for key, records in values.items()}
    best: Best = {}
    for (case, size, metric), records in values.items():
        alike = {at: value for (c, at, m), value in picked.items() if (c, m) == (case, metric)}
        if metric == Metric.LATENCY:
            value = min(found for at, found in alike.items() if at >= size)
        elif metric == Metric.MESSAGE_RATE:
            value = max(found for at, found in alike.items() if at >= size)
        else:
            value = max(found for at, found in alike.items() if at <= size)
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
    rule = next(rule for rule in RULES if rule.is_for(placement))
    lower, upper = rule.latency[statistic] if unit == "us" else rule.bandwidth
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
        levels.append(f"    {benchmark}:")
        for rule in RULES:
            levels += write_levels(rule, find(benchmark))
    return [*lines, "", *levels, ""]


def write_levels(rule: Rule, benchmark: Benchmark) -> list[str]:
    """When to warn on the placements of a rule, and what its references are."""
    is_latency = Metric.LATENCY in benchmark.metrics
    warning = rule.latency_warning if is_latency else rule.bandwidth_warning
    lines = [
        f"      {rule.placements}:",
        f"        warning: [{warning[0]}, {warning[1]}]",
        "        kind: bound",
        f"        source: {SOURCE}",
        f"        date: {datetime.now(UTC):%Y-%m-%d}",
    ]
    if rule.monotone is not None:
        lines.append(f"        monotone: {rule.monotone}")
    best = rule.best_latency if is_latency else rule.best_bandwidth
    # Atomics have one size, which no link is full of.
    has_best = benchmark.family != "collective" and (
        is_latency or benchmark.max_size != benchmark.min_size
    )
    if best is not None and has_best:
        lines.append(f"        best: {best}")
    return lines


def kept_section(path: Path) -> list[str]:
    """The ratios at the end of the file as it stands."""
    lines = path.read_text().splitlines() if path.exists() else []
    return lines[lines.index(KEPT_FROM) :] if KEPT_FROM in lines else []


def write(system: str) -> Path:
    """Write the reference file, checked, in one step.

    Raises:
        FabricheckError: without perflogs, or if measured references would be lost.
    """
    path = SUITE / "references" / f"{system}.yaml"
    if path.exists() and (measured := list(measured_levels(path))):
        raise FabricheckError(
            f"expected no measured references in {path}, which would be lost, found "
            f"{len(measured)}, the first at line {measured[0].place.line}: remove them, or keep "
            "the file"
        )
    lines = [f"# Absurdity bounds of system {system}, written by ci/propose-bounds.py."]
    best = {check: found for check in CHECKS if (found := read_best(system, check))}
    if not best:
        raise FabricheckError(
            f"expected a perflog of {', '.join(CHECKS)} in {SUITE / 'perflogs' / system}, found "
            "none: run the checks of this system first"
        )
    for check, found in best.items():
        lines += ["", *write_check(check, system, found)]
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
