"""What the check of ``mpi_matmul`` inherits: ranks and orders, launch, and proof by its bytes."""

from dataclasses import replace

from reframe.core.builtins import run_after

from fabricheck.benchmarks.curve import Curve
from fabricheck.benchmarks.mpi_matmul.entries import BENCHMARKS as MATMUL_BENCHMARKS
from fabricheck.benchmarks.mpi_matmul.entries import ORDERS, PROGRAM
from fabricheck.benchmarks.mpi_matmul.judge import apart
from fabricheck.errors import FabricheckError
from fabricheck.reframe_ext.evidence import PROBE_JSON, Evidence
from fabricheck.reframe_ext.mpi_benchmark import MpiBenchmark, with_family
from fabricheck.reframe_ext.offered import offered
from fabricheck.transports import Placement
from fabricheck.transports.proof import Load
from fabricheck.transports.table import Scope

_DOUBLE = 8
_MOST_NODES = 2


def matmul_placements() -> list[str]:
    """Every placement that a site offers, with the transports of the benchmark."""
    transports = {name for each in MATMUL_BENCHMARKS.values() for name in each.transports}
    return [
        name
        for name in offered(most=_MOST_NODES)
        if Placement.read(name).transport.name in transports
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


class MatmulBenchmark(MpiBenchmark):
    """A matrix multiplication of the registry on one placement with one MPI, at every order.

    A check that inherits from it declares the parameters ``benchmark`` and ``placement``. The ranks
    are those of the benchmark, dealt out evenly; a partition says with features ``node-ranks-N``
    how many it can have on each node. Partition extras that are read beside those of
    ``MpiBenchmark``: ``matrix_orders``, the orders of the matrices, rising.
    """

    @run_after("init")
    def choose_runs(self) -> None:
        """Belong to the benchmark's runs; a node with several ranks moves data inside it too."""
        self._multiplication = MATMUL_BENCHMARKS[self.benchmark]
        self.tags = {*self._multiplication.runs, "matmul"}
        ranks = self._multiplication.ranks // self.num_nodes
        self.valid_systems = [f"{each} +node-ranks-{ranks}" for each in self.valid_systems]
        between = self._placement.transport.scope is Scope.INTER_NODE
        self._placement = replace(self._placement, full=between and ranks > 1)

    @run_after("init")
    def choose_families(self) -> None:
        """Ask for an MPI that has the transport."""
        self.valid_prog_environs = with_family(self.transport)

    @run_after("setup")
    def size(self) -> None:
        """Deal out the benchmark's ranks."""
        self.num_tasks = self._multiplication.ranks
        self.num_tasks_per_node = self.num_tasks // self.num_nodes

    def program_command(self) -> list[str]:
        """The program and what makes it this benchmark."""
        options = ["-n", ",".join(map(str, self.sizes())), "--validate", "--json", PROBE_JSON]
        if budget := self.current_partition.extras.get("time_budget"):
            options += ["--time-budget", str(budget)]
        return [self.build.program(PROGRAM), *self._multiplication.options, *options]

    def sizes(self) -> tuple[int, ...]:
        """The orders of the matrices."""
        return tuple(self.current_partition.extras.get("matrix_orders", ORDERS))

    def exchanged(self, curve: Curve) -> Load:
        """The least that a node exchanges."""
        return least_exchanged(curve)

    def examine(self) -> Evidence:
        """The evidence, with what the phases say against each other.

        On nodes that share cores, ranks wait for one in every phase: there it says nothing.
        """
        found = super().examine()
        if found.curve is None or "shared_cores" in self.current_partition.features:
            return found
        return replace(found, remarks=(*found.remarks, *apart(found.curve)))

    def trusted_curve(self) -> Curve:
        """The curve, for checks that depend on this one.

        Raises:
            FabricheckError: if this case has none that can be believed.
        """
        if self._curve is None:
            raise FabricheckError(
                f"expected a curve of {self.display_name}, found none that can be believed: look "
                "at that case first"
            )
        return self._curve
