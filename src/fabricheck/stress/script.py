"""Scripts of a stress as text: that of its job, and that of a block in it."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from fabricheck.provenance import home


def job_script(place: Path) -> str:
    """The script of the job: the worker, in the shell's own process, so that signals reach it."""
    worker = shlex.join([sys.executable, "-m", "fabricheck", "stress", "work", str(place)])
    return f"#!/bin/bash\ncd {shlex.quote(str(home()))} || exit\nexec {worker}\n"


def block_script(commands: Sequence[str]) -> str:
    """The script of a block: what ReFrame would put into that of a case."""
    return "\n".join(["#!/bin/bash", *commands, ""])
