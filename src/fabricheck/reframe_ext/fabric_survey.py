"""The check of the fabric itself: the ports of every node, before and after a pause."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from reframe.core.builtins import run_before, sanity_function, variable

from fabricheck.errors import FabricheckError
from fabricheck.fabric.counters import Band
from fabricheck.fabric.job import VALUES, Node, describe, read_nodes, readings, worst_readings
from fabricheck.judge.judgement import judge_value
from fabricheck.judge.levels import worst
from fabricheck.judge.references import Reference, Tolerance
from fabricheck.judge.verdict import Verdict
from fabricheck.measures.curve import Variable
from fabricheck.measures.metrics import Metric
from fabricheck.reframe_ext.judged import Judged, Values
from fabricheck.reframe_ext.nodes import EveryNode
from fabricheck.reframe_ext.reframe import getlogger
from fabricheck.schedulers import launcher_of
from fabricheck.transports.witness import RANK_WRAPPER


class FabricSurvey(EveryNode, Judged):
    """One look at the RDMA ports of every node of the partition that can run a job.

    Each node reads its counters, waits, and reads them again, so that what is seen is the fabric
    under whatever else uses it: congestion and damaged bits that come without our traffic. Loss
    under load is seen by the cases that put load on it. The bands are the references.
    """

    benchmark = variable(str, value="fabric_health")
    placement = variable(str, value="", loggable=True)
    pause = variable(int, value=5, loggable=True)

    valid_systems = ["+rdma"]  # noqa: RUF012 - a ReFrame variable, copied for each test
    valid_prog_environs = ["+verbs"]  # noqa: RUF012
    _nodes: Sequence[Node] = ()

    @run_before("run")
    def launch(self) -> None:
        """Wait below the wrapper that looks at the ports before and after."""
        self.executable = str(RANK_WRAPPER)
        self.executable_opts = ["sleep", str(self.pause)]
        launcher = launcher_of(self.current_partition.launcher_type.registered_name)
        self.job.launcher.options += launcher.without_mpi

    @sanity_function
    def read(self) -> bool:
        """Believe only a survey that every node of the job has answered."""
        try:
            self._nodes = read_nodes(Path(self.stagedir))
        except FabricheckError as error:
            self.distrust([str(error)])
        if len(self._nodes) != self.num_tasks:
            told = ", ".join(node.after.host for node in self._nodes) or "none"
            self.distrust(
                [
                    f"expected the ports of {self.num_tasks} nodes, found those of {told}: "
                    "look at the job's error output"
                ]
            )
        self.node_list = [node.after.host for node in self._nodes]
        self.num_nodes = len(self._nodes)
        self.evidence = f"{self.num_nodes} nodes told the state of their ports"
        self.ports = list(describe([node.after for node in self._nodes], self.fabric_limits))
        for line in self.ports:
            getlogger().info(f"     L: {line}")
        return True

    def uses_ports(self) -> bool:
        """Whether the ports are judged: they are what this check is about."""
        return True

    def measured_values(self) -> Values:
        """The worst ratio and rate of all ports, each where a port can tell it."""
        found = self._worst()
        return {
            _variable(name): (found[name][0] if name in found else None, Metric(name).row.unit)
            for name in VALUES
            if name in found or not self._nodes
        }

    def find_verdict(
        self,
        references: Mapping[Variable, Reference],  # noqa: ARG002 - the bands are the references
        tolerance: Tolerance | None,  # noqa: ARG002
    ) -> Verdict:
        """The verdict on the values; what is wrong with which port stands among the findings."""
        found = self._worst()
        judgements = tuple(
            judge_value(
                _variable(name), value, Metric(name).row.unit, _reference(name, band),
                (None, band.warning), good=band.good,
            )
            for name, (value, band) in found.items()
        )  # fmt: skip
        return Verdict(worst(each.level for each in judgements), judgements, ())

    def _resolve(self) -> tuple[dict[Variable, Reference], Tolerance | None]:
        return {}, None

    def _worst(self) -> dict[str, tuple[float, Band]]:
        limits = self.fabric_limits
        return worst_readings(readings(self._nodes, limits), limits)


def _variable(name: str) -> Variable:
    return Variable(Metric(name), "max")


def _reference(name: str, band: Band) -> Reference:
    return Reference(0, None, band.critical, Metric(name).row.unit)
