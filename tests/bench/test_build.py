"""The programs build with both MPIs, their unit tests pass, and sanitizers find nothing."""

import shutil
import subprocess

import pytest

from fabricheck.programs.osu.entries import PROBE_BENCHMARKS
from fabricheck.reframe_ext.cmake_build import BENCH_SOURCES

pytestmark = [pytest.mark.e2e, pytest.mark.ranks]

# Open MPI, PMIx and UCX keep memory of their own until the process ends, some of it with no pointer
# left, so the leak checker would report them and not us. Everything else stays on.
NO_LEAK_CHECK = "detect_leaks=0:verbosity=1"
SANITIZED_RUNS = [name for name in PROBE_BENCHMARKS if name != "barrier"]


def test_unit_tests(openmpi):
    done = subprocess.run(
        ["ctest", "--test-dir", openmpi.folder, "--output-on-failure", "--no-tests=error"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "100% tests passed, 0 tests failed out of 1" in done.stdout


def test_unit_tests_do_not_need_mpi(openmpi):
    done = subprocess.run(
        ["ldd", openmpi.folder / "tests" / "unit_tests"], capture_output=True, text=True, check=True
    )
    assert "libmpi" not in done.stdout


def test_install_puts_the_program_into_bin_and_says_of_which_sources_it_is(built, tmp_path):
    subprocess.run(
        ["cmake", "--install", built.folder, "--prefix", tmp_path], check=True, capture_output=True
    )
    assert (tmp_path / "bin" / "mpi_probe").is_file()
    digest = subprocess.check_output([BENCH_SOURCES / "sources-digest"])
    assert (tmp_path / "share/fabricheck-bench/sources.sha256").read_bytes() == digest


def test_other_sources_have_another_digest(tmp_path):
    def digest(folder):
        return subprocess.check_output([folder / "sources-digest"], text=True)

    other = shutil.copytree(BENCH_SOURCES, tmp_path / "bench")
    assert digest(other) == digest(BENCH_SOURCES)
    program = other / "mpi_probe/CMakeLists.txt"
    program.write_text(program.read_text() + "\n")
    changed = digest(other)
    program.rename(program.with_name("CMakeLists"))
    assert len({digest(BENCH_SOURCES), changed, digest(other)}) == 3


def test_unit_tests_under_sanitizers(sanitized):
    done = subprocess.run(
        [sanitized.folder / "tests" / "unit_tests"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("benchmark", SANITIZED_RUNS)
def test_sanitizers_find_nothing(sanitized, benchmark):
    done = sanitized.run(
        2, benchmark, "-m", "1:16384", "-i", "3", "-x", "1", "-c", "-z", ASAN_OPTIONS=NO_LEAK_CHECK
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "AddressSanitizer Init done" in done.stderr  # or nothing was sanitized at all
    assert "runtime error" not in done.stderr
