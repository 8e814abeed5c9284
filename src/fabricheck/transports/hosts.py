"""Putting each rank of a job on a node of its own choice, by a list of hosts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HOSTS_SCRIPT = Path(__file__).with_name("hosts.sh")

_LIST = "hosts.list"


@dataclass(frozen=True, slots=True)
class Listing:
    """What makes a launcher follow the list.

    Attributes:
        commands: to run before it; they write the list.
        options: of the launcher.
        variables: of its environment.
    """

    commands: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    variables: Mapping[str, str] = field(default_factory=dict)


def listing(places: Sequence[int], num_nodes: int, launcher: str, family: str) -> Listing:
    """How a launcher is told the node of each rank; nothing on one node.

    Args:
        places: number of the node of each rank, from 0.
        num_nodes: nodes of the job.
        launcher: ReFrame's name of the launcher.
        family: MPI family, whose ``mpirun`` it is.
    """
    if num_nodes == 1:
        return Listing()
    commands = [f"{HOSTS_SCRIPT} {' '.join(map(str, places))} >{_LIST}"]
    if launcher == "srun":
        # "arbitrary" is Slurm's word for the order of SLURM_HOSTFILE (srun(1), --distribution).
        options = [f"--ntasks={len(places)}", "--distribution=arbitrary"]
        return Listing(commands, options, {"SLURM_HOSTFILE": _LIST})
    if family == "openmpi":
        return Listing(commands, ["--hostfile", _LIST, "--map-by", "seq"])
    return Listing(commands, ["-f", _LIST])
