"""No scheduler: jobs are processes of this machine, in groups of their own."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from fabricheck.schedulers.protocol import Launcher, Phase, Scheduler, Standing


@dataclass(frozen=True, kw_only=True)
class Local(Scheduler):
    """This machine; a job is known by the number of its process and when that began."""

    name: str = "local"
    lists_nodes: ClassVar[bool] = True
    holds_nodes: ClassVar[bool] = True
    is_alone: ClassVar[bool] = True
    launcher: ClassVar[Launcher] = Launcher(name="local", starts_mpi=False)

    def submit(self, name: str, script: Path, log: Path, plan: Mapping[str, Any]) -> str:
        """Start the process."""
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
        return Standing(Phase.RUNNING if _process(job) else Phase.GONE)

    def stop(self, name: str, job: str, *, now: bool = False) -> None:
        """TERM to the process alone, so that the block under way comes to its end.

        At once it is KILL to its group, and to that of the block, which has one of its own.
        """
        if not (pid := _process(job)):
            return
        if not now:
            os.kill(pid, signal.SIGTERM)
            return
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
