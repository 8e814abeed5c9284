"""Builds of src/bench and a way to run them; a build folder is kept, so only changes are built."""

import fcntl
import importlib.util
import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import PIPE

import pytest
from tests.bench.allreduce import COMMON, Start

from fabricheck.transports.settings import settings

ROOT = Path(__file__).parents[2]
LAUNCHERS = {
    "openmpi": ["mpirun.openmpi", "--oversubscribe"],
    "mpich": ["mpiexec.hydra"],
}
MPIRUN = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    # Else each job that fails waits for 2 s: 1 s between one signal and the next.
    "OMPI_MCA_odls_base_sigkill_timeout": "0",
}
# A hang is a failure long before the session's own limit.
TIMEOUT = 120


class HangingLauncherError(Exception):
    """All ranks have ended, and their launcher has not."""


def has_children(parent: int) -> bool:
    """Whether a child of a process still runs."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, owner = stat.read_text().rpartition(")")[2].split()[:2]
            if int(owner) == parent and state != "Z":
                return True
    return False


@dataclass(frozen=True)
class Build:
    """A build folder of src/bench for one MPI, and the program of it that is run."""

    mpi: str
    folder: Path
    name: str = "mpi_probe"

    @property
    def program(self) -> Path:
        return self.folder / self.name / self.name

    def of(self, name: str) -> "Build":
        """The same build, to run another of its programs."""
        other = replace(self, name=name)
        if not other.program.exists():
            pytest.skip(f"{name} was not built: see what cmake said of the library it needs")
        return other

    def command(self, ranks: int, *arguments: str, through: Sequence[str] = ()) -> list[str]:
        launch = [*LAUNCHERS[self.mpi], "-n", str(ranks)]
        return [*launch, *through, str(self.program), *arguments]

    def run(self, ranks: int, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
        """Run the program over shared memory with that many ranks.

        The ranks write standard error to a file: forwarding both streams, the launcher of Open MPI
        5.0.7 put a piece of one into the other in 16 of 1,329 starts beside two busy loops, and
        in none of as many that forwarded one. They keep the launcher's pipe, as 3: where it was
        closed before a rank failed, the launcher did not end in 5 of 104 starts. With it that is
        seldom, but was seen: where no rank is left of a launcher that hangs, it is started again.
        """
        try:
            return self._run(ranks, arguments, environment)
        except HangingLauncherError:
            return self._run(ranks, arguments, environment)

    def _run(
        self, ranks: int, arguments: Sequence[str], environment: dict[str, str]
    ) -> subprocess.CompletedProcess:
        with tempfile.NamedTemporaryFile("r") as errors:
            apart = ["sh", "-c", f'exec "$@" 3>&2 2>>{errors.name}', "sh"]
            command = self.command(ranks, *arguments, through=apart)
            given = self.environment(**environment)
            with subprocess.Popen(command, env=given, stdout=PIPE, stderr=PIPE, text=True) as job:
                try:
                    output, said = job.communicate(timeout=TIMEOUT)
                except subprocess.TimeoutExpired as error:
                    alive = has_children(job.pid)
                    job.kill()
                    raise (error if alive else HangingLauncherError) from error
                except BaseException:
                    job.kill()
                    raise
            return subprocess.CompletedProcess(
                command, job.returncode, output, errors.read() + said
            )

    def run_alone(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
        """Run the program without a launcher, as a world of one rank."""
        return subprocess.run(
            [self.program, *arguments],
            env=self.environment(**environment),
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )

    def environment(self, **extra: str) -> dict[str, str]:
        chosen = settings(self.mpi, "shm")
        chosen = {name: value for name, value in chosen.items() if not name.startswith("UCX_LOG")}
        if self.folder.name == "sanitized":
            # Open MPI 5 would write over the function with which ASan replaced mprotect.
            chosen["OMPI_MCA_memory"] = "^patcher"
        return {**os.environ, **chosen, **MPIRUN, **extra}


# MPI and options of each build. Those of every change take a library at a time; that of each night
# takes each file by itself, so that none lives on what another of its library includes. Debug
# information takes a fourth of a compiler's time, so only the sanitizers have it: lines for their
# reports, but no variables, which take as long as all the rest.
UNITS = ("-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_BUILD_TYPE=None")
BUILDS = {
    # With the optimisation of an installation: it finds more to warn of.
    "openmpi": ("openmpi", *UNITS, "-DCMAKE_CXX_FLAGS=-O2 -DNDEBUG"),
    "threads": ("openmpi", "-DFABRICHECK_SANITIZE_THREADS=ON"),
    "sanitized": ("openmpi", *UNITS, "-DFABRICHECK_SANITIZE=ON", "-DCMAKE_CXX_FLAGS=-g1"),
    # What links MPI: the rest would be the same program once more.
    "mpich": (
        *("mpich", *UNITS, "-DBUILD_TESTING=OFF"),
        "-DFABRICHECK_PROGRAMS=mpi_matmul;mpi_probe;mpi_under_load;pair_probe;rdma_stream",
    ),
}
TARGETS = {
    "sanitized": (
        *("allreduce_lab", "mpi_matmul", "mpi_probe", "rdma_batch", "rdma_stream", "unit_tests"),
    ),
}
"""What is built of a build that is not built whole: what its tests run."""


def make(folder: Path, configure: list[str], targets: Sequence[str] = ()) -> None:
    """Configure and build with CMake, one process at a time for a folder; all without targets."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = ["--target", *targets] if targets else []
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests that run beside each other
        for command in (configure, ["cmake", "--build", str(folder), "-j2", *wanted]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr


def build(name: str) -> Build:
    mpi, *options = BUILDS[name]
    if shutil.which(LAUNCHERS[mpi][0]) is None or shutil.which(f"mpicxx.{mpi}") is None:
        pytest.skip(f"{mpi} is not installed: no mpicxx.{mpi} or no {LAUNCHERS[mpi][0]}")
    folder = ROOT / "build" / "tests" / name
    compiler = f"-DCMAKE_CXX_COMPILER=mpicxx.{mpi}"
    make(
        folder,
        [
            *("cmake", "-S", str(ROOT / "src" / "bench"), "-B", str(folder)),
            *("-DFABRICHECK_WERROR=ON", *options, compiler),
        ],
        TARGETS.get(name, ()),
    )
    return Build(mpi, folder)


@pytest.fixture(scope="session", params=list(LAUNCHERS))
def built(request: pytest.FixtureRequest) -> Build:
    """A build for each MPI."""
    return build(request.param)


@pytest.fixture(scope="session")
def openmpi() -> Build:
    """The Open MPI build, for what does not depend on the MPI."""
    return build("openmpi")


@pytest.fixture(scope="session")
def sanitized() -> Build:
    """A build with ASan and UBSan."""
    return build("sanitized")


@dataclass(frozen=True)
class FakeGpu:
    """Stand-ins for NVIDIA's libraries, and a UCX of PyPI that knows CUDA.

    Attributes:
        folder: libcuda.so.1, libnvidia-ml.so.1, libcublas.so.13 and libnccl.so.2.
        ucx: the libraries of the package libucx-cu12.
    """

    folder: Path
    ucx: Path

    def run(
        self,
        build: Build,
        ranks: int,
        *arguments: str,
        over: str = "cuda_ipc",
        libraries: Sequence[Path] | None = None,
        **environment: str,
    ) -> subprocess.CompletedProcess:
        """Run the program over that transport; ``libraries`` in the place of both folders.

        A single rank needs no launcher.
        """
        folders = [self.ucx, self.folder] if libraries is None else libraries
        owner = f"{os.getpid()}-{next(_RUNS)}"
        chosen = {
            "LD_LIBRARY_PATH": os.pathsep.join(map(str, folders)),
            "FABRICHECK_FAKE_GPU": "1",
            "FAKE_GPU_OWNER": owner,
            "FAKE_CUDA_REPORT": "1",
            "UCX_TLS": settings(build.mpi, over)["UCX_TLS"],
            # UCX's hooks do not see functions of the fake that were found by dlsym.
            "UCX_MEMTYPE_CACHE": "n",
        }
        chosen |= environment
        if ranks == 1:
            done = build.run_alone(*arguments, **chosen)
        else:
            done = build.run(ranks, *arguments, **chosen)
        done.owner = owner
        return done


_RUNS = itertools.count()


def fake_memory(owner: str = f"{os.getpid()}-*") -> list[Path]:
    """What ranks of a run, or of all runs of this session, have in /dev/shm, or left there."""
    return list(Path("/dev/shm").glob(f"fake*.{owner}.*"))


@pytest.fixture(autouse=True)
def _crashed_ranks_leave_nothing():
    yield
    for path in fake_memory():
        path.unlink(missing_ok=True)


@pytest.fixture(scope="session")
def fake_gpu() -> FakeGpu:
    """What a GPU's programs need, on a machine without one."""
    package = importlib.util.find_spec("libucx")
    assert package, "the package libucx-cu12 of requirements-dev.lock is missing: ci/setup test"
    folder = ROOT / "build" / "tests" / "fake-gpu"
    make(folder, ["cmake", "-S", str(ROOT / "tests" / "fake_gpu"), "-B", str(folder)])
    return FakeGpu(folder / "lib", Path(package.origin).parent / "lib")


@pytest.fixture
def table_of() -> Callable[[subprocess.CompletedProcess], list[str]]:
    """The lines of a table, after making sure that the program succeeded."""

    def lines(done: subprocess.CompletedProcess) -> list[str]:
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()

    return lines


@pytest.fixture
def lab(openmpi: Build) -> Build:
    return openmpi.of("allreduce_lab")


@pytest.fixture
def start(lab: Build, tmp_path: Path) -> Iterator[Start]:
    """Starts one process for each rank; none is left behind."""
    started: list[subprocess.Popen[str]] = []

    def begin(
        ranks: int, *arguments: str, place: tuple[str, ...] | None = None
    ) -> list[subprocess.Popen[str]]:
        meeting = place or ("--shared-path", str(tmp_path))
        job = [
            subprocess.Popen(
                [lab.program, *COMMON, "--size", str(ranks), *meeting, f"-r{rank}", *arguments],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in range(ranks)
        ]
        started.extend(job)
        return job

    yield begin
    for process in started:
        process.kill()
        process.communicate()
