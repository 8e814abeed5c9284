"""Each way in which there is no GPU has one sentence and exit code 2, on all ranks alike."""

import re
import subprocess

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.ranks]

MATMUL = ("-n", "20", "--compute", "gpu")
WITHOUT = {
    "no card": (
        {"FAKE_CUDA_DEVICES": "0"},
        "finds no GPU to use: cuInit says CUDA_ERROR_NO_DEVICE",
    ),
    "not told": ({"FABRICHECK_FAKE_GPU": "0"}, 'the GPU is the tests\' "Fake GPU (host memory)"'),
    "taken": ({"FAKE_CUDA_CONTEXT": "999"}, "GPU 0000:3b:00.0 gives this process no context: FAKE"),
    "no cuBLAS": ({"FAKE_CUBLAS_REFUSES": "1"}, "cublasCreate of libcublas.so.13 says 1: it does"),
    "full": (
        {"FAKE_CUDA_FREE": "1000"},
        "N 20 needs 0.268 GB on the GPU of rank 0, which has 1e-06",
    ),
}


def own(done: subprocess.CompletedProcess, program: str) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith(f"{program}: ")]


@pytest.mark.parametrize("case", WITHOUT)
def test_a_gpu_that_cannot_be_used(openmpi, fake_gpu, case):
    environment, sentence = WITHOUT[case]
    done = fake_gpu.run(openmpi.of("mpi_matmul"), 1, *MATMUL, over="shm", **environment)
    assert done.returncode == 2
    assert len(own(done, "mpi_matmul")) == 1
    assert sentence in own(done, "mpi_matmul")[0]
    assert done.stdout == ""


def test_no_driver(built):
    done = built.run(2, "latency", "--buffer", "device")
    assert done.returncode == 2
    [sentence] = own(done, "mpi_probe")
    expected = (
        r"mpi_probe: on \S+: libcuda.so.1: cannot open shared object file: No such file or "
        r"directory: there is no NVIDIA driver here, and so no GPU to use"
    )
    assert re.fullmatch(expected, sentence)


def test_a_driver_that_is_too_old(openmpi, fake_gpu, tmp_path):
    source = tmp_path / "old.c"
    source.write_text("int cuInit(unsigned flags) { return (int)flags; }")
    library = tmp_path / "libcuda.so.1"
    subprocess.run(["gcc", "-shared", "-fPIC", source, "-o", library], check=True)
    done = fake_gpu.run(openmpi.of("mpi_matmul"), 1, *MATMUL, over="shm", libraries=[tmp_path])
    assert done.returncode == 2
    assert "libcuda.so.1 has no cuDeviceGetCount: it is older than CUDA 11" in done.stderr


def test_one_rank_without_a_gpu_ends_all(openmpi, fake_gpu):
    limited = 'if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then export FAKE_CUDA_DEVICES=0; fi; exec "$@"'
    command = openmpi.command(2, "latency", "--buffer", "device")
    program = command.index(str(openmpi.program))
    command[program:program] = ["sh", "-c", limited, "limited"]
    extra = {"LD_LIBRARY_PATH": str(fake_gpu.folder), "FABRICHECK_FAKE_GPU": "1"}
    done = subprocess.run(
        command, env=openmpi.environment(**extra), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert len(own(done, "mpi_probe")) == 1
    assert "CUDA_ERROR_NO_DEVICE" in done.stderr


def test_numbers_and_kinds_of_memory(openmpi, fake_gpu):
    for options, environment, sentence in (
        (("--buffer", "device", "--gpu", "5"), {}, "there is no GPU 5: this process sees 1, count"),
        (("--buffer", "managed"), {"FAKE_CUDA_MANAGED": "0"}, "0000:3b:00.0 has no managed memory"),
    ):
        done = fake_gpu.run(openmpi, 2, "latency", *options, over="shm", **environment)
        assert done.returncode == 2
        assert len(own(done, "mpi_probe")) == 1
        assert sentence in done.stderr


@pytest.mark.parametrize("missing", ["libcublas.so.13", "libnccl.so.2", "libnvidia-ml.so.1"])
def test_a_library_that_is_missing(openmpi, fake_gpu, tmp_path, missing):
    for library in fake_gpu.folder.glob("*.so.*"):
        if library.name != missing:
            (tmp_path / library.name).symlink_to(library)
    if missing == "libnvidia-ml.so.1":
        done = fake_gpu.run(
            openmpi.of("mpi_matmul"), 1, *MATMUL, "--json", "-", over="shm", libraries=[tmp_path]
        )
        assert done.returncode == 0, done.stderr
        assert '"gpu_driver": null' in done.stdout
        return
    name, ranks, options = "mpi_matmul", 1, MATMUL
    if missing == "libnccl.so.2":
        name, ranks, options = "nccl_probe", 2, ("bcast", "--share-gpu")
    done = fake_gpu.run(openmpi.of(name), ranks, *options, over="shm", libraries=[tmp_path])
    assert done.returncode == 2
    assert len(own(done, name)) == 1
    assert f"{missing}: cannot open shared object file" in done.stderr
