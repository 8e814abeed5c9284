"""Names of nodes, folded."""

from collections.abc import Iterable

from ClusterShell.NodeSet import NodeSet, NodeSetException


def unfold(text: str) -> tuple[str, ...]:
    """The names of such a text; none of one that ClusterShell can't read."""
    try:
        return tuple(NodeSet(text))
    except (NodeSetException, ValueError):
        return ()


def fold(names: Iterable[str]) -> str:
    """Node names in short, as Slurm writes them, such as ``n[1-4,7]``."""
    names = list(names)
    try:
        return str(NodeSet.fromlist(names))
    except (NodeSetException, ValueError):
        # Not as ClusterShell writes them, or of more digits than Python reads.
        return ",".join(names)
