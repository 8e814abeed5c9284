"""How mpi_matmul is run: ranks and orders, and proof by the bytes of the matrices."""

from dataclasses import replace

from fabricheck.benchmarks.curve import Curve
from fabricheck.benchmarks.mpi_matmul.entries import BENCHMARKS, ORDERS, PROGRAM
from fabricheck.launch import mpi
from fabricheck.launch.cases import Case, offered
from fabricheck.launch.cases import cases as each_on_each
from fabricheck.launch.evidence import RESULT_JSON
from fabricheck.launch.model import Evidence, Job, Measurement, Ranks, Setting
from fabricheck.transports import Placement
from fabricheck.transports.gpu_memory import Load
from fabricheck.transports.table import Scope

_DOUBLE = 8
_MOST_NODES = 2


def placements() -> list[str]:
    """Every placement that a site offers, with the transports of the benchmark."""
    transports = {name for each in BENCHMARKS.values() for name in each.transports}
    return [
        name
        for name in offered(most=_MOST_NODES)
        if Placement.read(name).transport.name in transports
    ]


def cases(family: str) -> list[Case]:
    """Each benchmark on each of the placements."""
    return each_on_each([each.name for each in BENCHMARKS.values() if each.family == family],
                        placements())  # fmt: skip


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
    ``node-ranks-N`` how many it can have on each node. Partition extras that are read beside those
    of every program with MPI: ``matrix_orders``, the orders of the matrices, rising, and
    ``time_budget``.
    """

    def __init__(self, case: Case) -> None:
        self._entry = BENCHMARKS[case]
        place = case.placement
        offered_ranks = f"node-ranks-{self._entry.ranks // place.num_nodes}"
        system = " ".join(f"+{each}" for each in (*place.features, offered_ranks))
        super().__init__(self._entry, place, mpi.with_family(place.transport.name), [system])
        between = self.placement.transport.scope is Scope.INTER_NODE
        several = self._entry.ranks > self.placement.num_nodes
        # A node with several ranks moves data inside it too.
        self._path = replace(self.placement, full=between and several)

    def ranks(self, setting: Setting) -> Ranks:
        """The benchmark's ranks, dealt out."""
        del setting
        return Ranks(self._entry.ranks, self._entry.ranks // self.placement.num_nodes)

    def sizes(self, setting: Setting) -> tuple[int, ...]:
        """The orders of the matrices."""
        return tuple(setting.extras.get("matrix_orders", ORDERS))

    def job(self, setting: Setting) -> Job:
        """The program and what makes it this benchmark."""
        orders = ",".join(map(str, self.sizes(setting)))
        options = ["-n", orders, "--validate", "--json", RESULT_JSON]
        if budget := setting.extras.get("time_budget"):
            options += ["--time-budget", str(budget)]
        program = setting.programs.program(PROGRAM)
        return mpi.start(self._path, setting, [program, *self._entry.options, *options])

    def examine(self, setting: Setting) -> Evidence:
        """As of every program with MPI; the sizes of the curve are no bytes."""
        return mpi.examine(self, self._path, setting, result=RESULT_JSON, exchanged=least_exchanged)


measurement = Multiplication
