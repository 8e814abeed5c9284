"""rdma_stream: every loss counted with each way for messages, bad input refused, no hang."""

import json
import subprocess

import pytest
from tests.bench.test_build import NO_LEAK_CHECK

pytestmark = [pytest.mark.e2e, pytest.mark.ranks]

TIMEOUT = 120
FEW = ("--nmsg", "400", "--num-blks", "4", "--num-cmsgs", "10", "--msg-size", "4096")
PACED = ("--method", "udp", "--dev", "lo", "--send-delay", "50", "--timeout", "5")
WAYS = {"mpi": ("--method", "mpi"), "udp": PACED}
USAGE = {
    ("--speed",): "unknown option --speed; see rdma_stream --help",
    ("--nrx",): "option --nrx needs a value; see rdma_stream --help",
    ("--nrx", "2"): "option --nrx: 2 receivers for 1 transmitters (--nlink): each receiver needs",
    ("--nmsg", "1e5"): 'option --nmsg: "1e5" is not a whole number from 1 to 1000000000',
    ("--method", "tcp"): 'option --method: "tcp" is none of rdma, mpi, udp',
    ("--qp-type", "dc"): 'option --qp-type: "dc" is none of rc, uc, ud',
    ("--test", "zeros"): 'option --test: "zeros" is none of throughput, ones, increment',
    ("--send-delay", "nan"): 'option --send-delay: "nan" is not a number of microseconds',
    ("--method", "mpi", "--sl", "1"): "option --sl is for --method rdma, not for mpi",
    ("--method", "mpi", "--dev", "x"): "option --dev is for --method rdma and udp",
    (
        "--method",
        "udp",
    ): "option --msg-size: a datagram of UDP holds at most 65507 bytes, not 65536",
    (
        "--mtu",
        "1500",
    ): "1 receivers (--nrx) and 1 transmitters (--nlink) need 2 ranks, but MPI_COMM",
    ("word",): '"word" is one word too many; see rdma_stream --help',
}


@pytest.fixture
def stream(built):
    return built.of("rdma_stream")


@pytest.fixture
def openmpi_stream(openmpi):
    return openmpi.of("rdma_stream")


def sentences(done: subprocess.CompletedProcess) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith("rdma_stream: ")]


def streams(done: subprocess.CompletedProcess, path) -> list[dict]:
    assert done.returncode == 0, done.stdout + done.stderr
    document = json.loads(path.read_text())
    assert document["complete"] is True
    found: list[dict] = document["results"]
    return found


@pytest.mark.parametrize("way", WAYS)
def test_two_streams_into_one_receiver_and_one_into_another(stream, tmp_path, way):
    path = tmp_path / "out.json"
    done = stream.run(5, "--nrx", "2", "--nlink", "3", *WAYS[way], *FEW, "--json", str(path))
    found = streams(done, path)
    assert [(each["receiver"], each["transmitter"]) for each in found] == [
        (0, 2),
        (1, 3),
        (0, 4),
    ]
    assert {(each["received"], each["missed"], each["total"]) for each in found} == {(400, 0, 400)}
    assert "Rank 0 receiver from transmitter 1, message missed is 0" in done.stdout
    assert done.stdout.splitlines()[-1] == "# Complete: 3 streams"


@pytest.mark.parametrize("way", WAYS)
def test_what_is_left_out_is_missed_and_the_end_is_reached(stream, tmp_path, way):
    path = tmp_path / "out.json"
    done = stream.run(2, *WAYS[way], *FEW, "--inject-loss", "50", "--json", str(path))
    (found,) = streams(done, path)
    assert (found["missed"], found["trailing"], found["received"]) == (8, 1, 392)
    assert found["loss_rate"] == pytest.approx(0.02)


@pytest.mark.parametrize("test", ["ones", "increment"])
@pytest.mark.parametrize("way", WAYS)
def test_content_arrives_unchanged(openmpi_stream, tmp_path, way, test):
    path = tmp_path / "out.json"
    done = openmpi_stream.run(2, *WAYS[way], *FEW, "--test", test, "--json", str(path))
    (found,) = streams(done, path)
    assert (found["wrong"], found["received"]) == (0, 400)


def test_a_falsified_byte_is_found(openmpi_stream, tmp_path):
    path = tmp_path / "out.json"
    wrong = ("--validate", "--inject-error", "--seed", "7", "--json", str(path))
    done = openmpi_stream.run(2, *WAYS["mpi"], *FEW, *wrong)
    assert done.returncode == 1
    document = json.loads(path.read_text())
    assert (document["options"]["seed"], document["complete"]) == (7, False)
    assert [each["wrong"] for each in document["results"]] == [1]


def test_a_time_budget_ends_a_stream_in_good_order(openmpi_stream, tmp_path):
    path = tmp_path / "out.json"
    endless = ("--msg-size", "64", "--nmsg", "100_000_000", "--time-budget", "0.5")
    done = openmpi_stream.run(2, *PACED, *endless, "--json", str(path))
    (found,) = streams(done, path)
    assert 0 < found["total"] < 100_000_000


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_bad_options(openmpi_stream, arguments):
    done = openmpi_stream.run_alone(*arguments)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith(f"rdma_stream: {USAGE[arguments]}")
    assert done.stdout == ""


def test_a_device_that_is_not_there_ends_all_ranks(stream):
    done = stream.run(2, "--method", "udp", "--msg-size", "64", "--dev", "nowhere")
    assert done.returncode == 2
    (sentence,) = sentences(done)
    assert 'option --dev: no network interface "nowhere"' in sentence


def test_json_that_cannot_be_written_ends_all_ranks(openmpi_stream):
    done = openmpi_stream.run(2, "--method", "mpi", "--json", "/nowhere/x.json")
    assert done.returncode == 2
    assert len(sentences(done)) == 1


def test_help_has_examples_and_needs_one_rank(openmpi_stream):
    done = openmpi_stream.run_alone("--help")
    assert done.returncode == 0
    assert "Examples\n  mpirun -n 2 rdma_stream" in done.stdout


def test_an_interrupted_run_prints_what_it_has_and_says_so(openmpi_stream, tmp_path):
    """The signal comes to all ranks, as a scheduler sends it."""
    path = tmp_path / "out.json"
    arguments = [*PACED, "--msg-size", "64", "--nmsg", "100_000_000", "--json", str(path)]
    command = openmpi_stream.command(2, *arguments)
    program = command.index(str(openmpi_stream.program))
    command[program:program] = ["sh", "-c", '(sleep 2; kill -INT $$) & exec "$@"', "limited"]
    done = subprocess.run(
        command,
        env=openmpi_stream.environment(),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 130, done.stderr
    assert done.stdout.splitlines()[-1] == "# Interrupted: SIGINT after 1 of 1 streams"
    assert "# Failed: rank 1 did not come to its end: ended by SIGINT" in done.stdout
    document = json.loads(path.read_text())
    assert document["complete"] is False
    (found,) = document["results"]
    assert found["received"] + found["missed"] == found["total"] < 100_000_000


@pytest.mark.parametrize("way", WAYS)
def test_sanitizers_find_nothing(sanitized, way):
    done = sanitized.of("rdma_stream").run(
        3, "--nlink", "2", *WAYS[way], *FEW, "--test", "increment", ASAN_OPTIONS=NO_LEAK_CHECK
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "AddressSanitizer Init done" in done.stderr
    assert "runtime error" not in done.stderr
