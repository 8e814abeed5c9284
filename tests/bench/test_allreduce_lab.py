"""allreduce_lab: right sums by every scheme, and a red line for what breaks one."""

import contextlib
import json
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.bench.allreduce import LOSSLESS, SMALL, TIMEOUT, codes, ended
from tests.ports import port_of
from tests.waiting import wait_until

pytestmark = pytest.mark.e2e

SCHEMES = ["ring", "bcube", "tar_tcp", "optireduce"]
ALONE = ("--size", "1", "--rank", "0", "--shared-path", "/tmp")
USAGE = {
    (*ALONE,): "a scheme is needed, found none; see allreduce_lab --help",
    (*ALONE, "fast"): 'option SCHEME: "fast" is none of ring, bcube, tar_tcp, optireduce',
    ("--size", "2", "--rank", "2", "ring"): "option --rank: 2 is none of the 2 ranks (--size)",
    ("ring",): "either --redis-host or --shared-path is needed, where the ranks meet",
    (*ALONE, "--redis-host", "n0", "ring"): "either --redis-host or --shared-path is needed",
    (*ALONE, "--rate", "9", "tar_tcp"): "option --rate is for optireduce, not for tar_tcp",
    (*ALONE, "--payload", "101", "optireduce"): "option --payload: 101 bytes are no whole floats",
    (*ALONE, "--hadamard-block", "48", "optireduce"): "option --hadamard-block: 48 is no power of",
    (*ALONE, "--timeout", "1e308", "ring"): 'option --timeout: "1e308" is not a positive number of',
    (*ALONE, "--tail", "3", "ring"): "option --tail: a ratio above 1 is needed, and two ranks",
    (*ALONE, "--environment", "short", "ring"): "option --environment: long and short need a",
    (*ALONE, "--environment", "lossy", "--tail", "3", "ring"): "option --tail: a ratio above 1",
    (*ALONE, "--environment", "elastic", "ring"): "option --environment: long and short need a",
    (*ALONE, "--train", "ring"): "option --train: its gradients are --elements 16384 without",
    (*ALONE, "--resync", "9", "ring"): "option --resync is for --train",
    (*ALONE, "--tr-threads-offset", "4095", "ring"): "option --tr-threads-offset: core 4095 of ",
    (*ALONE, "--no-validate", "--inject-error", "ring"): "option --inject-error needs --validate",
    (*ALONE, "--tcp-device", "none0", "ring"): 'option --tcp-device: no network interface "none0"',
    (*ALONE, "--json", "/nowhere/x", "ring"): "option --json: /nowhere/x cannot be written: there",
    ("--size", "1", "--shared-path", "/nowhere", "ring"): "option --shared-path: no rank can meet",
}


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", ""],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    try:
        while socket.socket().connect_ex(("127.0.0.1", port)) != 0:
            assert server.poll() is None
            time.sleep(0.05)
        yield server, port
    finally:
        server.kill()
        server.wait()


def test_a_redis_with_a_password_is_met_with_it_alone(start, redis, monkeypatch):
    server, port = redis
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"CONFIG SET requirepass secret\r\n")
        assert connection.recv(64) == b"+OK\r\n"
    done = ended(start(1, *SMALL, "ring", place=at_redis(port)))
    assert codes(done) == [2]
    assert "wants a password, and REDISCLI_AUTH has none or another" in done[0].stderr
    monkeypatch.setenv("REDISCLI_AUTH", "secret")
    assert codes(ended(start(2, *SMALL, "ring", place=at_redis(port)))) == [0, 0]
    assert server.poll() is None


def at_redis(port: int) -> tuple[str, ...]:
    return ("--redis-host", "127.0.0.1", "--redis-port", str(port))


def test_sums_are_right(start):
    """By every scheme, with a vector that the ranks do not divide."""
    done = ended(start(4, *SMALL, *LOSSLESS, *SCHEMES))
    assert codes(done) == [0] * 4, done
    assert done[0].stdout.splitlines()[-1] == f"# Complete: {len(SCHEMES)} schemes"
    assert done[1].stdout == ""


@pytest.mark.parametrize(("ranks", "schemes"), [(1, "ring"), (3, "bcube"), (5, "ring tar_tcp")])
def test_sums_are_right_on_other_worlds(start, ranks, schemes):
    done = ended(start(ranks, *SMALL, *schemes.split()))
    assert codes(done) == [0] * ranks, done


@pytest.mark.parametrize("arguments", USAGE)
def test_bad_input_is_refused(lab, arguments):
    done = subprocess.run(
        [lab.program, *arguments], capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"allreduce_lab: {USAGE[arguments]}"), done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_json_has_the_times_of_the_slowest_rank_and_every_option(start, tmp_path):
    done = ended(start(2, *SMALL, "--json", str(tmp_path / "ring.json"), "ring"))
    assert codes(done) == [0, 0]
    document = json.loads((tmp_path / "ring.json").read_text())
    [result] = document["results"]
    assert (result["size"], result["iterations"]) == (40028, 20)
    time_of = result["time"]
    assert 0 < time_of["min"] <= time_of["p50"] <= time_of["p99"] <= time_of["max"]
    assert result["tail"] == pytest.approx(time_of["p99"] / time_of["p50"])
    assert result["bandwidth"] == pytest.approx(40028 / time_of["p50"])
    assert document["complete"] and document["failures"] == []
    assert document["options"]["elements"] == 10007
    assert document["environment"]["ranks"] == 2


def test_schemes_take_turns_with_the_buckets_of_a_training(start, tmp_path):
    """A fast network leaves nothing but the computing, beside which all sums fit."""
    path = tmp_path / "x.json"
    buckets = ("--buckets", "4096,65536,4", "--compute", "300", "--hadamard-block", "256")
    few = ("--iteration-count", "3", "--warmup-iters", "1", "--tr-timeout", "5000")
    schemes = ("ring", "bcube", "tar_tcp", "optireduce")
    done = ended(start(2, *few, *buckets, "--json", str(path), *schemes))
    assert codes(done) == [0, 0], done
    document = json.loads(path.read_text())
    assert [each["scheme"] for each in document["results"]] == list(schemes)
    assert document["benchmark"] == "training"
    for result in document["results"]:
        assert (result["size"], result["iterations"], result["valid"]) == (69636, 3, True)
        assert result["time"]["min"] >= 0.3
        assert result["exposed"]["max"] == pytest.approx(result["time"]["max"] - 0.3)


def test_a_network_that_is_too_busy_for_its_tail_is_told(start):
    """No sum takes 1.0001 times the median at most, and 200 times only on a broken network."""
    for tail, words in (("1.0001", "p99 of less than 1 medians"), ("200", "p99 of 200 medians")):
        few = ("--elements", "1000", "--prefix", tail, "--tail", tail)
        done = ended(start(2, *few, "ring"))
        assert codes(done) == [1, 1], done
        assert f"rank 1: expected a {words}" in done[1].stderr


LEARNS = ("--train", "--elements", "16384", "--warmup-iters", "0", "--iteration-count", "60")


def learned(start, path: Path, *arguments: str) -> dict[str, dict[str, float]]:
    job = start(4, *LEARNS, *LOSSLESS, "--prefix", path.name, "--json", str(path), *arguments)
    done = ended(job)
    assert codes(done) == [0] * 4, done
    document = json.loads(path.read_text())
    return {each["scheme"]: each for each in document["results"]}


def test_a_network_learns_by_the_sums_and_by_lossy_ones_replicas_part(start, tmp_path):
    whole = learned(start, tmp_path / "whole", "ring", "optireduce")
    for each in whole.values():
        assert each["valid"] is True
        assert each["accuracies"][0] < each["accuracies"][-1] == each["accuracy"] > 0.3
        assert len(each["learned_seconds"]) == len(each["accuracies"]) == 6
    assert whole["ring"]["drift"] == 0
    # On a busy machine a stage may end before a sender gets a core again for its last packets.
    assert (whole["optireduce"]["drift"] > 0) == (whole["optireduce"]["loss"] > 0)
    assert whole["optireduce"]["accuracy"] == pytest.approx(whole["ring"]["accuracy"], abs=0.05)
    lossy = ("--inject-loss", "20", "optireduce")
    [apart] = learned(start, tmp_path / "apart", *lossy).values()
    [again] = learned(start, tmp_path / "again", "--resync", "5", *lossy).values()
    assert 0.01 < apart["drift"] < 0.5
    assert again["drift"] < apart["drift"]
    assert apart["accuracy"] > 0.3


def test_elastic_traffic_goes_on_beside_every_sum_and_says_how_much(start, tmp_path):
    path = tmp_path / "x.json"
    flows = ("--environment", "elastic", "--flows", "4", "--json", str(path))
    done = ended(start(3, *SMALL, *LOSSLESS, *flows, "ring", "optireduce"))
    assert codes(done) == [0] * 3, done
    document = json.loads(path.read_text())
    assert document["environment"]["background_alone"] > 0
    assert document["environment"]["background_sent"] > 0
    for each in document["results"]:
        assert each["hit"] == 1
        assert each["beside"] > 0


def test_short_bursts_hit_some_sums(start, tmp_path):
    path = tmp_path / "x.json"
    bursts = ("--environment", "short", "--tail", "3", "--json", str(path))
    done = ended(start(2, "--elements", "100000", "--time-budget", "2", *bursts, "ring"))
    if codes(done) == [1, 1]:
        # The machine is busy: a ring whose p99 is 3 medians without traffic shows no network.
        assert "expected a p99 of less" in done[0].stderr
        return
    assert codes(done) == [0, 0], done
    [result] = json.loads(path.read_text())["results"]
    assert 0 < result["hit"] < 0.5


def test_a_wrong_sum_is_told_by_rank_and_element(start, tmp_path):
    done = ended(start(3, *SMALL, "--inject-error", "--json", str(tmp_path / "x.json"), "ring"))
    assert codes(done) == [1] * 3
    [failure] = json.loads((tmp_path / "x.json").read_text())["failures"]
    words = failure.split()
    assert failure.startswith("sum 1, rank 0: wrong element 5003: expected ")
    assert float(words[-1]) - float(words[-3].rstrip(",")) == 1
    assert done[2].stderr == f"allreduce_lab: rank 2: {failure}\n"


@pytest.mark.parametrize("scheme", ["ring", "bcube", "tar_tcp", "optireduce"])
def test_a_dead_rank_is_named_by_all_others(start, scheme):
    # Long enough that optireduce is still calibrated.
    calibration = ("--calibration", "100000") if scheme == "optireduce" else ()
    job = start(4, "--time-budget", "60", *calibration, scheme)
    time.sleep(2)
    job[2].kill()
    done = ended(job)
    assert codes(done) == [1, 1, -signal.SIGKILL, 1], done
    for rank in (0, 1, 3):
        assert f"rank {rank}: rank 2 is gone: its connection closed" in done[rank].stderr
    assert "# Failed: rank 2 is gone" in done[0].stdout


def test_a_rank_that_dies_during_bounded_sums_is_named(start):
    job = start(3, *LOSSLESS, "--tr-timeout", "100", "--time-budget", "60", "optireduce")
    time.sleep(2)
    job[1].kill()
    done = ended(job)
    assert codes(done) == [1, -signal.SIGKILL, 1], done
    assert "rank 1 is gone: its connection closed, at sum " in done[2].stderr


def test_sigterm_ends_a_calibration_that_loses_its_last_packets(start):
    lossy = ("--elements", "400", "--hadamard-block", "256", "--inject-loss", "3")
    job = start(2, *lossy, "--calibration", "100000", "--timeout", "30", "ring", "optireduce")
    time.sleep(2)
    for process in job:
        process.send_signal(signal.SIGTERM)
    done = ended(job)
    assert codes(done) == [143, 143], done
    assert "# Interrupted: SIGTERM after 0 of 2 schemes" in done[0].stdout


def test_a_silent_rank_is_named(start):
    job = start(3, "--time-budget", "60", "--timeout", "1", "bcube")
    time.sleep(2)
    job[1].send_signal(signal.SIGSTOP)
    assert "rank 1 is silent" in job[0].communicate(timeout=TIMEOUT)[1]
    assert "rank 1 is silent" in job[2].communicate(timeout=TIMEOUT)[1]


def test_ctrl_c_of_one_rank_ends_all_with_what_was_measured(start):
    job = start(3, "--time-budget", "60", "ring")
    time.sleep(2)
    job[1].send_signal(signal.SIGINT)
    done = ended(job)
    assert codes(done) == [130] * 3
    assert "# Interrupted: SIGINT after " in done[0].stdout


def test_ranks_meet_at_redis_and_leave_nothing_there(start, redis):
    _, port = redis
    done = ended(start(3, *SMALL, "ring", place=at_redis(port)))
    assert codes(done) == [0] * 3, done
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"DBSIZE\r\n")
        assert connection.recv(64) == b":0\r\n"


def test_a_stale_key_is_refused_and_stays(start, redis):
    _, port = redis
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"SET prefix/rank0 1\r\n")
        assert connection.recv(64) == b"+OK\r\n"
        done = ended(start(2, *SMALL, "--timeout", "1", "ring", place=at_redis(port)))
        assert codes(done) == [2, 2]
        assert "an earlier run left them" in done[0].stderr
        assert "give each run a --prefix of its own" in done[0].stderr
        connection.sendall(b"KEYS *\r\n")
        assert connection.recv(64) == b"*1\r\n$12\r\nprefix/rank0\r\n"


def test_a_redis_that_is_not_there_is_told(start):
    done = ended(start(1, "ring", place=at_redis(1)))
    assert codes(done) == [2]
    assert "no answer from Redis at 127.0.0.1:1: start redis-server --port 1" in done[0].stderr


def test_a_redis_that_is_lost_while_ranks_wait_is_told(start, redis):
    server, port = redis
    job = start(1, "--timeout", "10", "--size", "2", "--rank", "1", "ring", place=at_redis(port))
    time.sleep(1)
    server.kill()
    done = ended(job)
    assert codes(done) == [2]
    assert f"Redis at 127.0.0.1:{port} is lost" in done[0].stderr


def test_strangers_who_say_nothing_do_not_hold_the_meeting(start, tmp_path):
    """Five of them: more than the patience of 3 s has seconds. What ranks meet by is private."""
    first = start(1, "--size", "2", *SMALL, "ring")
    port = wait_until(lambda: port_of(first[0].pid), "its port")
    assert {path.stat().st_mode & 0o077 for path in tmp_path.iterdir()} == {0}
    with contextlib.ExitStack() as strangers:
        for _ in range(5):
            strangers.enter_context(socket.create_connection(("127.0.0.1", port)))
        second = start(1, "--size", "2", "--rank", "1", *SMALL, "ring")
        done = ended([*first, *second])
    assert codes(done) == [0, 0], done


def test_a_rank_that_never_comes_is_named(start):
    done = ended(start(2, "--size", "3", "--timeout", "1", "ring"))
    assert codes(done) == [2, 1]
    assert "rank 0 is gone" in done[1].stderr
    assert "of 3 ranks (--size), rank 2 did not come to the folder" in done[0].stderr
    assert "start them with the same --prefix" in done[0].stderr
