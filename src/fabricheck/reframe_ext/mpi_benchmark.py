"""What every MPI benchmark check inherits: placing, launching and proving a case."""

from collections.abc import Mapping
from pathlib import Path

from reframe.core.builtins import fixture, run_after, run_before, sanity_function

from fabricheck.benchmarks import registry
from fabricheck.benchmarks.curve import Curve, variable_name
from fabricheck.errors import FabricheckError
from fabricheck.judge.levels import Level, worst
from fabricheck.judge.references import Reference, Tolerance
from fabricheck.judge.verdict import Verdict, judge_curve
from fabricheck.reframe_ext.build import BenchBuild
from fabricheck.reframe_ext.evidence import PROBE_JSON, Evidence, Expectation, examine
from fabricheck.reframe_ext.judged import Judged, Values
from fabricheck.reframe_ext.slurm import silent_nodes
from fabricheck.transports import Placement, settings
from fabricheck.transports.witness import RANK_WRAPPER


class MpiBenchmark(Judged):
    """One benchmark on one placement with one MPI.

    A check that inherits from it declares the parameters ``benchmark`` (a name of the registry) and
    ``placement`` (such as ``tcp-2n``); everything else follows from the registry, the table of
    transports, the partition's extras and the reference file of the system.

    Partition extras that are read: ``ucx_net_devices`` (the device for each feature),
    ``gid_index`` (the RoCE address), ``max_message_size`` in bytes, ``time_budget`` in seconds for
    each size and ``pin`` (``cyclic`` where the scheduler doesn't bind ranks). Partition features
    that sharpen the proof: ``bound_ranks`` (each rank has CPUs of its own) and ``quiet_interfaces``
    (nothing but the job uses the nodes' interfaces). With ``shared_cores`` (nodes that are
    namespaces of one machine), ranks yield when they outnumber the cores. Environment extras:
    ``mpi_family`` and ``pmi`` (what ``srun --mpi`` must speak).
    """

    build = fixture(BenchBuild, scope="environment")
    valid_prog_environs = ["+mpi"]  # noqa: RUF012 - a ReFrame variable, copied for each test

    @run_after("init")
    def place(self) -> None:
        """Take transport and nodes from the placement, and ask for what they need."""
        placement = Placement.read(self.placement)
        self.transport = placement.transport.name
        self.num_nodes = placement.num_nodes
        self.valid_systems = [" ".join(f"+{feature}" for feature in placement.features)]
        self._curve: Curve | None = None
        self._remarks: tuple[str, ...] = ()

    @run_after("setup")
    def size(self) -> None:
        """Give each node one rank between nodes, two inside one."""
        self.num_tasks = max(2, self.num_nodes)
        self.num_tasks_per_node = self.num_tasks // self.num_nodes

    @run_before("run")
    def choose_transport(self) -> None:
        """Set the transport's variables of this MPI family."""
        extras = self.current_partition.extras
        self.env_vars.update(
            settings(
                self.mpi,
                self.transport,
                extras.get("ucx_net_devices", {}),
                extras.get("gid_index"),
            )
        )
        if "pin" in extras:
            self.env_vars["FABRICHECK_PIN"] = extras["pin"]
        if "shared_cores" in self.current_partition.features:
            self.env_vars["FABRICHECK_YIELD"] = self.build.yield_library

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
            self.distrust(found.objections)
        self._curve = found.curve
        return True

    def measured_values(self) -> Values:
        """The curve's variables, or, without a curve to believe, their names and units."""
        if self._curve:
            return self._curve.variables()
        benchmark = registry.find(self.benchmark)
        return {
            variable_name(metric, statistic, size): (None, registry.UNITS[metric])
            for size in self._sizes() or (None,)
            for metric in benchmark.metrics
            for statistic in benchmark.statistics
        }

    def find_verdict(
        self, references: Mapping[str, Reference], tolerance: Tolerance | None
    ) -> Verdict:
        """The verdict on the whole curve, and on how the program ended."""
        assert self._curve is not None, "a case without curve is untrusted and never judged"
        verdict = judge_curve(self._curve, references, tolerance)
        if not self._remarks:
            return verdict
        level = worst([verdict.level, Level.WARNING])
        return Verdict(level, verdict.judgements, verdict.findings + self._remarks)

    def median_latency(self, size: int) -> float:
        """Median latency in us at a size in bytes, for checks that depend on this one.

        Raises:
            FabricheckError: if this case has no such value.
        """
        values = self._curve.variables() if self._curve else {}
        name = variable_name(registry.Metric.LATENCY, "p50", size)
        if name not in values:
            raise FabricheckError(
                f"expected {name} of {self.display_name}, found none: "
                "let that case measure this size, or compare at others"
            )
        return values[name][0]

    def _sizes(self) -> tuple[int, ...]:
        benchmark = registry.find(self.benchmark)
        if benchmark.min_size is None or benchmark.max_size is None:
            return ()
        largest = self.current_partition.extras.get("max_message_size", benchmark.max_size)
        return registry.sweep(benchmark.min_size, min(largest, benchmark.max_size))

    def _options(self) -> list[str]:
        benchmark = registry.MPI_BENCHMARKS[self.benchmark]
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
        directory = Path(self.stagedir)
        features = self.current_partition.features
        return examine(
            directory,
            directory / str(self.stdout),
            directory / str(self.stderr),
            Expectation(
                benchmark=self.benchmark,
                transport=Placement.read(self.placement).transport,
                num_nodes=self.num_nodes,
                num_tasks=self.num_tasks,
                sizes=self._sizes(),
                bound="bound_ranks" in features,
                quiet="quiet_interfaces" in features,
                silent_nodes=silent_nodes,
            ),
        )

    def _record(self, found: Evidence) -> None:
        self.evidence = found.proof
        self.ucx_version = found.ucx_version
        self.node_list = list(found.hosts)
        self._remarks = found.remarks
        if found.curve:
            self.program = found.curve.program
            self.program_version = found.curve.version
            self.mpi_version = found.curve.metadata.get("MPI", "")
