"""The case of a benchmark in ReFrame: it has a placement, a launcher, a reader, proof and judge."""

import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from reframe.core.builtins import (
    fixture,
    parameter,
    run_after,
    run_before,
    sanity_function,
    variable,
)
from reframe.core.exceptions import ReframeError

from fabricheck.errors import FabricheckError
from fabricheck.fabric.job import priorities
from fabricheck.judge.link_rate import read_rate
from fabricheck.judge.physics import Links, impossible
from fabricheck.judge.references import Reference, Tolerance
from fabricheck.judge.verdict import Verdict
from fabricheck.launch.cases import Case, cases, cases_of, measurement_of
from fabricheck.launch.judging import find_links, find_verdict, of_sizes
from fabricheck.launch.measurement import Evidence, Setting
from fabricheck.launch.ratio import Ratio
from fabricheck.launch.varied import questions, taken
from fabricheck.measures.benchmark import ProgramBenchmark
from fabricheck.measures.curve import Curve, Variable
from fabricheck.measures.registry import REGISTRY
from fabricheck.nodes.names import fold
from fabricheck.reframe_ext.build import BenchBuild
from fabricheck.reframe_ext.container import enter, where
from fabricheck.reframe_ext.judged import NIGHT, Judged, Values
from fabricheck.reframe_ext.reframe import offered
from fabricheck.reframe_ext.rota import asked_of, leaves_of, misplaced
from fabricheck.reframe_ext.varied import variables_of
from fabricheck.schedulers import scheduler_of
from fabricheck.sites.extras import EnvironmentExtras, PartitionExtras
from fabricheck.sites.files import first_ports
from fabricheck.transports.table import RDMA
from fabricheck.transports.witness import RANK_WRAPPER

_TOLD = "told.out"
_PATIENCE = "10m"
"""How long a job waits for nodes that were idle when it asked for them by name."""


def measured(family: str) -> Any:
    """The parameter of a check of a family whose folder says where its benchmarks run."""
    return over(cases_of(family))


def measured_on(benchmarks: Iterable[str], placements: Iterable[str]) -> Any:
    """The parameter of a check that measures each of these benchmarks on each placement."""
    return over(cases(benchmarks, placements))


def over(found: list[Case], ratio_of: Callable[[Case], Ratio] | None = None) -> Any:
    """The parameter of a check of these cases, or of these ratios of two."""
    # Of a check that was made, it is the name alone.
    return parameter(
        possible(found, ratio_of), type=Case, fmt=lambda case: getattr(case, "shown", case)
    )


def possible(found: list[Case], ratio_of: Callable[[Case], Ratio] | None = None) -> list[Case]:
    """The cases that the system at hand can have; the first where it can have none.

    ReFrame makes a test of each case before it asks whether the system has what that needs, and
    nine of ten were cases of other systems or environments. A ratio needs what its sides need.
    """

    def sides(case: Case) -> tuple[Case, ...]:
        if ratio_of:
            return ratio_of(case).upper, ratio_of(case).lower
        return (case,) if case.benchmark in REGISTRY else ()

    return [
        case
        for case in found
        if all(offered(each.systems, each.environs) for each in map(measurement_of, sides(case)))
    ] or found[:1]


class BenchmarkCase(Judged):
    """One benchmark on one placement, whose whole curve is proved and judged.

    A check that inherits from it declares the parameter ``benchmark`` (``measured``,
    ``measured_on``). What the folder of the benchmark says is done: ``launch`` gives the
    ``Measurement``, ``judge`` refines the verdict, if it is there.
    """

    placement = variable(str, value="", loggable=True)
    acceptance_only = variable(list, value=[])
    """Plain transports on whose path this is too much for every night."""

    settable: ClassVar[tuple[str, ...]] = ()
    """Variables of the check that the command line may set (``-S``) and the launcher reads."""

    @run_after("init")
    def place(self) -> None:
        """Ask for what benchmark and placement need, and belong to the benchmark's runs."""
        # Who chooses cases by an expression (-E), and all that reads its name, has the name.
        self.case: Case = vars(self)["benchmark"]
        self.benchmark = self.case.benchmark
        try:
            self._measured = measurement_of(self.case)
        except FabricheckError as error:
            raise ReframeError(str(error)) from None
        self._curve: Curve | None = None
        self._remarks: tuple[str, ...] = ()
        place, entry = self._measured.placement, self._measured.benchmark
        self.placement, self.port = str(place), place.port
        self.transport, self.num_nodes = place.transport.name, place.num_nodes
        self.valid_systems = self._measured.systems
        self.valid_prog_environs = self._measured.environs
        self.tags = {*entry.runs_on(place.transport.name), entry.family}
        alone = bool(place.port) and not isinstance(entry, ProgramBenchmark)
        if alone or place.full or place.transport.base in self.acceptance_only:
            self.tags -= {"smoke", "nightly"}
        if place.port not in ("", *first_ports()):
            self.tags -= {"smoke"}

    @run_after("setup")
    def vary(self) -> None:
        """Take the variables that a sweep has for this run, so that launchers hand them on."""
        self._varied = variables_of(self.display_name)
        # ReFrame writes values into a script as they are.
        given = {**self._varied, **questions(self._varied)}
        self._given = {name: shlex.quote(value) for name, value in given.items()}
        self.env_vars.update(self._given)

    @run_after("setup")
    def size(self) -> None:
        """Give the job its ranks; refuse extras that make no sense before anything runs."""
        setting = self._setting()
        try:
            read_rate(setting.extras)
            ranks = self._measured.ranks(setting)
        except FabricheckError as error:
            raise ReframeError(str(error)) from None
        self.num_tasks, self.num_tasks_per_node = ranks.total, ranks.per_node

    @run_before("run")
    def launch(self) -> None:
        """Run the benchmark's program below the wrapper that witnesses each rank."""
        try:
            job = self._measured.job(self._setting())
        except FabricheckError as error:
            raise ReframeError(str(error)) from None
        self.executable = str(RANK_WRAPPER)
        self.executable_opts = list(job.words)
        # What a sweep sets wins, so that a transport which it changes is found out.
        self.env_vars.update({**job.variables, **self._given})
        self.prerun_cmds += job.before
        self.postrun_cmds: list[str] = [*job.after, *self.postrun_cmds]
        self.job.options += job.options
        self.job.launcher.options += job.launcher_options
        if job.told:
            # ReFrame hands these over when it runs the job.
            self.job.num_tasks = self.num_tasks
            self.job.num_tasks_per_node = self.num_tasks_per_node
            launch = self.job.launcher.run_command(self.job)
            told = enter(self, shlex.join(job.told))
            self.prerun_cmds.append(f"{launch} {told} > {_TOLD} 2>&1")
        enter(self, " ".join([self.executable, *self.executable_opts]))
        for name, text in job.files.items():
            (Path(self.stagedir) / name).write_text(text)

    @run_before("run")
    def take_turn(self) -> None:
        """Ask for nodes by name where it is their turn, or where the placement says which."""
        if self.is_dry_run() or hasattr(self, "surveys_nodes"):
            return
        try:
            names = asked_of(self.job, self.current_partition, self._measured.placement)
        except FabricheckError as error:
            raise ReframeError(str(error)) from None
        if names:
            option = scheduler_of(self.job.scheduler.registered_name).by_name
            self.job.options.append(f"{option}{fold(names)}")
            # Somebody may be faster, and what is busy is not waited for.
            self.max_pending_time = self.max_pending_time or _PATIENCE

    @sanity_function
    def prove(self) -> bool:
        """Trust nothing until everything about the run has been proved."""
        found = self._measured.examine(self._setting())
        if found.curve and self._varied:
            said, denied = taken(found.curve, self._varied, Path(self.stagedir))
            found = replace(found, proof="; ".join(filter(None, (found.proof, said))))
            if denied:
                # No load on the nodes makes a library forget a variable.
                self.distrust([*found.objections, *denied])
        self._record(found)
        leaves = leaves_of(self._setting().extras.topology)
        misplacement = misplaced(self._measured.placement, found.hosts, leaves)
        objections = (*found.objections, *misplacement)
        if not objections and found.curve:
            objections = impossible(found.curve, self._find_links())
        self.refuse_disturbed(objections, found.disturbances)
        self._curve = found.curve
        return True

    def measured_values(self) -> Values:
        """The curve's variables, or, without a curve to believe, their names and units."""
        if self._curve:
            return self._curve.variables()
        return {
            Variable(metric, statistic, size): (None, metric.row.unit)
            for size in self._measured.sizes(self._setting()) or (None,)
            for metric, statistic in self._measured.benchmark.recorded
        }

    def find_verdict(
        self, references: Mapping[Variable, Reference], tolerance: Tolerance | None
    ) -> Verdict:
        """The verdict on the whole curve, on how the program ended, and what the folder adds."""
        setting = self._setting()
        if self.port and setting.night is not None:
            references = of_sizes(references, self._measured.sizes(setting))
        verdict, physics = find_verdict(
            self.trusted_curve(),
            setting,
            self._find_links(),
            (references, tolerance),
            self._remarks,
        )
        if physics and tolerance is None:
            self.reference_kind = "physics"
            self.reference_source = physics
        return verdict

    def trusted_curve(self) -> Curve:
        """The curve, also for checks that depend on this one.

        Raises:
            FabricheckError: if this case has none that is trusted.
        """
        if self._curve is None:
            raise FabricheckError(
                f"FC0501 expected a curve of {self.display_name}, found none that is trusted: "
                "look at that case first"
            )
        return self._curve

    def _setting(self) -> Setting:
        partition = self.current_partition
        extras = PartitionExtras.of(partition.extras)
        over_ports = self._measured.placement.transport.port == RDMA
        environment = EnvironmentExtras.of(self.current_environ.extras)
        # Before a run, when the matrix is planned, ReFrame has not put the build in its place yet.
        build = getattr(self, "build", None)
        return Setting(
            partition=partition.fullname,
            # Over sockets and inside a node no case has to do with them.
            extras=extras.only(self.port) if over_ports else replace(extras, ports=()),
            ports=extras.ports,
            night=int(os.environ.get(NIGHT) or 0) or None,
            features=partition.features,
            scheduler=partition.scheduler.registered_name,
            launcher=self.launcher_name,
            cores=partition.processor.num_cores,
            mpi=environment.mpi_family,
            pmi=environment.pmi,
            cc=self.current_environ.cc,
            build=build.programs if isinstance(build, BenchBuild) else None,
            variables=tuple(self.env_vars),
            chosen={name: getattr(self, name) for name in self.settable},
            stage=Path(self.stagedir or ""),
            stdout=str(self.stdout) if self.job else "",
            stderr=str(self.stderr) if self.job else "",
        )

    def _find_links(self) -> Links | None:
        return find_links(self._measured, self._setting())

    def _record(self, found: Evidence) -> None:
        left = priorities(Path(self.stagedir), self.fabric_limits) if self.uses_ports() else ()
        self.evidence = "; ".join(filter(None, (found.proof, *left, where(self))))
        self.ucx_version = found.ucx_version
        self.node_list = list(found.hosts)
        self._remarks = found.remarks
        if found.curve:
            self.program = found.curve.program
            self.program_version = found.curve.version
            self.mpi_version = found.curve.metadata.get("mpi", "")


class BuiltCase(BenchmarkCase):
    """A case of a program that is built for its environment."""

    build = fixture(BenchBuild, scope="environment")
