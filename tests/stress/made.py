"""A stress as it lies on disk, and blocks as they are recorded."""

from pathlib import Path

from fabricheck.record.entries import CaseEntry, Sample, moment
from fabricheck.record.sessions import STRESS
from fabricheck.stress.state import StressDirectory

SESSION = "stress-s-20261122T000000Z"
BEGIN = 1_795_305_600
"""2026-11-22 00:00 UTC."""


def absurd(*sizes: str) -> str:
    """References of collectives at these sizes that only an absurd value exceeds."""
    values = ", ".join(f"{size}: 1.0" for size in sizes)
    return f"""\
rules:
- for: {{check: MpiCollective}}
  value: {{latency: {{{values}}}}}
  bound: [-0.9999, 1.0e+9]
  warning: [-0.999, 1.0e+8]
  kind: bound
  source: guards
  date: 2026-11-21
"""


def block(
    number: str,
    benchmark: str = "allreduce",
    value: float = 44977.66,
    *,
    size: int = 4 << 20,
    nodes: int = 8,
    at: float = BEGIN,
    marks: float | None = None,
    level: str = "good",
    session: str = SESSION,
) -> CaseEntry:
    """A block of an iteration, ``ITERATION.BLOCK``, whose average latency is the value in us."""
    bounds = {"level": level, "reference": 38900.0, "upper": 60000.0, "warning_upper": 40000.0}
    samples = [
        Sample(metric="latency", statistic=name, size=size, value=value, unit="us", **bounds)
        for name in ("avg", "p50", "p99")
    ]
    samples.append(Sample(metric="latency", statistic="max", size=size, value=1e6, unit="us"))
    if marks is not None:
        samples.append(Sample(metric="ecn_rate", statistic="max", value=marks, unit="1/s"))
    return CaseEntry(
        time=moment(at),
        session=session,
        system="hpc",
        partition="main",
        environ="openmpi",
        check=STRESS,
        benchmark=benchmark,
        transport="rc",
        num_nodes=nodes,
        id=number,
        repeat=int(number.partition(".")[0]),
        result="pass" if level in ("good", "warning") else "fail",
        level=level,
        nodes=tuple(f"n{each}" for each in range(1, nodes + 1)),
        job="17",
        samples=tuple(samples),
    )


def place(
    path: Path, *blocks: CaseEntry, scheduler: str = "local", **state: object
) -> StressDirectory:
    """The place of a stress with a plan, a state and blocks."""
    made = StressDirectory(path)
    numbers = {"seconds": 1, "duty": 1, "pause": 1, "block_limit": 300, "every": 3600, "nodes": 8}
    lists = {"mixes": [{"first": 0, "count": 4, "pause": 1}], "hours": [0] * 24, "exclude": []}
    blocks_ = [{"setting": {"extras": {}, "features": []}}] * 4
    where = {"system": "testbed", "partition": "main", "environ": "openmpi"}
    plan = {**where, "scheduler": scheduler, "placement": "rc-8n", "blocks": blocks_}
    made.write_plan({**plan, **numbers, **lists})
    made.change(session=SESSION, started=BEGIN, began=BEGIN, until=BEGIN + 3600, **state)
    for each in blocks:
        made.append(each)
    return made
