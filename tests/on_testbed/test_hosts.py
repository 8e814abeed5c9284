"""Hosts without a scheduler: nodes of the testbed, of whose Slurm these checks know nothing."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
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

    def __init__(self, testbed: Testbed, place: Path) -> None:
        self.agents: dict[str, subprocess.Popen[bytes]] = {}
        shell = place / "remote-shell"
        shell.write_text(f'#!/bin/sh\nREMOTE={place} exec {sys.executable} {AGENT} "$@"\n')
        shell.chmod(0o755)
        asked = {"hosts": ["n[1-4]"], "remote_shell": str(shell)}
        scheduler: dict[str, object] = {"scheduler": "hosts", "launcher": "mpirun"}
        super().__init__(testbed, place, "hosts", partition=scheduler, extras=asked)

    def start(self, host: str) -> None:
        command = self.testbed.command(host, sys.executable, str(AGENT), "--serve", str(self.place))
        self.agents[host] = subprocess.Popen([*command, host], start_new_session=True)
        wait_until((self.place / host).exists, lambda: f"{host} does not listen")

    def stop(self, host: str) -> None:
        os.killpg(self.agents.pop(host).pid, signal.SIGKILL)
        (self.place / host).unlink()


@pytest.fixture(scope="module")
def place(can_run_testbeds: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listed]:
    directory = tmp_path_factory.mktemp("hosts")
    testbed = Testbed(directory / "tb")
    made = Listed(testbed, directory)
    try:
        testbed.up(nodes=len(HOSTS), shares=[directory.parent, SUITE])
        for host in HOSTS:
            made.start(host)
        yield made
    finally:
        for host in list(made.agents):
            made.stop(host)
        testbed.down()


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
