"""A whole night: MPI, UCX and verbs over all transports, with checks of nodes, and its page.

``python -m tests.report.whole DIRECTORY`` writes the page of each night to look at.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from tests.report import layered, nights, sample

from fabricheck.measures.benchmark import RanksRule
from fabricheck.measures.registry import names
from fabricheck.programs.osu.entries import PROBE_BENCHMARKS
from fabricheck.report.load import load
from fabricheck.report.page import write_page
from fabricheck.report.run import ReportedRun
from fabricheck.report.summary import summarise

BELOW = (*names("verbs"), *names("ucx"))
TRANSPORTS = ("rc-2n", "ud-2n", "tcp-2n")
PLACEMENTS = ("shm-1n", "tcp-2n", "tcp-4n", "rc-2n", "ud-2n", "rc-4n")
PARTITION = "main"
CARDS = ("ib_write_bw", "ib_send_bw", "ib_read_bw")
RULES = ("launch", "kernel", "memlock", "hugepages", "governor", "ports", "pcie", "numa", "mtu")


def night(cases: int = 198) -> sample.Run:
    """A good night of so many cases; beyond one partition's, they are of further ones."""
    found: list[sample.Entry] = []
    number = 0
    while len(found) < cases:
        number += 1
        found += [{**each, "partition": f"{PARTITION}{number}"} for each in _partition()]
    for place, each in enumerate(found[:cases]):
        each.update(id=f"{each['name']}_{place}", job=str(1000 + place))
    return sample.run_of([*found[:cases]])


def _partition() -> list[sample.Entry]:
    found = [_node_health()]
    for name, benchmark in PROBE_BENCHMARKS.items():
        for environ in sample.ENVIRONS:
            for placement in PLACEMENTS:
                if placement.endswith("4n") and benchmark.ranks is RanksRule.EXACTLY_TWO:
                    continue
                made = sample.mpi_case(benchmark, environ, _like(placement))
                made.update(sample.where(placement))
                made["name"] = f"{name} %placement={placement}"
                found.append(made)
    found += [layered.pair_case(name, 0.9) for name in BELOW]
    return found


def _like(placement: str) -> str:
    return placement if placement in sample.PLACEMENTS else f"tcp-{placement[-2:]}"


def _node_health() -> sample.Entry:
    told = {"level": "good", "words": "as expected", "nodes": "n[1-4]"}
    unmet = {"metric": "unmet", "statistic": "max", "value": 0.0, "unit": "1", "level": "good"}
    return sample.entry_of(
        "NodeHealth",
        layered.BELOW_MPI,
        benchmark="node_health",
        level="good",
        nodes=("n1", "n2", "n3", "n4"),
        prerequisites=tuple({"rule": rule, **told} for rule in RULES),
        samples={"unmet_max": unmet},
    )


def slow_card(run: sample.Run, slow: str = "mlx5_2:1") -> sample.Run:
    """Four cards of c017 and c018, measured one by one; one sends and receives at half the rate."""
    for benchmark in CARDS:
        for port in (f"mlx5_{number}:1" for number in range(4)):
            made = layered.pair_case(benchmark, 0.9)
            made.update(port=port, nodes=("c017", "c018"), name=f"{made['name']} %port={port}")
            made.update(id=f"{benchmark}_{port}", job="4711", partition=f"{PARTITION}1")
            run["cases"].append(made)
            if port == slow:
                for each in made["samples"].values():
                    each.update(value=each["value"] / 2, level="critical", lower=each["value"])
                told = f"bandwidth_avg_1MiB is half of the reference over {port}"
                sample.fail(run, made, "performance", told, level="critical", findings=(told,))
    return sample.announced(run)


def failed(run: sample.Run) -> sample.Run:
    """A run that failed as a whole: no program could be built, so no case ran."""
    builds = sample.report("barrier")["cases"][:2]
    for build in builds:
        build["partition"] = f"{PARTITION}1"
        sample.fail(run, build, "compile_wait", "build system error: mpicxx: command not found")
    for each in run["cases"]:
        each.update(sample.UNMEASURED, result="fail_deps", needs=(builds[0]["id"],))
    run["cases"] += builds
    return sample.announced(run)


NIGHTS: dict[str, Callable[[], sample.Run]] = {
    "good": night,
    "slow-card": lambda: slow_card(night()),
    "untrusted": lambda: sample.with_untrusted(night()),
    "failed": lambda: failed(night()),
    "900": lambda: night(900),
}


def write(made: sample.Run, directory: Path, *, past: bool = True) -> tuple[ReportedRun, Path]:
    """Record a night and write its page, with sixty nights before it or none; both."""
    run = load(sample.write(made, directory / "perflogs"))
    page = directory / "page.html"
    view = nights.past_of(run, nights.series_of(run)) if past else None
    write_page(run, summarise(run), page, view)
    return run, page


if __name__ == "__main__":
    for name, make in NIGHTS.items():
        _, written = write(make(), Path(sys.argv[1]) / name)
        sys.stdout.write(f"{written} {written.stat().st_size / 1e6:.2f} MB\n")
