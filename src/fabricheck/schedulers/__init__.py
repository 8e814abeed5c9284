"""What is asked of schedulers and launchers: a row for each that is known, by ReFrame's names.

Another one is a module beside ``slurm`` and a row here; its variables in a job go into ``job.sh``.
"""

import re
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Final

from fabricheck.nodes.names import fold
from fabricheck.provenance import SUITE
from fabricheck.schedulers.hosts import EACH_HOST
from fabricheck.schedulers.hosts import HOSTS as LISTED
from fabricheck.schedulers.local import Local
from fabricheck.schedulers.pbs import ROWS as PBS
from fabricheck.schedulers.pbs import TM
from fabricheck.schedulers.protocol import Launcher, Scheduler
from fabricheck.schedulers.slurm import ROWS, SLURM, SRUN
from fabricheck.schedulers.unseen import ROWS as UNSEEN

LOCAL: Final = Local()
HOSTS: Final = Path(__file__).with_name("hosts.sh")
"""Prints the host of each rank, for launchers that take ranks from a list."""
SCHEDULERS: Final[dict[str, Scheduler]] = {
    LOCAL.name: LOCAL, **ROWS, "hosts": LISTED, **PBS, **UNSEEN
}  # fmt: skip
LAUNCHERS: Final = {each.name: each for each in (SRUN, EACH_HOST, TM, LOCAL.launcher)}
_ON_LOGIN: Final = str(SUITE / "bin" / "path" / "on-login")
_HOST: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LONGEST: Final = 60
"""Characters of a reason, of which schedulers show few."""


def scheduler_of(name: str) -> Scheduler:
    """The scheduler that ReFrame has under a name."""
    return SCHEDULERS.get(name) or Scheduler(name=name)


def on_login(name: str, system: str) -> Scheduler:
    """The same, whose commands run on a system's login node: the testbed has its own."""
    return replace(scheduler_of(name), before=(_ON_LOGIN, system))


def launcher_of(name: str) -> Launcher:
    """The launcher that ReFrame has under a name."""
    return LAUNCHERS.get(name) or Launcher(name=name)


def launcher_for(scheduler: str, launcher: str, *, mpi: str) -> str:
    """ReFrame's name of what starts the ranks of a case.

    Args:
        scheduler: of the partition.
        launcher: likewise.
        mpi: family of the MPI; empty for what needs none, which an MPI's launcher, if the
            environment has one at all, would start with less.
    """
    own = scheduler_of(scheduler)
    return launcher if mpi or own.is_alone else own.launcher.name or launcher


def here() -> Scheduler:
    """The scheduler whose commands are on this machine; Slurm where there are none."""
    there = (each for each in SCHEDULERS.values() if each.command and shutil.which(each.command))
    return next(there, SLURM)


def to_copy(names: Iterable[str], why: str) -> list[str]:
    """Two lines: what leaves nodes out of a job, and what keeps users off them.

    fabricheck itself drains nothing. Names come from the record: one that is no name of a host
    could be anything to a shell, or several nodes to a scheduler, so there is no line to copy then.
    The lines are those of the scheduler of this machine, or Slurm's.
    """
    names = list(names)
    odd = [name for name in names if not _HOST.fullmatch(name)]
    if odd:
        return [f"no line to copy: expected names of hosts, found {odd[0]!a}"]
    reason = re.sub(r"[^\w .:,()/-]", "", why, flags=re.ASCII)[:_LONGEST]
    words = {
        "nodes": fold(names),
        "each": " ".join(names),
        "reason": f"fabricheck: {reason}",
    }
    return [line.format(**words) for line in here().keep_off]
