"""Testbeds from the beginning to the end, also to a violent one."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.waiting import wait_until

from fabricheck_testbed import slurm_conf
from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.records import ProcessRecord, read_record, read_records

pytestmark = pytest.mark.e2e


def test_up_status_exec_down_leaves_the_machine_as_before(make_testbed, watch, program) -> None:
    before = watch.traces()
    testbed = make_testbed()
    command = program
    state = ["--state-dir", str(testbed.files.root)]

    up = subprocess.run(
        [*command, "up", *state, "--nodes", "2"], capture_output=True, text=True, check=True
    )
    assert "2 nodes (n1-n2) idle" in up.stdout
    assert "testbed: controller (slurmctld)" in up.stderr
    assert watch.traces() == before, (
        "the root namespaces must stay untouched while the testbed runs"
    )

    status = subprocess.run(
        [*command, "status", *state, "--json"], capture_output=True, text=True, check=True
    )
    found = json.loads(status.stdout)
    assert found["healthy"] is True
    assert [(n["name"], n["slurm_state"], n["address"]) for n in found["nodes"]] == [
        ("login", "controller", "10.77.0.254"),
        ("n1", "idle", "10.77.0.1"),
        ("n2", "idle", "10.77.0.2"),
    ]
    hosts = subprocess.run(
        [*command, "exec", *state, "login", "--", "srun", "-N2", "hostname"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert sorted(hosts.stdout.split()) == ["n1", "n2"]

    namespaces = watch.namespaces_of(testbed)
    assert len(namespaces) == 4 * 5, "switch, login and two nodes have five namespaces each"
    down = subprocess.run([*command, "down", *state], capture_output=True, text=True, check=True)
    assert "slurmctld (" in down.stdout
    assert str(testbed.files.root) in down.stdout
    assert watch.processes_in(namespaces) == []
    assert watch.traces() == before
    assert not testbed.files.root.exists()
    again = subprocess.run([*command, "down", *state], capture_output=True, text=True, check=True)
    assert "nothing to remove" in again.stdout


def test_down_keeps_a_directory_that_was_there_before(make_testbed, tmp_path: Path) -> None:
    (tmp_path / "tb").mkdir()
    testbed = make_testbed()
    testbed.up(nodes=1)
    testbed.down()
    assert list((tmp_path / "tb").iterdir()) == []


def test_up_twice_leaves_the_running_one_alone(make_testbed) -> None:
    testbed = make_testbed()
    assert not testbed.up(nodes=1).already_running
    processes = read_records(testbed.files.records)
    again = testbed.up()
    assert (again.already_running, again.nodes) == (True, ["n1"])
    assert read_records(testbed.files.records) == processes


def test_changed_options_are_refused(make_testbed, tmp_path_factory) -> None:
    testbed = make_testbed()
    testbed.up(nodes=1)
    with pytest.raises(TestbedError, match="it has 1 nodes, not 2: take it down first"):
        testbed.up(nodes=2)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    with pytest.raises(TestbedError, match=f"its nodes do not see {elsewhere}"):
        testbed.up(shares=[elsewhere])
    assert not testbed.status().problems


def test_two_side_by_side(make_testbed) -> None:
    first, second = make_testbed("a"), make_testbed("b")
    for testbed in (first, second):
        testbed.up(nodes=2)
    for testbed in (first, second):
        done = testbed.run("login", "srun", "-N2", "hostname", timeout_seconds=60)
        assert sorted(done.stdout.split()) == ["n1", "n2"], done.stderr
    first.down()
    assert not first.status().running
    assert second.status().problems == []


@pytest.mark.parametrize(
    ("victim", "problem"),
    [
        ("n1", "n1 is dead"),
        ("login", "login is dead"),
        ("slurmctld", "slurmctld on login is dead"),
        ("slurmd.n1", "slurmd on n1 is dead"),
        ("munged", "munged is dead"),
        ("switch", None),
    ],
)
def test_sigkill_of_a_part_is_seen_and_mended(
    victim: str, problem: str | None, make_testbed, watch
) -> None:
    before = watch.traces()
    testbed = make_testbed()
    testbed.up(nodes=2)
    namespaces = watch.namespaces_of(testbed)
    record = read_record(testbed.files.records, victim)
    assert record
    assert record.kill()

    status = testbed.status()
    if problem is None:
        assert not status.running
        wait_until(lambda: not watch.processes_in(namespaces), "the end of all processes")
    else:
        assert problem in status.problems
    mended = testbed.up()
    assert not mended.already_running
    assert mended.restarted_for
    assert mended.nodes == ["n1", "n2"], "a restart keeps the number of nodes"
    assert testbed.status().problems == []
    assert watch.processes_in(namespaces) == []

    namespaces = watch.namespaces_of(testbed)
    record = read_record(testbed.files.records, victim)
    assert record
    record.kill()
    testbed.down()
    assert watch.processes_in(namespaces) == []
    assert watch.traces() == before
    assert not testbed.files.root.exists()


@pytest.mark.parametrize(
    "step",
    [2, 5, *(pytest.param(step, marks=pytest.mark.lab) for step in (1, 3, 4, 6))],
)
def test_sigkill_of_up_in_mid_work(step: int, make_testbed, program, watch) -> None:
    before = watch.traces()
    testbed = make_testbed()
    process = subprocess.Popen(
        [*program, "up", "--state-dir", str(testbed.files.root), "--nodes", "2"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr
    seen = [process.stderr.readline() for _ in range(step)]
    process.kill()
    process.wait()
    process.stderr.close()
    assert all(line.startswith("testbed: ") for line in seen), seen

    wait_until(
        lambda: not any(record.alive() for record in read_records(testbed.files.records)),
        "the end of what up had started",
    )
    if step % 2:
        testbed.down()
        assert not testbed.files.root.exists()
    testbed.up(nodes=2)
    assert testbed.status().problems == []
    testbed.down()
    assert watch.traces() == before


def test_down_spares_a_namesake_of_a_recorded_process(make_testbed) -> None:
    testbed = make_testbed()
    testbed.up(nodes=1)
    recorded = read_record(testbed.files.records, "switch")
    assert recorded
    recorded.kill()
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        reused = ProcessRecord("switch", bystander.pid, recorded.start_ticks, recorded.boot_id)
        path = testbed.files.records / "switch.json"
        path.write_text(json.dumps(reused._asdict()))
        assert testbed.down().processes == []
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_daemon_that_cannot_start_is_named(make_testbed, monkeypatch) -> None:
    testbed = make_testbed()
    broken = slurm_conf._SLURM_CONF + "NoSuchKey=1\n"
    monkeypatch.setattr(slurm_conf, "_SLURM_CONF", broken)
    with pytest.raises(TestbedError, match=r"could not start: login: slurmctld ended.*logs in"):
        testbed.up(nodes=1)
    assert not testbed.status().running
    monkeypatch.undo()
    testbed.up(nodes=1)


def test_sigint_of_up_cleans_up(make_testbed, program) -> None:
    testbed = make_testbed()
    process = subprocess.Popen(
        [*program, "up", "--state-dir", str(testbed.files.root), "--nodes", "1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr
    process.stderr.readline()
    process.stderr.readline()
    process.send_signal(signal.SIGINT)
    process.stderr.close()
    assert process.wait(30) != 0
    assert not any(record.alive() for record in read_records(testbed.files.records))


def test_the_callers_pipes_are_not_held_open(make_testbed, program) -> None:
    # A daemon that keeps up's standard output would let "up | cat" hang for ever.
    testbed = make_testbed()
    reading, writing = os.pipe()
    subprocess.run(
        [*program, "up", "--state-dir", str(testbed.files.root), "--nodes", "1"],
        stdout=writing,
        stderr=writing,
        check=True,
    )
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        pipe.read()
    assert testbed.status().running


def test_testbed_survives_what_hits_the_process_group_of_up(make_testbed, program) -> None:
    # The interrupt key, timeout(1) and CI runners signal whole groups.
    testbed = make_testbed()
    up = [*program, "up", "--state-dir", str(testbed.files.root), "--nodes", "1"]
    shell = subprocess.Popen(
        ["sh", "-c", '"$@" && echo up && exec sleep 60', "sh", *up],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert shell.stdout
    while shell.stdout.readline() not in ("up\n", ""):
        pass
    os.killpg(shell.pid, signal.SIGKILL)
    shell.wait()
    shell.stdout.close()
    assert testbed.status().problems == []
    assert testbed.status().running


def test_doctor_of_a_running_testbed(make_testbed, program) -> None:
    testbed = make_testbed()
    testbed.up(nodes=1)
    doctor = [*program, "doctor", "--state-dir", str(testbed.files.root)]
    done = subprocess.run([*doctor, "--json"], capture_output=True, text=True, check=False)
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert done.returncode == 0, done.stdout
    assert checks["testbed"]["found"] == "n1 idle"
    assert (checks["munge"]["level"], checks["slurmctld"]["level"]) == ("ok", "ok")

    testbed.kill_daemon("munged")
    done = subprocess.run(doctor, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "problem  testbed: munged is dead" in done.stdout
    assert "problem  munge: " in done.stdout
