"""pair_probe: rounds that another process decides, with every MPI; what is wrong is told."""

import json
import shlex
import sys

import pytest

from fabricheck.localise.fabric import Fabric
from fabricheck.localise.judging import judge
from fabricheck.localise.steer import parse_line
from fabricheck.measures import program_result

pytestmark = [pytest.mark.e2e, pytest.mark.ranks]

# Why the command of --steer is no good, and the sentence.
BAD = {
    "echo 0 7": 'expected pairs of ranks below 2, each at most once, or "end", found "0 7"',
    "echo 0 1 0 1": 'found "0 1 0 1"',
    "echo zero one": 'found "zero one"',
    "true": 'it ended before it said "end"',
    "echo end; exit 3": "it failed",
}
USAGE = {
    (): "option --steer is missing",
    ("-s", "true", "-t", "0"): "option -t",
    ("-s", "true", "8"): '"8" is one word too many',
    ("-s", "true", "--inject"): "option --inject-error needs --validate",
}


def rounds(*lines: str) -> str:
    return "printf " + shlex.quote("\\n".join([*lines, "end"]) + "\\n")


def test_every_round_is_measured_both_ways(built, tmp_path):
    file = tmp_path / "result.json"
    words = ("-c", "-t", "0.1", "-s", rounds("0 1 2 3", "3 0"), "--json", str(file))
    done = built.of("pair_probe").run(4, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "# Complete: 2 rounds"
    result = program_result.read(file.read_text(), "result")
    ends = [(each["first"], each["second"]) for each in result.results]
    assert ends == [([0, 2], [1, 3]), ([3], [0])]
    for each in result.results:
        assert each["valid"] is True
        assert min(each["latencies"] + each["there"] + each["back"]) > 0


def test_wrong_data_is_found(openmpi):
    done = openmpi.of("pair_probe").run(2, "-c", "--inject", "-t", "0.1", "-s", rounds("0 1"))
    assert done.returncode == 1
    assert "wrong data at 1048576 bytes: rank 1 in round 1" in done.stderr


@pytest.mark.parametrize(("command", "told"), BAD.items())
def test_a_command_that_says_no_rounds_is_told(openmpi, command, told):
    done = openmpi.of("pair_probe").run(2, "-t", "0.1", "-s", command, "--json", "-")
    assert done.returncode == 1
    (failure,) = json.loads(done.stdout)["failures"]
    assert told in failure


@pytest.mark.parametrize(("words", "told"), USAGE.items())
def test_bad_options_are_refused(openmpi, words, told):
    done = openmpi.of("pair_probe").run_alone(*words)
    assert done.returncode == 2
    assert told in done.stderr


@pytest.mark.parametrize("slow", ["", "2"])
def test_nccl_by_pairs_names_the_slow_rank_and_no_other(openmpi, fake_gpu, tmp_path, slow):
    file = tmp_path / "result.json"
    steer = f"env -u LD_LIBRARY_PATH {sys.executable} -m fabricheck.localise.steer"
    # A fifth of it is for latency: ten round trips of 4 ms before the first that counts, and about
    # ten that count. Where one counts, a busy host may delay it.
    words = ("--nccl", "-c", "-t", "0.5", "-s", steer, "--json", str(file))
    done = fake_gpu.run(openmpi.of("pair_probe"), 4, *words, over="shm", FAKE_NCCL_SLOW=slow or "9")
    assert done.returncode == 0, done.stdout + done.stderr
    result = program_result.read(file.read_text(), "result")
    assert (result.benchmark, result.environment["nccl"]) == ("nccl", "2.28.9")
    rounds = [parse_line(line(each), 4) for each in result.results]
    assert all(each["valid"] for each in result.results)
    accused = {name for f in judge(rounds, Fabric(["r0", "r1", "r2", "r3"])).accused
               for name in f.names}  # fmt: skip
    assert {name.split()[0] for name in accused} == ({"r2"} if slow else set()), result.results


def line(row: dict) -> str:
    columns = (row[name] for name in ("first", "second", "latencies", "there", "back"))
    return " ".join(str(value) for pair in zip(*columns, strict=True) for value in pair)


def test_wrong_data_by_nccl_and_a_missing_library_are_told(openmpi, fake_gpu, tmp_path):
    words = ("--nccl", "-t", "0.1", "-s", rounds("0 1"))
    probe = openmpi.of("pair_probe")
    done = fake_gpu.run(probe, 2, *words, "-c", "--inject", over="shm")
    assert done.returncode == 1
    assert "wrong data at 1048576 bytes: rank 1 in round 1" in done.stderr
    done = fake_gpu.run(probe, 2, *words, over="shm", libraries=[tmp_path])
    assert done.returncode == 2
    assert "there is no NVIDIA driver here" in done.stderr


# Half a minute; that of nccl_probe, whose waiting is the same code, ends after a second.
@pytest.mark.lab
def test_an_nccl_that_hangs_ends(openmpi, fake_gpu):
    words = ("--nccl", "-t", "0.1", "-s", rounds("0 1"))
    done = fake_gpu.run(openmpi.of("pair_probe"), 2, *words, over="shm", FAKE_NCCL="hang")
    assert "NCCL's pairs did not end within 30 s" in done.stderr
