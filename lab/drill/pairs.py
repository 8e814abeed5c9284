"""All nodes of a testbed in pairs, measured and judged as the check does it, without ReFrame."""

import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabricheck.errors import FabricheckError
from fabricheck.launch.disturbance import find_disturbances
from fabricheck.launch.measurement import Setting
from fabricheck.localise.located import Located, dead_ports, locate, write_told
from fabricheck.localise.recorded import load
from fabricheck.measures.benchmark import MpiBenchmark
from fabricheck.programs.pair_health.launch import Pairs, cases
from fabricheck.provenance import SUITE
from fabricheck.sites.extras import PartitionExtras
from fabricheck.transports.witness import RANK_WRAPPER
from fabricheck_testbed import Testbed

# Where a fifth of all packets is lost, MPI alone needs a minute to start.
_SECONDS: Final = 240.0
# What sites/testbed.yaml says of the partition main.
_FEATURES: Final = ("tcp", "bound_ranks", "quiet_interfaces", "shared_cores")
_EXTRAS: Final = PartitionExtras(ucx_net_devices={"tcp": "eth0"}, pin="cyclic")


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs of a build folder of ``src/bench``."""

    folder: Path
    provider: str = "mpi_probe"
    mpi_version: str = ""
    ucx_info: str = ""

    @property
    def yield_library(self) -> str:
        """Path of the library that makes idle ranks yield."""
        return str(self.folder / "yield_when_idle" / "libyield_when_idle.so")

    def command(self, benchmark: MpiBenchmark) -> list[str]:
        """No benchmark of MPI is run here."""
        raise FabricheckError(f"expected a program of pairs, found {benchmark.name}")

    def program(self, name: str) -> str:
        """Path of one of our programs."""
        return str(self.folder / name / name)


@dataclass(frozen=True, slots=True)
class Measured:
    """What a run found.

    Attributes:
        located: the verdict.
        proof: what proves the transport.
        objections: why nothing of it can be believed; empty if it can.
    """

    located: Located
    proof: str
    objections: tuple[str, ...]


def build(folder: Path) -> Programs:
    """Build what a run needs with Open MPI.

    Raises:
        FabricheckError: if it can't be built.
    """
    for words in (
        ["-S", str(SUITE / "src" / "bench"), "-B", str(folder), "-DCMAKE_UNITY_BUILD=ON",
         "-DCMAKE_CXX_COMPILER=mpicxx.openmpi"],
        ["--build", str(folder), "-j2", "--target", "pair_probe", "yield_when_idle"],
    ):  # fmt: skip
        done = subprocess.run(["cmake", *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise FabricheckError(f"expected to build in {folder}, found: {done.stderr[-400:]}")
    return Programs(folder)


def measure(testbed: Testbed, programs: Programs, stage: Path, seconds: float) -> Measured:
    """One run on all nodes.

    Args:
        testbed: one with leaves and spines, that shares ``stage``.
        programs: what to run.
        stage: an empty directory for it.
        seconds: of each round.

    Raises:
        FabricheckError: if the job failed.
    """
    (case,) = (each for each in cases("pair_health") if each.placement.transport.name == "tcp")
    nodes = len(load(testbed.files.topology).leaves)
    chosen = {"nodes": nodes, "round_seconds": seconds, "topology": str(testbed.files.topology)}
    setting = Setting(
        extras=_EXTRAS, features=_FEATURES, launcher="srun", mpi="openmpi", pmi="pmix",
        build=programs, chosen=chosen, stage=stage, stdout="job.out", stderr="job.err",
    )  # fmt: skip
    pairs = Pairs(case)
    job = pairs.job(setting)
    start = f"srun -N{nodes} -n{nodes} {' '.join(job.launcher_options)}"
    script = "\n".join(
        [
            "set -e",
            f"cd {shlex.quote(str(stage))}",
            *(f"export {name}={shlex.quote(value)}" for name, value in job.variables.items()),
            f"{start} {shlex.join(job.told)} > told.out 2>&1",
            f"{start} {RANK_WRAPPER} {' '.join(job.words)}",
        ]
    )
    try:
        done = testbed.run("login", "sh", "-c", script, timeout_seconds=_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise FabricheckError(f"expected pairs within {_SECONDS:g} s, found no end") from error
    (stage / setting.stdout).write_text(done.stdout)
    (stage / setting.stderr).write_text(done.stderr)
    if done.returncode != 0:
        raise FabricheckError(f"pair_probe: {(done.stderr or done.stdout).strip()[-400:]}")
    write_told(stage, testbed.files.topology, {}, {}, dead_ports(stage))
    found = pairs.examine(setting)
    objections = (*find_disturbances(stage, shared=True), *found.objections)
    return Measured(locate(stage), found.proof, objections)
