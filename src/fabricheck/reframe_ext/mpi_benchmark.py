"""What every MPI benchmark check inherits: placing, launching, proving and judging a case."""

from collections.abc import Callable
from pathlib import Path

import reframe as rfm
from reframe.core.builtins import fixture, run_after, run_before, sanity_function, variable
from reframe.core.exceptions import PerformanceError, ReframeError, SanityError
from reframe.core.logging import getlogger
from reframe.utility import sanity as sn

from fabricheck.benchmarks import registry
from fabricheck.benchmarks.curve import variable_name
from fabricheck.errors import FabricheckError
from fabricheck.judge.levels import Level
from fabricheck.judge.references import CaseKey, Reference, Tolerance, resolve
from fabricheck.judge.verdict import Verdict, judge_curve
from fabricheck.provenance import commit
from fabricheck.reframe_ext.build import BenchBuild
from fabricheck.reframe_ext.evidence import PROBE_JSON, Evidence, Expectation, examine
from fabricheck.transports import Placement, settings
from fabricheck.transports.witness import RANK_WRAPPER

SUITE = Path(__file__).resolve().parents[3]
REFERENCES = SUITE / "references"


class MpiBenchmark(rfm.RunOnlyRegressionTest):
    """One benchmark on one placement with one MPI.

    A check that inherits from it declares the parameters ``benchmark`` (a name of the registry) and
    ``placement`` (such as ``tcp-2n``); everything else follows from the registry, the table of
    transports, the partition's extras and the reference file of the system.

    Partition extras that are read: ``ucx_net_devices`` (the device for each feature),
    ``max_message_size`` in bytes, ``time_budget`` in seconds for each size and ``pin`` (``cyclic``
    where the scheduler doesn't bind ranks). Environment extras: ``mpi_family`` and ``pmi`` (what
    ``srun --mpi`` must speak).
    """

    build = fixture(BenchBuild, scope="environment")

    transport = variable(str, value="", loggable=True)
    num_nodes = variable(int, value=0, loggable=True)
    level = variable(str, value="", loggable=True)
    levels = variable(dict, value={}, loggable=True)
    findings = variable(list, value=[], loggable=True)
    warning_bounds = variable(dict, value={}, loggable=True)
    reference_kind = variable(str, value="", loggable=True)
    reference_source = variable(str, value="", loggable=True)
    mpi = variable(str, value="", loggable=True)
    mpi_version = variable(str, value="", loggable=True)
    ucx_version = variable(str, value="", loggable=True)
    program = variable(str, value="", loggable=True)
    program_version = variable(str, value="", loggable=True)
    node_list = variable(list, value=[], loggable=True)
    evidence = variable(str, value="", loggable=True)
    commit = variable(str, value="", loggable=True)

    valid_prog_environs = ["+mpi"]
    sourcesdir = None
    require_reference = True

    @run_after("init")
    def place(self) -> None:
        """Take transport and nodes from the placement, and ask for what they need."""
        placement = Placement.read(self.placement)
        self.transport = placement.transport.name
        self.num_nodes = placement.num_nodes
        self.valid_systems = [" ".join(f"+{feature}" for feature in placement.features)]

    @run_after("setup")
    def size(self) -> None:
        """Give each node one rank between nodes, two inside one."""
        self.num_tasks = max(2, self.num_nodes)
        self.num_tasks_per_node = self.num_tasks // self.num_nodes

    @run_after("setup")
    def name_origin(self) -> None:
        """Record what is known before the run."""
        self.mpi = self.current_environ.extras["mpi_family"]
        self.commit = commit(SUITE)

    @run_after("setup")
    def find_references(self) -> None:
        """Take the references of this system; the file is read and checked before anything runs."""
        path = REFERENCES / f"{self.current_system.name}.yaml"
        if not path.exists():
            return
        try:
            resolve(path, type(self).__name__, self._key)
        except FabricheckError as error:
            raise ReframeError(str(error)) from error
        self.reference = {"$ref": str(path)}

    @run_before("run")
    def choose_transport(self) -> None:
        """Set the transport's variables of this MPI family."""
        extras = self.current_partition.extras
        self.env_vars.update(settings(self.mpi, self.transport, extras.get("ucx_net_devices", {})))
        if "pin" in extras:
            self.env_vars["FABRICHECK_PIN"] = extras["pin"]

    @run_before("run")
    def launch(self) -> None:
        """Run the probe below the wrapper that witnesses each rank."""
        self.executable = str(RANK_WRAPPER)
        self.executable_opts = [self.build.program, self.benchmark, *self._options()]
        if self.current_partition.launcher_type.registered_name == "srun":
            pmi = self.current_environ.extras["pmi"]
            self.job.launcher.options += [f"--mpi={pmi}", "--kill-on-bad-exit=1"]

    @sanity_function
    def prove(self) -> bool:
        """Trust nothing until everything about the run has been proved."""
        found = self._examine()
        self._record(found)
        if found.objections:
            self.level = str(Level.UNTRUSTED)
            self.findings = list(found.objections)
            raise SanityError(f"{Level.UNTRUSTED}: {found.objections[0]}")
        self._curve = found.curve
        return True

    @run_before("performance")
    def judge(self) -> None:
        """Judge the whole curve, and show the level beside ReFrame's own result."""
        if self.level == Level.UNTRUSTED:
            self._expect_variables()
        elif not self.is_dry_run():
            self._judge_curve()
        for line in [f"level {self.level}", *self.findings] if self.level else []:
            getlogger().info(f"     L: {line}")

    @run_after("performance")
    def refuse_unreferenced(self) -> None:
        """Fail a case that has values which nothing judges."""
        if Level.NO_REFERENCE in self.levels.values() and not self.is_dry_run():
            raise PerformanceError("; ".join(self.findings))

    @property
    def _key(self) -> CaseKey:
        return CaseKey(
            system=self.current_system.name,
            partition=self.current_partition.fullname,
            environ=self.current_environ.name,
            benchmark=self.benchmark,
            placement=self.placement,
        )

    def _sizes(self) -> tuple[int, ...]:
        benchmark = registry.find(self.benchmark)
        if benchmark.min_size is None or benchmark.max_size is None:
            return ()
        largest = self.current_partition.extras.get("max_message_size", benchmark.max_size)
        return registry.sweep(benchmark.min_size, min(largest, benchmark.max_size))

    def _options(self) -> list[str]:
        benchmark = registry.find(self.benchmark)
        options = ["--json", PROBE_JSON]
        if sizes := self._sizes():
            options += ["-c", "-m", f"{sizes[0]}:{sizes[-1]}"]
        if registry.Metric.LATENCY in benchmark.metrics:
            options.append("-z50,99")
        if benchmark.datatype:
            options += ["-T", benchmark.datatype]
        if budget := self.current_partition.extras.get("time_budget"):
            options += ["--time-budget", str(budget)]
        return options

    def _examine(self) -> Evidence:
        placement = Placement.read(self.placement)
        directory = Path(self.stagedir)
        return examine(
            directory,
            directory / str(self.stdout),
            directory / str(self.stderr),
            Expectation(
                benchmark=self.benchmark,
                transport=placement.transport,
                num_nodes=self.num_nodes,
                num_tasks=self.num_tasks,
                sizes=self._sizes(),
                bound="bound_ranks" in self.current_partition.features,
                reserved=tuple(self.job.nodelist or ()) if self._has_scheduler else (),
            ),
        )

    @property
    def _has_scheduler(self) -> bool:
        return bool(self.job.scheduler.registered_name != "local")

    def _record(self, found: Evidence) -> None:
        self.evidence = found.proof
        self.ucx_version = found.ucx_version
        self.node_list = list(found.hosts)
        if found.curve:
            self.program = found.curve.program
            self.program_version = found.curve.version
            self.mpi_version = found.curve.metadata.get("MPI", "")

    def _expect_variables(self) -> None:
        """Give an untrusted case its variables without values, so that it stays in the record."""
        benchmark = registry.find(self.benchmark)
        names = [
            (variable_name(metric, statistic, size), registry.UNITS[metric])
            for size in self._sizes() or [None]
            for metric in benchmark.metrics
            for statistic in benchmark.statistics
        ]
        self.levels = {name: str(Level.UNTRUSTED) for name, _ in names}
        self.perf_variables = {name: _constant(None, unit) for name, unit in names}

    def _judge_curve(self) -> None:
        references, tolerance = self._resolve()
        verdict = judge_curve(self._curve, references, tolerance)
        self.level = str(verdict.level)
        self.levels = {found.variable: str(found.level) for found in verdict.judgements}
        self.findings = list(verdict.findings)
        self.warning_bounds = _warning_bounds(verdict, tolerance)
        if tolerance:
            self.reference_kind, self.reference_source = tolerance.kind, tolerance.source
        values = self._curve.variables()
        self.perf_variables = {
            name: _constant(value, unit) for name, (value, unit) in values.items()
        }
        if Level.NO_REFERENCE in self.levels.values():
            self._keep_unreferenced(references)

    def _resolve(self) -> tuple[dict[str, Reference], Tolerance | None]:
        path = REFERENCES / f"{self.current_system.name}.yaml"
        return resolve(path, type(self).__name__, self._key) if path.exists() else ({}, None)

    def _keep_unreferenced(self, references: dict[str, Reference]) -> None:
        """Let ReFrame record values without reference, which it would drop at the first of them.

        The case fails all the same: ``refuse_unreferenced`` sees to it.
        """
        self.reference = {
            self.current_partition.fullname: {
                name: (
                    (found.value, found.lower, found.upper, found.unit)
                    if (found := references.get(name))
                    else (0, None, None, unit)
                )
                for name, (_, unit) in self._curve.variables().items()
            }
        }


def _constant(value: float | None, unit: str) -> Callable[[], float | None]:
    return sn.make_performance_function(sn.defer(value), unit)  # type: ignore[no-any-return]


def _warning_bounds(
    verdict: Verdict, tolerance: Tolerance | None
) -> dict[str, list[float | None]]:
    if tolerance is None:
        return {}
    return {
        found.variable: list(found.reference.bounds(tolerance.warning))
        for found in verdict.judgements
        if found.reference
    }
