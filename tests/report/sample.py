"""Realistic run reports for the tests, in the form in which ReFrame writes them.

``python tests/report/sample.py DIRECTORY`` writes each variant as a file to look at.
"""

import copy
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fabricheck.benchmarks.curve import variable_name
from fabricheck.benchmarks.metrics import Metric
from fabricheck.benchmarks.model import Benchmark, MpiBenchmark, RanksRule
from fabricheck.benchmarks.osu.entries import PROBE_BENCHMARKS
from fabricheck.benchmarks.registry import sweep

Report = dict[str, Any]

SESSION = "3f0c7ab2-5a3e-4d0f-9a59-0d5a1c6b7e21"
ENVIRONS = {
    "mpich": ("MPICH", "4.0.2", 0.9),
    "openmpi": ("Open MPI", "4.1.4", 1.0),
}
PLACEMENTS = {"shm-1n": (0.21, 9400.0), "tcp-2n": (7.4, 1900.0), "tcp-4n": (9.1, 1400.0)}
MIB = 1 << 20


def report(*benchmarks: str) -> Report:
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
        case["uuid"] = f"{SESSION}:0:{number}"
        case["jobid"] = str(1000 + number)
    return {
        "session_info": {
            "data_version": "4.2",
            "hostname": "login1",
            "uuid": SESSION,
            "time_start": "20261121T054159+0000",
            "time_start_unix": 1795239719.17,
            "time_end": "20261121T054621+0000",
            "time_end_unix": 1795239981.45,
            "time_elapsed": 262.28,
            "cmdline": "reframe -c checks/ -r --report-file=reports/run-0.json",
            "config_files": ["<builtin>", "reframe-config.py"],
            "user": "root",
            "version": "4.10.4",
            "workdir": "/home/user/fabricheck",
            "num_cases": len(cases),
            "num_failures": 0,
            "num_aborted": 0,
            "num_skipped": 0,
        },
        "runs": [
            {
                "num_cases": len(cases),
                "num_failures": 0,
                "num_aborted": 0,
                "num_skipped": 0,
                "run_index": 0,
                "testcases": cases,
            }
        ],
        "restored_cases": [],
    }


def entry_of(name: str, environ: str, **values: Any) -> Report:
    kind = name.partition(" ")[0]
    return {
        "display_name": name,
        "name": name,
        "unique_name": name.replace(" %", "_").replace("=", "_"),
        "system": "testbed",
        "partition": "slurm",
        "environ": environ,
        "result": "pass",
        "fail_phase": None,
        "fail_reason": None,
        "fixture": False,
        "job_nodelist": [],
        "job_completion_time": "2026-11-21T05:44:10+00:00",
        "outputdir": f"/home/user/fabricheck/output/testbed/slurm/{environ}/{kind}",
        "perfvalues": {},
        "run_index": 0,
        "session_uuid": SESSION,
        "scheduler": "squeue",
        **values,
    }


def _build(environ: str) -> Report:
    return entry_of(f"BenchBuild ~testbed:slurm+{environ}", environ, fixture=True)


def _transport_order(environ: str) -> Report:
    values = {"ratio_p50_8B": 35.7, "ratio_p50_1MiB": 4.76}
    return entry_of(
        "TransportOrder",
        environ,
        benchmark="transport_order",
        placement="tcp-2n",
        level="good",
        levels=dict.fromkeys(values, "good"),
        findings=[],
        warning_bounds={},
        reference_kind="ratio",
        commit="0b0ad8f1",
        job_nodelist=["n1", "n2"],
        perfvalues={
            f"testbed:slurm:{name}": [value, 2, -0.5, None, Metric.RATIO.row.unit, "pass"]
            for name, value in values.items()
        },
    )


def mpi_case(benchmark: MpiBenchmark, environ: str, placement: str) -> Report:
    family, version, _ = ENVIRONS[environ]
    transport, _, nodes = placement.partition("-")
    count = int(nodes[:-1])
    curve = _curve(benchmark, environ, placement)
    kind = "MpiPointToPoint" if benchmark.family == "pt2pt" else "MpiCollective"
    return entry_of(
        f"{kind} %benchmark={benchmark.name} %placement={placement}",
        environ,
        benchmark=benchmark.name,
        placement=placement,
        transport=transport,
        num_nodes=count,
        num_tasks=max(2, count),
        job_nodelist=[f"n{number + 1}" for number in range(count)],
        level="good",
        levels=dict.fromkeys(curve, "good"),
        findings=[],
        warning_bounds={name: _warning(name, unit) for name, (_, unit) in curve.items()},
        reference_kind="bound",
        reference_source="absurdity bounds for a shared machine",
        mpi=family,
        mpi_version=version,
        program="mpi_probe",
        program_version="0.1.0",
        commit="0b0ad8f1",
        evidence=f"UCX reports lanes over {transport}; interface counters agree on {count} nodes",
        perfvalues={
            f"testbed:slurm:{name}": [value, *reference(unit), unit, "pass"]
            for name, (value, unit) in curve.items()
        },
    )


def reference(unit: str) -> tuple[float, float | None, float | None]:
    return (20.0, -0.999, 4999.0) if unit == "us" else (1.0, -0.999, None)


def _warning(name: str, unit: str) -> list[float | None]:
    return [None, 20000.0] if unit == "us" else [0.002, None]


def _curve(benchmark: MpiBenchmark, environ: str, placement: str) -> dict[str, tuple[float, str]]:
    factor = ENVIRONS[environ][2] * (1.0 if benchmark.family == "pt2pt" else 1.8)
    return values_of(benchmark, factor, *PLACEMENTS[placement])


def values_of(
    benchmark: Benchmark, factor: float, base: float, rate: float
) -> dict[str, tuple[float, str]]:
    curve: dict[str, tuple[float, str]] = {}
    sizes = [None] if benchmark.min_size is None else sweep(benchmark.min_size, MIB)
    for size in sizes:
        ripple = 1 + 0.1 * math.sin(math.log2((size or 1) + 1))
        time = factor * (base + (size or 0) / rate * ripple)
        for metric in benchmark.metrics:
            for statistic in benchmark.statistics:
                value = _value(metric, statistic, time, size or 0)
                curve[variable_name(metric, statistic, size)] = (value, metric.row.unit)
    return curve


def _value(metric: Metric, statistic: str, time: float, size: int) -> float:
    if metric is Metric.LATENCY:
        return round(time * {"avg": 1.07, "p50": 1.0, "p99": 1.9, "max": 2.8}[statistic], 3)
    bandwidth = size / time * 4 / (1 + size / MIB)
    return round(bandwidth if metric is Metric.BANDWIDTH else bandwidth / size * 1e6, 2)


def find(document: Report, benchmark: str, environ: str, placement: str) -> Report:
    """The entry of that case."""
    for entry in document["runs"][-1]["testcases"]:
        if (entry.get("benchmark"), entry["environ"], entry.get("placement")) == (
            benchmark,
            environ,
            placement,
        ):
            return entry  # type: ignore[no-any-return]
    raise LookupError(benchmark, environ, placement)


def fail(document: Report, entry: Report, phase: str, reason: str, **values: Any) -> None:
    """Make the case a failed one and count it."""
    entry.update(result="fail", fail_phase=phase, fail_reason=reason, **values)
    document["runs"][-1]["num_failures"] += 1
    document["session_info"]["num_failures"] += 1


def only(document: Report, *benchmarks: str) -> Report:
    """The same run with the cases of these benchmarks alone, where a test wants to be quick."""
    run = document["runs"][0]
    run["testcases"] = [
        entry
        for entry in run["testcases"]
        if entry["fixture"] or entry["benchmark"] in benchmarks or entry["result"] == "fail"
    ]
    run["num_cases"] = document["session_info"]["num_cases"] = len(run["testcases"])
    return document


def set_point(entry: Report, variable: str, value: float, level: str) -> None:
    """Give one variable another value and level, and the case the level."""
    key = f"testbed:slurm:{variable}"
    entry["perfvalues"][key][0] = value
    entry["perfvalues"][key][5] = "fail" if level == "critical" else "pass"
    entry["levels"][variable] = level
    entry["level"] = level


def with_warning() -> Report:
    document = report()
    entry = find(document, "allreduce", "mpich", "tcp-4n")
    set_point(entry, "latency_p99_64KiB", 23117.0, "warning")
    entry["findings"] = ["latency_p99_64KiB is 23117 us, expected at most 20000 us (warning bound)"]
    return document


def with_critical() -> Report:
    document = report()
    entry = find(document, "latency", "openmpi", "tcp-2n")
    set_point(entry, "latency_p50_1KiB", 131072.0, "critical")
    set_point(entry, "latency_p50_2KiB", 152000.0, "critical")
    finding = "latency_p50_1KiB is 131072 us, expected at most 100000 us (critical bound of 20 us)"
    entry["findings"] = [finding, "latency falls from 152000 us at 2KiB to 9.3 us at 4KiB"]
    fail(document, entry, "performance", f"performance error: {finding}")
    return document


def with_untrusted() -> Report:
    document = report()
    entry = find(document, "bw", "mpich", "tcp-2n")
    for values in entry["perfvalues"].values():
        values[0] = values[5] = None
    entry.update(
        level="untrusted",
        levels={},
        evidence="",
        findings=["expected transport tcp, found shm: UCX reports lane sysv/memory on n1, n2"],
    )
    fail(document, entry, "sanity", "sanity error: expected transport tcp, found shm")
    return document


def with_no_reference() -> Report:
    document = report()
    entry = find(document, "bcast", "mpich", "shm-1n")
    for key, values in entry["perfvalues"].items():
        values[1:] = [0, None, None, values[4], "fail"]
        entry["levels"][key.split(":")[-1]] = "no-reference"
        values[5] = "pass"
    entry.update(level="no-reference", reference_kind="", findings=[])
    fail(document, entry, "performance", "performance error: no reference value found")
    return document


def with_node_failure() -> Report:
    document = report()
    entry = find(document, "alltoall", "openmpi", "tcp-4n")
    reason = "node failure: Slurm ended job 1042 with NODE_FAIL, node n3 does not answer"
    entry.update(level="", levels={}, perfvalues={}, evidence="", warning_bounds={})
    fail(document, entry, "sanity", f"sanity error: {reason}", findings=[reason])
    return document


def with_aborted() -> Report:
    document = report()
    entry = find(document, "barrier", "mpich", "tcp-4n")
    entry.update(result="abort", level="", levels={}, perfvalues={}, job_nodelist=[])
    entry.update(evidence="", jobid=None)
    entry.update(fail_phase="run", fail_reason="aborted due to AbortTaskError")
    document["runs"][0]["num_aborted"] += 1
    return document


def with_failed_build() -> Report:
    document = report()
    for entry in document["runs"][0]["testcases"]:
        if entry["environ"] == "mpich" and not entry["fixture"]:
            entry.update(result="fail_deps", level="", levels={}, perfvalues={}, job_nodelist=[])
            build = ["BenchBuild ~testbed:slurm+mpich", "testbed:slurm", "mpich"]
            entry.update(
                dependencies_actual=[build],
                fail_phase=None,
                fail_reason=None,
                evidence="<undefined>",
            )
    build = document["runs"][0]["testcases"][0]
    fail(document, build, "compile_wait", "build system error: make: mpicxx: command not found")
    return document


def with_everything() -> Report:
    """One of each kind in the same run."""
    document = report()
    for variant in (
        with_warning,
        with_critical,
        with_untrusted,
        with_no_reference,
        with_node_failure,
        with_aborted,
    ):
        _graft(document, variant())
    skipped = find(document, "scatter", "openmpi", "shm-1n")
    skipped.update(result="skip", level="", levels={}, perfvalues={}, job_nodelist=[])
    skipped.update(evidence="", jobid=None, fail_reason="the partition offers one core")
    return document


def _graft(document: Report, variant: Report) -> None:
    plain = report()["runs"][0]["testcases"]
    for number, entry in enumerate(variant["runs"][0]["testcases"]):
        if entry != plain[number]:
            document["runs"][0]["testcases"][number] = copy.deepcopy(entry)
    for holder in ("num_failures", "num_aborted"):
        document["runs"][0][holder] += variant["runs"][0][holder]


VARIANTS: dict[str, Callable[[], Report]] = {
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
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for variant_name, make in VARIANTS.items():
        (target / f"{variant_name}.json").write_text(json.dumps(make(), indent=1))
