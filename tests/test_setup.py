"""ci/setup and ci/lint on a copy, with stand-ins for apt and Python; this machine is left alone."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parent.parent
NOBODY = 65534


PROJECTS = ("pyproject.toml", "testbed/pyproject.toml")


@pytest.fixture
def checkout():
    """A copy of what ci/setup reads, usable by nobody; .venv says that everything is in order."""
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name) / "checkout"
        shutil.copytree(ROOT / "ci", copy / "ci")
        (copy / "testbed").mkdir()
        for file in (*PROJECTS, "requirements.lock", "requirements-dev.lock"):
            shutil.copy(ROOT / file, copy / file)
        for tool in ("bin", ".venv/bin"):
            (copy / tool).mkdir(parents=True)
        for tool in (".venv/bin/python", ".venv/bin/fabricheck", "bin/apt-get"):
            write_program(copy / tool, "exit 0")
        (copy / "build/mpi/openmpi5").mkdir(parents=True)
        shutil.copy(copy / "ci/mpi/openmpi5.txt", copy / "build/mpi/openmpi5/pinned.txt")
        stamp(copy)
        if os.geteuid() == 0:
            for path in (Path(name), *Path(name).rglob("*")):
                os.chown(path, NOBODY, NOBODY)
        yield copy


def write_program(path, body):
    path.write_text(f"#!/bin/bash\n{body}\n")
    path.chmod(0o755)


def stamp(copy):
    (copy / ".venv/setup-origin").write_text(f"{copy} {copy / '.venv/bin/python'}\n")
    locks = ["./requirements-dev.lock", "./requirements.lock", *PROJECTS]
    sums = subprocess.run(
        ["sha256sum", *locks], cwd=copy, capture_output=True, text=True, check=True
    ).stdout
    (copy / ".venv/setup-runtime").write_text(sums)


def packages(group):
    lines = (ROOT / f"ci/packages/{group}.txt").read_text().splitlines()
    return [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]


def setup(copy, installed, *arguments, os_release="ID=debian\nVERSION_ID=12\n"):
    (copy / "os-release").write_text(os_release)
    listing = "".join(f"installed {name}\\n" for name in installed)
    write_program(copy / "bin/dpkg-query", f"printf '{listing}'")
    as_nobody = ["setpriv", f"--reuid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
    return subprocess.run(
        [*as_nobody, "ci/setup", *arguments],
        cwd=copy,
        env={"PATH": f"{copy}/bin:{os.environ['PATH']}", "OS_RELEASE": f"{copy}/os-release"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_nothing_to_do(checkout):
    done = setup(checkout, packages("runtime") + packages("rdma"))
    assert done.returncode == 0
    assert "packages (runtime): all there" in done.stdout
    assert "packages (rdma): all there" in done.stdout
    assert "python: as in requirements.lock" in done.stdout
    assert "WITHOUT RDMA" not in done.stdout


def test_without_the_packages_for_rdma_the_rest_is_ready_and_it_says_so(checkout):
    there = set(packages("runtime") + packages("rdma")) - {"perftest", "qemu-system-x86"}
    done = setup(checkout, there)
    assert done.returncode == 0
    assert "WITHOUT RDMA: as root: apt-get install --no-install-recommends perftest qemu" in (
        done.stdout
    )
    assert "ready" in done.stdout


def test_the_tests_need_the_packages_for_rdma(checkout):
    done = setup(checkout, set(packages("runtime") + packages("test")), "test")
    assert done.returncode == 2
    assert "qemu-system-x86" in done.stderr


def test_without_root_the_missing_packages_are_named_and_the_rest_is_done(checkout):
    done = setup(checkout, [p for p in packages("runtime") if p not in {"munge", "slurmd"}])
    assert done.returncode == 2
    assert "python: as in requirements.lock" in done.stdout
    assert "apt-get install --yes --no-install-recommends munge slurmd" in done.stderr


@pytest.mark.parametrize(
    ("os_release", "expected"),
    [
        ("ID=debian\nVERSION_ID=12\n", "libpmi2-0"),
        ("ID=debian\nVERSION_ID=13\n", "libpmi2-0t64"),
        ('ID=ubuntu\nVERSION_ID="24.04"\n', "libpmi2-0t64"),
        ('ID=rocky\nVERSION_ID="9.4"\nPLATFORM_ID="platform:el9"\n', "slurm-pmi"),
        ('ID=sles\nVERSION_ID="15.6"\n', "libpmi0"),
        ("ID=arch\n", "libpmi2-0"),
    ],
)
def test_packages_have_their_names_on_each_distribution(checkout, os_release, expected):
    there = [package for package in packages("runtime") if package != "libpmi2-0"]
    done = setup(checkout, there, os_release=os_release)
    assert done.returncode == 2
    missing = done.stderr.partition("apt-get install --yes --no-install-recommends ")[2].split()
    assert expected in missing
    if os_release.startswith("ID=debian"):
        assert missing == [expected]


def test_each_name_of_another_distribution_is_of_a_package_of_debian_12():
    lines = (ROOT / "ci/packages/names.csv").read_text().splitlines()
    assert lines[0] == "debian12,debian13,ubuntu24.04,el9,sles15"
    known = {name for group in ("runtime", "rdma", "test") for name in packages(group)}
    for line in lines[1:]:
        assert len(line.split(",")) == 5, line
        assert line.split(",")[0] in known


def test_a_changed_lock_is_not_taken_for_installed(checkout):
    lock = checkout / "requirements.lock"
    lock.write_text(lock.read_text() + "\nextra==1.0\n")
    done = setup(checkout, packages("runtime"))
    assert "python: installing requirements.lock" in done.stdout


def test_a_virtual_environment_of_another_checkout_is_made_anew(checkout):
    (checkout / ".venv/setup-origin").write_text("/elsewhere /usr/bin/python3.11\n")
    write_program(checkout / "bin/python3", '[[ $* != *"-m venv --clear"* ]]')
    done = setup(checkout, packages("runtime"))
    assert "python: making .venv with" in done.stdout
    assert "python: making .venv failed with exit code 1" in done.stderr


def test_a_newer_python_beside_an_old_one_is_found(tmp_path):
    (tmp_path / "bin").mkdir()
    # Those that are newer stand before Debian 13's own.
    old = dict.fromkeys(("python3", "python3.11", "python3.13", "python3.14"), 1)
    for name, code in (old | {"python3.12": 0}).items():
        write_program(tmp_path / "bin" / name, f"exit {code}")
    found = subprocess.run(
        ["bash", "-c", f"root={tmp_path}; . {ROOT}/ci/common.sh; find_python"],
        env={"PATH": f"{tmp_path / 'bin'}:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout == f"{tmp_path / 'bin' / 'python3.12'}\n"


def test_a_failed_step_shows_its_log(checkout):
    (checkout / ".venv/setup-runtime").unlink()
    write_program(
        checkout / ".venv/bin/python", "[[ $* == *pip* ]] && echo no network && exit 1 || exit 0"
    )
    done = setup(checkout, packages("runtime"))
    assert done.returncode == 2
    assert "no network" in done.stderr
    assert "python: installing failed with exit code 1" in done.stderr


def test_an_unknown_group_is_refused(checkout):
    done = setup(checkout, [], "everything")
    assert done.returncode == 2
    assert "expected runtime or test, found 'everything'" in done.stderr


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pytest==0.0.1 \\", "pytest: expected ==0.0.1, found"),
        ("no-such-package==1.0 \\", "no-such-package: expected ==1.0, found none"),
        ("no-such-package==1.0 ; sys_platform == 'win32' \\", ""),
    ],
)
def test_lock_check_names_each_difference(tmp_path, line, expected):
    lock = tmp_path / "a.lock"
    lock.write_text(f"# a comment\n{line}\n    --hash=sha256:00\n")
    done = subprocess.run(
        [str(ROOT / ".venv/bin/python"), str(ROOT / "ci/check_lock.py"), str(lock)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith(expected)
    assert done.returncode == bool(expected)


@pytest.mark.parametrize(
    ("tool", "file", "content"),
    [
        ("ruff", "bad.py", "import os\n"),
        ("format", "bad.py", "x = [1,2]\n"),
        ("mypy", "src/fabricheck/bad.py", "def f(x): return x\n"),
        ("imports", "src/fabricheck/errors.py", '"""Errors."""\nimport fabricheck.cli\n'),
        (
            "imports",
            "testbed/src/fabricheck_testbed/munge.py",
            '"""Munge."""\nimport fabricheck.errors\n',
        ),
        ("imports", "src/fabricheck/units.py", '"""Units."""\nimport fabricheck_testbed.layout\n'),
        ("shellcheck", "bad", "#!/bin/bash\nrm $1\n"),
        ("clang-format", "bad.cpp", "int   main(){return 0;}\n"),
    ],
)
def test_lint_goes_red(tmp_path, tool, file, content):
    assert Path(file).name.removesuffix(".py") in red(tmp_path / "checkout", tool, {file: content})


LIBRARY = """
cmake_minimum_required(VERSION 3.20)
project(bench LANGUAGES CXX)
add_library(x x/first.cpp x/second.cpp)
"""


NULLPTR = "modernize-use-nullptr"


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("clang-tidy", {("second.cpp", NULLPTR), ("third.cpp", NULLPTR)}),
        ("clang-analyzer", {("second.cpp", "clang-analyzer-core.NullDereference")}),
    ],
)
def test_each_file_of_a_unit_is_looked_into_and_those_of_none(tmp_path, tool, expected):
    files = {
        "CMakeLists.txt": LIBRARY,
        "x/first.cpp": "int first() {\n    return 1;\n}\n",
        "x/second.cpp": "const int* second(const int* p) {\n"
        "    return p == nullptr && *p > 0 ? 0 : p;\n}\n",
        "x/third.cpp": "const int* third() {\n    return 0;\n}\n",
    }
    copy = tmp_path / "checkout"
    (copy / "src/bench/x").mkdir(parents=True)
    shown = red(copy, tool, {f"src/bench/{name}": text for name, text in files.items()})
    found = set(re.findall(r"(\w+\.c\w+):\d+:\d+: error: .*\[([\w.-]+),", shown))
    assert found == expected


LAB = ("dashboard", "drill", "simulation")


def red(copy: Path, tool: str, files: dict[str, str]) -> str:
    """What a tool of ci/lint, which fails, says of a copy of the project with these files."""
    # The contract of imports is of all modules; the other tools need no file that is right.
    for name in ("ci", "lab", "src/fabricheck", "testbed") if tool == "imports" else ("ci",):
        shutil.copytree(ROOT / name, copy / name)
    for name in ("pyproject.toml", ".clang-format", ".clang-tidy", "setup-env.sh"):
        shutil.copy(ROOT / name, copy / name)
    for name in (
        "src/fabricheck",
        "testbed/src/fabricheck_testbed",
        *(f"lab/{name}" for name in LAB),
    ):
        (copy / name).mkdir(parents=True, exist_ok=True)
        (copy / name / "__init__.py").touch()
    (copy / ".venv").symlink_to(ROOT / ".venv")
    for name, content in files.items():
        (copy / name).write_text(content)
    subprocess.run(["git", "init", "--quiet"], cwd=copy, check=True)
    done = subprocess.run(
        ["ci/lint", tool],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": f"{copy}/src:{copy}/testbed/src"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"lint: {tool:<14} FAILED" in done.stdout
    return done.stdout


RUN = [".venv/bin/fabricheck", "run", "--system", "testbed"]


@pytest.mark.parametrize(
    ("target", "arguments", "runs"),
    [
        ("run", [], "--tag smoke"),
        ("run", ["ARGS=--tag ucx"], "--tag ucx"),
        ("run", ["ARGS=--environ mpich"], "--tag smoke --environ mpich"),
        ("nightly", [], "--mode nightly"),
    ],
)
def test_make_sets_the_machine_up_and_runs_what_its_target_says(target, arguments, runs):
    shown = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", target, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    steps = [line.split() for line in shown.stdout.splitlines()]
    fetched = [["ci/mpi-wheel", "openmpi5", "mpich5"]] if target == "nightly" else []
    assert steps == [["ci/setup", "runtime"], *fetched, [*RUN, *runs.split()]]


@pytest.mark.parametrize("debian", [12, 13])
def test_promtool_is_fetched_where_it_is_a_package_of_its_own(checkout, debian):
    write_program(checkout / "bin/promtool", "exit 0")
    write_program(checkout / "bin/apt-cache", f"exit {100 * (debian == 12)}")
    write_program(checkout / "bin/apt-get", 'touch "${@: -1}_1.deb"; echo "$*" >>"$SAID"')
    write_program(
        checkout / "bin/dpkg-deb", 'mkdir -p "$3/usr/bin"; touch "$3"/usr/bin/{prometheus,promtool}'
    )
    subprocess.run(
        [ROOT / "ci/fetch-prometheus", checkout / "new"],
        env={"PATH": f"{checkout / 'bin'}:/usr/bin:/bin", "SAID": f"{checkout / 'said'}"},
        check=True,
    )
    assert (checkout / "new/bin/promtool").exists()
    wanted = {12: "download prometheus\n", 13: "download prometheus promtool\n"}[debian]
    assert (checkout / "said").read_text().endswith(wanted)


def test_fetching_prometheus_removes_nothing_that_is_there(checkout):
    """Not where the directory is somebody's, nor where the download fails."""
    write_program(checkout / "bin/apt-get", "exit 1")
    # Without its server beside it, it is passed by, wherever Prometheus is installed.
    write_program(checkout / "bin/promtool", "exit 0")
    (checkout / "docs").mkdir()
    (checkout / "docs/precious").write_text("precious")
    for directory, sentence in ((checkout, "found other files"), (checkout / "new", "run apt-get")):
        done = subprocess.run(
            [ROOT / "ci/fetch-prometheus", directory],
            env={"PATH": f"{checkout / 'bin'}:/usr/bin:/bin"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert sentence in done.stderr
    assert (checkout / "docs/precious").read_text() == "precious"
    assert not list(checkout.glob("new*"))
