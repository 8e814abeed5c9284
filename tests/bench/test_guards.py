"""What is wrong is refused or found, with one sentence and its own exit code."""

import subprocess

import pytest

from fabricheck.programs.osu.entries import PROBE_BENCHMARKS

pytestmark = [pytest.mark.e2e, pytest.mark.ranks]

TIMEOUT = 120

QUICK = ("-i", "5", "-x", "1", "-m", "16:64")
USAGE = {
    ("latency", "-q"): "unknown option -q; see mpi_probe --help",
    ("latency", "--speed"): "unknown option --speed; see mpi_probe --help",
    ("latency", "-i"): "option -i needs a value; see mpi_probe --help",
    ("latency", "--json"): "option --json needs a value; see mpi_probe --help",
    (): "no benchmark is named; expected one of latency, bw,",
    ("latencies",): 'unknown benchmark "latencies"; expected one of latency, bw,',
    ("latency", "-z", "50"): 'one benchmark at a time: "50" is one word too many',
    ("latency", "-i", "0"): 'option -i: "0" is not a whole number from 1 to 2147483647',
    ("latency", "-i", "1e3"): 'option -i: "1e3" is not a whole number',
    ("latency", "-m", "64:8"): 'option -m: "64:8" asks for sizes from 64 down to 8',
    ("latency", "-m", "1:4294967296"): 'option -m: "4294967296" is not a whole number from 1 to',
    ("latency", "-m", "6:12", "-T", "mpi_int"): "a size of 6 bytes is not a multiple of 4",
    ("latency", "-m", "1:2", "-T", "mpi_int"): "there is no size to measure from 1 to 2 bytes",
    ("latency", "-T", "mpi_double"): 'option -T: "mpi_double" is none of mpi_char, mpi_int,',
    ("latency", "-z101"): 'option -z: "101" is not a whole number from 0 to 100',
    ("latency", "-f"): "option -f is for collectives only, as in OSU, not for latency",
    ("latency", "-W", "8"): "option -W is for bw, bibw and mbw_mr, not for latency",
    ("barrier", "-c"): "option -c is for benchmarks that send data, not for barrier",
    ("latency", "--inject-error"): "option --inject-error needs --validate",
    ("latency", "--time-budget", "-1"): 'option --time-budget: "-1" is not a positive number',
    (
        "barrier",
        "--json",
        "/x/y.json",
    ): "barrier needs at least two ranks, but MPI",
}


def sentences(done) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith("mpi_probe: ")]


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_bad_options(openmpi, arguments):
    done = openmpi.run_alone(*arguments)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith(f"mpi_probe: {USAGE[arguments]}")
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("path", "reason"),
    [("/nowhere/x.json", "there is no folder /nowhere"), ("/", "it is a folder")],
)
def test_what_only_rank_0_sees_ends_all_ranks(built, path, reason):
    done = built.run(2, "latency", "--json", path)
    assert done.returncode == 2
    assert sentences(done) == [f"mpi_probe: option --json: {path} cannot be written: {reason}"]
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("benchmark", "ranks", "sentence"),
    [
        ("latency", 3, "latency needs exactly two ranks, but MPI_COMM_WORLD has 3"),
        ("bw", 1, "bw needs exactly two ranks, but MPI_COMM_WORLD has 1 (a launcher whose PMI"),
        ("bibw", 4, "bibw needs exactly two ranks, but MPI_COMM_WORLD has 4"),
        ("mbw_mr", 3, "mbw_mr needs an even number of ranks, but MPI_COMM_WORLD has 3"),
        ("allreduce", 1, "allreduce needs at least two ranks, but MPI_COMM_WORLD has 1"),
        ("barrier", 1, "barrier needs at least two ranks, but MPI_COMM_WORLD has 1"),
    ],
)
def test_wrong_number_of_ranks(built, benchmark, ranks, sentence):
    done = built.run(ranks, benchmark)
    assert done.returncode == 2, done.stderr
    assert len(sentences(done)) == 1, done.stderr
    assert sentences(done)[0].startswith(f"mpi_probe: {sentence}")
    assert done.stdout == ""


# What finds it knows no MPI; how the job ends does.
@pytest.mark.parametrize(
    ("built", "benchmark"),
    [
        *(("openmpi", name) for name in PROBE_BENCHMARKS if name != "barrier"),
        *(("mpich", name) for name in ("latency", "allreduce")),
    ],
    indirect=["built"],
)
def test_one_wrong_element_is_found(built, tmp_path, benchmark):
    path = tmp_path / "result.json"
    arguments = (benchmark, *QUICK, "--validate", "--json", str(path))
    done = built.run(2, *arguments, "--inject-error")
    assert done.returncode == 1, done.stderr
    row, error, end = done.stdout.splitlines()[-3:]
    assert row.split()[-1] == "Fail"
    assert error == "DATA VALIDATION ERROR: mpi_probe exited with status 1 on size 16."
    assert end.startswith("# Incomplete: after 1 of ")
    assert "# Complete" not in done.stdout
    (sentence,) = sentences(done)
    assert sentence.startswith("mpi_probe: wrong data at 16 bytes: rank ")
    assert "1 wrong elements in all on this rank" in sentence
    assert '"complete": false' in path.read_text()
    assert '"valid": false' in path.read_text()


def test_a_rank_that_cannot_go_on_ends_the_job(built):
    """One rank lacks memory; the other must not wait for it."""
    gibibyte = str(1 << 30)
    limited = 'if [ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ]; then ulimit -v 1000000; fi; '
    command = built.command(2, "bcast", "-m", f"{gibibyte}:{gibibyte}", "-i", "1", "-x", "0")
    program = command.index(str(built.program))
    command[program:program] = ["sh", "-c", limited + 'exec "$@"', "limited"]
    done = subprocess.run(
        command,
        env=built.environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "mpi_probe: rank 1: out of memory" in done.stderr


def test_help_and_version(openmpi):
    done = openmpi.run(2, "--help")
    assert done.returncode == 0
    assert done.stdout.count("Usage: ") == 1
    assert "Examples" in done.stdout
    assert all(name in done.stdout for name in PROBE_BENCHMARKS)
    done = openmpi.run_alone("-v")
    assert (done.returncode, done.stdout) == (0, "mpi_probe 0.1.0\n")
