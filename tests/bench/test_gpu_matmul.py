"""mpi_matmul on GPUs: right products on both paths, with copies as phases of the staged one."""

import pytest

from fabricheck.measures import program_result

pytestmark = [pytest.mark.e2e, pytest.mark.ranks]

GPU = ("--compute", "gpu")
STAGED = ["transfer_a", "broadcast_b", "copy_in", "compute", "copy_out", "transfer_c", "total"]
AWARE = [phase for phase in STAGED if not phase.startswith("copy")]


@pytest.mark.parametrize(
    ("mode", "path"),
    [("blocking", "aware"), ("nonblocking", "staged"), ("collective", "aware")],
)
def test_products_are_right(built, fake_gpu, tmp_path, mode, path):
    document = tmp_path / "result.json"
    options = ("-n", "2,51", "-m", mode, "--path", path, "-c", "-i", "1", "--json", str(document))
    done = fake_gpu.run(built.of("mpi_matmul"), 3, *GPU, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    found = program_result.read(document.read_text(), "result")
    phases = AWARE if path == "aware" else STAGED
    expected = [(n, phase) for n in (2, 51) for phase in phases]
    assert [(each["order"], each["phase"]) for each in found.results] == expected
    assert {each["valid"] for each in found.results} == {True}
    assert found.environment["blas"] == "cuBLAS 13.1.0 (libcublas.so.13)"
    if path == "staged":
        copied = {each["phase"]: each["bytes"] for each in found.results[len(STAGED) :]}
        matrix = 51 * 51 * 8
        # Everyone's rows of A, and B on each of three ranks; everyone's rows of C.
        assert (copied["copy_in"], copied["copy_out"]) == (4 * matrix, matrix)


@pytest.mark.parametrize("path", ["aware", "staged"])
def test_one_wrong_element_is_found(openmpi, fake_gpu, path):
    options = ("-n", "50", "--path", path, "-c", "-i", "1", "--inject-error")
    done = fake_gpu.run(openmpi.of("mpi_matmul"), 2, *GPU, *options)
    assert done.returncode == 1
    assert "mpi_matmul: wrong data at N 50: row 49 of C, which rank 1 computed" in done.stderr


def test_one_rank_needs_no_mpi_that_is_aware(openmpi, fake_gpu):
    options = ("-n", "50", "-c", "-i", "1")
    done = fake_gpu.run(
        openmpi.of("mpi_matmul"), 1, *GPU, *options, over="shm", libraries=[fake_gpu.folder]
    )
    assert done.returncode == 0, done.stderr
    assert "# Compute: GPU, aware" in done.stdout


def test_an_mpi_that_is_not_aware_is_told(built, fake_gpu):
    done = fake_gpu.run(
        built.of("mpi_matmul"), 2, *GPU, "-n", "500", over="tcp", libraries=[fake_gpu.folder]
    )
    assert done.returncode == 1
    assert done.stderr.count("mpi_matmul: this MPI touches device memory from the host in the") == 1


@pytest.mark.parametrize("option", [("--path", "staged"), ("--gpu", "0")])
def test_options_of_gpus_need_one(openmpi, option):
    done = openmpi.of("mpi_matmul").run_alone(*option)
    assert done.returncode == 2
    assert done.stderr == f"mpi_matmul: option {option[0]} needs --compute gpu\n"
