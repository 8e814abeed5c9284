"""Ratios between placements, from curves that one run has measured."""

from collections.abc import Mapping

from reframe.core.builtins import run_after, sanity_function, variable
from reframe.utility import udeps

from fabricheck.benchmarks.curve import variable_name
from fabricheck.benchmarks.metrics import Metric
from fabricheck.errors import FabricheckError
from fabricheck.judge.references import Reference, Tolerance
from fabricheck.judge.verdict import Verdict, judge_values
from fabricheck.reframe_ext.judged import Judged, Values
from fabricheck.reframe_ext.mpi_benchmark import with_family
from fabricheck.transports import Placement


class TransportRatio(Judged):
    """How many times slower one placement is than another, with the same MPI in the same run.

    A check that inherits from it names the class that measures latency (``measured_by``), the two
    placements and the sizes. It runs nothing of its own: it waits for the two cases and divides
    their medians. On a shared machine such a ratio means something where times don't.
    """

    slower = variable(str, loggable=True)
    faster = variable(str, loggable=True)
    sizes = variable(list, loggable=True)

    executable = "true"
    local = True

    @run_after("init")
    def place(self) -> None:
        """Ask for what both placements need."""
        placement, other = Placement.read(self.slower), Placement.read(self.faster)
        self.transport, self.num_nodes = placement.transport.name, placement.num_nodes
        self.placement = self.slower
        features = dict.fromkeys(placement.features + other.features)
        self.valid_systems = [" ".join(f"+{feature}" for feature in features)]
        self.valid_prog_environs = with_family(placement.transport.name, other.transport.name)

    @run_after("init")
    def wait_for_cases(self) -> None:
        """Depend on the two cases of the same partition and environment."""
        for placement in (self.slower, self.faster):
            self.depends_on(self._name_of(placement), udeps.by_case)

    @sanity_function
    def divide(self) -> bool:
        """Divide the medians; a case without a trusted curve has none."""
        slower, faster = (
            self.getdep(self._name_of(placement)) for placement in (self.slower, self.faster)
        )
        try:
            self._ratios = {
                size: slower.median_latency(size) / faster.median_latency(size)
                for size in self.sizes
            }
        except FabricheckError as error:
            self.distrust([str(error)])
        self.node_list = sorted({*slower.node_list, *faster.node_list})
        self.mpi_version, self.ucx_version = slower.mpi_version, slower.ucx_version
        self.program, self.program_version = slower.program, slower.program_version
        self.evidence = f"medians of {slower.display_name} and {faster.display_name}"
        return True

    def measured_values(self) -> Values:
        """The ratio of the medians at each size, dimensionless."""
        ratios = getattr(self, "_ratios", {})
        unit = Metric.RATIO.row.unit
        return {
            variable_name(Metric.RATIO, "p50", size): (ratios.get(size), unit)
            for size in self.sizes
        }

    def find_verdict(
        self, references: Mapping[str, Reference], tolerance: Tolerance | None
    ) -> Verdict:
        """The verdict on the ratios."""
        ratios = {
            name: (value, unit)
            for name, (value, unit) in self.measured_values().items()
            if value is not None
        }
        return judge_values(ratios, references, tolerance)

    def _name_of(self, placement: str) -> str:
        (number,) = self.measured_by.get_variant_nums(
            benchmark=lambda name: name == "latency", placement=lambda name: name == placement
        )
        return str(self.measured_by.variant_name(number))
