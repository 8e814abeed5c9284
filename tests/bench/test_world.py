"""Ranks that do not agree, or do not answer: one sentence, and an end in bounded time."""

import shlex
import subprocess

import pytest
from tests.bench.conftest import TIMEOUT, Build, build

pytestmark = [pytest.mark.e2e, pytest.mark.ranks]

DIFFERENT = {
    "mpi_probe": (["latency", "-m", "8"], ["latency", "-m", "8", "-i", "-1"]),
    "mpi_matmul": (["-n", "100"], ["-n", "-1"]),
    "rdma_stream": (["--method", "udp", "--msg-size", "64"], ["--method", "mpi"]),
}
EACH = '[ "${OMPI_COMM_WORLD_RANK-$PMI_RANK}" = 0 ] && exec "$0" $1; exec "$0" $2'
PACED = ["--method", "udp", "--dev", "lo", "--msg-size", "64", "--send-delay", "1000"]
STOP = 'if [ "$OMPI_COMM_WORLD_RANK" = %d ]; then (sleep 2; kill -STOP $$) & fi; exec "$@"'


def run(program: Build, command: list[str]) -> subprocess.CompletedProcess[str]:
    environment = program.environment()
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
    )


@pytest.mark.parametrize("name", DIFFERENT)
def test_options_that_differ_between_ranks_are_refused(built, name):
    program = built.of(name)
    first, second = DIFFERENT[name]
    # The mpirun of Debian 13 ends with a segmentation fault at a second program after a colon.
    command = program.command(2, *first)
    binary = command.index(str(program.program))
    done = run(program, [*command[:binary], "sh", "-c", EACH, str(program.program),
                         shlex.join(first), shlex.join(second)])  # fmt: skip
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
    stream = openmpi.of("rdma_stream")
    command = stream.command(2, *PACED, "--nmsg", messages, "--timeout", "1")
    program = command.index(str(stream.program))
    command[program:program] = ["sh", "-c", STOP % rank, "stopped"]
    done = run(stream, command)
    assert done.returncode == 1
    assert f"rdma_stream: {sentence}" in done.stderr
    assert "stopped" in done.stderr


# Stands before the MPI library, and tells with how many ranks this one spoke, itself among them.
SPEAKS = """
#include <mpi.h>
#include <stdio.h>
static int spoken[64];
int MPI_Isend(const void *data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request *request) {
    spoken[peer] = 1;
    return PMPI_Isend(data, count, type, peer, tag, comm, request);
}
int MPI_Finalize(void) {
    int peers = 1;
    for (int i = 0; i < 64; ++i) peers += spoken[i];
    fprintf(stderr, "spoke: %d\\n", peers);
    return PMPI_Finalize();
}
"""


def test_each_two_ranks_of_mpich_have_spoken_before_they_finalize(tmp_path):
    """MPICH 4.0 hangs in MPI_Finalize with two that have not: 11 of 26 jobs of eight ranks."""
    mpich = build("mpich")
    source, library = tmp_path / "speaks.c", tmp_path / "speaks.so"
    source.write_text(SPEAKS)
    subprocess.run(["mpicc.mpich", "-shared", "-fPIC", source, "-o", library], check=True)
    done = mpich.run(5, "allreduce", "-m", "4:4", "-i", "1", "-x", "0", LD_PRELOAD=str(library))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("spoke: 5\n") == 5
