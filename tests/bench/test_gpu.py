"""MPI on memory of a GPU: data arrive over each lane, aware and staged, and faults are told.

There is a stand-in for the GPU's driver, and the real UCX with CUDA under both of Debian's MPIs.
"""

import json
import re
import subprocess
import time

import pytest
from tests.bench.conftest import fake_memory

from fabricheck.measures import program_result

pytestmark = [pytest.mark.e2e, pytest.mark.ranks]

ALL = ("-m", "1:4194304", "-i", "1", "-x", "0", "-c")
FEW = ("-m", "4:16384", "-i", "1", "-x", "0", "-c")
LANES = ["cuda_ipc", "cuda_copy", "tcp_cuda"]
COLLECTIVES = [
    *("allreduce", "reduce", "bcast", "alltoall", "allgather", "reduce_scatter"),
    *("gather", "scatter"),
]
WINDOWS = ["bw", "bibw", "mbw_mr"]
NOT_AWARE = (
    "mpi_probe: this MPI touches device memory from the host in {}: it is not CUDA-aware; use "
    "--path staged, or an MPI whose UCX has CUDA"
)


def sentences(done: subprocess.CompletedProcess, program: str = "mpi_probe") -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith(f"{program}: ")]


def validated(done: subprocess.CompletedProcess) -> set[str]:
    assert done.returncode == 0, done.stdout + done.stderr
    assert sentences(done) == []
    # A launcher may return while its ranks still end.
    for _ in range(100):
        if not fake_memory(done.owner):
            break
        time.sleep(0.1)
    assert fake_memory(done.owner) == []
    return {line.split()[-1] for line in done.stdout.splitlines() if re.match(r"\d", line)}


def counts(done: subprocess.CompletedProcess) -> dict[str, int]:
    """What the stand-in did in all ranks together: copies between devices, memory opened..."""
    found: dict[str, int] = {}
    for line in re.findall(r"fakecuda\[\d+\]: (.*)", done.stderr):
        for name, number in re.findall(r"(\w+) (\d+)", line):
            found[name] = found.get(name, 0) + int(number)
    return found


@pytest.mark.parametrize("lane", LANES)
def test_all_sizes_arrive_over_each_lane(built, fake_gpu, tmp_path, lane):
    log = {"UCX_PROTO_INFO": "used", "UCX_LOG_LEVEL": "info", "UCX_LOG_FILE": f"{tmp_path}/%p"}
    done = fake_gpu.run(built, 2, "latency", "--buffer", "device", *ALL, over=lane, **log)
    assert validated(done) == {"Pass"}
    assert "# Complete: 23 sizes" in done.stdout
    assert "# Buffer: device, aware." in done.stdout
    assert "# GPU: Fake GPU (host memory) Fake GPU (host memory)" in done.stdout
    direct = lane == "cuda_ipc"
    assert (counts(done)["d2d"] > 0, counts(done)["ipc_open"] > 0) == (direct, direct)
    table = "".join(path.read_text() for path in tmp_path.iterdir())
    assert re.search(r"tagged message by ucp_tag_send\S* from cuda/GPU0", table)
    assert ("cuda_ipc/cuda" in table) == direct


@pytest.mark.parametrize("benchmark", ["bw", "bcast"])
def test_windows_and_broadcasts_of_device_memory(built, fake_gpu, benchmark):
    done = fake_gpu.run(built, 2, benchmark, "--buffer", "device", *FEW)
    assert validated(done) == {"Pass"}


@pytest.mark.parametrize("benchmark", ["bibw", "mbw_mr"])
def test_other_windows_of_device_memory(openmpi, fake_gpu, benchmark):
    done = fake_gpu.run(openmpi, 2, benchmark, "--buffer", "device", *FEW)
    assert validated(done) == {"Pass"}


@pytest.mark.parametrize("path", ["aware", "staged"])
def test_managed_memory(openmpi, fake_gpu, path):
    done = fake_gpu.run(openmpi, 2, "latency", "--buffer", "managed", "--path", path, *FEW)
    assert validated(done) == {"Pass"}


@pytest.mark.parametrize("benchmark", ["latency", *WINDOWS, *COLLECTIVES])
def test_staged_copies_are_counted_and_mpi_sees_host_memory(openmpi, fake_gpu, tmp_path, benchmark):
    path, logs = tmp_path / "result.json", tmp_path / "logs"
    logs.mkdir()
    log = {"UCX_PROTO_INFO": "used", "UCX_LOG_LEVEL": "info", "UCX_LOG_FILE": f"{logs}/%p"}
    options = (benchmark, "--buffer", "device", "--path", "staged", *FEW, "--json", str(path))
    done = fake_gpu.run(openmpi, 2, *options, **log)
    assert done.returncode == 0, done.stderr
    document = program_result.read(path.read_text(), "result")
    assert document.options["path"] == "staged"
    assert {result["valid"] for result in document.results} == {True}
    # Rank 0 only sends in some benchmarks, and only receives in none.
    assert all(result["copied_out"] >= result["size"] for result in document.results)
    answers = ("bw", "mbw_mr", "bcast")
    assert all((result["copied_in"] == 0) == (benchmark in answers) for result in document.results)
    tables = "".join(each.read_text() for each in logs.iterdir())
    assert "from host memory" in tables
    assert "from cuda/" not in tables


@pytest.mark.parametrize("benchmark", ["latency", "alltoall"])
def test_staged_with_both_mpis_at_all_sizes(built, fake_gpu, benchmark):
    options = ("--buffer", "device", "--path", "staged", *ALL)
    done = fake_gpu.run(built, 2, benchmark, *options)
    assert validated(done) == {"Pass"}


@pytest.mark.parametrize("benchmark", ["bw", "bibw"])
def test_a_window_beyond_the_pinned_memory_goes_in_parts(openmpi, fake_gpu, benchmark):
    options = ("--buffer", "device", "--path", "staged", "-m", "4194304:4194304", "-W", "17")
    rounds = ("-i", "1", "-x", "0", "-c")
    done = fake_gpu.run(openmpi, 2, benchmark, *options, *rounds)
    assert validated(done) == {"Pass"}


@pytest.mark.parametrize(
    ("benchmark", "over"), [("latency", "shm"), ("latency", "tcp"), ("allreduce", "shm")]
)
def test_an_mpi_that_is_not_aware_is_told_in_one_sentence(built, fake_gpu, benchmark, over):
    """Debian's own UCX knows nothing of CUDA."""
    done = fake_gpu.run(
        built,
        2,
        benchmark,
        "--buffer",
        "device",
        "-m",
        "4194304",
        over=over,
        libraries=[fake_gpu.folder],
    )
    assert done.returncode == 1
    assert sentences(done) == [NOT_AWARE.format(benchmark)]
    assert "# Size" not in done.stdout


def test_a_collective_that_is_not_aware_is_told(built, fake_gpu):
    """UCX sends device memory, but Debian's MPIs add on the host."""
    done = fake_gpu.run(built, 2, "allreduce", "--buffer", "device", "-m", "4:64")
    assert done.returncode == 1
    assert sentences(done) == [NOT_AWARE.format("allreduce")]


# Stands before the MPI library, and notes what the job is ended with.
NOTES = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int MPI_Abort(MPI_Comm comm, int code) {
    FILE *const file = fopen(getenv("NOTED"), "w");
    fprintf(file, "%d", code);
    fclose(file);
    return PMPI_Abort(comm, code);
}
"""


def test_a_fault_in_a_handler_ends_the_job_by_mpi_abort(built, fake_gpu, tmp_path):
    """Of a rank that leaves by itself MPICH's launcher reports 1 or, as its luck goes, 9."""
    source, library, noted = (tmp_path / name for name in ("notes.c", "notes.so", "noted"))
    source.write_text(NOTES)
    subprocess.run([f"mpicc.{built.mpi}", "-shared", "-fPIC", source, "-o", library], check=True)
    options = ("allreduce", "--buffer", "device", "-m", "4:64")
    done = fake_gpu.run(built, 2, *options, LD_PRELOAD=str(library), NOTED=str(noted))
    assert (done.returncode, noted.read_text()) == (1, "1")


# Stands before the MPI library, and does with the byte of the guard what a broken one does.
BROKEN = """
#include <mpi.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>
int MPI_Recv(void *data, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status *status) {
    while (!strcmp(getenv("BROKEN"), "hangs")) usleep(1000);
    static char byte;
    if (!strcmp(getenv("BROKEN"), "crashes")) *(volatile char *)8 = 1;
    return PMPI_Recv(&byte, count, type, source, tag, comm, status);
}
"""


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ("hangs", "one byte of device memory did not come through this MPI in 4 s"),
        ("loses", "one byte of device memory did not come through this MPI as it was"),
        ("crashes", "this MPI touches device memory from the host in latency"),
    ],
)
def test_an_mpi_that_hangs_or_loses_device_memory(openmpi, fake_gpu, tmp_path, how, sentence):
    source, library = tmp_path / "broken.c", tmp_path / "broken.so"
    source.write_text(BROKEN)
    subprocess.run(["mpicc.openmpi", "-shared", "-fPIC", source, "-o", library], check=True)
    options = ("latency", "--buffer", "device", "-m", "8:8")
    done = fake_gpu.run(openmpi, 2, *options, LD_PRELOAD=str(library), BROKEN=how)
    assert done.returncode == 1
    assert sentence in done.stderr


@pytest.mark.parametrize("path", ["aware", "staged"])
@pytest.mark.parametrize("benchmark", ["latency", "bcast"])
def test_one_wrong_element_is_found(openmpi, fake_gpu, benchmark, path):
    options = ("--buffer", "device", "--path", path, *FEW, "--inject-error")
    done = fake_gpu.run(openmpi, 2, benchmark, *options)
    assert done.returncode == 1
    assert "mpi_probe: wrong data at 4 bytes: rank 1, iteration 0" in done.stderr


def test_a_copy_that_falsifies_is_found(openmpi, fake_gpu):
    options = ("--buffer", "device", "--path", "staged", *FEW)
    done = fake_gpu.run(openmpi, 2, "bw", *options, FAKE_CUDA_CORRUPT="1")
    assert done.returncode == 1
    assert "mpi_probe: wrong data at 4 bytes" in done.stderr


def test_document(openmpi, fake_gpu, tmp_path):
    path = tmp_path / "result.json"
    options = ("bw", "--buffer", "device", "--gpu", "1", *FEW, "--json", str(path))
    done = fake_gpu.run(openmpi, 2, *options, FAKE_CUDA_DEVICES="2")
    assert done.returncode == 0, done.stderr
    found = program_result.read(path.read_text(), "result")
    assert {each: found.options[each] for each in ("buffer", "path", "gpu")} == {
        "buffer": "device",
        "path": "aware",
        "gpu": 1,
    }
    environment = found.environment
    assert environment["gpu"] == ["Fake GPU (host memory)"] * 2
    assert environment["gpu_address"] == ["0000:3c:00.0"] * 2
    assert (environment["gpu_driver"], environment["cuda"]) == ("0.0-fake", "13.0")
    assert environment["mpi_cuda_support"] is False
    assert "copied_in" not in found.results[0]


def test_each_rank_of_a_node_has_the_next_gpu(built, fake_gpu):
    options = ("bcast", "--buffer", "device", "--path", "staged", *FEW, "--json", "-")
    done = fake_gpu.run(built, 3, *options, FAKE_CUDA_DEVICES="2")
    addresses = json.loads(done.stdout)["environment"]["gpu_address"]
    assert addresses == ["0000:3b:00.0", "0000:3c:00.0", "0000:3b:00.0"]


def test_memory_of_the_host_loads_nothing_of_a_gpu(openmpi, fake_gpu):
    done = fake_gpu.run(openmpi, 2, "latency", "-m", "8:8", over="shm", libraries=[fake_gpu.folder])
    assert done.returncode == 0
    assert "fakecuda" not in done.stderr


def test_memory_that_does_not_fit(openmpi, fake_gpu):
    for kind, sentence in (
        ("managed", "4194304 bytes of managed memory are more than the 1 that the GPU has left"),
        ("device", "cuMemAlloc failed: FAKE_ERROR_2"),
    ):
        options = ("bw", "--buffer", kind, "--path", "staged", "-m", "4194304:4194304")
        done = fake_gpu.run(openmpi, 2, *options, FAKE_CUDA_FREE="1")
        assert done.returncode == 1
        assert sentence in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("bw", "--path", "staged"), "option --path needs --buffer device or managed"),
        (("bw", "--gpu", "0"), "option --gpu needs --buffer device or managed"),
        (
            ("barrier", "--buffer", "device"),
            "option --buffer is for benchmarks that send data, not for barrier",
        ),
        (("bw", "--buffer", "gpu"), 'option --buffer: "gpu" is none of host, device, managed'),
    ],
)
def test_bad_options(openmpi, arguments, sentence):
    done = openmpi.run_alone(*arguments)
    assert (done.returncode, done.stderr) == (2, f"mpi_probe: {sentence}\n")
