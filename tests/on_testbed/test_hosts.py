"""Hosts without a scheduler: nodes of the testbed, of whose Slurm these checks know nothing."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.testbeds import measured_again
from tests.waiting import wait_until

from fabricheck.launch.disturbance import FOREIGN_SHARE
from fabricheck.provenance import SUITE
from fabricheck.record.entries import CaseEntry
from fabricheck.record.read import entries, record_files
from fabricheck_testbed import Testbed

# A build for each of two MPIs.
pytestmark = pytest.mark.lab

HOSTS = ("n1", "n2", "n3", "n4")
AGENT = Path(__file__).with_name("remote_shell.py")


class Place:
    """A repository of a site of hosts, each of which answers a remote shell."""

    def __init__(self, testbed: Testbed, place: Path) -> None:
        self.testbed, self.place = testbed, place
        self.agents: dict[str, subprocess.Popen[bytes]] = {}
        (place / "sites").mkdir()
        shell = place / "remote-shell"
        shell.write_text(f'#!/bin/sh\nREMOTE={place} exec {sys.executable} {AGENT} "$@"\n')
        shell.chmod(0o755)
        (place / "sites" / "hosts.yaml").write_text(yaml.safe_dump(self.site(shell)))
        (place / "references").mkdir()
        for part in ("", ".measured"):
            text = (SUITE / "references" / f"testbed{part}.yaml").read_text()
            (place / "references" / f"hosts{part}.yaml").write_text(text)

    def site(self, shell: Path) -> dict[str, object]:
        """The testbed's partition of Ethernet, and the environments of one machine."""
        testbed, local = (
            yaml.safe_load((SUITE / "sites" / f"{name}.yaml").read_text())
            for name in ("testbed", "local")
        )
        main = next(each for each in testbed["systems"][0]["partitions"] if each["name"] == "main")
        extras = {key: main["extras"][key] for key in main["extras"] if key != "stress"}
        partition = {
            "name": "main",
            "scheduler": "hosts",
            "launcher": "mpirun",
            "environs": ["openmpi", "mpich", "builtin"],
            "features": main["features"],
            "extras": {**extras, "hosts": ["n[1-4]"], "remote_shell": str(shell)},
        }
        partition["extras"].pop("allocation")
        system = {"name": "hosts", "hostnames": ["^none$"], "partitions": [partition]}
        named = [each for each in local["environments"] if each["name"] in partition["environs"]]
        return {
            "systems": [system],
            "environments": [each | {"target_systems": ["hosts"]} for each in named],
        }

    def start(self, host: str) -> None:
        command = self.testbed.command(host, sys.executable, str(AGENT), "--serve", str(self.place))
        self.agents[host] = subprocess.Popen([*command, host], start_new_session=True)
        wait_until((self.place / host).exists, lambda: f"{host} does not listen")

    def stop(self, host: str) -> None:
        os.killpg(self.agents.pop(host).pid, signal.SIGKILL)
        (self.place / host).unlink()

    def run(self, *words: str) -> list[CaseEntry]:
        """Run checks, and again where other work disturbed them."""
        return measured_again(
            lambda: self._run(*words),
            lambda found: any(each.level == "disturbed" for each in found),
        )

    def _run(self, *words: str) -> list[CaseEntry]:
        program = SUITE / ".venv" / "bin" / "fabricheck"
        share = os.environ.get(FOREIGN_SHARE, "")
        settings = (f"FABRICHECK_SITES={self.place}", f"{FOREIGN_SHARE}={share}")
        asked = ("env", *settings, str(program), "run", "--system=hosts", *words)
        command = self.testbed.command("login", *asked)
        self.said = subprocess.run(
            command, cwd=self.place, capture_output=True, text=True, check=False
        )
        found = [
            each for path in record_files(self.place / "perflogs") for each in entries(path)[0]
        ]
        session = max(found, key=lambda each: each.time).session
        cases = [each for each in found if isinstance(each, CaseEntry) and each.session == session]
        # The last attempt of each.
        return list({(each.id, each.environ): each for each in cases if not each.fixture}.values())


@pytest.fixture(scope="module")
def place(can_run_testbeds: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    directory = tmp_path_factory.mktemp("hosts")
    testbed = Testbed(directory / "tb")
    made = Place(testbed, directory)
    try:
        testbed.up(nodes=len(HOSTS), shares=[directory.parent, SUITE])
        for host in HOSTS:
            made.start(host)
        yield made
    finally:
        for host in list(made.agents):
            made.stop(host)
        testbed.down()


def test_all_is_good_and_proved_by_either_launcher(place: Place) -> None:
    cases = place.run("--tag=smoke")
    assert {each.level for each in cases} <= {"good", "warning"}, place.said.stdout
    for environ in ("openmpi", "mpich"):
        of_two = [each for each in cases if each.environ == environ and each.num_nodes == 2]
        assert {each.benchmark for each in of_two} >= {"latency", "bw", "bibw"}
        assert {len(each.nodes) for each in of_two} == {2}
        proofs = [
            (each.transport, each.evidence) for each in of_two if each.check == "MpiPointToPoint"
        ]
        assert [each for each in proofs if "eth0" not in each[1]] == []
    [health] = [each for each in cases if each.check == "NodeHealth" and not each.mpi]
    assert health.nodes == HOSTS
    # Each host read the launcher's standard input: the clocks were compared.
    assert "clocks known to" in health.evidence
    assert {node for each in cases if each.check == "UcxPerftest" for node in each.nodes} > {"n1"}


def test_nodes_are_located_and_options_of_a_run_are_kept(place: Place) -> None:
    [located] = place.run("--benchmark=pair_health", "--environ=mpich", "--exclude=n2")
    assert located.level in ("good", "warning"), place.said.stdout
    assert located.nodes == ("n1", "n3", "n4")


def test_a_host_that_does_not_answer_is_named(place: Place) -> None:
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
