"""What a job was asked to do, which its output is examined against."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from fabricheck.measures.curve import Curve
from fabricheck.schedulers.protocol import UNKNOWN, Scheduler
from fabricheck.transports.families import Choice
from fabricheck.transports.gpu_memory import Load
from fabricheck.transports.statement import TransportReport
from fabricheck.transports.table import Transport


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a job was asked to do.

    Attributes:
        benchmark: name in the registry.
        transport: the transport that must carry the data.
        num_nodes: distinct hosts.
        num_tasks: MPI ranks.
        sizes: message sizes in bytes that the sweep must have; empty for a barrier.
        bound: whether each rank must have a CPU of its own to run on.
        quiet: whether the nodes' interfaces carry nothing but the job.
        scheduler: what ran it.
        choice: how the MPI was made to use the transport; ``None`` for a program without MPI.
        offers: features of the partition.
        interfaces: those that a transport over sockets must use; empty where any will do.
        result: name of the file with the program's results; empty for one that only prints.
        exchanges: messages of each size that each rank exchanges at least, for a program that
            doesn't say how often it repeats them.
        exchanged: the same in bytes and calls, for a program whose sizes are not bytes.
        says: what the library that carries the data said, where that is not the MPI.
        offload: for collectives: what must serve them, empty for what the MPI chooses.
        rails: ports that each node is given, for a site that names several.
    """

    benchmark: str
    transport: Transport
    num_nodes: int
    num_tasks: int
    sizes: Sequence[int]
    bound: bool
    quiet: bool
    scheduler: Scheduler = UNKNOWN
    choice: Choice | None = None
    offers: Collection[str] = ()
    interfaces: Collection[str] = ()
    result: str = ""
    exchanges: Mapping[int | None, int] | None = None
    exchanged: Callable[[Curve], Load | None] = lambda _: None
    says: Callable[[], TransportReport] | None = None
    offload: str | None = None
    rails: int = 0
