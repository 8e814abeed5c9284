"""The job of a stress: its scheduler, its scripts, and the nodes that it must not have."""

import re
import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from fabricheck.asking import PATIENCE
from fabricheck.provenance import SUITE, home
from fabricheck.record.entries import Case
from fabricheck.schedulers import scheduler_of
from fabricheck.schedulers.protocol import Scheduler

_ON_LOGIN: Final = str(SUITE / "ci" / "bin" / "on-login")


def scheduler_for(plan: Mapping[str, Any], patience: float = PATIENCE) -> Scheduler:
    """The scheduler of a plan's partition, which has so many seconds for an answer."""
    before = (_ON_LOGIN, plan["system"])
    return replace(scheduler_of(plan["scheduler"]), before=before, patience=patience)


def dead_nodes(
    nodes: Collection[str],
    blocks: Sequence[Case],
    scheduler: Scheduler,
    states: Mapping[str, str],
) -> dict[str, str]:
    """The nodes that a stress must not take again, and why: silent ones and those with dead ports.

    Args:
        nodes: of the last stress.
        blocks: of the last stress; what their ports counted.
        scheduler: of the stress.
        states: its word for the state of each node.
    """
    silent = [
        node for node in sorted({*nodes} & states.keys()) if scheduler.is_silent(states[node])
    ]
    dead = {node: f"{scheduler.name} says {states[node]}" for node in silent}
    for each in blocks:
        for cause in each.fabric_causes:
            # As ``Finding`` tells it: subject, node and port.
            match = re.match(r"(link down|RDMA device) on (\S+)", cause)
            if match:
                dead.setdefault(match[2].rstrip(":"), cause)
    return dead


def job_script(place: Path) -> str:
    """The script of the job: the worker, in the shell's own process, so that signals reach it."""
    worker = shlex.join([sys.executable, "-m", "fabricheck", "stress", "work", str(place)])
    return f"#!/bin/bash\ncd {shlex.quote(str(home()))} || exit\nexec {worker}\n"


def block_script(commands: Sequence[str]) -> str:
    """The script of a block: what ReFrame would put into that of a case."""
    return "\n".join(["#!/bin/bash", *commands, ""])
