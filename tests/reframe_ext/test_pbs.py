"""ReFrame's jobs of PBS, by the words of OpenPBS 23.06.06 on the testbed, without its paths."""

import inspect
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reframe.core import runtime
from reframe.core.backends import getlauncher, getscheduler
from reframe.core.exceptions import JobSchedulerError
from reframe.core.schedulers import JobScheduler

from fabricheck.reframe_ext.pbs import PbsScheduler, own_name
from fabricheck.reframe_ext.reframe import PbsJob
from fabricheck.schedulers.pbs import NAME, PBS, TM

pytestmark = pytest.mark.integration

DATA = Path(__file__).parents[1] / "data" / "pbs"
RUNS, WALLTIME, DELETED, NEVER, UNKNOWN = (f"{number}.login" for number in (4, 0, 3, 2, 77))

MOM_GONE = "{ echo 'qdel: Server could not connect to MOM 4.login' >&2; exit 1; }"


class Commands:
    """Stand-ins for the commands of PBS, which print what it printed."""

    def __init__(self, place: Path) -> None:
        self.place, self.ended = place, place / "ended"
        self.put("pbsnodes", f"cat {DATA}/pbsnodes.txt")
        self.put("qdel", f'echo "$*" >>{self.ended}; [ "$1" = -W ] || {MOM_GONE}')
        self.history(kept=True)

    def put(self, name: str, script: str) -> None:
        (self.place / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.place / name).chmod(0o755)

    def history(self, *, kept: bool) -> None:
        without = "" if kept else f'[ "$4" != -x ] || exec cat {DATA}/qstat-none.json; '
        self.put("qstat", f"{without}cat {DATA}/qstat{'' if kept else '-going'}.json; exit 153")


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Commands:
    place = tmp_path / "bin"
    place.mkdir()
    monkeypatch.setenv("PATH", f"{place}:/bin:/usr/bin")
    return Commands(place)


def scheduler(tmp_path: Path, extras: dict[str, object]) -> Iterator[PbsScheduler]:
    partition = {"name": "main", "scheduler": NAME, "launcher": "mpirun", "environs": ["one"],
                 "extras": extras}  # fmt: skip
    system = {"name": "here", "hostnames": [".*"], "partitions": [partition]}
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"systems": [system], "environments": [{"name": "one"}]}))
    with runtime.temp_runtime(str(path), "here"):
        yield getscheduler(NAME)(part_name="main")


@pytest.fixture
def made(tmp_path: Path) -> Iterator[PbsScheduler]:
    yield from scheduler(tmp_path, {})


def a_job(place: Path, number: str = RUNS, **known: Any) -> PbsJob:
    job = PbsJob("rfm_Latency_0123456789abcdef", workdir=str(place))
    job.num_tasks, job.num_tasks_per_node = 4, 2
    job.put(jobid=number, submit_time=time.time(), **known)
    return job


def asked(made: PbsScheduler, job: PbsJob) -> list[str]:
    lines = [each.removeprefix("#PBS ") for each in made.emit_preamble(job) if each[:4] == "#PBS"]
    return [each for each in lines if each.startswith(("-l", "-q", "-A"))]


def test_reframe_finds_the_scheduler_and_the_launcher() -> None:
    assert getscheduler(NAME) is PbsScheduler
    assert not inspect.isabstract(PbsScheduler)
    assert getlauncher(TM.name)().command(a_job(Path()))[-1] == "2"
    assert [own_name(each) for each in ("pbs", "pbspro", "torque")] == [NAME, NAME, "torque"]


@pytest.mark.parametrize("name", ["make_job", "submit", "poll", "finished", "wait", "cancel"])
def test_what_is_replaced_is_called_as_reframe_calls_it(name: str) -> None:
    ours, theirs = (getattr(each, name) for each in (PbsScheduler, JobScheduler))
    assert [each.kind for each in inspect.signature(ours).parameters.values()] == [
        each.kind for each in inspect.signature(theirs).parameters.values()
    ]


def test_each_node_of_a_job_is_another(made: PbsScheduler, tmp_path: Path) -> None:
    job = a_job(tmp_path)
    job.time_limit = 90.0
    assert asked(made, job) == [
        "-l walltime=90", "-l select=2:mpiprocs=2:ncpus=2", "-l place=scatter:excl",
    ]  # fmt: skip
    job.num_tasks, job.time_limit = 3, None
    job.options = ["-l place=scatter", "ngpus=4", "-A proj"]
    assert asked(made, job) == [
        "-l select=2:mpiprocs=2:ncpus=2:ngpus=4", "-l place=scatter", "-A proj",
    ]  # fmt: skip


@pytest.mark.usefixtures("commands")
def test_nodes_are_named_where_not_all_will_do(made: PbsScheduler, tmp_path: Path) -> None:
    job, chunk = a_job(tmp_path), "mpiprocs=2:ncpus=2"
    job.options = ["--exclude=n1"]
    assert asked(made, job)[0] == f"-l select=1:host=n2:{chunk}+1:host=n3:{chunk}"
    # n1 alone is free, and n4 is down.
    job.options = ["--nodelist=n[1-4]"]
    assert asked(made, job)[0] == f"-l select=1:host=n1:{chunk}+1:host=n2:{chunk}"
    job.options = ["--nodelist=n[3-4]"]
    with pytest.raises(JobSchedulerError, match=r"2 nodes of n\[3-4\] that answer, found n3; node"):
        asked(made, job)


@pytest.mark.usefixtures("commands")
def test_a_partition_may_have_some_of_the_nodes(tmp_path: Path) -> None:
    for made in scheduler(tmp_path, {"hosts": ["n[1-2]", "n4"]}):
        assert {node.name for node in made.allnodes()} == {"n1", "n2", "n4"}


def test_a_host_that_pbs_does_not_know_gets_no_job(tmp_path: Path, commands: Commands) -> None:
    for made in scheduler(tmp_path, {"hosts": ["n[1-2]", "n9"]}):
        for state, names in (("avail", {"n1"}), ("all", {"n1", "n2", "n9"})):
            found = made.filternodes_by_state(made.allnodes(), state)
            assert {node.name for node in found} == names
        job = a_job(tmp_path)
        assert "host=n9" not in asked(made, job)[0]
        job.options = ["--exclude=n1"]
        with pytest.raises(JobSchedulerError, match=r"found n2; node n4 .*; PBS knows no n9: name"):
            asked(made, job)
        commands.put("pbsnodes", "exit 1")
        assert "host=n9" in asked(made, job)[0], "it may be up for all that is known"


@pytest.mark.usefixtures("commands")
def test_nodes_that_can_run_a_job_are_told(made: PbsScheduler, tmp_path: Path) -> None:
    nodes = made.filternodes(a_job(tmp_path), made.allnodes())
    assert {node.name for node in nodes} == {"n1", "n2", "n3", "n4"}
    for state, names in (("avail", {"n1"}), ("down", {"n4"}), ("all", {"n1", "n2", "n3", "n4"})):
        assert {node.name for node in made.filternodes_by_state(nodes, state)} == names


@pytest.mark.parametrize(
    ("number", "found"),
    [
        (RUNS, ("RUNNING", None, ["n2", "n3"])),
        (WALLTIME, ("COMPLETED", -29, ["n1", "n2"])),
        (DELETED, ("COMPLETED", None, [])),
        (NEVER, ("QUEUED", None, [])),
        (UNKNOWN, ("COMPLETED", None, [])),
    ],
)
@pytest.mark.usefixtures("commands")
def test_what_qstat_says_of_a_job(
    made: PbsScheduler, tmp_path: Path, number: str, found: tuple[object, ...]
) -> None:
    job = a_job(tmp_path, number)
    made.poll(job, None)
    assert (job.state, job.exitcode, job.nodelist) == found
    assert made.finished(job) is (job.state == "COMPLETED")


def test_a_server_without_a_history_is_asked_again(
    made: PbsScheduler, tmp_path: Path, commands: Commands
) -> None:
    commands.history(kept=False)
    going, ended = a_job(tmp_path, RUNS), a_job(tmp_path, WALLTIME)
    made.poll(going, ended)
    assert (going.state, ended.state) == ("RUNNING", "COMPLETED")


def test_a_server_that_does_not_answer_ends_no_job(
    made: PbsScheduler, tmp_path: Path, commands: Commands
) -> None:
    commands.put("qstat", "echo 'Connection refused' >&2; exit 255")
    job = a_job(tmp_path, state="RUNNING")
    made.poll(job)
    assert job.state == "RUNNING"


def test_a_job_that_never_begins_says_why(
    made: PbsScheduler, tmp_path: Path, commands: Commands
) -> None:
    job = a_job(tmp_path, NEVER)
    job.put(submit_time=time.time() - 70)
    job.max_pending_time = 60
    made.poll(job)
    assert commands.ended.read_text() == f"{NEVER}\n-W force {NEVER}\n"
    job.put(jobid=UNKNOWN)
    made.poll(job)
    said = (tmp_path / job.stderr).read_text()
    assert "begin in time: Can Never Run: Insufficient amount of resource: ncpus" in said
    assert "; node n4 is down" in said
    assert PBS.lost_node.findall(said) == []


def test_a_job_whose_node_died_is_ended_and_names_it(
    made: PbsScheduler, tmp_path: Path, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands.put("pbsnodes", f"sed 's/state = job-exclusive/state = down/' {DATA}/pbsnodes.txt")
    job = a_job(tmp_path)
    (tmp_path / job.stderr).write_text("mpirun: lost\n")
    made.poll(job)
    assert f"-W force {RUNS}" in commands.ended.read_text()
    job.put(jobid=UNKNOWN)
    made.poll(job)
    said = (tmp_path / job.stderr).read_text()
    assert said == "mpirun: lost\n=>> PBS: node n2 is down\n=>> PBS: node n3 is down\n"
    assert PBS.lost_node.findall(said) == ["n2", "n3"]
