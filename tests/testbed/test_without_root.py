"""A testbed of an ordinary user: nobody."""

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.testbed.test_jobs import AT_THE_END, OVER_UCX

import fabricheck_testbed
from fabricheck_testbed.guest import kernel

pytestmark = pytest.mark.e2e
NOBODY = 65534
# setpriv itself still executes its command with root's rights to files; env no longer.
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "env"]
SESSION = """
import os, sys
from fabricheck_testbed import Testbed
testbed = Testbed("tb")
try:
    print("up", testbed.up(nodes=2).nodes)
    status = testbed.status()
    print("mode", status.mode, status.problems)
    done = testbed.run("login", "srun", "-N2", "sh", "-c", "hostname; id -u; ls /tmp",
                       timeout_seconds=60)
    print("srun", sorted(done.stdout.split()), done.stderr)
    for mpi, pmi in (("openmpi", "pmix"), ("mpich", "pmi2")):
        if os.path.exists(f"hello.{mpi}"):
            done = testbed.run("login", "srun", f"--mpi={pmi}", "-N2", "-n2", f"./hello.{mpi}",
                               timeout_seconds=60)
            print(mpi, repr(done.stdout + done.stderr))
    testbed.kill_node("n2")
    print("dead", testbed.status().problems)
    print("again", testbed.up().restarted_for)
finally:
    testbed.down()
print("left", os.path.exists("tb"))
"""


@pytest.fixture
def home(can_run_testbeds: None) -> Iterator[Path]:
    """A directory of nobody's, which pytest's own (readable by root only) cannot hold."""
    directory = Path(tempfile.mkdtemp(prefix="testbed-nobody-"))
    try:
        shutil.copytree(
            Path(fabricheck_testbed.__file__).parent, directory / "lib" / "fabricheck_testbed"
        )
        for mpi in ("openmpi", "mpich"):
            compiler = shutil.which(f"mpicc.{mpi}")
            if compiler:
                source = Path(__file__).with_name("hello.c")
                program = directory / f"hello.{mpi}"
                subprocess.run([compiler, str(source), "-o", str(program)], check=True)
        for path in (directory, *directory.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        yield directory
    finally:
        shutil.rmtree(directory)


def python_for_nobody() -> str:
    """A Python that nobody may execute; root's own may lie in /root."""
    for candidate in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        check = [*AS_NOBODY, candidate, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
        if subprocess.run(check, check=False, stderr=subprocess.DEVNULL).returncode == 0:
            return candidate
    pytest.skip("no Python 3.11 that an ordinary user may execute")


def as_nobody(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*AS_NOBODY, python_for_nobody(), *words],
        cwd=home,
        env={
            "PATH": "/usr/bin:/bin",
            "HOME": str(home),
            "PYTHONPATH": str(home / "lib"),
            **OVER_UCX,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )


def test_whole_life_in_a_user_namespace(home: Path, watch) -> None:
    before = watch.traces()
    done = as_nobody(home, "-c", SESSION)
    assert done.returncode == 0, done.stderr
    found = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert found["up"] == "['n1', 'n2']"
    assert found["mode"] == "user namespace []"
    listing = sorted(["n1", "n2", "0", "0", home.name, home.name])
    assert found["srun"].strip() == str(listing)
    for mpi in ("openmpi", "mpich"):
        if (home / f"hello.{mpi}").exists():
            lines = [
                each
                for each in ast.literal_eval(found[mpi]).splitlines()
                if not AT_THE_END.search(each)
            ]
            assert lines == ["world 2 on n1 n2"]
    assert "n2 is dead" in found["dead"]
    assert "n2 is dead" in found["again"]
    assert found["left"] == "False"
    assert watch.traces() == before


RDMA_SESSION = """
from fabricheck_testbed import Testbed, faults
testbed = Testbed("tb")
try:
    print("up", testbed.up(nodes=1, rdma=True).nodes)
    done = testbed.run("rx1", "sh", "-c", "id -u; ls /sys/class/infiniband; touch made-in-rx1",
                       timeout_seconds=60)
    print("rx1", done.stdout.split(), done.stderr)
    done = testbed.run("login", "srun", "-prdma", "-N2", "hostname", timeout_seconds=60)
    print("srun", sorted(done.stdout.split()), done.stderr)
    testbed.netem("rx2", "loss 2%")
    print("fault", faults.active(testbed.files, "rx2"))
finally:
    testbed.down()
"""


@pytest.mark.lab
def test_rdma_devices_in_a_user_namespace(home: Path, can_run_guests: None, watch) -> None:
    before = watch.traces()
    image = kernel.provide(kernel.cache_dir(), lambda _: None).image.parent
    copy = home / ".cache" / "testbed" / "guest" / image.name
    shutil.copytree(image, copy)
    os.chown(copy.parent, NOBODY, NOBODY)
    done = as_nobody(home, "-c", RDMA_SESSION)
    assert done.returncode == 0, done.stderr
    found = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert found["up"] == "['n1', 'rx1', 'rx2']"
    assert found["rx1"].strip() == "['0', 'rxe0']"
    assert (home / "made-in-rx1").stat().st_uid == NOBODY
    assert found["srun"].strip() == "['rx1', 'rx2']"
    assert found["fault"] == "['v1 in rx2: netem limit 1000 loss 2%']"
    assert watch.traces() == before


def test_state_directory_of_somebody_else(home: Path) -> None:
    script = "from fabricheck_testbed import Testbed; Testbed('/usr/share/tb').up()"
    done = as_nobody(home, "-c", script)
    assert "cannot be used: Permission denied (/usr/share/tb)" in done.stderr

    (home / "roots").mkdir()
    script = "from fabricheck_testbed import Testbed; Testbed('roots').up()"
    done = as_nobody(home, "-c", script)
    assert f"roots belongs to user 0, and this is user {NOBODY}" in done.stderr


def test_without_a_compiler(home: Path) -> None:
    script = (
        "from fabricheck_testbed import Testbed, programs; programs.COMPILER = 'no-such-cc'; "
        "Testbed('tb').up()"
    )
    done = as_nobody(home, "-c", script)
    assert "needs no-such-cc, which this machine lacks: apt-get install gcc" in done.stderr
