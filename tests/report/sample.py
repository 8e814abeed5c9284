"""Realistic runs for the tests, as the record has them.

``python tests/report/sample.py DIRECTORY`` writes the record of each variant to look at.
"""

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fabricheck.measures.benchmark import Benchmark, MpiBenchmark, RanksRule
from fabricheck.measures.curve import Variable
from fabricheck.measures.metrics import Metric
from fabricheck.measures.registry import sweep
from fabricheck.programs.osu.entries import PROBE_BENCHMARKS
from fabricheck.record.entries import CaseEntry, Sample, Session
from fabricheck.record.write import append
from fabricheck.transports.placement import Placement

Entry = dict[str, Any]
"""The fields of a case; its samples by the variable's name, each with its fields."""
Run = dict[str, Any]
"""The cases of a session under ``cases``, and the fields of its end under ``end``."""

SESSION = "20261121T054159Z-login1-4711"
TIME = "2026-11-21T05:44:10+00:00"
ENVIRONS = {
    "mpich": ("MPICH", "4.0.2", 0.9),
    "openmpi": ("Open MPI", "4.1.4", 1.0),
}
PLACEMENTS = {"shm-1n": (0.21, 9400.0), "tcp-2n": (7.4, 1900.0), "tcp-4n": (9.1, 1400.0)}
MIB = 1 << 20


def write(run: Run, perflogs: Path) -> Path:
    """Record a run; the directory of the record."""
    cases = [
        CaseEntry(
            **{**entry, "samples": tuple(Sample(**each) for each in entry["samples"].values())}
        )
        for entry in run["cases"]
    ]
    append(perflogs, [*cases, *([Session(**run["end"])] if run["end"] else [])])
    return perflogs


def report(*benchmarks: str) -> Run:
    """A good run: two built programs, the benchmark cases, the order of transports for each MPI.

    All benchmarks make 72 cases; name some where a test wants to be quick.
    """
    cases = [_build(environ) for environ in ENVIRONS]
    for benchmark in [PROBE_BENCHMARKS[name] for name in benchmarks or PROBE_BENCHMARKS]:
        for environ in ENVIRONS:
            for placement in PLACEMENTS:
                if benchmark.ranks is RanksRule.EXACTLY_TWO and placement == "tcp-4n":
                    continue
                cases.append(mpi_case(benchmark, environ, placement))
    cases += [_transport_order(environ) for environ in ENVIRONS]
    for number, case in enumerate(cases):
        case["job"] = str(1000 + number)
    return run_of(cases)


def run_of(cases: list[Entry]) -> Run:
    """A run that came to its end with these cases."""
    info = {
        "hostname": "login1",
        "uuid": "3f0c7ab2-5a3e-4d0f-9a59-0d5a1c6b7e21",
        "time_start": "20261121T054159+0000",
        "time_end": "20261121T054621+0000",
        "time_elapsed": 262.28,
        "cmdline": "reframe -c checks/ -r --report-file=reports/run-0.json",
        "user": "root",
        "version": "4.10.4",
        "num_failures": 0,
        "num_aborted": 0,
    }
    end = {"time": "2026-11-21T05:46:21+00:00", "session": SESSION, "system": "testbed"}
    return {"cases": cases, "end": {**end, "announced": len(cases), "info": info}}


def at(run: Run, session: str, time: str) -> Run:
    """The same run as a session of another name, all of which was recorded at one time."""
    for entry in (*run["cases"], run["end"]):
        entry.update(session=session, time=time)
    return run


def entry_of(name: str, environ: str, **values: Any) -> Entry:
    kind = name.partition(" ")[0]
    return {
        "time": TIME,
        "session": SESSION,
        "name": name,
        "id": name.replace(" %", "_").replace("=", "_"),
        "check": kind,
        "system": "testbed",
        "partition": "slurm",
        "environ": environ,
        "result": "pass",
        "output": f"/home/user/fabricheck/output/testbed/slurm/{environ}/{kind}",
        "samples": {},
        **values,
    }


def _build(environ: str) -> Entry:
    return entry_of(f"BenchBuild ~testbed:slurm+{environ}", environ, fixture=True)


def _transport_order(environ: str) -> Entry:
    ratio = {"metric": Metric.RATIO, "statistic": "p50", "unit": Metric.RATIO.row.unit}
    judged = {"level": "good", "reference": 2.0, "lower": 1.0}
    return entry_of(
        "TransportOrder",
        environ,
        benchmark="transport_order",
        **where("tcp-2n"),
        level="good",
        reference_kind="ratio",
        commit="0b0ad8f1",
        nodes=("n1", "n2"),
        samples={
            f"ratio_p50_{name}": {**ratio, "size": size, "value": value, **judged}
            for name, size, value in (("8B", 8, 35.7), ("1MiB", MIB, 4.76))
        },
    )


def where(placement: str) -> dict[str, Any]:
    """The fields of a case that a placement stands for."""
    read = Placement.read(placement)
    layout = "full" if read.full else ""
    return {"transport": read.transport.name, "num_nodes": read.num_nodes, "layout": layout}


def mpi_case(benchmark: MpiBenchmark, environ: str, placement: str) -> Entry:
    family, version, _ = ENVIRONS[environ]
    place = where(placement)
    transport, count = place["transport"], place["num_nodes"]
    kind = "MpiPointToPoint" if benchmark.family == "pt2pt" else "MpiCollective"
    return entry_of(
        f"{kind} %benchmark={benchmark.name} %placement={placement}",
        environ,
        benchmark=benchmark.name,
        **place,
        ranks=max(2, count),
        nodes=tuple(f"n{number + 1}" for number in range(count)),
        level="good",
        reference_kind="bound",
        reference_source="absurdity bounds for a shared machine",
        mpi=family,
        mpi_version=version,
        program="mpi_probe",
        program_version="0.1.0",
        commit="0b0ad8f1",
        evidence=f"UCX reports lanes over {transport}; interface counters agree on {count} nodes",
        samples=judged(_curve(benchmark, environ, placement)),
    )


def judged(samples: dict[str, Entry], *, warning: bool = True) -> dict[str, Entry]:
    """Samples that are good by absurdity bounds."""
    time: Entry = {"reference": 20.0, "lower": 20.0 * (1 - 0.999), "upper": 1e5}
    rate: Entry = {"reference": 1.0, "lower": 1.0 * (1 - 0.999)}
    if warning:
        time["warning_upper"], rate["warning_lower"] = 20000.0, 0.002
    return {
        name: {**each, "level": "good", **(time if each["unit"] == "us" else rate)}
        for name, each in samples.items()
    }


def _curve(benchmark: MpiBenchmark, environ: str, placement: str) -> dict[str, Entry]:
    factor = ENVIRONS[environ][2] * (1.0 if benchmark.family == "pt2pt" else 1.8)
    return values_of(benchmark, factor, *PLACEMENTS[placement])


def values_of(benchmark: Benchmark, factor: float, base: float, rate: float) -> dict[str, Entry]:
    curve: dict[str, Entry] = {}
    sizes = [None] if benchmark.min_size is None else sweep(benchmark.min_size, MIB)
    for size in sizes:
        ripple = 1 + 0.1 * math.sin(math.log2((size or 1) + 1))
        time = factor * (base + (size or 0) / rate * ripple)
        for metric in benchmark.metrics:
            for statistic in benchmark.statistics:
                curve[str(Variable(metric, statistic, size))] = {
                    "metric": str(metric),
                    "statistic": statistic,
                    "size": size,
                    "value": _value(metric, statistic, time, size or 0),
                    "unit": metric.row.unit,
                }
    return curve


def _value(metric: Metric, statistic: str, time: float, size: int) -> float:
    if metric is Metric.LATENCY:
        return round(time * {"avg": 1.07, "p50": 1.0, "p99": 1.9, "max": 2.8}[statistic], 3)
    bandwidth = size / time * 4 / (1 + size / MIB)
    return round(bandwidth if metric is Metric.BANDWIDTH else bandwidth / size * 1e6, 2)


def find(run: Run, benchmark: str, environ: str, placement: str) -> Entry:
    """The entry of that case."""
    wanted = {"benchmark": benchmark, "environ": environ, **where(placement)}
    for entry in run["cases"]:
        if all(entry.get(name) == value for name, value in wanted.items()):
            return entry  # type: ignore[no-any-return]
    raise LookupError(benchmark, environ, placement)


def fail(run: Run, entry: Entry, phase: str, reason: str, **values: Any) -> None:
    """Make the case a failed one and count it."""
    entry.update(result="fail", fail_phase=phase, fail_reason=reason, **values)
    run["end"]["info"]["num_failures"] += 1


def only(run: Run, *benchmarks: str) -> Run:
    """The same run with the cases of these benchmarks alone, where a test wants to be quick."""
    run["cases"] = [
        entry
        for entry in run["cases"]
        if entry.get("fixture") or entry["benchmark"] in benchmarks or entry["result"] == "fail"
    ]
    return announced(run)


def announced(run: Run) -> Run:
    """The same run with as many cases announced as it has."""
    run["end"]["announced"] = len(run["cases"])
    return run


def set_point(entry: Entry, variable: str, value: float, level: str) -> None:
    """Give one variable another value and level, and the case the level."""
    entry["samples"][variable].update(value=value, level=level)
    entry["level"] = level


UNMEASURED: Entry = {"level": "", "samples": {}, "nodes": (), "evidence": "", "job": ""}


def with_warning(run: Run | None = None) -> Run:
    run = run or report()
    entry = find(run, "allreduce", "mpich", "tcp-4n")
    set_point(entry, "latency_p99_64KiB", 23117.0, "warning")
    entry["findings"] = (
        "latency_p99_64KiB is 23117 us, expected at most 20000 us (warning bound)",
    )
    return run


def with_critical(run: Run | None = None) -> Run:
    run = run or report()
    entry = find(run, "latency", "openmpi", "tcp-2n")
    set_point(entry, "latency_p50_1KiB", 131072.0, "critical")
    set_point(entry, "latency_p50_2KiB", 152000.0, "critical")
    finding = "latency_p50_1KiB is 131072 us, expected at most 100000 us (critical bound of 20 us)"
    entry["findings"] = (finding, "latency falls from 152000 us at 2KiB to 9.3 us at 4KiB")
    fail(run, entry, "performance", f"performance error: {finding}")
    return run


def with_untrusted(run: Run | None = None) -> Run:
    run = run or report()
    entry = find(run, "bw", "mpich", "tcp-2n")
    for sample in entry["samples"].values():
        sample.update(value=None, level="")
    entry.update(
        level="untrusted",
        evidence="",
        findings=("expected transport tcp, found shm: UCX reports lane sysv/memory on n1, n2",),
    )
    fail(run, entry, "sanity", "sanity error: expected transport tcp, found shm")
    return run


def with_no_reference(run: Run | None = None) -> Run:
    run = run or report()
    entry = find(run, "bcast", "mpich", "shm-1n")
    for variable, sample in entry["samples"].items():
        kept = {name: sample[name] for name in ("metric", "statistic", "size", "value", "unit")}
        entry["samples"][variable] = {**kept, "level": "no-reference"}
    entry.update(level="no-reference", reference_kind="")
    fail(run, entry, "performance", "performance error: no reference value found")
    return run


def with_node_failure(run: Run | None = None) -> Run:
    run = run or report()
    entry = find(run, "alltoall", "openmpi", "tcp-4n")
    reason = "node failure: Slurm ended job 1042 with NODE_FAIL, node n3 does not answer"
    entry.update(level="", samples={}, evidence="")
    fail(run, entry, "sanity", f"sanity error: {reason}", findings=(reason,))
    return run


def with_aborted(run: Run | None = None) -> Run:
    run = run or report()
    entry = find(run, "barrier", "mpich", "tcp-4n")
    entry.update(UNMEASURED, result="abort")
    entry.update(fail_phase="run", fail_reason="aborted due to AbortTaskError")
    run["end"]["info"]["num_aborted"] += 1
    return run


def with_failed_build() -> Run:
    run = report()
    build = run["cases"][0]
    for entry in run["cases"]:
        if entry["environ"] == "mpich" and not entry.get("fixture"):
            entry.update(UNMEASURED, job=entry["job"], result="fail_deps", needs=(build["id"],))
    fail(run, build, "compile_wait", "build system error: make: mpicxx: command not found")
    return run


def with_everything() -> Run:
    """One of each kind in the same run."""
    run = report()
    for variant in (
        *(with_warning, with_critical, with_untrusted),
        *(with_no_reference, with_node_failure, with_aborted),
    ):
        variant(run)
    skipped = find(run, "scatter", "openmpi", "shm-1n")
    skipped.update(UNMEASURED, result="skip", fail_reason="the partition offers one core")
    return run


VARIANTS: dict[str, Callable[[], Run]] = {
    "good": report,
    "warning": with_warning,
    "critical": with_critical,
    "untrusted": with_untrusted,
    "no-reference": with_no_reference,
    "node-failure": with_node_failure,
    "aborted": with_aborted,
    "failed-build": with_failed_build,
    "everything": with_everything,
}

if __name__ == "__main__":
    for variant_name, make in VARIANTS.items():
        write(make(), Path(sys.argv[1]) / variant_name)
