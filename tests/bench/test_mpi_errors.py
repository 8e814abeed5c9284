"""An error of MPI is told with the call and the request that it belongs to."""

import subprocess

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.ranks]

# Stands before the MPI library, and fails as one does whose second message was too long.
BROKEN = """
#include <mpi.h>
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status *statuses) {
    int error = PMPI_Waitall(count, requests, statuses);
    for (int i = 0; i < count; ++i) statuses[i].MPI_ERROR = MPI_SUCCESS;
    if (error != MPI_SUCCESS || count < 2) return error;
    statuses[1].MPI_ERROR = MPI_ERR_TRUNCATE;
    return MPI_ERR_IN_STATUS;
}
"""
CASES = {
    "mpi_probe": ("bw", "-m", "8:8", "-W", "4"),
    "mpi_matmul": ("-n", "50", "-m", "nonblocking", "--largest-count", "16000"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_request_that_failed_is_named(built, tmp_path, name):
    source = tmp_path / "broken.c"
    source.write_text(BROKEN)
    library = tmp_path / "broken.so"
    subprocess.run([f"mpicc.{built.mpi}", "-shared", "-fPIC", source, "-o", library], check=True)
    done = built.of(name).run(2, *CASES[name], LD_PRELOAD=str(library))
    assert done.returncode == 1
    requests = {"mpi_probe": 4, "mpi_matmul": 2}[name]
    assert f"MPI_Waitall, request 1 of {requests} failed: " in done.stderr
    assert "runcat" in done.stderr
