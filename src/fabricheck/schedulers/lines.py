"""Lines for administrators to copy."""

import re
from collections.abc import Iterable
from typing import Final

from fabricheck.nodes.names import fold
from fabricheck.schedulers import here

_HOST: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LONGEST: Final = 60
"""Characters of a reason, of which schedulers show few."""


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
    words = {"nodes": fold(names), "reason": f"fabricheck: {reason}"}
    return [line.format(**words) for line in here().keep_off]
