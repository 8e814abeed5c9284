"""What every MPI benchmark check inherits: placing, launching and proving a case."""

from pathlib import Path

from reframe.core.builtins import fixture, run_after, run_before, variable

from fabricheck.benchmarks.curve import variable_name
from fabricheck.benchmarks.model import Metric
from fabricheck.benchmarks.osu import MPI_BENCHMARKS
from fabricheck.errors import FabricheckError
from fabricheck.reframe_ext.build import BenchBuild
from fabricheck.reframe_ext.curve_benchmark import CurveBenchmark
from fabricheck.reframe_ext.evidence import PROBE_JSON, Evidence, Expectation, examine
from fabricheck.reframe_ext.slurm import silent_nodes
from fabricheck.transports import (
    MPI_FAMILIES,
    Placement,
    Ports,
    choice,
    families,
    launcher_options,
    settings,
)
from fabricheck.transports.witness import RANK_WRAPPER


def with_family(*transports: str) -> list[str]:
    """ReFrame's ``valid_prog_environs`` for every MPI family that has all of these transports."""
    common = [family for family in MPI_FAMILIES if all(family in families(t) for t in transports)]
    return [f"+mpi %mpi_family={family}" for family in common]


class MpiBenchmark(CurveBenchmark):
    """One benchmark on one placement with one MPI.

    A check that inherits from it declares the parameters ``benchmark`` (a name of the registry) and
    ``placement`` (such as ``tcp-2n``); everything else follows from the registry, the table of
    transports, the partition's extras and the reference file of the system.

    Partition extras that are read: those of ``Ports``, ``max_message_size`` in bytes,
    ``time_budget`` in seconds for each size and ``pin`` (``cyclic`` where the scheduler doesn't
    bind ranks). Partition features that sharpen the proof: ``bound_ranks`` (each rank has CPUs of
    its own) and ``quiet_interfaces`` (nothing but the job uses the nodes' interfaces). With
    ``shared_cores`` (nodes that are namespaces of one machine), ranks yield when they outnumber the
    cores. Environment extras: ``mpi_family`` and ``pmi`` (what ``srun --mpi`` must speak).
    """

    build = fixture(BenchBuild, scope="environment")
    acceptance_only = variable(list, value=[])
    """Transports on which this is too much for every night."""

    @run_after("init")
    def choose_runs(self) -> None:
        """Leave to the acceptance run what is too much for every night."""
        if self.transport in self.acceptance_only:
            self.tags = {*self.tags} - {"smoke", "nightly"}  # type: ignore[has-type]

    @run_after("init")
    def choose_families(self) -> None:
        """Ask for an MPI that has the transport."""
        self.valid_prog_environs = with_family(self.transport)

    @run_after("setup")
    def size(self) -> None:
        """Give each node one rank between nodes, two inside one."""
        self.num_tasks = max(2, self.num_nodes)
        self.num_tasks_per_node = self.num_tasks // self.num_nodes

    @run_before("run")
    def choose_transport(self) -> None:
        """Set the transport's variables of this MPI family."""
        extras = self.current_partition.extras
        self.env_vars.update(settings(self.mpi, self.transport, Ports.read(extras)))
        if "pin" in extras:
            self.env_vars["FABRICHECK_PIN"] = extras["pin"]
        if "shared_cores" in self.current_partition.features:
            self.env_vars["FABRICHECK_YIELD"] = self.build.yield_library

    @run_before("run")
    def launch(self) -> None:
        """Run the benchmark's program below the wrapper that witnesses each rank."""
        program = self.build.command(MPI_BENCHMARKS[self.benchmark])
        self.executable = str(RANK_WRAPPER)
        self.executable_opts = [*program, *self._options()]
        launcher = self.current_partition.launcher_type.registered_name
        if launcher == "srun":
            pmi = self.current_environ.extras["pmi"]
            self.job.launcher.options += [f"--mpi={pmi}", "--kill-on-bad-exit=1"]
        self.job.launcher.options += launcher_options(self.mpi, launcher, self.env_vars)

    def median_latency(self, size: int) -> float:
        """Median latency in us at a size in bytes, for checks that depend on this one.

        Raises:
            FabricheckError: if this case has no such value.
        """
        values = self._curve.variables() if self._curve else {}
        name = variable_name(Metric.LATENCY, "p50", size)
        if name not in values:
            raise FabricheckError(
                f"expected {name} of {self.display_name}, found none: "
                "let that case measure this size, or compare at others"
            )
        return values[name][0]

    def _options(self) -> list[str]:
        benchmark = MPI_BENCHMARKS[self.benchmark]
        options = ["--json", PROBE_JSON]
        if sizes := self.sizes():
            options += ["-c", "-m", f"{sizes[0]}:{sizes[-1]}"]
        if Metric.LATENCY in benchmark.metrics:
            options.append("-z50,99")
        if benchmark.datatype:
            options += ["-T", benchmark.datatype]
        if budget := self.current_partition.extras.get("time_budget"):
            options += ["--time-budget", str(budget)]
        return options

    def examine(self) -> Evidence:
        """What the probe and the nodes left behind."""
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
                sizes=self.sizes(),
                bound="bound_ranks" in features,
                quiet="quiet_interfaces" in features,
                silent_nodes=silent_nodes,
                choice=choice(self.mpi, self.transport),
                offers=features,
            ),
        )
