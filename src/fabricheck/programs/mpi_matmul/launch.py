"""How mpi_matmul is run: ranks and orders, and proof by the bytes of the matrices."""

from dataclasses import replace

from fabricheck.launch import gpu, mpi
from fabricheck.launch.cases import Case, available_placements
from fabricheck.launch.evidence import RESULT_JSON
from fabricheck.launch.measurement import Evidence, Job, Measurement, Ranks, Setting
from fabricheck.launch.verbs import flat
from fabricheck.measures.curve import Curve
from fabricheck.measures.gpu import GpuPath
from fabricheck.programs.mpi_matmul.entries import BENCHMARKS, ORDERS, PROGRAM
from fabricheck.transports.gpu_memory import Load
from fabricheck.transports.placement import FULL, Placement
from fabricheck.transports.table import Memory, Scope

_DOUBLE = 8
_MOST_NODES = 2


def placements(path: GpuPath | None = None) -> list[str]:
    """Every placement that a site offers, with the transports of the benchmarks of a path."""
    transports = next(each.transports for each in BENCHMARKS.values() if each.path is path)
    memory = Memory.GPU if path is GpuPath.AWARE else None
    found = available_placements(
        max_nodes=_MOST_NODES, memory=memory, needs=("gpu",) if path else ()
    )
    return [name for name in found if Placement.read(name).transport.name in transports]


def cases(family: str) -> list[Case]:
    """Each benchmark on each of the placements of its path."""
    return [
        Case(each.name, place)
        for each in BENCHMARKS.values()
        if each.family == family
        for place in placements(each.path)
    ]


def least_exchanged(curve: Curve) -> Load:
    """The least that each node exchanges with others: in each repetition it gets or gives B once.

    B has 8 N^2 bytes. Where a node has several ranks, the others may get it inside the node.
    """
    counts = [(point.size or 0, point.iterations or 0) for point in curve.points]
    return Load(
        payload=sum(_DOUBLE * order * order * count for order, count in counts),
        calls=sum(count for _, count in counts),
    )


class Multiplication(Measurement):
    """A matrix multiplication on one placement with one MPI, at every order.

    The ranks are those of the benchmark, dealt out evenly; a partition says with features
    ``node_ranks_N`` how many it can have on each node. Partition extras that are read beside those
    of every program with MPI: ``matrix_orders``, the orders of the matrices, rising, and
    ``time_budget``; on GPUs ``gpus_per_node``, ``gpu_arch`` and ``fake_gpu``.
    """

    def __init__(self, case: Case) -> None:
        self._entry = BENCHMARKS[case.benchmark]
        place = case.placement
        offered_ranks = f"node_ranks_{self._entry.ranks // place.num_nodes}"
        needs, own = (("cuda",), ("gpu",)) if self._entry.path else ((), ())
        system = " ".join(f"+{each}" for each in (*own, *place.features, offered_ranks))
        environs = mpi.with_family(place.transport.name, needs=needs)
        super().__init__(self._entry, place, environs, [system])
        between = self.placement.transport.scope is Scope.INTER_NODE
        several = self._entry.ranks > self.placement.num_nodes
        # A node with several ranks moves data inside it too.
        self._path = replace(self.placement, layout=FULL if between and several else "")

    def ranks(self, setting: Setting) -> Ranks:
        """The benchmark's ranks, dealt out."""
        return Ranks(self._entry.ranks, self._entry.ranks // self.placement.num_nodes)

    def sizes(self, setting: Setting) -> tuple[int, ...]:
        """The orders of the matrices."""
        return tuple(setting.extras.matrix_orders or ORDERS)

    def job(self, setting: Setting) -> Job:
        """The program and what makes it this benchmark."""
        orders = ",".join(map(str, self.sizes(setting)))
        options = ["-n", orders, "--validate", "--json", RESULT_JSON]
        options += flat({"--time-budget": setting.extras.time_budget})
        words = [setting.programs.program(PROGRAM), *self._entry.options, *options]
        if not self._entry.path:
            return mpi.start(self._path, setting, words)
        more = gpu.variables(setting, self._entry.path)
        return gpu.with_gpus(mpi.start(self._path, setting, words, more), setting)

    def examine(self, setting: Setting) -> Evidence:
        """As of every program with MPI; the sizes of the curve are no bytes."""
        found = mpi.examine(
            self,
            self._path,
            setting,
            result=RESULT_JSON,
            exchanged=least_exchanged,
            memory=Memory.HOST if self._entry.path is GpuPath.STAGED else None,
        )
        return gpu.examine(found, setting) if self._entry.path else found


measurement = Multiplication
