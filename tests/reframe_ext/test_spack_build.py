"""What the checks get from Spack, with a program that stands in for it."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.reframe_ext.recorded import reframe

from fabricheck.errors import FabricheckError
from fabricheck.reframe_ext.cmake_build import BENCH_SOURCES
from fabricheck.reframe_ext.linkage import check_mpi
from fabricheck.reframe_ext.spack_build import read_installed

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
HELLO = "#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); return MPI_Finalize(); }\n"
CONFIGURATION = """
site_configuration = {{
    "systems": [{{"name": "alone", "hostnames": [".*"], "partitions": [{{
        "name": "main", "scheduler": "local", "launcher": "local", "environs": ["openmpi"],
    }}]}}],
    "environments": [{{"name": "openmpi", "features": ["mpi", "spack"], "extras": {extras}}}],
}}
"""
EXTRAS = {"mpi_family": "openmpi", "mpi_spec": "^openmpi"}
# Says what it was asked, and answers as Spack 1.1 does.
SPACK = """#!/bin/bash
printf '%s\\n' "$*" >>"$ASKED"
case $3 in
  location) [[ -d $PREFIX/fabricheck-bench ]] && printf '%s\\n' "$PREFIX/fabricheck-bench" ;;
  install) {install} ;;
  # A backslash in a format makes the next letter itself, so that only a tab is a tab.
  find) [[ $* == *{{name}}$'\\t'{{hash}}* ]] && cat "$PREFIX/installed" ;;
esac
"""


def compiled(compiler: str, target: Path) -> Path:
    if not shutil.which(compiler):
        pytest.skip(f"expected {compiler} on PATH (ci/setup installs it), found none")
    target.parent.mkdir(parents=True, exist_ok=True)
    source = target.with_suffix(".c")
    source.write_text(HELLO)
    subprocess.run([compiler, source, "-o", target], check=True)
    return target


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("linked")
    return {mpi: compiled(f"mpicc.{mpi}", place / mpi) for mpi in ("openmpi", "mpich")}


class Ran:
    """One run of the check in ``spack_suite.py``."""

    def __init__(
        self,
        place: Path,
        program: Path,
        *options: str,
        spack: str | None = "true",
        extras: dict[str, str] = EXTRAS,
        variables: dict[str, str] | None = None,
    ) -> None:
        self.prefix = place / "store"
        osu = self.prefix / "osu-micro-benchmarks/libexec/osu-micro-benchmarks/mpi"
        for path in (
            osu / "startup/osu_hello",
            osu / "pt2pt/osu_latency",
            self.prefix / "fabricheck-bench/bin/mpi_probe",
        ):
            path.parent.mkdir(parents=True)
            shutil.copy(program, path)
        rows = [
            [name, 8 * letter, str(self.prefix / name), "gcc 12.2.0", f"{name}@{version}~papi"]
            for name, letter, version in (
                ("osu-micro-benchmarks", "a", "7.4"),
                ("fabricheck-bench", "b", "0.1.0"),
                ("ucx", "c", "1.19.0"),
            )
        ]
        lines = ["\t".join(row) for row in rows]
        (self.prefix / "installed").write_text(
            f"{lines[0]}\n    {lines[2]}\n{lines[1]}\n    {lines[2]}\n"
        )
        (place / "bin").mkdir(exist_ok=True)
        if spack is not None:
            (place / "bin/spack").write_text(SPACK.format(install=spack))
            (place / "bin/spack").chmod(0o755)
        self._asked = place / "asked"
        self.done = reframe(
            place,
            Path(__file__).with_name("spack_suite.py"),
            *("--keep-stage-files", *(options or ["--run"])),
            configuration=CONFIGURATION.format(extras=extras),
            PATH=f"{place / 'bin'}:/usr/bin:/bin",
            ASKED=str(self._asked),
            PREFIX=str(self.prefix),
            FABRICHECK_SITE="debian12",
            **{"FABRICHECK_STORE": str(place), **(variables or {})},
        )
        self.said = self.done.stdout + self.done.stderr
        self._place = place

    @property
    def asked(self) -> list[str]:
        return self._asked.read_text().splitlines()

    @property
    def told(self) -> str:
        """What the check was given, with PREFIX for the place of what was installed."""
        (output,) = self._place.glob("stage/**/UsesBuild*/rfm_job.out")
        return output.read_text().replace(f"{self.prefix}", "PREFIX")


@pytest.fixture
def ran(tmp_path: Path, programs: dict[str, Path]) -> Callable[..., Ran]:
    def run(mpi: str = "openmpi", *options: str, **changes: object) -> Ran:
        return Ran(tmp_path, programs[mpi], *options, **changes)  # type: ignore[arg-type]

    return run


def test_the_roots_of_the_environment_are_installed_from_the_lock_file(
    ran: Callable[..., Ran],
) -> None:
    good = ran()
    assert "openmpi is measured with osu" in good.said
    told = good.told
    assert "provider=osu" in told
    assert "command=PREFIX/osu-micro-benchmarks/libexec/" in told
    assert "mpi/pt2pt/osu_latency" in told
    assert "own=PREFIX/fabricheck-bench/bin/rdma_stream" in told
    assert "mpi=Open MPI v" in told
    assert "ucx_info=PREFIX/ucx/bin/ucx_info" in told
    assert "compiler=gcc 12.2.0" in told
    assert "spack=osu-micro-benchmarks@7.4~papi /aaaaaaaa; fabricheck-bench@0.1.0" in told
    environment = f"-e {ROOT}"
    assert good.asked[0] == (
        f"{environment} install --only-concrete osu-micro-benchmarks ^openmpi "
        "fabricheck-bench ^openmpi"
    )


@pytest.mark.parametrize("built_of", ["these sources", "others", "nobody knows what"])
def test_our_programs_are_built_again_where_they_are_of_other_sources(
    ran: Callable[..., Ran], tmp_path: Path, built_of: str
) -> None:
    if built_of != "nobody knows what":
        digest = subprocess.check_output([BENCH_SOURCES / "sources-digest"])
        record = tmp_path / "store/fabricheck-bench/share/fabricheck-bench/sources.sha256"
        record.parent.mkdir(parents=True)
        record.write_bytes(digest if built_of == "these sources" else digest[::-1])
    again = (
        f"-e {ROOT} install --only-concrete --no-cache --overwrite --yes-to-all "
        "fabricheck-bench ^openmpi"
    )
    assert (again in ran().asked) == (built_of != "these sources")


def test_programs_of_another_mpi_are_refused_before_a_job(ran: Callable[..., Ran]) -> None:
    wrong = ran("mpich")
    assert wrong.done.returncode != 0
    assert "to be linked to an MPI of the family openmpi, found" in wrong.said
    assert re.search(r"MPICH Version: +4", wrong.said)
    assert not list(wrong.prefix.parent.glob("stage/**/UsesBuild*/rfm_job.sh"))


LOG = "/spack-build-01-cmake-out.txt"
FAILING = f"""
  seq 100 >"$PREFIX{LOG}"
  printf '==> Error: ProcessError: exited with status 2\\n  See build log for details:\\n' >&2
  printf '    %s\\n' "$PREFIX{LOG}" >&2
  exit 1
"""


def test_a_build_that_fails_shows_the_end_of_its_own_log(
    ran: Callable[..., Ran], tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    as_under_load = tmp_path / "bin/tee"
    as_under_load.write_text('#!/bin/bash\nsleep 0.5\nexec /usr/bin/tee "$@"\n')
    as_under_load.chmod(0o755)
    failed = ran(spack=FAILING)
    assert failed.done.returncode != 0
    (errors,) = failed.prefix.parent.glob("stage/**/BenchBuild*/rfm_build.err")
    lines = errors.read_text().splitlines()
    assert lines[-21:] == [f"the last lines of {failed.prefix}{LOG}:", *map(str, range(81, 101))]
    assert "\n100\n" in failed.said


def test_a_missing_spack_is_named_with_what_to_do(ran: Callable[..., Ran]) -> None:
    assert "expected the command spack on PATH, found none" in ran(spack=None).said


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"extras": {"mpi_family": "openmpi"}}, "as extras.mpi_spec of environment openmpi"),
        ({"variables": {"FABRICHECK_STORE": ""}}, "found no FABRICHECK_STORE: set Spack up"),
    ],
)
def test_what_the_environment_lacks_is_named(
    ran: Callable[..., Ran], changes: dict[str, dict[str, str]], message: str
) -> None:
    assert message in ran(**changes).said


def test_a_dry_run_needs_no_spack(ran: Callable[..., Ran]) -> None:
    dry = ran("openmpi", "--dry-run", spack=None, variables={"FABRICHECK_STORE": ""})
    assert dry.done.returncode == 0
    (script,) = dry.prefix.parent.glob("stage/**/UsesBuild*/rfm_job.sh")
    assert "/osu-micro-benchmarks/libexec/osu-micro-benchmarks/mpi/osu_latency" in (
        script.read_text()
    )


def test_a_record_of_another_form_is_no_traceback(tmp_path: Path) -> None:
    record = tmp_path / "record"
    for text in ("ucx\tabc\n", "a\tb\tc\td\te\tf\n"):
        record.write_text(text)
        with pytest.raises(FabricheckError, match="expected what Spack has installed"):
            read_installed(record)
    with pytest.raises(FabricheckError, match="No such file"):
        read_installed(tmp_path / "none")


@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_a_program_is_known_by_what_its_library_says(programs: dict[str, Path], mpi: str) -> None:
    assert check_mpi(programs[mpi], mpi)
    with pytest.raises(FabricheckError, match="of the family mvapich2"):
        check_mpi(programs[mpi], "mvapich2")


def test_a_program_without_mpi_is_refused() -> None:
    with pytest.raises(FabricheckError, match="found none among its libraries"):
        check_mpi(Path("/bin/true"), "openmpi")


def test_a_program_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FabricheckError, match="from ldd"):
        check_mpi(tmp_path / "none", "openmpi")
