"""Ranks that do not agree, or do not answer: one sentence, and an end in bounded time."""

import subprocess

import pytest
from tests.bench.conftest import TIMEOUT, Build

pytestmark = [pytest.mark.e2e, pytest.mark.ranks]

DIFFERENT = {
    "mpi_probe": (["latency", "-m", "8"], ["latency", "-m", "8", "-i", "-1"]),
    "mpi_matmul": (["-n", "100"], ["-n", "-1"]),
    "rdma_stream": (["--method", "udp", "--msg-size", "64"], ["--method", "mpi"]),
}
PACED = ["--method", "udp", "--dev", "lo", "--msg-size", "64", "--send-delay", "1000"]
STOP = 'if [ "$OMPI_COMM_WORLD_RANK" = %d ]; then (sleep 2; kill -STOP $$) & fi; exec "$@"'


def run(build: Build, command: list[str]) -> subprocess.CompletedProcess[str]:
    environment = build.environment()
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )


@pytest.mark.parametrize("name", DIFFERENT)
def test_options_that_differ_between_ranks_are_refused(built, name):
    build = built.of(name)
    first, second = DIFFERENT[name]
    command = [*build.command(1, *first), ":", "-n", "1", str(build.program), *second]
    done = run(build, command)
    assert done.returncode == 2
    assert done.stderr.count("start all ranks with the same options") == 1
    assert (
        f'rank 1 has "{name} {" ".join(second)}", rank 0 "{name} {" ".join(first)}"' in done.stderr
    )
    assert "# " not in done.stdout


@pytest.mark.parametrize(
    ("rank", "messages", "sentence"),
    [
        (1, "1000000", "rank 0: gave up after 1.000 s without a message, but rank 1, which trans"),
        pytest.param(
            0, "2500", "rank 1: rank 0 did not come to the end of the streams within ",
            marks=pytest.mark.lab,  # half a minute
        ),
    ],
)  # fmt: skip
def test_a_stopped_rank_ends_the_job(openmpi, rank, messages, sentence):
    build = openmpi.of("rdma_stream")
    command = build.command(2, *PACED, "--nmsg", messages, "--timeout", "1")
    program = command.index(str(build.program))
    command[program:program] = ["sh", "-c", STOP % rank, "stopped"]
    done = run(build, command)
    assert done.returncode == 1
    assert f"rdma_stream: {sentence}" in done.stderr
    assert "stopped" in done.stderr
