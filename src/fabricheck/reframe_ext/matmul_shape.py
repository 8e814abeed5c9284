"""Ratios between phases of matrix multiplications that one run has measured."""

from collections.abc import Mapping, Sequence

from reframe.core.builtins import run_after, sanity_function, variable
from reframe.utility import udeps

from fabricheck.benchmarks.curve import variable_name
from fabricheck.benchmarks.metrics import Metric
from fabricheck.benchmarks.mpi_matmul import judge as matmul
from fabricheck.benchmarks.mpi_matmul.entries import BENCHMARKS as MATMUL_BENCHMARKS
from fabricheck.benchmarks.mpi_matmul.entries import PROGRAM
from fabricheck.errors import FabricheckError
from fabricheck.judge.levels import Level
from fabricheck.judge.references import Reference, Tolerance
from fabricheck.judge.verdict import Verdict, judge_values
from fabricheck.reframe_ext.judged import Judged, Values
from fabricheck.reframe_ext.mpi_benchmark import with_family
from fabricheck.transports import Placement

_VARIABLE = variable_name(Metric.RATIO, "min", None)


def shape_cases(placements: Sequence[str]) -> list[tuple[str, str, str]]:
    """Shape, placement and ranks of each case, as words."""
    return [(name, place, str(ranks)) for name, place, ranks in matmul.shape_cases(placements)]


class ShapeOfMatmul(Judged):
    """Whether an observation on the phases holds, with the same MPI in the same run.

    A check that inherits from it declares the parameter ``case`` out of ``shape_cases`` and names
    the class that measures (``measured_by``). It runs nothing of its own. What is judged is the
    smallest ratio over all orders.
    """

    benchmark = variable(str, value="", loggable=True)
    placement = variable(str, value="", loggable=True)

    executable = "true"
    local = True

    @run_after("init")
    def place(self) -> None:
        """Take the shape from the case, ask for what both sides need, and wait for them."""
        name, self.placement, ranks = self.case
        self._shape = matmul.SHAPES[name]
        self.benchmark = f"{name}_np{ranks}"
        placement = Placement.read(self.placement)
        self.transport, self.num_nodes = placement.transport.name, placement.num_nodes
        self._sides = [
            side.case(self.placement, int(ranks)) for side in (self._shape.upper, self._shape.lower)
        ]
        features: dict[str, None] = {}
        transports = []
        runs = [MATMUL_BENCHMARKS[side.benchmark].runs for side in self._sides]
        for side in self._sides:
            found = Placement.read(side.placement)
            per_node = MATMUL_BENCHMARKS[side.benchmark].ranks // found.num_nodes
            features |= dict.fromkeys([*found.features, f"node-ranks-{per_node}"])
            transports.append(found.transport.name)
            self.depends_on(self._name_of(side), udeps.by_case)
        self.valid_systems = [" ".join(f"+{feature}" for feature in features)]
        self.valid_prog_environs = with_family(*transports)
        self.tags = {*(runs[0] & runs[1]), "matmul"}

    @sanity_function
    def divide(self) -> bool:
        """Divide the sides; a case without a trusted curve has none."""
        upper, lower = (self.getdep(self._name_of(side)) for side in self._sides)
        try:
            self._ratios = matmul.ratios(self._shape, upper.trusted_curve(), lower.trusted_curve())
        except FabricheckError as error:
            self.distrust([str(error)])
        self.node_list = sorted({*upper.node_list, *lower.node_list})
        self.mpi_version, self.ucx_version = upper.mpi_version, upper.ucx_version
        self.program, self.program_version = PROGRAM, upper.program_version
        told = ", ".join(f"{ratio:.3g} at N {order}" for order, ratio in self._ratios.items())
        self.evidence = f"{upper.display_name} over {lower.display_name}: {told}"
        return True

    def measured_values(self) -> Values:
        """The smallest ratio, dimensionless."""
        ratios = getattr(self, "_ratios", {})
        return {_VARIABLE: (min(ratios.values(), default=None), Metric.RATIO.row.unit)}

    def find_verdict(
        self, references: Mapping[str, Reference], tolerance: Tolerance | None
    ) -> Verdict:
        """The verdict on the ratio; where it is not good, with the observation in words."""
        verdict = judge_values({_VARIABLE: self._smallest()}, references, tolerance)
        if verdict.level is Level.GOOD:
            return verdict
        order = min(self._ratios, key=self._ratios.__getitem__)
        told = f"at N {order} it does not hold here that {self._shape.sentence}"
        return Verdict(verdict.level, verdict.judgements, (*verdict.findings, told))

    def _smallest(self) -> tuple[float, str]:
        return min(self._ratios.values()), Metric.RATIO.row.unit

    def _name_of(self, side: matmul.Measured) -> str:
        (number,) = self.measured_by.get_variant_nums(
            benchmark=lambda name: name == side.benchmark,
            placement=lambda name: name == side.placement,
        )
        return str(self.measured_by.variant_name(number))
