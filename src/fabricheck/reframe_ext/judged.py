"""What every judged check inherits: references of its system, levels, findings and the record."""

import functools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

import reframe as rfm
from reframe.core.backends import getlauncher
from reframe.core.builtins import loggable_as, run_after, run_before, variable
from reframe.core.exceptions import PerformanceError, ReframeError, SanityError
from reframe.utility import sanity as sn

from fabricheck.errors import FabricheckError
from fabricheck.fabric.finding import Finding
from fabricheck.fabric.limits import Limits, read_limits
from fabricheck.judge.decide import (
    Attempt,
    Disturbance,
    Fabric,
    Outcome,
    beside,
    of_evidence,
    of_verdict,
)
from fabricheck.judge.judgement import Judgement
from fabricheck.judge.levels import Level
from fabricheck.judge.references import CaseKey, Reference, Tolerance
from fabricheck.judge.verdict import Verdict
from fabricheck.launch.awake import keep_awake
from fabricheck.launch.disturbance import NOTICED, find_disturbances
from fabricheck.launch.judging import (
    fabric_of,
    find_references,
    judge_fabric,
    judge_segments,
    look_again,
    may_use_ports,
    of_rails,
)
from fabricheck.launch.times import LOOK, times
from fabricheck.measures.curve import Variable
from fabricheck.provenance import SUITE, commit
from fabricheck.record.entries import Sample
from fabricheck.reframe_ext.again import DISTURBED_AGAIN, RunsAgain
from fabricheck.reframe_ext.matrix import name_of
from fabricheck.reframe_ext.reframe import attempt, getlogger, without_deprecated
from fabricheck.reframe_ext.varied import plan
from fabricheck.schedulers import launcher_for, launcher_of, scheduler_of
from fabricheck.schedulers.protocol import Launcher
from fabricheck.sites.extras import EnvironmentExtras, PartitionExtras
from fabricheck.transports.placement import parts
from fabricheck.transports.table import Counter, find
from fabricheck.transports.witness import RANK_WRAPPER

CHOSEN: Final = "FABRICHECK_CHOSEN"
"""Environment variable with the file of the cases of a night within a budget; without one, or if
it is empty, all run."""

NIGHT: Final = "FABRICHECK_NIGHT"
"""Environment variable with the number of the night that a run is; empty for other runs."""

TIME: Final = "FABRICHECK_TIME"
"""Environment variable with how long the job of each case may take, such as ``30m``; without it, as
long as the check says."""

Values = Mapping[Variable, tuple[float | None, str]]


class FabricHealth(rfm.RegressionTestPlugin):
    """Adds what was wrong with the RDMA ports to the findings of a case that used them.

    Partition extras that are read: ``ucx_net_devices``, ``gid_index``, ``link_rate`` and
    ``fabric_health`` (docs/reference/fabric-health.md).
    """

    @run_after("setup")
    def read_fabric_limits(self) -> None:
        """Refuse extras that make no sense before anything runs."""
        try:
            _ = self.fabric_limits
        except FabricheckError as error:
            # ReFrame prints a cause as well, which would say the same again.
            raise ReframeError(str(error)) from None

    @run_before("run")
    def ask_for_gid(self) -> None:
        """Let the snapshots tell the GID that the programs use, wherever it stands."""
        if (index := self.fabric_limits.gid_index) is not None:
            self.env_vars["FABRICHECK_GID_INDEX"] = str(index)

    @run_before("run")
    def look_again_after_a_kill(self) -> None:
        """Take the last snapshot for ranks that could not, since the launcher killed them."""
        if self.transport and self._may_use_ports():
            launcher = self._on_each_node()
            self.postrun_cmds: list[str] = [*look_again(launcher), *self.postrun_cmds]

    def fabric_findings(self) -> list[Finding]:
        """What was wrong with the ports below this case; nothing for one that used none."""
        if self.is_dry_run() or not self.uses_ports():
            return []
        found = judge_fabric(Path(self.stagedir), self.fabric_limits)
        return of_rails(found, Path(self.stagedir)) if self.port else found

    def lost_segments(self) -> list[Finding]:
        """What the sockets of the job's nodes had to send again, for a transport over them."""
        if self.is_dry_run() or not self.transport:
            return []
        if find(self.transport).counter is not Counter.NETDEV:
            return []
        return judge_segments(Path(self.stagedir), self.benchmark)

    def fabric(self, lost: Level = Level.CRITICAL) -> Fabric:
        """What the counters of the fabric below this case show.

        Args:
            lost: how bad it is that a network lost segments of TCP.
        """
        return fabric_of(self.fabric_findings(), self.lost_segments(), lost)

    def uses_ports(self) -> bool:
        """Whether the case ran below the wrapper that looks at ports, on a transport of RDMA."""
        if not self.transport or str(RANK_WRAPPER) not in self.executable:
            return False
        return self._may_use_ports()

    @property
    def launcher_name(self) -> str:
        """ReFrame's name of what starts the ranks."""
        partition = self.current_partition
        return launcher_for(
            partition.scheduler.registered_name,
            partition.launcher_type.registered_name,
            mpi=EnvironmentExtras.of(self.current_environ.extras).mpi_family,
        )

    def _on_each_node(self) -> Launcher:
        """What can start one command on each node: of the ranks, or else of the scheduler."""
        scheduler = scheduler_of(self.current_partition.scheduler.registered_name)
        launcher = launcher_of(self.launcher_name)
        return launcher if launcher.on_each_node or scheduler.is_alone else scheduler.launcher

    def _may_use_ports(self) -> bool:
        """Whether the transport uses RDMA ports, or may choose them where there are any."""
        return may_use_ports(find(self.transport), self.current_partition.features)

    @property
    def fabric_limits(self) -> Limits:
        """What the partition expects of its fabric."""
        extras = PartitionExtras.of(self.current_partition.extras)
        return read_limits(extras.only(self.port))


class Judged(RunsAgain, FabricHealth, rfm.RunOnlyRegressionTest):
    """A check whose values are judged against the reference file of the system.

    What was wrong with the RDMA ports that it used stands beside the verdict on its values.

    A class that inherits from it gives ``benchmark`` and ``placement``, what was measured
    (``measured_values``) and how that is judged (``find_verdict``); its sanity function calls
    ``distrust`` when there is nothing to judge.
    """

    transport = variable(str, value="", loggable=True)
    port = ""
    num_nodes = variable(int, value=0, loggable=True)
    level = variable(str, value="", loggable=True)
    findings = variable(list, value=[], loggable=True)
    mpi = variable(str, value="", loggable=True)
    mpi_version = variable(str, value="", loggable=True)
    commit = variable(str, value="", loggable=True)
    fabric_causes = variable(list, value=[])
    gave = ""
    reference_kind = variable(str, value="")
    reference_source = variable(str, value="")
    ucx_version = variable(str, value="")
    program = variable(str, value="")
    program_version = variable(str, value="")
    node_list = variable(list, value=[])
    evidence = variable(str, value="")
    seconds = variable(dict, value={})
    ports = variable(list, value=[])
    prerequisites = variable(list, value=[])

    sourcesdir = None
    samples: Sequence[Sample] = ()
    _disturbance: Disturbance | None = None
    _fails = False

    @loggable_as("benchmark")  # type: ignore[prop-decorator]
    @property
    def benchmark_name(self) -> str:
        """The benchmark without its placement, which a parameter is shown with."""
        return str(self.benchmark)

    @run_after("init", always_last=True)
    def keep_to_the_chosen(self) -> None:
        """Run where the night's choice says so, if there is one."""
        if path := os.environ.get(CHOSEN):
            name = name_of(type(self).__name__, str(self.benchmark), str(self.placement))
            found = _chosen(path).get(name, {})
            self.valid_systems = found.get("systems", [])
            self.valid_prog_environs = found.get("environs", [])

    @run_after("setup")
    def name_origin(self) -> None:
        """Record what is known before the run."""
        self.mpi = EnvironmentExtras.of(self.current_environ.extras).mpi_family
        self.commit = commit(SUITE)

    @run_before("run")
    def launch_without_mpi(self) -> None:
        """Let the scheduler's own launcher start what needs no MPI; what runs here has none."""
        if not self.is_local() and self.launcher_name != self.job.launcher.registered_name:
            self.job.launcher = getlauncher(self.launcher_name)()

    @run_after("setup")
    def end_in_time(self) -> None:
        """Give the job the time that the run asks for, and no build."""
        if limit := os.environ.get(TIME):
            self.time_limit = limit

    @run_after("setup")
    def wait_bounded(self) -> None:
        """End a job that does not begin, as on a partition whose nodes went down meanwhile."""
        self.max_pending_time = PartitionExtras.of(self.current_partition.extras).max_pending_time

    @run_after("setup")
    def find_references(self) -> None:
        """Look the references up: the files are read and checked before anything runs."""
        try:
            self._resolve()
        except FabricheckError as error:
            raise ReframeError(str(error)) from None

    @run_before("run")
    def look_at_the_clock(self) -> None:
        """Let the script say when it began and ended."""
        self.prerun_cmds: list[str] = [*LOOK, *self.prerun_cmds]

    @run_before("run")
    def keep_nodes_awake(self) -> None:
        """Let no CPU sleep where the nodes are parts of this machine."""
        if "shared_cores" in self.current_partition.features:
            keep_awake()

    @run_before("sanity")
    def take_times(self) -> None:
        """Tell waiting, launch and measuring apart."""
        self.seconds = times(Path(self.stagedir), self.job.submit_time)

    @run_before("performance")
    def judge(self) -> None:
        """Judge everything, and show the level beside ReFrame's own result."""
        values = self.measured_values()
        self.perf_variables = {
            str(name): _constant(value, unit) for name, (value, unit) in values.items()
        }
        if self.is_dry_run():
            # Nothing was measured that could be judged.
            self._sample(values, {})
        else:
            self._judge(values)
        for line in [f"level {self.level}", *self.findings] if self.level else []:
            getlogger().info(f"     L: {line}")

    @run_after("performance")
    def refuse(self) -> None:
        """Fail a case that is critical, and one that has values which nothing judges."""
        if self._fails and not (self.is_dry_run() or plan()):
            raise PerformanceError("; ".join(self.findings))

    def distrust(self, objections: Sequence[str]) -> NoReturn:
        """Mark the case as untrusted, for reasons of which the first is the gravest.

        Raises:
            SanityError: always.
        """
        self._end(beside(Level.UNTRUSTED, objections, self.fabric()), objections)

    def refuse_disturbed(self, objections: Sequence[str], noticed: Sequence[str] = ()) -> None:
        """End a case whose evidence can't be trusted, or whose ranks lost their CPUs.

        Args:
            objections: why it can't be trusted, the gravest first.
            noticed: what the program noticed of other work itself.

        Raises:
            SanityError: if its values say nothing.
        """
        self._disturbance = self._find_disturbance(noticed)
        outcome = of_evidence(objections, self._disturbance, _attempt(), self.fabric())
        if outcome:
            self._end(outcome, objections)

    def _find_disturbance(self, noticed: Sequence[str] = ()) -> Disturbance:
        shared = "shared_cores" in self.current_partition.features
        much, some = (
            tuple(find_disturbances(Path(self.stagedir), shared=shared, part=part))
            for part in (1.0, NOTICED)
        )
        return Disturbance(much, some, tuple(noticed))

    def _take(self, outcome: Outcome) -> None:
        self.level, self.findings = str(outcome.level), list(outcome.findings)
        self.fabric_causes, self._fails = list(outcome.causes), outcome.fails
        self.gave = str(outcome.gave or "")

    def _end(self, outcome: Outcome, objections: Sequence[str] = ()) -> NoReturn:
        self._take(outcome)
        gravest = dict.fromkeys([outcome.findings[0], *objections[:1]])
        raise SanityError(f"{outcome.level}: {'; '.join(gravest)}")

    def recorded(self) -> dict[str, Any]:
        """What the record has of this case beside what it has of every case of ReFrame."""
        names = (
            *("transport", "num_nodes", "level", "evidence", "reference_kind", "reference_source"),
            *("mpi", "mpi_version", "ucx_version", "program", "program_version", "commit", "gave"),
        )
        lists = ("findings", "fabric_causes", "ports", "prerequisites", "samples")
        return {
            "benchmark": self.benchmark_name,
            "layout": parts(self.placement)[2] if self.placement else "",
            "port": self.port,
            "nodes": self.node_list,
            **self.seconds,
            **{name: getattr(self, name) for name in names},
            **{name: tuple(getattr(self, name)) for name in lists},
        }

    def measured_values(self) -> Values:
        """Value and unit of each performance variable; no values when the case is untrusted."""
        raise NotImplementedError

    def find_verdict(
        self, references: Mapping[Variable, Reference], tolerance: Tolerance | None
    ) -> Verdict:
        """The verdict on what was measured."""
        raise NotImplementedError

    def _resolve(self) -> tuple[dict[Variable, Reference], Tolerance | None]:
        if plan():
            # The runs of a sweep stand beside each other; references are for nights.
            return {}, None
        key = CaseKey(
            system=self.current_system.name,
            partition=self.current_partition.fullname,
            environ=self.current_environ.name,
            benchmark=str(self.benchmark),
            placement=self.placement,
        )
        return find_references(key, [type(self).__name__])

    def _judge(self, values: Values) -> None:
        references, tolerance = self._resolve()
        verdict = self.find_verdict(references, tolerance)
        # TCP makes good what the network loses: alone that is a warning, else it may be why.
        lost = Level.CRITICAL if verdict.level is Level.CRITICAL else Level.WARNING
        disturbance = self._disturbance or self._find_disturbance()
        outcome = of_verdict(verdict, disturbance, _attempt(), self.fabric(lost))
        if outcome.level is Level.DISTURBED:
            self._end(outcome)
        self._take(outcome)
        if tolerance:
            self.reference_kind, self.reference_source = tolerance.kind, tolerance.source
        self._sample(values, {each.variable: each for each in outcome.judgements})

    def _sample(self, values: Values, judged: Mapping[Variable, Judgement]) -> None:
        """Keep what the record has of each value; what was not judged has no figure."""
        self.samples = [
            Sample.of(judged[name])
            if name in judged
            else Sample(**name._asdict(), unit=unit, level=self.level)
            for name, (_, unit) in values.items()
        ]


def _attempt() -> Attempt:
    if attempt() > 1:
        return Attempt.SECOND
    return Attempt.FIRST if os.environ.get(DISTURBED_AGAIN) else Attempt.ONLY


@functools.cache
def _chosen(path: str) -> dict[str, dict[str, list[str]]]:
    try:
        found: dict[str, dict[str, list[str]]] = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise ReframeError(f"expected the chosen cases in {path}, found: {error}") from None
    return found


without_deprecated(Judged)


def _constant(value: float | None, unit: str) -> Callable[[], float | None]:
    return sn.make_performance_function(sn.defer(value), unit)  # type: ignore[no-any-return]
