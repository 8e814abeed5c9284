"""What a case knows of its site, what it starts there, and what it left behind."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from fabricheck.errors import FabricheckError
from fabricheck.measures import registry
from fabricheck.measures.benchmark import Benchmark, MpiBenchmark
from fabricheck.measures.curve import Curve
from fabricheck.sites.extras import PartitionExtras
from fabricheck.transports.placement import Placement


class Build(Protocol):
    """The programs that were built for an environment."""

    @property
    def provider(self) -> str:
        """Which programs measure MPI: ``osu`` or ``mpi_probe``."""

    @property
    def yield_library(self) -> str:
        """Path of the library that makes idle ranks yield."""

    @property
    def mpi_version(self) -> str:
        """What the MPI below the programs says of itself; empty where they say it."""

    @property
    def ucx_info(self) -> str:
        """The ``ucx_info`` to ask on a node; empty where nothing but proofs is asked."""

    def command(self, benchmark: MpiBenchmark) -> list[str]:
        """The program that measures a benchmark of MPI, and its first arguments."""

    def program(self, name: str) -> str:
        """Path of one of our programs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Where a case runs, and what was chosen for it.

    Attributes:
        partition: full name of the partition.
        extras: what the site file says of it beside ReFrame's own keys.
        features: what it offers.
        scheduler: ReFrame's name of its scheduler.
        launcher: ReFrame's name of its launcher.
        cores: of a node, where the site says so.
        mpi: family of the MPI; empty without.
        pmi: what the launcher must speak to the MPI.
        cc: the environment's compiler for C.
        build: the programs of the environment; ``None`` where nothing is built.
        variables: names of the environment variables that the case has already.
        chosen: values of the variables that the check leaves to the command line.
        ports: of the nodes, where the site names several.
        night: number of the night that it is a case of; ``None`` where it is of none.
        stage: directory of the job.
        stdout: file of its output there.
        stderr: file of its errors.
    """

    partition: str = ""
    extras: PartitionExtras = field(default_factory=PartitionExtras)
    features: Collection[str] = ()
    scheduler: str = ""
    launcher: str = ""
    cores: int | None = None
    mpi: str = ""
    pmi: str = ""
    cc: str = ""
    build: Build | None = None
    variables: Collection[str] = ()
    chosen: Mapping[str, Any] = field(default_factory=dict)
    ports: tuple[str, ...] = ()
    night: int | None = None
    stage: Path = Path()
    stdout: str = ""
    stderr: str = ""

    @property
    def programs(self) -> Build:
        """The build, of a case that has one."""
        assert self.build is not None, "the check of this case builds no programs"
        return self.build

    def text(self, name: str) -> str:
        """What is in a file of the job; empty if there is none."""
        path = self.stage / name
        return path.read_text(errors="replace") if path.is_file() else ""


@dataclass(frozen=True, slots=True)
class Ranks:
    """How many ranks a job has, in all and on each node."""

    total: int
    per_node: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a job runs on each rank, below the wrapper that witnesses it.

    Attributes:
        words: program and arguments.
        variables: environment variables.
        before: commands before the ranks start.
        after: commands when they have ended.
        options: of the scheduler.
        launcher_options: of the launcher.
        files: text of files that must lie in the stage directory, by name.
        told: program and arguments of a run before, whose output is thrown away: it tells in files
            what would slow the measured one down.
    """

    words: Sequence[str]
    variables: Mapping[str, str] = field(default_factory=dict)
    before: Sequence[str] = ()
    after: Sequence[str] = ()
    options: Sequence[str] = ()
    launcher_options: Sequence[str] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    told: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a job left behind.

    Attributes:
        curve: the parsed curve, ``None`` when there is none to believe.
        hosts: hosts on which ranks ran.
        ucx_version: UCX's version as it announced itself in the job.
        proof: sentence on lanes and counters.
        objections: why the result can't be trusted, the gravest first; empty if it can.
        remarks: what went wrong without touching the result.
        disturbances: what the program itself noticed of other work, each in a sentence.
    """

    curve: Curve | None = None
    hosts: tuple[str, ...] = ()
    ucx_version: str = ""
    proof: str = ""
    objections: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    disturbances: tuple[str, ...] = ()


class Measurement(ABC):
    """One benchmark on one placement: how it is placed, started, read and proved.

    Attributes:
        benchmark: the entry of the benchmark.
        placement: transport and nodes.
        environs: ReFrame's ``valid_prog_environs``: what an environment must offer.
        systems: ReFrame's ``valid_systems``: what a partition must offer, by default the placement.
        has_links: whether what it measures crosses links of which the site knows the rate.
    """

    has_links = True

    def __init__(
        self,
        benchmark: Benchmark,
        placement: Placement,
        environs: Sequence[str],
        systems: Sequence[str] = (),
    ) -> None:
        self.benchmark = benchmark
        self.placement = placement
        self.environs = list(environs)
        self.systems = list(systems) or [" ".join(f"+{each}" for each in placement.features)]

    @abstractmethod
    def ranks(self, setting: Setting) -> Ranks:
        """How many ranks the job has."""

    @abstractmethod
    def job(self, setting: Setting) -> Job:
        """What to run."""

    @abstractmethod
    def examine(self, setting: Setting) -> Evidence:
        """What the job left behind, and whether it can be believed."""

    def sizes(self, setting: Setting) -> tuple[int, ...]:
        """The message sizes in bytes to measure; none for a benchmark without payload."""
        least, most = self.benchmark.min_size, self.benchmark.max_size
        if least is None or most is None:
            return ()
        return registry.sweep(least, min(setting.extras.max_message_size or most, most))


def cores_of_a_node(setting: Setting) -> int:
    """The cores of a node of a partition.

    Raises:
        FabricheckError: if the site doesn't say how many.
    """
    if not setting.cores:
        raise FabricheckError(
            f"FC0904 expected the cores of a node of partition {setting.partition}, which offers "
            "full_nodes, found none: give its processor num_cpus and num_cpus_per_core in the "
            "site file"
        )
    return setting.cores
