"""Hosts without a scheduler: nodes of the testbed, of whose Slurm these checks know nothing."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.on_testbed.place import ENVIRONS, HOSTS, Place, all_good_and_proved
from tests.waiting import wait_until

from fabricheck.provenance import SUITE
from fabricheck_testbed import Testbed

# A build for each of two MPIs.
pytestmark = pytest.mark.lab

AGENT = Path(__file__).with_name("remote_shell.py")


class Listed(Place):
    """A site of hosts, each of which answers a remote shell."""

    environs = (*ENVIRONS, "openmpi5")
    hosts = HOSTS

    def __init__(self, testbed: Testbed, place: Path) -> None:
        self.agents: dict[str, subprocess.Popen[bytes]] = {}
        shell = place / "remote-shell"
        shell.write_text(f'#!/bin/sh\nREMOTE={place} exec {sys.executable} {AGENT} "$@"\n')
        shell.chmod(0o755)
        asked = {"hosts": list(self.hosts), "remote_shell": str(shell)}
        scheduler: dict[str, object] = {"scheduler": "hosts", "launcher": "mpirun"}
        super().__init__(testbed, place, "hosts", partition=scheduler, extras=asked)

    def agent(self, host: str) -> list[str]:
        command = (sys.executable, str(AGENT), "--serve", str(self.place), host)
        return self.testbed.command(host, *command)

    def start(self, host: str) -> None:
        self.agents[host] = subprocess.Popen(self.agent(host), start_new_session=True)
        wait_until((self.place / host).exists, lambda: f"{host} does not listen")

    def stop(self, host: str) -> None:
        os.killpg(self.agents.pop(host).pid, signal.SIGKILL)
        (self.place / host).unlink()


class Emulated(Listed):
    """The guest's nodes: no socket file leads into another kernel, the testbed's own way does."""

    part, environs, tools = "rdma", ENVIRONS, ("verbs",)
    hosts = ("rx1", "rx2")

    def agent(self, host: str) -> list[str]:
        serve = (sys.executable, str(AGENT), "--serve", str(self.place), host)
        return [*serve, *self.testbed.command(host)]


@contextmanager
def running(made: Listed, nodes: int, *, rdma: bool = False) -> Iterator[Listed]:
    try:
        made.testbed.up(nodes=nodes, rdma=rdma, shares=[made.place.parent, SUITE])
        for host in made.hosts:
            made.start(host)
        yield made
    finally:
        for host in list(made.agents):
            made.stop(host)
        made.testbed.down()


@pytest.fixture(scope="module")
def place(can_run_testbeds: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listed]:
    directory = tmp_path_factory.mktemp("hosts")
    with running(Listed(Testbed(directory / "tb"), directory), len(HOSTS)) as made:
        yield made


def test_all_is_good_and_proved_by_either_launcher(place: Listed) -> None:
    cases = place.run("--tag=smoke", *(f"--environ={each}" for each in ENVIRONS))
    all_good_and_proved(cases, place.said.stdout)


def test_open_mpi_5_starts_its_daemons_by_the_remote_shell(place: Listed) -> None:
    cases = place.run(
        *("--environ=openmpi5", "--benchmark=latency", "--benchmark=allreduce"),
        *("--transport=tcp", "--nodes=2", "--nodes=4"),
    )
    assert {each.level for each in cases} <= {"good", "warning"}, place.said.stdout
    assert {len(each.nodes) for each in cases} == {2, 4}
    assert {each.mpi_version.partition(".")[0] for each in cases} == {"Open MPI v5"}
    assert [each.evidence for each in cases if "eth0" not in each.evidence] == []


def test_nodes_are_located_and_options_of_a_run_are_kept(place: Listed) -> None:
    [located] = place.run("--benchmark=pair_health", "--environ=mpich", "--exclude=n2")
    assert located.level in ("good", "warning"), place.said.stdout
    assert located.nodes == ("n1", "n3", "n4")


def test_a_host_that_does_not_answer_is_named(place: Listed) -> None:
    place.stop("n4")
    try:
        health, *_ = (
            each
            for each in place.run("--tag=smoke", "--environ=builtin")
            if each.check == "NodeHealth"
        )
        [of_four] = place.run(
            "--benchmark=allreduce", "--nodes=4", "--transport=tcp", "--environ=mpich"
        )
    finally:
        place.start("n4")
    assert health.level == "critical"
    assert any("n4" in each and "connect to host n4" in each for each in health.findings)
    assert of_four.level == "untrusted"
    assert any("n4 does not answer: connect to host n4" in each for each in of_four.findings)


def test_rc_is_good_and_proved(
    can_run_guests: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("emulated")
    with running(Emulated(Testbed(directory / "tb"), directory), 1, rdma=True) as place:
        cases = place.run("--tag=smoke")
        assert {each.level for each in cases} <= {"good", "warning"}, place.said.stdout
    of_mpi = [each for each in cases if each.check == "MpiPointToPoint"]
    verbs = [each for each in cases if each.check == "VerbsPerftest"]
    assert {each.environ for each in of_mpi} == {"openmpi", "mpich"}
    assert {each.transport for each in (*of_mpi, *verbs)} >= {"rc"}
    assert [each for each in (*of_mpi, *verbs) if "rxe" not in each.evidence] == []
    assert {each.nodes for each in (*of_mpi, *verbs)} == {place.hosts}
