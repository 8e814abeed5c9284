"""The guide's scripts: whom they start, with which words, and what they leave."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from fabricheck.errors import FabricheckError
from fabricheck.provenance import SUITE
from lab import run_training as training

pytestmark = pytest.mark.integration

BACKGROUND = SUITE / "lab" / "run_background.sh"
TRAINING = SUITE / "lab" / "run_training.sh"
ROW = {"time": {"avg": 2.5, "p50": 2.0, "p99": 4.0}, "exposed": {"avg": 0.5}, "loss": 0.001}
ROOM = 20


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A stand-in for allreduce_lab: notes its arguments, writes its JSON, and waits where asked."""
    path = tmp_path / "allreduce_lab"
    path.write_text(
        f"""#!/bin/bash
echo "$*" >>{tmp_path}/calls
while (($#)); do [[ $1 == --json ]] && echo '{json.dumps({"results": [ROW]})}' >"$2"; shift; done
[[ -f {tmp_path}/fail ]] && exit 1
[[ -f {tmp_path}/wait ]] && exec sleep 60
exit 0
"""
    )
    path.chmod(0o755)
    return path


def calls(tmp_path: Path) -> list[str]:
    return sorted((tmp_path / "calls").read_text().splitlines())


def environment(program: Path) -> dict[str, str]:
    return {**os.environ, "ALLREDUCE_LAB": str(program), "PREFIX": "night7"}


def test_background_starts_every_other_rank_with_the_guides_defaults(program, tmp_path):
    words = [str(BACKGROUND), "-s", "4", "-r", "1", "-t", "240000"]
    done = subprocess.run(words, env=environment(program), check=False, timeout=ROOM)
    assert done.returncode == 0
    assert calls(tmp_path) == [
        f"--size 4 --rank {rank} --redis-host 192.168.100.30 --redis-port 6199 --prefix night7 "
        "--tcp-device ens17 --elements 2048000 --time-budget 240000 --no-validate ring"
        for rank in (1, 3)
    ]


def test_background_takes_its_ranks_with_it_and_fails_with_one_of_them(program, tmp_path):
    words = [str(BACKGROUND), "-s", "3", "-r", "0", "-t", "9", "-H", "n0", "-p", "7000", "-d", "e0"]
    (tmp_path / "wait").touch()
    process = subprocess.Popen(words, env=environment(program))
    deadline = time.monotonic() + ROOM
    while not (tmp_path / "calls").exists() or len(calls(tmp_path)) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert all("--redis-host n0 --redis-port 7000" in each for each in calls(tmp_path))
    process.send_signal(signal.SIGTERM)
    assert process.wait(ROOM) != 0
    (tmp_path / "wait").unlink()
    (tmp_path / "fail").touch()
    done = subprocess.run(words, env=environment(program), check=False, timeout=ROOM)
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "SIZE must be a whole number, found ''"),
        (["-s", "4", "-r", "2", "-t", "9"], "STARTING_RANK must be 0 or 1 and below SIZE, found 2"),
        (["-s", "x4", "-r", "0", "-t", "9"], "SIZE must be a whole number, found 'x4'"),
        (["-q"], "option -q is unknown or lacks its value"),
        (["-s", "4", "-r", "0", "-t", "9", "now"], "no argument was expected, found now"),
    ],
)
def test_background_refuses_what_it_cannot_mean(words, told):
    done = subprocess.run(
        [str(BACKGROUND), *words], capture_output=True, text=True, check=False, timeout=ROOM
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"run_background.sh: {told}; usage: ")


def test_training_runs_optireduce_alone_and_writes_its_log(program, tmp_path):
    words = [str(TRAINING), "10.0.0.1", "0", "2", "ens17", "bert"]
    done = subprocess.run(
        words, env=environment(program), cwd=tmp_path, check=False, timeout=3 * ROOM
    )
    assert done.returncode == 0
    [call] = calls(tmp_path)
    assert "--prefix night7.bert.optireduce" in call
    assert "--tr-timeout" not in call
    log = tmp_path / "gloo_optireduce_bert_5_16.log"
    assert log.read_text() == "Time,Exposed,P50,P99,Loss\n2.5,0.5,2,4,0.001\n"
    assert {each.name for each in tmp_path.iterdir()} == {"allreduce_lab", "calls", log.name}
    done = subprocess.run(
        [*words[:-1], "gpt5"], capture_output=True, text=True, check=False, timeout=3 * ROOM
    )
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "expected a MODEL of" in done.stderr


def test_training_runs_all_in_the_guides_order_and_says_what_is_left_out(
    program, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(training, "PAUSE", 0.0)
    asked = training.read_arguments(["10.0.0.1", "0", "2", "ens17", "vgg19"])
    chosen = {**environment(program), "RUN_ALL": "1"}
    assert training.run(asked, chosen) == 0
    ran = [line.split()[-1] for line in (tmp_path / "calls").read_text().splitlines()]
    assert ran == ["ring", "bcube", "tar_tcp", "optireduce"]
    assert (
        capsys.readouterr().out
        == "left out: NCCL with Ring and with Tree, which need GPUs: the check NcclIteration\n"
    )
    assert len([*tmp_path.glob("gloo_*_vgg19_150_128.log")]) == 4
    (tmp_path / "fail").touch()
    assert training.run(asked, chosen) == 1


def test_what_the_guide_says_to_adjust_are_variables(tmp_path):
    """The bound is for one bucket of all gradients, of which the largest here has a tenth."""
    asked = training.read_arguments(["10.0.0.1", "0", "2", "ens17", "bert"])
    given = {"TR_TIMEOUT": "350", "CORES": "2-5", "TR_THREADS_OFFSET": "7"}
    words = " ".join(training.command(asked, "optireduce", tmp_path, given, cores=4))
    assert words.startswith("taskset -c 2-5 allreduce_lab ")
    assert "--tr-threads-offset 7 --tr-timeout 34 --halt-loss 100 optireduce" in words
    assert "--tr-timeout" not in training.command(asked, "ring", tmp_path, given, cores=4)
    for wrong in ("0", "1.5", "soon"):
        with pytest.raises(FabricheckError, match="TR_TIMEOUT in whole milliseconds"):
            training.command(asked, "optireduce", tmp_path, {"TR_TIMEOUT": wrong}, cores=4)


def test_the_server_where_ranks_meet_is_installed_for_make_run():
    packages = (SUITE / "ci" / "packages" / "runtime.txt").read_text().split()
    assert "redis-server" in packages


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"SLURM_NTASKS": "4", "SLURM_PROCID": "3"}, "--size 4 --rank 3"),
        (
            {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "2", "SLURM_PROCID": "0"},
            "--size 4 --rank 2",
        ),
        ({"PMI_SIZE": "4", "PMI_RANK": "1", "SLURM_NTASKS": "1"}, "--size 4 --rank 1"),
        ({}, "rank.sh: expected rank and size of Open MPI, PMI or Slurm in the environment, found"),
    ],
)
def test_every_launcher_tells_a_rank_which_it_is(
    tmp_path: Path, told: dict[str, str], said: str
) -> None:
    (tmp_path / "redis.env").write_text("host=n1\nport=7\n")
    done = subprocess.run(
        [SUITE / "src/fabricheck/programs/allreduce_lab/rank.sh", "0", "echo"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], **told},
        capture_output=True,
        text=True,
        check=False,
        timeout=ROOM,
    )
    assert (done.stdout or done.stderr).startswith(said)
    assert done.returncode == (0 if told else 2)
