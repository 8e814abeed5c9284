"""What every MPI benchmark check inherits: placing, launching and proving a case."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from reframe.core.builtins import fixture, run_after, run_before, variable

from fabricheck.benchmarks.curve import Curve, variable_name
from fabricheck.benchmarks.metrics import Metric
from fabricheck.benchmarks.model import RanksRule
from fabricheck.benchmarks.osu import options as osu_options
from fabricheck.benchmarks.osu.entries import BENCHMARKS as MPI_BENCHMARKS
from fabricheck.errors import FabricheckError
from fabricheck.reframe_ext import claims
from fabricheck.reframe_ext.build import BenchBuild
from fabricheck.reframe_ext.curve_benchmark import CurveBenchmark
from fabricheck.reframe_ext.evidence import PROBE_JSON, Evidence, Expectation, examine
from fabricheck.reframe_ext.slurm import silent_nodes
from fabricheck.transports import (
    MPI_FAMILIES,
    Ports,
    Statement,
    choice,
    families,
    inside_nodes_too,
    interfaces,
    launcher_options,
    settings,
)
from fabricheck.transports.proof import Load
from fabricheck.transports.witness import RANK_WRAPPER


def with_family(*transports: str, needs: Sequence[str] = ()) -> list[str]:
    """ReFrame's ``valid_prog_environs`` for every MPI family that has all of these transports.

    Args:
        transports: names of transports.
        needs: features that the environment must have beside ``mpi``.
    """
    common = [family for family in MPI_FAMILIES if all(family in families(t) for t in transports)]
    features = " ".join(f"+{feature}" for feature in ("mpi", *needs))
    return [f"{features} %mpi_family={family}" for family in common]


class MpiBenchmark(CurveBenchmark):
    """One benchmark on one placement with one MPI.

    A check that inherits from it declares the parameters ``benchmark`` (a name of the registry) and
    ``placement`` (such as ``tcp-2n``); everything else follows from the registry, the table of
    transports, the partition's extras and the reference file of the system.

    An environment with the feature ``spack`` runs OSU's programs, any other ``mpi_probe``, which
    has those benchmarks that the registry says; MPI 4 is the feature ``mpi4``.

    Partition extras that are read: those of ``Ports``, ``max_message_size`` in bytes,
    ``time_budget`` in seconds for each size of ``mpi_probe``, ``osu_iterations`` at each size of
    OSU, and ``pin`` (``cyclic`` where the scheduler doesn't bind ranks). Partition features that
    sharpen the proof: ``bound_ranks`` (each rank has CPUs of its own) and ``quiet_interfaces``
    (nothing but the job uses the nodes' interfaces). With ``shared_cores`` (nodes that are
    namespaces of one machine), ranks yield when they outnumber the cores. Environment extras:
    ``mpi_family`` and ``pmi`` (what ``srun --mpi`` must speak).
    """

    build = fixture(BenchBuild, scope="environment")
    acceptance_only = variable(list, value=[])
    """Plain transports on whose path this is too much for every night."""

    @run_after("init")
    def choose_runs(self) -> None:
        """Belong to the benchmark's runs; too much for every night waits for the acceptance run."""
        self._entry = MPI_BENCHMARKS[self.benchmark]
        self.tags = {*self._entry.runs, self._entry.family}
        if self._placement.full or self._placement.transport.base in self.acceptance_only:
            self.tags -= {"smoke", "nightly"}

    @run_after("init")
    def choose_families(self) -> None:
        """Ask for an MPI that has the transport and the program."""
        needs = [] if self._entry.in_probe else ["spack"]
        if self._entry.family == "persistent":
            needs.append("mpi4")
        self.valid_prog_environs = with_family(self.transport, needs=needs)
        if self._placement.full:
            self.valid_prog_environs = [
                environs
                for environs in self.valid_prog_environs
                if choice(environs.rpartition("=")[2], self.transport).statement is Statement.UCX
            ]

    @run_after("setup")
    def size(self) -> None:
        """Give each node one rank, a single one as few as can be, or a rank for each core."""
        self.num_tasks = max(self._entry.ranks.least, self.num_nodes)
        if self._placement.full:
            self.num_tasks = self._cores_of_a_node() * self.num_nodes
            if self._entry.ranks is RanksRule.EVEN:
                self.num_tasks -= self.num_tasks % 2
        self.num_tasks_per_node = -(-self.num_tasks // self.num_nodes)

    @run_before("run")
    def choose_transport(self) -> None:
        """Set the transport's variables of this MPI family."""
        extras = self.current_partition.extras
        variables = settings(self.mpi, self.transport, Ports.read(extras))
        self.env_vars.update(inside_nodes_too(variables) if self._placement.full else variables)
        if "pin" in extras:
            self.env_vars["FABRICHECK_PIN"] = extras["pin"]
        if "shared_cores" in self.current_partition.features:
            self.env_vars["FABRICHECK_YIELD"] = self.build.yield_library

    @run_before("run")
    def launch(self) -> None:
        """Run the benchmark's program below the wrapper that witnesses each rank."""
        self.prerun_cmds += claims.questions(self.build, choice(self.mpi, self.transport))
        self.executable = str(RANK_WRAPPER)
        self.executable_opts = self.program_command()
        launcher = self.current_partition.launcher_type.registered_name
        if launcher == "srun":
            pmi = self.current_environ.extras["pmi"]
            self.job.launcher.options += [f"--mpi={pmi}", "--kill-on-bad-exit=1"]
        self.job.launcher.options += launcher_options(self.mpi, launcher, self.env_vars)

    def program_command(self) -> list[str]:
        """The program with everything that makes it this case."""
        return [*self.build.command(self._entry), *self._options()]

    def exchanged(self, curve: Curve) -> Load | None:
        """The least that each rank exchanges, where the sizes of the curve are not bytes."""
        del curve
        return None

    def has_own_cpus(self) -> bool:
        """Whether each rank must have CPUs of its own."""
        return "bound_ranks" in self.current_partition.features

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
        extras = self.current_partition.extras
        if self.build.provider == "osu":
            return osu_options.options(self._entry, self.sizes(), extras.get("osu_iterations"))
        options = ["--json", PROBE_JSON]
        if sizes := self.sizes():
            options += ["-c", "-m", f"{sizes[0]}:{sizes[-1]}"]
        if Metric.LATENCY in self._entry.metrics:
            options.append(f"-z{','.join(map(str, osu_options.PERCENTILES))}")
        if self._entry.datatype:
            options += ["-T", self._entry.datatype]
        if budget := extras.get("time_budget"):
            options += ["--time-budget", str(budget)]
        return options

    def _exchanges(self) -> Mapping[int | None, int] | None:
        """What the program doesn't say itself: the messages that each rank exchanges."""
        if self.build.provider != "osu":
            return None
        iterations = self.current_partition.extras.get("osu_iterations")
        return osu_options.exchanges(self._entry, self.sizes(), iterations)

    def _cores_of_a_node(self) -> int:
        cores: int | None = self.current_partition.processor.num_cores
        if not cores:
            raise FabricheckError(
                f"expected the cores of a node of partition {self.current_partition.fullname}, "
                "which offers full_nodes, found none: give its processor num_cpus and "
                "num_cpus_per_core in the site file"
            )
        return cores

    def examine(self) -> Evidence:
        """What the probe and the nodes left behind."""
        directory = Path(self.stagedir)
        features = self.current_partition.features
        found = examine(
            directory,
            directory / str(self.stdout),
            directory / str(self.stderr),
            Expectation(
                benchmark=self.benchmark,
                transport=self._placement.carrier,
                num_nodes=self.num_nodes,
                num_tasks=self.num_tasks,
                sizes=self.sizes(),
                bound=self.has_own_cpus(),
                quiet="quiet_interfaces" in features,
                silent_nodes=silent_nodes,
                choice=choice(self.mpi, self.transport),
                offers=features,
                interfaces=interfaces(
                    self._placement.transport, Ports.read(self.current_partition.extras)
                ),
                exchanges=self._exchanges(),
                exchanged=self.exchanged,
            ),
        )
        return claims.confirm(
            found, self.build, choice(self.mpi, self.transport), self._placement.carrier, directory
        )
