"""The job of a stress: one job of Slurm, or one process of this machine."""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Protocol

from fabricheck.asking import PATIENCE, UnansweredError, ask
from fabricheck.errors import FabricheckError
from fabricheck.launch.slurm import is_silent
from fabricheck.provenance import SUITE, home
from fabricheck.record.entries import Case

_ON_LOGIN: Final = str(SUITE / "ci" / "bin" / "on-login")


class Phase(StrEnum):
    """What a job is doing, in the scheduler's sense."""

    WAITING = "waiting"
    RUNNING = "running"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Standing:
    """What the scheduler says of a job.

    Attributes:
        phase: what it is doing.
        why: the scheduler's reason, or the state that it ended in.
        nodes: where it runs, as the scheduler writes it.
    """

    phase: Phase
    why: str = ""
    nodes: str = ""


class Scheduler(Protocol):
    """What starts, finds and ends the job of a stress."""

    def running(self, name: str) -> str:
        """The job of a name that waits or runs; empty if there is none."""

    def submit(self, name: str, script: Path, log: Path, plan: Mapping[str, Any]) -> str:
        """Start the job; its number."""

    def standing(self, name: str, job: str) -> Standing:
        """What the job of a name and number is doing; numbers come again, names say whose."""

    def node_states(self) -> dict[str, str]:
        """Its word for the state of each node; empty for one that knows of none."""

    def ask_to_stop(self, name: str, job: str) -> None:
        """Tell it to end after the block under way."""

    def end(self, job: str) -> None:
        """End it at once."""


def scheduler_for(plan: Mapping[str, Any], patience: float = PATIENCE) -> Scheduler:
    """The scheduler of a plan's partition, which has so many seconds for an answer."""
    return Local() if plan["scheduler"] == "local" else Slurm(plan["system"], patience)


def job_name(name: str) -> str:
    """The name of a stress's job, of which there is one at a time."""
    return f"fabricheck-stress-{name}"


@dataclass(frozen=True, slots=True)
class Slurm:
    """Slurm's own commands, for a system; nothing needs accounting."""

    system: str = ""
    patience: float = PATIENCE

    def running(self, name: str) -> str:
        """The job of a name that waits or runs; empty if there is none."""
        listed = self.ask("squeue", "--noheader", f"--name={job_name(name)}", "--format=%i")
        return listed.split()[0] if listed.split() else ""

    def submit(self, name: str, script: Path, log: Path, plan: Mapping[str, Any]) -> str:
        """Submit the job: one by name, that yields to others and comes back after them."""
        exclude = [f"--exclude={','.join(plan['exclude'])}"] if plan["exclude"] else []
        return self.ask(
            "sbatch",
            "--parsable",
            f"--job-name={job_name(name)}",
            "--dependency=singleton",
            "--requeue",
            "--open-mode=append",
            "--exclusive",
            "--nice",
            # To the batch shell alone: the block under way comes to its end.
            "--signal=B:TERM@60",
            f"--nodes={plan['nodes']}",
            f"--ntasks={max(each['ranks'][0] for each in plan['blocks'])}",
            f"--time={-(-int(plan['seconds'] + plan['block_limit'] + 120) // 60)}",
            f"--output={log}",
            f"--error={log}",
            *exclude,
            *plan["options"],
            str(script),
        ).split(";")[0]

    def standing(self, name: str, job: str) -> Standing:
        """What Slurm says of the job.

        Raises:
            FabricheckError: if Slurm does not answer.
        """
        if not job:
            return Standing(Phase.GONE)
        which = (f"--jobs={job}", f"--name={job_name(name)}", "--format=%T|%r|%N")
        listed = self.ask("squeue", "--noheader", *which, gone="Invalid")
        if not listed:
            return Standing(Phase.GONE)
        state, why, nodes = listed.splitlines()[0].split("|")
        if state in ("RUNNING", "COMPLETING"):
            return Standing(Phase.RUNNING, state, nodes)
        waiting = state in ("PENDING", "REQUEUED", "SUSPENDED", "CONFIGURING", "REQUEUE_HOLD")
        return Standing(Phase.WAITING, why, nodes) if waiting else Standing(Phase.GONE, state)

    def node_states(self) -> dict[str, str]:
        """Slurm's word for the state of each node.

        Raises:
            FabricheckError: if Slurm does not answer.
        """
        listed = self.ask("sinfo", "--noheader", "--Node", "--format=%N %T")
        return dict(line.split() for line in listed.splitlines())

    def ask_to_stop(self, name: str, job: str) -> None:
        """TERM to the batch shell; a job that waits has no block to wait for."""
        if self.standing(name, job).phase is Phase.WAITING:
            self.end(job)
        else:
            self.ask("scancel", "--batch", "--signal=TERM", job, gone="Invalid")

    def end(self, job: str) -> None:
        """Cancel it."""
        self.ask("scancel", job, gone="Invalid")

    def ask(self, *command: str, gone: str = "") -> str:
        """What a command of Slurm prints; nothing where it says that the job is gone.

        Raises:
            FabricheckError: if it fails.
        """
        try:
            return ask([_ON_LOGIN, self.system, *command], self.patience).strip()
        except UnansweredError as error:
            if gone and gone in str(error):
                return ""
            raise FabricheckError(
                f"expected an answer of {command[0]}, found: {error}: run it where Slurm is, with "
                "a partition and options that Slurm takes (stress.options in the site file)"
            ) from None


class Local:
    """A process in a group of its own, known by its number and when it began."""

    def running(self, name: str) -> str:
        """None: the place of the stress says so itself."""
        del name
        return ""

    def submit(self, name: str, script: Path, log: Path, plan: Mapping[str, Any]) -> str:
        """Start the process."""
        del name, plan
        with log.open("ab") as output:
            process = subprocess.Popen(
                ["/bin/sh", str(script)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        return f"{process.pid}.{birth(process.pid)}"

    def standing(self, name: str, job: str) -> Standing:
        """Whether the process is there."""
        del name
        return Standing(Phase.RUNNING if _process(job) else Phase.GONE)

    def node_states(self) -> dict[str, str]:
        """None: nobody looks after this machine."""
        return {}

    def ask_to_stop(self, name: str, job: str) -> None:
        """TERM to the process alone: the block under way comes to its end."""
        del name
        if pid := _process(job):
            os.kill(pid, signal.SIGTERM)

    def end(self, job: str) -> None:
        """KILL to its group, and to that of the block under way, which has one of its own."""
        if pid := _process(job):
            blocks = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            for group in (pid, *map(int, blocks)):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGKILL)


def _process(job: str) -> int:
    """The number of a process that is there and no other of that number; 0 otherwise."""
    pid, _, since = job.partition(".")
    return int(pid) if pid.isdigit() and since and birth(int(pid)) == since else 0


def birth(pid: int) -> str:
    """When a process began, in ticks since the machine was booted; empty if it has ended."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    # proc(5): state is the third field, starttime the 22nd.
    return "" if words[0] == "Z" else words[19]


def dead_nodes(blocks: Sequence[Case], states: Mapping[str, str]) -> dict[str, str]:
    """The nodes that a stress must not take again, and why: silent ones and those with dead ports.

    Args:
        blocks: of the last stress.
        states: the scheduler's word for the state of each node.
    """
    known = {node for each in blocks for node in each.nodes}
    dead = {node: f"Slurm says {states[node]}" for node in sorted(known & states.keys())
            if is_silent(states[node])}  # fmt: skip
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
