"""nccl_probe: right data of each collective, and an end of whatever NCCL does wrong."""

import subprocess

import pytest

from fabricheck.measures import program_result

pytestmark = [pytest.mark.e2e, pytest.mark.ranks]

QUICK = ("-m", "8:4096", "-i", "3", "-x", "1", "--batch", "1")
SHARED = ("--share-gpu",)
FACTORS = {
    "allreduce": 4 / 3,
    "reduce": 1,
    "bcast": 1,
    "allgather": 2 / 3,
    "reduce_scatter": 2 / 3,
    "alltoall": 2 / 3,
}


@pytest.fixture
def nccl(openmpi):
    return openmpi.of("nccl_probe")


def own(done: subprocess.CompletedProcess) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith("nccl_probe: ")]


@pytest.mark.parametrize("collective", FACTORS)
def test_data_are_right_and_bus_bandwidth_is_that_of_nccl_tests(
    nccl, fake_gpu, tmp_path, collective
):
    path = tmp_path / "result.json"
    options = (collective, *QUICK, *SHARED, "-c", "--json", str(path))
    done = fake_gpu.run(nccl, 3, *options, over="shm")
    assert done.returncode == 0, done.stderr
    found = program_result.read(path.read_text(), "result")
    assert (found.benchmark, found.environment["nccl"]) == (collective, "2.28.9")
    assert found.environment["nccl_shared_gpu"] is True
    whole = FACTORS[collective] == 2 / 3
    sizes = [size // 12 * 12 if whole else size for size in (2**n for n in range(3, 13))]
    assert [each["size"] for each in found.results] == [size for size in sizes if size]
    for each in found.results:
        assert (each["iterations"], each["warmup"], each["valid"]) == (3, 1, True)
        rate = each["size"] / each["time"]["p50"]
        assert each["algorithm_bandwidth"] == pytest.approx(rate)
        assert each["bus_bandwidth"] == pytest.approx(rate * FACTORS[collective])


def test_each_rank_with_a_gpu_of_its_own(nccl, fake_gpu):
    done = fake_gpu.run(nccl, 2, "allreduce", *QUICK, "-c", over="shm", FAKE_CUDA_DEVICES="2")
    assert done.returncode == 0, done.stderr
    assert "# NCCL: 2.28.9" in done.stdout
    assert "# Complete: 10 sizes" in done.stdout


@pytest.mark.parametrize("collective", ["allreduce", "alltoall"])
def test_wrong_data_are_found(nccl, fake_gpu, collective):
    done = fake_gpu.run(nccl, 2, collective, *QUICK, *SHARED, "-c", "--inject-error", over="shm")
    assert done.returncode == 1
    assert len(own(done)) == 1
    assert own(done)[0].startswith("nccl_probe: wrong data at 8 bytes: rank 0, element")


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (
            "refuse",
            "NCCL's allreduce did not start: unhandled system error (said by the fake NCCL)",
        ),
        ("error", "NCCL's allreduce noticed an error: remote process exited"),
        ("hang", "NCCL's allreduce did not end within 1 s: another rank or the network hangs"),
        ("stall", "NCCL did not return within 6 s: another rank or the network hangs"),
        ("fail", "NCCL's allreduce failed: unhandled system error"),
        ("no id", "NCCL's allreduce gave no id: unhandled system error"),
    ],
)
def test_whatever_nccl_does_it_ends(nccl, fake_gpu, fault, sentence):
    options = ("allreduce", *QUICK, *SHARED, "--time-limit", "1")
    done = fake_gpu.run(nccl, 2, *options, over="shm", FAKE_NCCL=fault)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert "# Complete" not in done.stdout


def test_ranks_that_share_a_gpu_unasked(nccl, fake_gpu):
    done = fake_gpu.run(nccl, 2, "allreduce", over="shm")
    assert done.returncode == 2
    assert len(own(done)) == 1
    assert "several ranks have one GPU, 0000:3b:00.0 of " in own(done)[0]


@pytest.mark.parametrize(
    ("scheme", "chosen"), [("ring", "allreduce:ring"), ("tree", "allreduce:tree")]
)
def test_the_scheme_is_what_nccl_is_told(nccl, fake_gpu, scheme, chosen):
    options = ("allreduce", "--scheme", scheme, *QUICK, *SHARED, "--time-budget", "0.001")
    done = fake_gpu.run(nccl, 2, *options, over="shm", NCCL_DEBUG="INFO")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"fakenccl: NCCL_ALGO {chosen} NCCL_HOSTID rank") == 2
    assert f"# Scheme: {scheme}" in done.stdout


USAGE = {
    (): "no collective is named; expected one of allreduce, reduce, bcast",
    ("sum",): 'unknown collective "sum"; expected one of allreduce',
    ("bcast", "reduce"): 'one collective at a time: "reduce" is one word too many',
    ("bcast", "--scheme", "tree"): "option --scheme: NCCL has a tree for allreduce only",
    ("alltoall", "--scheme", "ring"): "option --scheme is not for alltoall, which is sends and",
    ("bcast", "--inject-error"): "option --inject-error needs --validate",
    ("bcast",): "NCCL with one rank copies, and measures nothing: start two ranks or more",
}


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_bad_options(nccl, arguments):
    done = nccl.run_alone(*arguments)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith(f"nccl_probe: {USAGE[arguments]}")


def test_sizes_below_a_float_for_each_rank(nccl, fake_gpu):
    done = fake_gpu.run(nccl, 3, "alltoall", "-m", "1:8", over="shm")
    assert done.returncode == 2
    assert "there is no size to measure from 1 to 8 bytes: each of 3 ranks needs" in done.stderr


def test_help_and_version(nccl):
    assert "Usage: mpirun -n N nccl_probe COLLECTIVE" in nccl.run_alone("--help").stdout
    assert nccl.run_alone("-v").stdout == "nccl_probe 0.1.0\n"


def test_an_iteration_sums_every_bucket_beside_its_computing(nccl, fake_gpu, tmp_path):
    path = tmp_path / "result.json"
    options = ("allreduce", "--scheme", "ring", "--buckets", "4096,65536,12", "--compute", "30")
    more = ("-i", "3", "-x", "1", "--batch", "1", "-c", "--json", str(path))
    done = fake_gpu.run(nccl, 2, *options, *more, *SHARED, over="shm")
    assert done.returncode == 0, done.stderr
    found = program_result.read(path.read_text(), "result")
    (row,) = found.results
    assert (row["size"], row["iterations"], row["valid"]) == (4096 + 65536 + 12, 3, True)
    assert found.options["buckets"] == 3
    # Computing is a wait, which nothing shortens.
    assert row["time"]["min"] >= 0.030
    wrong = fake_gpu.run(nccl, 2, *options, *more, *SHARED, "--inject-error", over="shm")
    assert (wrong.returncode, len(own(wrong))) == (1, 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("allgather", "--buckets", "4096"), "option --buckets is for allreduce"),
        (("allreduce", "--buckets", "4096", "-m", "8"), "in place of --message-size"),
        (("allreduce", "--compute", "30"), "option --compute needs --buckets"),
    ],
)
def test_a_training_that_makes_no_sense_is_refused(nccl, fake_gpu, options, words):
    done = fake_gpu.run(nccl, 2, *options, *SHARED, over="shm")
    assert done.returncode == 2
    assert words in done.stderr
