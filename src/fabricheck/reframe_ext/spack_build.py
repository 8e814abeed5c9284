"""Installing OSU's programs and ours with Spack, into a store that outlives the run."""

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabricheck.errors import FabricheckError
from fabricheck.measures.benchmark import MpiBenchmark
from fabricheck.provenance import SUITE, home
from fabricheck.reframe_ext.cmake_build import BENCH_SOURCES, PROBE
from fabricheck.reframe_ext.linkage import check_mpi
from fabricheck.sites.extras import EnvironmentExtras

OSU = "osu-micro-benchmarks"
BENCH = "fabricheck-bench"

_WATCH = Path(__file__).with_name("spack.sh")
_RECORD = "spack-installed.tsv"
_FORMAT = "{name}\t{hash}\t{prefix}\t{compiler.name} {compiler.version}\t{name}{@version}{variants}"
_VARIABLES = ("FABRICHECK_SITE", "FABRICHECK_STORE")


@dataclass(frozen=True, slots=True)
class Installed:
    """A package as Spack has installed it.

    Attributes:
        name: the package.
        hash: of its concretised spec with everything that it depends on.
        prefix: where it is.
        compiler: name and version of the compiler; ``none`` of what was not compiled.
        spec: name, version and variants.
    """

    name: str
    hash: str
    prefix: Path
    compiler: str
    spec: str


def read_installed(path: Path) -> dict[str, Installed]:
    """What ``spack find`` has recorded: the roots of an environment and what they depend on.

    Raises:
        FabricheckError: if the record is missing or has another form.
    """
    try:
        rows = [line.strip().split("\t") for line in path.read_text().splitlines() if line.strip()]
        found = [Installed(row[0], row[1], Path(row[2]), *row[3:]) for row in rows]
    except (OSError, TypeError, IndexError) as error:
        raise FabricheckError(
            f"FC0513 expected what Spack has installed in {path}, found {error}: look at the "
            "output of the build beside it"
        ) from None
    return {each.name: each for each in found}


class SpackBuild:
    """Installs the benchmarks of one environment with Spack.

    The Spack environment is the suite's own ``spack.yaml``; nothing is concretised here, since that
    takes minutes and would measure something else each time the packages change: the lock file
    says what is installed (``ci/spack-bootstrap``). What is in the store already costs seconds.

    Args:
        environ: ReFrame's environment; its extra ``mpi_spec`` (``^openmpi``) says which of the
            roots in ``spack.yaml`` are its own, ``mpi_family`` what they must be linked to.
        stage: where the record of what was installed is.
        dry_run: whether nothing is installed, so that no prefix is known.

    Raises:
        FabricheckError: if an environment with MPI does not say its spec, or the variables that
            Spack's configuration needs are not set.
    """

    provider = "osu"
    build_system = "Spack"

    def __init__(self, environ: Any, stage: Path, *, dry_run: bool) -> None:
        extras = EnvironmentExtras.of(environ.extras)
        self._family = extras.mpi_family
        self._stage, self._dry_run = stage, dry_run
        self._installed: dict[str, Installed] = {}
        self.mpi_version = ""
        self._specs = [f"{BENCH}~mpi"]
        if "mpi" in environ.features:
            if not (mpi := extras.mpi_spec):
                raise FabricheckError(
                    "FC0514 expected Spack's name of the MPI, such as ^openmpi, as "
                    f"extras.mpi_spec of environment {environ.name}, found none: correct the site "
                    "file, or remove its feature spack"
                )
            self._specs = [f"{OSU} {mpi}", f"{BENCH} {mpi}"]
        missing = [name for name in _VARIABLES if not os.environ.get(name)]
        if missing and not dry_run:
            raise FabricheckError(
                f"FC0515 expected the variables that {SUITE / 'spack.yaml'} needs, found no "
                f"{' and no '.join(missing)}: set Spack up as docs/how-to/spack.md "
                "has it, and source setup-env.sh"
            )

    def before(self) -> list[str]:
        """Commands before the build: one at a time, watched."""
        lock = home() / "build" / "spack.lock"
        return [f"mkdir -p {lock.parent}", f"exec 9>{lock} && flock 9", f". {_WATCH}"]

    def configure(self, spack: Any) -> None:
        """Ask ReFrame's build system for the environment's roots, as they are in the lock file."""
        spack.environment = str(SUITE)
        spack.install_opts = ["--only-concrete", *map(shlex.quote, self._specs)]

    def after(self) -> list[str]:
        """Commands after the build: our programs as they are now, a record of what there is."""
        specs = " ".join(map(shlex.quote, self._specs))
        return [
            f"renew {SUITE} {shlex.quote(self._specs[-1])} {BENCH_SOURCES}",
            f"spack -e {SUITE} find --deps --format {shlex.quote(_FORMAT)} {specs} > {_RECORD}",
        ]

    def command(self, benchmark: MpiBenchmark) -> list[str]:
        """OSU's program of a benchmark.

        Raises:
            FabricheckError: if there is no such program.
        """
        return [self._osu_program(benchmark.osu_program)]

    def program(self, name: str) -> str:
        """Path of one of our programs."""
        return str(self._prefix(BENCH) / "bin" / name)

    @property
    def yield_library(self) -> str:
        """Path of the library that makes idle ranks yield, for ``rank.sh``."""
        return str(self._prefix(BENCH) / "lib" / "libyield_when_idle.so")

    def missing(self) -> str:
        """What is wrong with what was installed; empty if it is as it was claimed.

        Raises:
            FabricheckError: if a program is missing or linked to another MPI.
        """
        self._package(BENCH)
        if self._family:
            for program in (self.program(PROBE), self._osu_program("osu_hello")):
                self.mpi_version = check_mpi(Path(program), self._family)
        return ""

    @property
    def ucx_info(self) -> str:
        """The ``ucx_info`` of the MPI's UCX; that on ``PATH`` below an MPI that is not Spack's."""
        ucx = self._roots_and_dependencies().get("ucx")
        return str(ucx.prefix / "bin" / "ucx_info") if ucx else "ucx_info"

    def origin(self) -> dict[str, str]:
        """Compiler, and name, version, variants and hash of what was installed, for the record."""
        installed = self._roots_and_dependencies()
        roots = [installed[name] for name in (OSU, BENCH) if name in installed]
        return {
            "compiler": ", ".join(sorted({root.compiler for root in roots})),
            "spack": "; ".join(f"{root.spec} /{root.hash}" for root in roots),
        }

    def _osu_program(self, name: str) -> str:
        programs = self._prefix(OSU) / "libexec" / OSU / "mpi"
        if self._dry_run:
            return str(programs / name)
        if found := next(programs.rglob(name), None):
            return str(found)
        raise FabricheckError(
            f"FC0516 expected the program {name} of {self._package(OSU).spec} under {programs}, "
            "found none: that version does not have it; leave the benchmark out, or install "
            "another one"
        )

    def _prefix(self, package: str) -> Path:
        # Nothing is installed in a dry run; the job script shows where it would be.
        return Path("/", package) if self._dry_run else self._package(package).prefix

    def _package(self, package: str) -> Installed:
        try:
            return self._roots_and_dependencies()[package]
        except KeyError:
            raise FabricheckError(
                f"FC0517 expected {package} in {self._stage / _RECORD}, found "
                f"{', '.join(self._installed) or 'nothing'}: concretise spack.yaml again"
            ) from None

    def _roots_and_dependencies(self) -> dict[str, Installed]:
        if not self._installed and not self._dry_run:
            self._installed = read_installed(self._stage / _RECORD)
        return self._installed
