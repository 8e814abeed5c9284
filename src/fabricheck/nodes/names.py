"""Names of nodes: folded, and in lines for administrators to copy."""

import re
from collections.abc import Iterable
from typing import Final

from ClusterShell.NodeSet import NodeSet, NodeSetException

_HOST: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LONGEST: Final = 60
"""Characters of a reason, of which ``sinfo -R`` shows few."""


def fold(names: Iterable[str]) -> str:
    """Node names in short, as Slurm writes them, such as ``n[1-4,7]``."""
    names = list(names)
    try:
        return str(NodeSet.fromlist(names))
    except (NodeSetException, ValueError):
        # Not as ClusterShell writes them, or of more digits than Python reads.
        return ",".join(names)


def to_copy(names: Iterable[str], why: str) -> list[str]:
    """Two lines: what leaves nodes out of a job, and what keeps users off them.

    fabricheck itself drains nothing. Names come from the record: one that is no name of a host
    could be anything to a shell, or several nodes to Slurm, so there is no line to copy then.
    """
    names = list(names)
    odd = [name for name in names if not _HOST.fullmatch(name)]
    if odd:
        return [f"no line to copy: expected names of hosts, found {odd[0]!a}"]
    reason = re.sub(r"[^\w .:,()/-]", "", why, flags=re.ASCII)[:_LONGEST]
    return [
        f"without: --exclude={fold(names)}",
        f"as an administrator: scontrol update nodename={fold(names)} state=drain "
        f"reason='fabricheck: {reason}'",
    ]
