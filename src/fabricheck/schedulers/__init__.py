"""What is asked of schedulers and launchers: a row for each that is known, by ReFrame's names.

Another one is a module beside ``slurm`` and a row here; its variables in a job go into ``job.sh``.
"""

import shutil
from pathlib import Path
from typing import Final

from fabricheck.schedulers.local import Local
from fabricheck.schedulers.protocol import Launcher, Scheduler
from fabricheck.schedulers.slurm import ROWS, SLURM, SRUN

LOCAL: Final = Local()
HOSTS: Final = Path(__file__).with_name("hosts.sh")
"""Prints the host of each rank, for launchers that take ranks from a list."""
SCHEDULERS: Final[dict[str, Scheduler]] = {LOCAL.name: LOCAL, **ROWS}
LAUNCHERS: Final = {SRUN.name: SRUN}


def scheduler_of(name: str) -> Scheduler:
    """The scheduler that ReFrame has under a name."""
    return SCHEDULERS.get(name) or Scheduler(name=name)


def launcher_of(name: str) -> Launcher:
    """The launcher that ReFrame has under a name."""
    return LAUNCHERS.get(name) or Launcher(name=name)


def here() -> Scheduler:
    """The scheduler whose commands are on this machine; Slurm where there are none."""
    there = (each for each in SCHEDULERS.values() if each.command and shutil.which(each.command))
    return next(there, SLURM)
