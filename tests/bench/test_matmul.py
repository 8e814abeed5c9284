"""mpi_matmul: right products in every mode with every MPI, errors found, bad input refused."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.bench.conftest import ROOT
from tests.bench.test_build import NO_LEAK_CHECK

from fabricheck.measures import program_result

pytestmark = [pytest.mark.e2e, pytest.mark.ranks]

TIMEOUT = 120
PHASES = ["transfer_a", "broadcast_b", "compute", "transfer_c", "total"]
MODES = ["blocking", "nonblocking", "collective"]
USAGE = {
    ("-q",): "unknown option -q; see mpi_matmul --help",
    ("--speed",): "unknown option --speed; see mpi_matmul --help",
    ("-n",): "option -n needs a value; see mpi_matmul --help",
    ("-n", "0"): 'option -n: "0" is not a whole number from 1 to 1000000',
    ("-n", "1000001"): 'option -n: "1000001" is not a whole number from 1 to 1000000',
    ("-n", "240,"): 'option -n: "" is not a whole number',
    ("-n", "480,240"): "option -n: the orders must rise, each once",
    ("-n", "240,240"): "option -n: the orders must rise, each once",
    ("-n", "1e3"): 'option -n: "1e3" is not a whole number',
    ("--mode", "fast"): 'option --mode: "fast" is none of blocking, nonblocking, collective',
    ("-i", "0"): 'option -i: "0" is not a whole number from 1',
    ("--seed", "-1"): 'option --seed: "-1" is not a whole number',
    ("--largest-count", "0"): 'option --largest-count: "0" is not a whole number from 1 to 2147483',
    ("--time-budget", "nan"): 'option --time-budget: "nan" is not a positive number',
    ("--time-budget", "1", "-x", "0"): "option --time-budget needs a warm-up (-x 1)",
    ("--inject",): "option --inject-error needs --validate",
    ("240",): '"240" is one word too many: several orders are one word, -n 2000,4000',
    ("--json", "/nowhere/x.json"): "option --json: /nowhere/x.json cannot be written: there is no",
    ("-n", "900000"): "N 900000 needs 1.94e+04 GB on the node of rank 0, which has ",
}


@pytest.fixture
def matmul(built):
    return built.of("mpi_matmul")


@pytest.fixture
def openmpi_matmul(openmpi):
    return openmpi.of("mpi_matmul")


def sentences(done: subprocess.CompletedProcess) -> list[str]:
    own = [line for line in done.stderr.splitlines() if line.startswith("mpi_matmul: ")]
    return [line for line in own if not line.startswith("mpi_matmul: warning: ")]


def rows(output: str) -> Iterator[list[str]]:
    return (line.split() for line in output.splitlines() if re.match(r"\d", line))


@pytest.mark.parametrize("mode", MODES)
def test_products_are_right(matmul, mode):
    """With orders that the ranks don't divide, and fewer rows than ranks."""
    done = matmul.run(3, "-n", "2,50,101", "-m", mode, "-c", "-i", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "# Complete: 15 phases"
    found = list(rows(done.stdout))
    assert [row[:3] for row in found] == [
        [str(n), phase, "2"] for n in (2, 50, 101) for phase in PHASES
    ]
    assert {row[-1] for row in found} == {"Pass"}


@pytest.mark.parametrize("mode", MODES)
def test_counts_beyond_what_mpi_takes_are_counted_in_rows(matmul, mode):
    done = matmul.run(3, "-n", "50", "-m", mode, "-c", "-i", "2", "--largest-count", "2499")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {row[-1] for row in rows(done.stdout)} == {"Pass"}


@pytest.mark.parametrize("mode", MODES)
def test_one_wrong_element_is_found(matmul, tmp_path, mode):
    path = tmp_path / "result.json"
    done = matmul.run(
        3, "-n", "50,60", "-m", mode, "-c", "-x", "0", "--inject", "--json", str(path)
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[-2:] == [
        "DATA VALIDATION ERROR: mpi_matmul exited with status 1 on order 50.",
        "# Incomplete: after 5 of 10 phases",
    ]
    assert {row[-1] for row in rows(done.stdout)} == {"Fail"}
    assert sentences(done) == [
        "mpi_matmul: wrong data at N 50: row 49 of C, which rank 2 computed, in repetition 0 "
        "(warm-up included)"
    ]
    document = json.loads(path.read_text())
    assert document["complete"] is False
    assert [result["valid"] for result in document["results"]] == [False] * 5


def by_phase(document: dict[str, Any], order: int) -> dict[str, dict[str, Any]]:
    return {each["phase"]: each for each in document["results"] if each["order"] == order}


def check_phases(phases: dict[str, dict[str, Any]], n: int, ranks: int) -> None:
    assert list(phases) == PHASES
    for found in phases.values():
        assert (found["iterations"], found["warmup"], found["valid"]) == (6, 1, None)
        assert found["variation"] >= 0
        if found["bytes"]:
            rate = found["bytes"] / found["time"]["p50"]
            assert found["bandwidth"] == pytest.approx(rate, rel=1e-6)
    moved = 8 * n * (n - -(-n // ranks))
    broadcast = 8 * n * n * (ranks - 1)
    expected = [moved, broadcast, 0, moved, 2 * moved + broadcast]
    assert [found["bytes"] for found in phases.values()] == expected
    rate = 2 * n**3 / phases["compute"]["time"]["p50"]
    assert phases["compute"]["flops"] == pytest.approx(rate, rel=1e-6)
    assert phases["compute"]["bandwidth"] is None
    assert phases["transfer_a"]["flops"] is None


def test_document(openmpi_matmul, tmp_path):
    path = tmp_path / "result.json"
    done = openmpi_matmul.run(3, "-n", "50,100", "-i", "6", "--seed", "5", "--json", str(path))
    assert done.returncode == 0, done.stderr
    document = json.loads(path.read_text())
    result = program_result.read(path.read_text(), "result")
    assert (result.benchmark, result.environment["ranks"]) == ("blocking", 3)
    assert result.options["seed"] == 5
    for order in (50, 100):
        check_phases(by_phase(document, order), order, ranks=3)


def test_dash_gives_json_alone_on_standard_output(openmpi_matmul):
    done = openmpi_matmul.run(2, "-n", "20", "-c", "--json", "-")
    assert [result["valid"] for result in json.loads(done.stdout)["results"]] == [True] * 5
    assert "# Complete: 5 phases" in done.stderr


def test_ranks_that_outnumber_cpus_are_told_and_phases_are_compared_with_the_total(openmpi_matmul):
    cpus = len(os.sched_getaffinity(0))
    done = openmpi_matmul.run(cpus + 1, "-n", "20", "-i", "1", "--json", "-")
    crowd = f"{cpus + 1} ranks on {cpus} CPUs of "
    document = json.loads(done.stdout)
    assert document["environment"]["oversubscribed"].startswith(crowd)
    assert f"# Oversubscribed: {crowd}" in done.stderr
    assert f"mpi_matmul: warning: {crowd}" in done.stderr
    phases = by_phase(document, 20)
    together = sum(phases[phase]["time"]["p50"] for phase in PHASES[:-1])
    share = phases["total"]["phases_over_total"]
    assert share == pytest.approx(together / phases["total"]["time"]["p50"])
    assert f"# Phases: {100 * share:.1f} % of the total at N 20\n" in done.stderr
    alone = openmpi_matmul.run_alone("-n", "20")
    assert "versubscribed" not in alone.stdout + alone.stderr


def test_a_time_budget_leaves_five_repetitions(openmpi_matmul, tmp_path):
    path = tmp_path / "result.json"
    budget = ("--time-budget", "0.000001", "--json", str(path))
    openmpi_matmul.run(2, "-n", "20", "-i", "1000", *budget)
    assert json.loads(path.read_text())["results"][0]["iterations"] == 5
    openmpi_matmul.run(2, "-n", "20", "-i", "3", *budget)
    assert json.loads(path.read_text())["results"][0]["iterations"] == 3


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_bad_options(openmpi_matmul, arguments):
    done = openmpi_matmul.run_alone(*arguments)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith(f"mpi_matmul: {USAGE[arguments]}")
    assert done.stdout == ""


def test_what_one_node_lacks_ends_all_ranks(matmul):
    done = matmul.run(3, "-n", "20,900000")
    assert done.returncode == 2
    assert len(sentences(done)) == 1
    assert sentences(done)[0].endswith("fewer ranks on each")
    assert done.stdout == ""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_prints_what_it_has(openmpi_matmul, tmp_path, number, code):
    path = tmp_path / "result.json"
    arguments = ("-n", "20,400", "-i", "1000000", "--json", str(path))
    with subprocess.Popen(
        [openmpi_matmul.program, "-n", "20,400", *arguments[2:]],
        env=openmpi_matmul.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as job:
        assert job.stdout is not None
        for line in job.stdout:
            if line.startswith("# N"):
                break
        time.sleep(0.2)
        job.send_signal(number)
        output, errors = job.communicate(timeout=TIMEOUT)
    assert job.returncode == code, errors
    why, last = output.splitlines()[-2:]
    assert re.fullmatch(r"# Failed: N \d+ ended after \d+ of 1000000 repetitions", why)
    assert re.fullmatch(rf"# Interrupted: {number.name} after \d+ of 10 phases", last)
    assert "# Complete" not in output
    document = json.loads(path.read_text())
    assert (document["interrupted"], document["complete"]) == (number.name, False)


def test_one_rank_that_is_interrupted_ends_all(openmpi_matmul):
    """As a scheduler's signal to one node; the others learn of it through MPI."""
    limited = 'if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then (sleep 2; kill -INT $$) & fi; exec "$@"'
    command = openmpi_matmul.command(2, "-n", "20", "-i", "1000000")
    program = command.index(str(openmpi_matmul.program))
    command[program:program] = ["sh", "-c", limited, "limited"]
    done = subprocess.run(
        command,
        env=openmpi_matmul.environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 130, done.stderr
    assert "# Interrupted: SIGINT after " in done.stdout


@pytest.mark.parametrize("mode", MODES)
def test_sanitizers_find_nothing(sanitized, mode):
    program = sanitized.of("mpi_matmul")
    done = program.run(3, "-n", "2,50", "-m", mode, "-c", "-i", "2", ASAN_OPTIONS=NO_LEAK_CHECK)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "AddressSanitizer Init done" in done.stderr
    assert "runtime error" not in done.stderr


def test_help_and_version(openmpi_matmul):
    done = openmpi_matmul.run(2, "--help")
    assert done.returncode == 0
    assert done.stdout.count("Usage: ") == 1
    assert "Examples" in done.stdout
    done = openmpi_matmul.run_alone("-v")
    assert (done.returncode, done.stdout) == (0, "mpi_matmul 0.1.0\n")


def test_without_a_blas_cmake_says_what_it_leaves_out(openmpi, tmp_path):
    done = subprocess.run(
        [
            *("cmake", "-S", ROOT / "src" / "bench", "-B", tmp_path, "-DBUILD_TESTING=OFF"),
            *("-DFABRICHECK_BLAS=OFF", f"-DCMAKE_CXX_COMPILER=mpicxx.{openmpi.mpi}"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mpi_matmul is not built" in done.stdout
    # The next compiler's warnings must not end the build of a site.
    assert "-Werror" not in (tmp_path / "compile_commands.json").read_text()
    assert "-Werror" in (openmpi.folder / "compile_commands.json").read_text()
    assert not (tmp_path / "mpi_matmul" / "CMakeFiles" / "mpi_matmul.dir").exists()
