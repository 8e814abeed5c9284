"""--json holds what docs/reference/programs/results.md says."""

import json
import os
import signal
import subprocess
import time

import pytest
from tests.bench.conftest import TIMEOUT

pytestmark = [pytest.mark.e2e, pytest.mark.ranks]


def test_dash_gives_json_alone_on_standard_output(openmpi):
    done = openmpi.run(2, "bw", "-m", "1:2", "-c", "--json", "-")
    assert done.returncode == 0
    assert [result["valid"] for result in json.loads(done.stdout)["results"]] == [True, True]
    assert "# Complete: 2 sizes" in done.stderr


def test_table_and_json_agree(openmpi, tmp_path):
    path = tmp_path / "result.json"
    done = openmpi.run(2, "latency", "-m", "8:8", "-i", "100", "-z50,90,99", "--json", str(path))
    row = done.stdout.splitlines()[-2].split()
    assert list(tmp_path.iterdir()) == [path]
    result = json.loads(path.read_text())["results"][0]
    assert result["valid"] is None
    expected = [result["latency"][key] * 1e6 for key in ("avg", "p50", "p90", "p99")]
    assert [float(cell) for cell in row[1:]] == pytest.approx(expected, abs=0.006)


def test_time_budget_shortens_the_sweep_and_says_so(openmpi, tmp_path):
    path = tmp_path / "result.json"
    limits = ("-i", "100000000", "-x", "1000000", "--time-budget", "0.05")
    done = openmpi.run(2, "allreduce", "-m", "1024:1024", *limits, "--json", str(path))
    assert done.returncode == 0, done.stderr
    result = json.loads(path.read_text())["results"][0]
    assert 10 <= result["iterations"] < 100_000_000
    assert 1 < result["warmup"] < 1_000_000


def test_time_budget_never_adds_iterations_and_leaves_ten(openmpi, tmp_path):
    path = tmp_path / "result.json"
    sizes = ("-m", "1024:1024", "--json", str(path))
    openmpi.run(2, "bcast", *sizes, "-i", "7", "--time-budget", "60")
    assert json.loads(path.read_text())["results"][0]["iterations"] == 7
    openmpi.run(2, "bcast", *sizes, "-i", "5000", "--time-budget", "0.000000001")
    assert json.loads(path.read_text())["results"][0]["iterations"] == 10
    # Of a bandwidth each is a window of messages.
    openmpi.run(2, "bw", *sizes, "-i", "5000", "--time-budget", "0.000000001")
    assert json.loads(path.read_text())["results"][0]["iterations"] == 3


def test_an_iteration_far_longer_than_the_budget_is_the_only_sample(openmpi, tmp_path):
    path = tmp_path / "result.json"
    slow = ("-m", "1048576:1048576", "-W", "8192", "-c", "--time-budget", "0.000001")
    done = openmpi.run(2, "bw", *slow, "--json", str(path))
    assert done.returncode == 0, done.stderr
    result = json.loads(path.read_text())["results"][0]
    assert (result["iterations"], result["warmup"]) == (1, 1)
    assert result["bandwidth"]["avg"] > 0
    assert result["valid"] is True


def test_an_interrupted_sweep_prints_what_it_has(openmpi, tmp_path):
    """The signal comes to one rank, as a scheduler's to one node; MPI tells the others."""
    path = tmp_path / "result.json"
    command = openmpi.command(2, "latency", "-i", "10000", "--json", str(path))
    program = command.index(str(openmpi.program))
    tells_pid = 'echo "$$" >"$0.$OMPI_COMM_WORLD_RANK"; exec "$@"'
    command[program:program] = ["sh", "-c", tells_pid, str(tmp_path / "pid")]
    with subprocess.Popen(
        command,
        env=openmpi.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as job:
        assert job.stdout is not None
        while not job.stdout.readline().startswith("# Size"):
            assert job.poll() is None
        os.kill(int((tmp_path / "pid.1").read_text()), signal.SIGINT)
        output = job.communicate(timeout=TIMEOUT)[0]
    assert job.returncode == 128 + signal.SIGINT
    document = json.loads(path.read_text())
    assert (document["interrupted"], document["complete"]) == ("SIGINT", False)
    count = len(document["results"])
    assert output.splitlines()[-1] == f"# Interrupted: SIGINT after {count} of 23 sizes"


def test_an_ended_job_leaves_no_half_file(openmpi, tmp_path):
    path = tmp_path / "result.json"
    arguments = ("latency", "-m", "1:8", "-i", "2000000000", "--json", str(path))
    with subprocess.Popen(
        openmpi.command(2, *arguments),
        env=openmpi.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as job:
        time.sleep(1)
        job.send_signal(signal.SIGTERM)
        assert job.wait(timeout=60) != 0
    assert list(tmp_path.iterdir()) == []
