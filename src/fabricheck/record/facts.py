"""The facts of nodes and of software, and what to record of them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from fabricheck.record.entries import Nodes, moment

UNTOLD: Final = "not available"
"""What stands for a fact that could not be read."""

NODES: Final = "nodes"
MACHINE: Final = (
    *("kernel", "kernel_options", "os", "bios", "microcode", "governor", "ofed", "rdma_core"),
    *("firmware", "link", "mtu"),
)
"""Facts of a node."""
SOFTWARE: Final = ("scheduler", "mpi", "ucx", "compiler", "spack", "program", "commit")
"""Facts of an environment on a partition."""
FIELDS: Final = (*MACHINE, *SOFTWARE[:-1], NODES, SOFTWARE[-1])
"""All facts, in the order in which an operator asks for them."""


def alike(
    told: Mapping[str, Mapping[str, str]],
    nodes: Iterable[str],
    software: Mapping[str, str],
    **where: str,
) -> list[Nodes]:
    """What to record of the nodes of a job: those with the same facts make one entry.

    Args:
        told: what nodes have told of themselves; what they haven't is recorded as such.
        nodes: those that the job ran on.
        software: facts of the environment on them, those that are known.
        where: ``session``, ``system``, ``partition`` and ``environ``.
    """
    machines: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for node in sorted({*told, *nodes}):
        machines[tuple(_facts(MACHINE, told.get(node, {})).values())].append(node)
    return [
        Nodes(
            time=moment(),
            nodes=tuple(names),
            machine=dict(zip(MACHINE, machine, strict=True)),
            software=_facts(SOFTWARE, software),
            **where,
        )
        for machine, names in machines.items()
    ]


def _facts(names: tuple[str, ...], known: Mapping[str, str]) -> dict[str, str]:
    return {name: known.get(name) or UNTOLD for name in names}
