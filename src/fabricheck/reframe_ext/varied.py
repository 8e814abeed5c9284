"""The runs of a sweep: one case again and again, each with the variables that the plan has for it.

ReFrame repeats the case (``--repeat``) and runs it in the order of its names.
"""

import functools
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from fabricheck.record.reframe_report import repetition
from fabricheck.reframe_ext import allocation
from fabricheck.schedulers import scheduler_of
from fabricheck.sites.extras import AllocationExtra

SWEEP: Final = "FABRICHECK_SWEEP"
"""Environment variable with the file of a sweep's plan, beside which its record lies; without it,
or if it is empty, nothing is varied."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a sweep runs, in turns.

    Attributes:
        runs: the environment variables of each run, in order.
        nodes: how many the case needs.
        time: how long the allocation lasts, as Slurm and ReFrame write it, such as ``2h``.
    """

    runs: tuple[Mapping[str, str], ...]
    nodes: int
    time: str


def place_in_order(number: int, runs: int) -> int:
    """Which of the runs a repetition is: ReFrame puts the names in order, where 10 is before 2."""
    return sorted(map(str, range(runs))).index(str(number))


def plan() -> Plan | None:
    """The plan of the sweep that this session is; ``None`` for any other session."""
    path = os.environ.get(SWEEP)
    return _read(path) if path else None


@functools.cache
def _read(path: str) -> Plan:
    return msgspec.json.decode(Path(path).read_bytes(), type=Plan)


def variables_of(name: str) -> Mapping[str, str]:
    """The variables that a sweep gives to a test of this name; none to builds, and without one."""
    if (made := plan()) is None or (number := repetition(name)) is None:
        return {}
    return made.runs[place_in_order(number, len(made.runs))]


def record_of(root: Path) -> Path:
    """Where the values of this session are recorded: those of a sweep in a place of its own."""
    return Path(os.environ[SWEEP]).parent / "perflogs" if plan() else root / "perflogs"


def in_one_allocation(partition: dict[str, Any]) -> dict[str, Any]:
    """A partition as a sweep uses it: one run at a time, on the same nodes all the time."""
    if (made := plan()) is None:
        return partition
    alone = {**partition, "max_jobs": 1}
    if scheduler_of(partition["scheduler"]).is_alone:
        return alone
    wanted = asdict(AllocationExtra(nodes=made.nodes, time=made.time, after_builds=True))
    extras = {**partition.get("extras", {}), "allocation": wanted}
    kept = scheduler_of(partition["scheduler"]).shares_nodes
    return {**alone, "extras": extras, **({} if kept else {"scheduler": allocation.NAME})}
