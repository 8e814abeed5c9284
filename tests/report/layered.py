"""Run reports in which a case has what its transport rests on: verbs, UCX and MPI."""

from tests.report import sample

from fabricheck.benchmarks.osu.entries import PROBE_BENCHMARKS
from fabricheck.benchmarks.registry import REGISTRY

BELOW_MPI = "builtin"
RDMA = {"ib_send_lat": 0.9, "ib_write_bw": 0.9, "ucx_tag_lat": 0.95, "ucx_tag_bw": 0.95}


def layered() -> sample.Report:
    """A good run of latency and bandwidth over rc: verbs, UCX and two MPIs on nodes n1 and n2."""
    document = sample.report("latency", "bw")
    cases = [entry for entry in document["runs"][0]["testcases"] if entry["fixture"]]
    for environ in sample.ENVIRONS:
        for name in ("latency", "bw"):
            entry = sample.mpi_case(PROBE_BENCHMARKS[name], environ, "tcp-2n")
            entry["display_name"] = entry["display_name"].replace("tcp-2n", "rc-2n")
            entry.update(placement="rc-2n", transport="rc", partition="rdma")
            entry.update(name=entry["display_name"], unique_name=f"{name}_{environ}_rc")
            values = entry["perfvalues"]
            entry["perfvalues"] = {k.replace("slurm", "rdma"): v for k, v in values.items()}
            cases.append(entry)
    cases += [pair_case(name, factor) for name, factor in RDMA.items()]
    for number, entry in enumerate(cases):
        entry.update(uuid=f"{sample.SESSION}:0:{number}", jobid=str(1000 + number))
    document["runs"][0].update(testcases=cases, num_cases=len(cases))
    document["session_info"]["num_cases"] = len(cases)
    return document


def pair_case(name: str, factor: float) -> sample.Report:
    benchmark = REGISTRY[name]
    kind = "UcxPerftest" if benchmark.family == "ucx" else "VerbsPerftest"
    curve = sample.values_of(benchmark, factor, *sample.PLACEMENTS["tcp-2n"])
    return sample.entry_of(
        f"{kind} %benchmark={name} %placement=rc-2n",
        BELOW_MPI,
        partition="rdma",
        benchmark=name,
        placement="rc-2n",
        transport="rc",
        num_nodes=2,
        num_tasks=2,
        job_nodelist=["n1", "n2"],
        level="good",
        levels=dict.fromkeys(curve, "good"),
        findings=[],
        warning_bounds={},
        reference_kind="bound",
        ucx_version="1.13.1" if benchmark.family == "ucx" else "",
        program=benchmark.program,
        commit="0b0ad8f1",
        perfvalues={
            f"testbed:rdma:{variable}": [value, *sample.reference(unit), unit, "pass"]
            for variable, (value, unit) in curve.items()
        },
    )


def redden(
    document: sample.Report, benchmark: str, environ: str = BELOW_MPI, level: str = "critical"
) -> sample.Report:
    """Make a case over rc red, at 64 KiB; the case."""
    entry = sample.find(document, benchmark, environ, "rc-2n")
    keys = (f"testbed:rdma:{metric}_64KiB" for metric in ("latency_p50", "bandwidth_avg"))
    key = next(key for key in keys if key in entry["perfvalues"])
    values = entry["perfvalues"][key]
    variable = key.split(":")[-1]
    values[0] = values[0] * 1000 if values[4] == "us" else values[0] / 1000
    values[5] = "fail"
    entry["levels"][variable] = level
    finding = f"{variable} is beyond its {level} bound"
    sample.fail(document, entry, "performance", finding, level=level, findings=[finding])
    return entry


def drop(document: sample.Report, *benchmarks: str) -> sample.Report:
    """The same run without these benchmarks."""
    run = document["runs"][0]
    run["testcases"] = [e for e in run["testcases"] if e.get("benchmark") not in benchmarks]
    run["num_cases"] = document["session_info"]["num_cases"] = len(run["testcases"])
    return document
