"""The checks of every node: its RDMA ports, and what it offers beside them."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

from reframe.core.backends import getlauncher
from reframe.core.builtins import run_before, sanity_function, variable

from fabricheck.errors import FabricheckError
from fabricheck.fabric.counters import Band
from fabricheck.fabric.job import VALUES, Node, describe, read_nodes, readings, worst_readings
from fabricheck.judge.judgement import Judgement, judge_value
from fabricheck.judge.levels import worst
from fabricheck.judge.references import Reference, Tolerance
from fabricheck.judge.verdict import Verdict
from fabricheck.measures.curve import Variable
from fabricheck.measures.metrics import Metric
from fabricheck.node_health.clocks import SURVEY, read_record, skews
from fabricheck.node_health.facts import NODE_PROBE
from fabricheck.node_health.nodes import probe_arguments, version_in
from fabricheck.node_health.rules import CLOCK, findings, judge, most_unmet, unreached
from fabricheck.node_health.survey import Expectations, Line, Survey, read_expectations
from fabricheck.nodes.names import fold
from fabricheck.reframe_ext.container import enter
from fabricheck.reframe_ext.judged import Judged, Values
from fabricheck.reframe_ext.nodes import EveryNode
from fabricheck.reframe_ext.reframe import getlogger, put_before
from fabricheck.schedulers import launcher_of, scheduler_of
from fabricheck.schedulers.protocol import Scheduler
from fabricheck.sites.extras import PartitionExtras
from fabricheck.transports.witness import RANK_WRAPPER

_ROUNDS = 5
_UNMET = Variable(Metric.UNMET, "max")
_CLOCK_SKEW = Variable(Metric.CLOCK_SKEW, "max")


class FabricSurvey(EveryNode, Judged):
    """One look at the RDMA ports of every node of the partition that can run a job.

    Each node reads its counters, waits, and reads them again, so that what is seen is the fabric
    under whatever else uses it: congestion and damaged bits that come without our traffic. Loss
    under load is seen by the cases that put load on it. The bands are the references.
    """

    benchmark = variable(str, value="fabric_health")
    placement = variable(str, value="", loggable=True)
    pause = variable(int, value=5, loggable=True)

    valid_systems = ["+rdma"]
    valid_prog_environs = ["+verbs"]
    _nodes: Sequence[Node] = ()

    @run_before("run")
    def launch(self) -> None:
        """Wait below the wrapper that looks at the ports before and after."""
        self.executable = str(RANK_WRAPPER)
        self.executable_opts = ["sleep", str(self.pause)]
        self.job.launcher.options += launcher_of(self.launcher_name).without_mpi
        enter(self, " ".join([self.executable, *self.executable_opts]))

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
        self.evidence = f"{self.num_nodes} nodes reported their ports"
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
            _worst_of(name): (found[name][0] if name in found else None, Metric(name).row.unit)
            for name in VALUES
            if name in found or not self._nodes
        }

    def find_verdict(
        self,
        references: Mapping[Variable, Reference],
        tolerance: Tolerance | None,
    ) -> Verdict:
        """The verdict on the values; what is wrong with which port stands among the findings."""
        found = self._worst()
        judgements = tuple(
            judge_value(
                _worst_of(name), value, Metric(name).row.unit, _reference(name, band),
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


def _worst_of(name: str) -> Variable:
    return Variable(Metric(name), "max")


def _reference(name: str, band: Band) -> Reference:
    return Reference(0, None, band.critical, Metric(name).row.unit)


class NodeSurvey(EveryNode, Judged):
    """One look at every node of the partition that can run a job, in one environment.

    Without MPI (environment ``builtin``) the nodes themselves are looked at and their clocks are
    compared; with an MPI the versions of its software are. The rules and what they expect are in
    ``fabricheck.node_health`` and in the partition's extra ``node_health``; no reference file has
    a part in it.

    ReFrame's ``--flex-alloc-nodes`` says which nodes to look at, by default those that are idle. A
    node of the partition that was not looked at is named with its state.
    """

    benchmark = variable(str, value="node_health")
    placement = variable(str, value="", loggable=True)

    valid_systems = ["*"]
    valid_prog_environs = ["builtin", "+mpi"]
    _lines: Sequence[Line] = ()
    _skew: float | None = None

    @run_before("run")
    def launch(self) -> None:
        """Let the survey launch the probe in the way in which programs are launched here."""
        if self._scheduler.is_alone:
            self.job.launcher = getlauncher(self._scheduler.launcher.name)()
        launcher = launcher_of(self._launcher)
        self.job.launcher.options += launcher.without_mpi
        rounds = _ROUNDS if launcher.shares_input and not self.mpi else 0
        put_before(self.job.launcher, str(SURVEY), [str(rounds), str(self.num_tasks)])
        self.executable = str(NODE_PROBE)
        asked = [] if rounds else ["--once"]
        asked += probe_arguments(self.mpi, self.current_environ.cc)
        self.executable_opts = [quote(each) for each in asked]
        enter(self, " ".join([self.executable, *self.executable_opts]))

    @sanity_function
    def examine(self) -> bool:
        """Believe only a survey in which every node of the job told all its facts."""
        try:
            survey = self._read_survey()
        except FabricheckError as error:
            self.distrust([str(error)])
        self.node_list = [node.node for node in survey.nodes]
        self.num_nodes = len(survey.nodes)
        self._skew = max((abs(each.seconds) for each in survey.skews.values()), default=None)
        left_out = {n: state for n, state in self.states.items() if n not in self.node_list}
        self._lines = [*unreached(left_out, self._scheduler.is_silent), *judge(survey)]
        self._show()
        self._record_versions(survey)
        return True

    def measured_values(self) -> Values:
        """What the worst node lacks, and the greatest distance of a clock from the others."""
        unmet = most_unmet(self._lines) if self._lines else None
        values: dict[Variable, tuple[float | None, str]] = {_UNMET: (unmet, Metric.UNMET.row.unit)}
        if self._skew is not None:
            values[_CLOCK_SKEW] = (self._skew * 1e6, Metric.CLOCK_SKEW.row.unit)
        return values

    def find_verdict(
        self,
        references: Mapping[Variable, Reference],
        tolerance: Tolerance | None,
    ) -> Verdict:
        """The verdict of the rules."""
        levels = {
            _UNMET: worst(line.level for line in self._lines if line.level),
            _CLOCK_SKEW: worst(
                line.level for line in self._lines if line.level and line.rule == CLOCK
            ),
        }
        judgements = tuple(
            Judgement(name, levels[name], value, unit, references[name], message="")
            for name, (value, unit) in self.measured_values().items()
            if value is not None
        )
        return Verdict(levels[_UNMET], judgements, findings(self._lines))

    def _resolve(self) -> tuple[dict[Variable, Reference], Tolerance | None]:
        limit = self._expected.health.clock_skew * 1e6
        return {
            _UNMET: Reference(0, None, None, Metric.UNMET.row.unit),
            _CLOCK_SKEW: Reference(0, None, limit, Metric.CLOCK_SKEW.row.unit),
        }, None

    @property
    def _expected(self) -> Expectations:
        partition = self.current_partition
        return read_expectations(partition.features, PartitionExtras.of(partition.extras))

    @property
    def _scheduler(self) -> Scheduler:
        return scheduler_of(self.job.scheduler.registered_name)

    @property
    def _launcher(self) -> str:
        return str(self.job.launcher.registered_name)

    def _read_survey(self) -> Survey:
        directory = Path(self.stagedir)
        nodes, exchange = read_record(
            directory, directory / str(self.stderr), self.num_tasks, self._scheduler.known_states
        )
        return Survey(
            nodes,
            self._expected,
            launcher="" if self._scheduler.is_alone else self._launcher,
            family=self.mpi,
            skews={} if self.mpi else skews(exchange, nodes),
        )

    def _show(self) -> None:
        self.prerequisites = [
            {**dataclasses.asdict(line), "nodes": fold(line.nodes)} for line in self._lines
        ]
        for line in self._lines:
            level = line.level or "not applicable"
            getlogger().info(f"     L: {line.rule}: {level} on {fold(line.nodes)}: {line.words}")

    def _record_versions(self, survey: Survey) -> None:
        said = survey.nodes[0].versions
        self.mpi_version = said.get(self.mpi, "")
        self.ucx_version = version_in(said.get("ucx", ""))
        answered = f"{len(survey.nodes)} of {self.num_tasks} nodes reported their facts"
        bounds = [skew.uncertainty for skew in survey.skews.values()]
        self.evidence = (
            f"{answered}; clocks known to ±{max(bounds) * 1e3:.3g} ms" if bounds else answered
        )
