"""Runs in which a case has what its transport rests on: verbs, UCX and MPI."""

from tests.report import sample

from fabricheck.measures.registry import REGISTRY
from fabricheck.programs.osu.entries import PROBE_BENCHMARKS

BELOW_MPI = "builtin"
RDMA = {"ib_send_lat": 0.9, "ib_write_bw": 0.9, "ucx_tag_lat": 0.95, "ucx_tag_bw": 0.95}


def layered() -> sample.Run:
    """A good run of latency and bandwidth over rc: verbs, UCX and two MPIs on nodes n1 and n2."""
    cases = [entry for entry in sample.report("latency", "bw")["cases"] if entry.get("fixture")]
    for environ in sample.ENVIRONS:
        for name in ("latency", "bw"):
            entry = sample.mpi_case(PROBE_BENCHMARKS[name], environ, "tcp-2n")
            entry.update(sample.where("rc-2n"), partition="rdma", id=f"{name}_{environ}_rc")
            entry["name"] = entry["name"].replace("tcp-2n", "rc-2n")
            cases.append(entry)
    cases += [pair_case(name, factor) for name, factor in RDMA.items()]
    for number, entry in enumerate(cases):
        entry["job"] = str(1000 + number)
    return sample.run_of(cases)


def pair_case(name: str, factor: float) -> sample.Entry:
    benchmark = REGISTRY[name]
    kind = "UcxPerftest" if benchmark.family == "ucx" else "VerbsPerftest"
    curve = sample.values_of(benchmark, factor, *sample.PLACEMENTS["tcp-2n"])
    return sample.entry_of(
        f"{kind} %benchmark={name} %placement=rc-2n",
        BELOW_MPI,
        partition="rdma",
        benchmark=name,
        **sample.where("rc-2n"),
        ranks=2,
        nodes=("n1", "n2"),
        level="good",
        reference_kind="bound",
        ucx_version="1.13.1" if benchmark.family == "ucx" else "",
        program=benchmark.program,
        commit="0b0ad8f1",
        samples=sample.judged(curve, warning=False),
    )


def redden(
    run: sample.Run, benchmark: str, environ: str = BELOW_MPI, level: str = "critical"
) -> sample.Entry:
    """Make a case over rc red, at 64 KiB; the case."""
    entry = sample.find(run, benchmark, environ, "rc-2n")
    variables = (f"{metric}_64KiB" for metric in ("latency_p50", "bandwidth_avg"))
    variable = next(each for each in variables if each in entry["samples"])
    point = entry["samples"][variable]
    point["value"] *= 1000 if point["unit"] == "us" else 1 / 1000
    point["level"] = level
    finding = f"{variable} is beyond its {level} bound"
    sample.fail(run, entry, "performance", finding, level=level, findings=(finding,))
    return entry


def drop(run: sample.Run, *benchmarks: str) -> sample.Run:
    """The same run without these benchmarks."""
    run["cases"] = [each for each in run["cases"] if each.get("benchmark") not in benchmarks]
    return sample.announced(run)
