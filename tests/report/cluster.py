"""The record of a large cluster: nights of 400 nodes with 8 cards each.

``python -m tests.report.cluster DIRECTORY`` writes it, its history and the page of its last night,
and says what that took.
"""

import itertools
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fabricheck.history.store import History
from fabricheck.measures.registry import REGISTRY, sweep
from fabricheck.nodes.names import fold
from fabricheck.record.entries import CaseEntry, Entry, Sample, Session
from fabricheck.record.write import append
from fabricheck.report.history_view import read_history_view
from fabricheck.report.load import load
from fabricheck.report.page import write_page
from fabricheck.report.summary import summarise

NODES = tuple(f"c{number:03d}" for number in range(1, 401))
CARDS = tuple(f"mlx5_{number}:1" for number in range(8))
EACH_NIGHT = 40
NIGHTS = 14
_LAST = datetime(2026, 11, 24, 4, tzinfo=UTC)
_CURVES = ("latency", "bw", "bibw", "allreduce", "alltoall")
_MPIS = ("openmpi", "mpich")
_TRANSPORTS = ("rc", "ud", "tcp")
_JOBS = itertools.count(1)
_OF_CASES = {each.name for each in fields(CaseEntry)}


def _case(night: int, check: str, benchmark: str, nodes: tuple[str, ...], **more: Any) -> CaseEntry:
    moment = _LAST - timedelta(days=NIGHTS - 1 - night)
    job = next(_JOBS)
    given: dict[str, Any] = {
        "time": moment.isoformat(), "session": f"night-{night}", "system": "large",
        "partition": "main", "environ": "builtin", "check": check, "benchmark": benchmark,
        "name": f"{check} %benchmark={benchmark}", "id": f"{check}_{job}",
        "result": "pass", "level": "good",
        "nodes": nodes, "num_nodes": len(nodes), "ranks": len(nodes), "ranks_per_node": 1,
        "output": f"/srv/output/{check}/{benchmark}", "evidence": "rc_mlx5; 4.2 MB of 4.2 MB seen",
        "reference_kind": "measured", "reference_source": "20 nights", "measuring": 20.0,
        "commit": "0123abcd", "job": str(job),
    }  # fmt: skip
    return CaseEntry(**given | more)


def _samples(metric: str, statistic: str, sizes: tuple[int, ...], noise: random.Random, unit: str):
    for size in sizes:
        value = (2.0 + size / 40000 if metric == "latency" else 24000 * size / (size + 8000)) * (
            1 + 0.02 * noise.gauss(0, 1)
        )
        lower = metric == "bandwidth"
        yield Sample(
            metric=metric, statistic=statistic, size=size, value=value, unit=unit, level="good",
            reference=value, lower=value * 0.8 if lower else None,
            upper=None if lower else value * 1.3,
        )  # fmt: skip


def _cards(night: int, chosen: list[str], noise: random.Random) -> Iterator[CaseEntry]:
    """Each card of each node of the night, in pairs, at one size."""
    for benchmark, metric, unit in (
        ("ib_write_bw", "bandwidth", "MB/s"),
        ("ib_write_lat", "latency", "us"),
    ):
        for first, second in zip(chosen[::2], chosen[1::2], strict=True):
            for card in CARDS:
                card_is = {"port": card} if "port" in _OF_CASES else {"options": f"--port {card}"}
                slow = (first, card, night) == (chosen[4], CARDS[3], NIGHTS - 1)
                yield _case(
                    night, "VerbsPerftest", benchmark, (first, second), transport="rc",
                    name=f"VerbsPerftest %benchmark={benchmark} %transport=rc %port={card}",
                    level="critical" if slow else "good",
                    findings=("8192 is half of the reference",) if slow else (),
                    samples=tuple(_samples(metric, "avg", (65536,), noise, unit)),
                    program="perftest", **card_is,
                )  # fmt: skip


def _night(night: int, chosen: list[str], noise: random.Random) -> Iterator[Entry]:
    yield from _cards(night, chosen, noise)
    pairs = list(zip(chosen[::2], chosen[1::2], strict=True))
    for benchmark in _CURVES:
        metric = "latency" if REGISTRY[benchmark].metrics[0] == "latency" else "bandwidth"
        unit = "us" if metric == "latency" else "MB/s"
        family = REGISTRY[benchmark].family
        for environ in _MPIS:
            for transport in _TRANSPORTS:
                yield _case(
                    night, "MpiCollective" if family == "collective" else "MpiPointToPoint",
                    benchmark, pairs[noise.randrange(len(pairs))], environ=environ,
                    transport=transport, mpi=environ, program="mpi_probe",
                    samples=tuple(
                        sample
                        for statistic in (("p50", "p99") if metric == "latency" else ("avg",))
                        for sample in _samples(metric, statistic, sweep(8, 4 << 20), noise, unit)
                    ),
                )  # fmt: skip
    idle = tuple(node for node in NODES if noise.random() > 0.4)
    lines = tuple(f"{node} {card}: 400 Gbit/s (4X NDR), MTU 4096 B, firmware 28.39.1002"
                  for node in idle for card in CARDS)  # fmt: skip
    unmet = Sample(metric="unmet", statistic="max", value=0.0, unit="1", level="good", upper=0.0)
    yield _case(night, "FabricHealth", "fabric_health", idle, ports=lines, samples=(unmet,))
    rules = ("launch", "kernel", "memlock", "hugepages", "governor", "ports", "pcie", "numa", "mtu")
    yield _case(
        night, "NodeHealth", "node_health", idle, samples=(unmet,),
        prerequisites=tuple(
            {"rule": rule, "level": "good", "words": "as expected", "nodes": fold(idle)}
            for rule in rules
        ),
    )  # fmt: skip
    ended = (_LAST - timedelta(days=NIGHTS - 1 - night) + timedelta(hours=1)).isoformat()
    busy = sorted({*NODES} - {*idle})
    rota = {"main": {"nodes": NODES, "busy": busy, "chosen": sorted(chosen)}}
    yield Session(
        time=ended,
        session=f"night-{night}",
        system="large",
        info={"kind": "nightly", "rota": rota},
    )


def write(perflogs: Path, nights: int = NIGHTS) -> None:
    """Record the last of the nights; each takes the nodes that waited longest."""
    noise = random.Random(1)
    order = list(NODES)
    for night in range(NIGHTS - nights, NIGHTS):
        chosen, order = order[:EACH_NIGHT], order[EACH_NIGHT:] + order[:EACH_NIGHT]
        *cases, end = _night(night, chosen, noise)
        assert isinstance(end, Session)
        append(perflogs, [*cases, replace(end, announced=len(cases))])


def page(directory: Path) -> Path:
    """The page of the last night, with the history of all."""
    store = directory / "history"
    with History.open(store) as history:
        history.refresh([directory / "perflogs"], now=_LAST + timedelta(days=1))
    run = load(directory / "perflogs")
    past = read_history_view(store, run, [directory / "sites"], [directory / "references"])
    write_page(run, summarise(run), directory / "page.html", past)
    return directory / "page.html"


def main() -> None:
    """Write everything, with times."""
    directory = Path(sys.argv[1])
    write(directory / "perflogs")
    size = sum(each.stat().st_size for each in (directory / "perflogs").rglob("*.jsonl"))
    began = time.monotonic()
    written = page(directory).stat().st_size
    took = time.monotonic() - began
    began = time.monotonic()
    command = [Path(sys.executable).with_name("fabricheck"), "coverage"]
    subprocess.run([*command, f"--store={directory / 'history'}"], check=False)
    sys.stdout.write(
        f"record {size / 1e6:.1f} MB; history and page {took:.1f} s, {written / 1e6:.2f} MB; "
        f"coverage {time.monotonic() - began:.1f} s\n"
    )


if __name__ == "__main__":
    main()
