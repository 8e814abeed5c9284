"""The case of a ratio between two other cases of a run."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from reframe.core.builtins import run_after, sanity_function, variable
from reframe.utility import udeps

from fabricheck.errors import FabricheckError
from fabricheck.judge.levels import Level
from fabricheck.judge.references import Reference, Tolerance
from fabricheck.judge.verdict import Verdict, judge_values
from fabricheck.launch.cases import Case, measurement_of
from fabricheck.launch.ratio import Ratio
from fabricheck.measures.curve import Variable
from fabricheck.measures.metrics import Metric
from fabricheck.reframe_ext.again import latest
from fabricheck.reframe_ext.case import BenchmarkCase
from fabricheck.reframe_ext.judged import Judged, Values

_UNIT = Metric.RATIO.row.unit


class RatioCase(Judged):
    """How many times more one case measures than another.

    A check that inherits from it declares the parameter ``benchmark`` (``over``), what is
    divided for each of its cases (``ratio_of``), and the class that measures (``measured_by``). It
    runs nothing of its own: it waits for the two cases.
    """

    placement = variable(str, value="", loggable=True)
    ratio_of: ClassVar[Callable[[Case], Ratio]]
    measured_by: ClassVar[type[BenchmarkCase]]

    executable = "true"
    local = True

    @run_after("init")
    def place(self) -> None:
        """Ask for what both sides need, and wait for them."""
        case: Case = vars(self)["benchmark"]
        self.benchmark = case.benchmark
        self._ratio = type(self).ratio_of(case)
        self._ratios: dict[int, float] = {}
        self._sides = [*self._names_of(self._ratio.upper), *self._names_of(self._ratio.lower)]
        placement = case.placement
        self.placement = str(placement)
        self.transport, self.num_nodes = placement.transport.name, placement.num_nodes
        upper, lower = map(measurement_of, (self._ratio.upper, self._ratio.lower))
        terms = [term for each in (upper, lower) for term in each.systems[0].split()]
        self.valid_systems = [" ".join(dict.fromkeys(terms))]
        self.valid_prog_environs = [each for each in upper.environs if each in lower.environs]
        runs = [m.benchmark.runs_on(m.placement.transport.name) for m in (upper, lower)]
        self.tags = {*frozenset.intersection(*runs), upper.benchmark.family}
        for name in self._sides:
            self.depends_on(name, udeps.by_case)

    @sanity_function
    def divide(self) -> bool:
        """Divide the sides; a case without a trusted curve has none."""
        where = self.current_partition, self.current_environ
        upper, lower = (latest(side, *where) for side in self._sides)
        try:
            self._ratios = self._ratio.divide(upper.trusted_curve(), lower.trusted_curve())
        except FabricheckError as error:
            self.distrust([f"{upper.display_name} over {lower.display_name}: {error}"])
        self.node_list = sorted({*upper.node_list, *lower.node_list})
        self.mpi_version, self.ucx_version = upper.mpi_version, upper.ucx_version
        self.program, self.program_version = upper.program, upper.program_version
        told = ", ".join(f"{ratio:.3g} at {size}" for size, ratio in self._ratios.items())
        self.evidence = f"{upper.display_name} over {lower.display_name}: {told}"
        return True

    def measured_values(self) -> Values:
        """What is recorded of the ratios, dimensionless."""
        values = self._ratio.values(self._ratios)
        return {name: (value, _UNIT) for name, value in values.items()}

    def find_verdict(
        self, references: Mapping[Variable, Reference], tolerance: Tolerance | None
    ) -> Verdict:
        """The verdict on the ratios; where it is not good, with what they mean in words."""
        found = self._ratio.values(self._ratios)
        ratios = {name: (value, _UNIT) for name, value in found.items() if value is not None}
        verdict = judge_values(ratios, references, tolerance)
        if verdict.level is Level.GOOD:
            return verdict
        told = self._ratio.remark(self._ratios)
        return Verdict(verdict.level, verdict.judgements, (*verdict.findings, *told))

    def _names_of(self, side: Case) -> list[str]:
        """The name of the test that measures a side; none where this system can't have it."""
        numbers = self.measured_by.get_variant_nums(benchmark=lambda case: case == side)
        return [str(self.measured_by.variant_name(number)) for number in numbers]
