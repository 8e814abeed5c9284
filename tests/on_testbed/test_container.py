"""Cases in a container, beside the same on the node itself.

``FABRICHECK_TEST_IMAGE`` is a platform of ReFrame and an image of this system's own release, with
its Open MPI: ``Docker=localhost/mpi`` (also where ``docker`` is Podman), ``Apptainer=/images/mpi``.
"""

import os
from collections.abc import Iterator

import pytest
import yaml
from tests.on_testbed.place import Place

from fabricheck.provenance import SUITE
from fabricheck.record.entries import CaseEntry
from fabricheck_testbed import Testbed

# A build for each environment.
pytestmark = pytest.mark.lab

PLATFORM, _, IMAGE = os.environ.get("FABRICHECK_TEST_IMAGE", "").partition("=")
SHARED = {"Docker": ["--env-host", "--network=host", "--ipc=host", "--pid=host"], "Apptainer": []}
ALONE = {"Docker": ["--env-host", "--network=host"], "Apptainer": ["--contain", "--ipc", "--pid"]}
"""Without memory and processes that the ranks of a node share."""


class Contained(Place):
    """A site of Slurm whose Open MPI runs on the nodes, and in an image."""

    environs = ("openmpi",)

    def _site(self, own: dict[str, object], extras: dict[str, object]) -> dict[str, object]:
        site = super()._site(own, extras)
        [openmpi] = site["environments"]
        openmpi["extras"] = {**openmpi["extras"], "pmi": "pmix"}
        container = {
            "platform": PLATFORM,
            "image": IMAGE,
            # Where Slurm's PMIx meets the ranks.
            "mounts": [str(self.place), "/run/slurmd"],
            "options": SHARED[PLATFORM],
        }
        inside = {**openmpi["extras"], "container": container}
        site["environments"].append({**openmpi, "name": "image", "extras": inside})
        site["systems"][0]["partitions"][0]["environs"].append("image")
        return site

    def set_options(self, options: list[str]) -> None:
        """Give the container other options; what was built stays."""
        path = self.place / "sites" / f"{self.system}.yaml"
        site = yaml.safe_load(path.read_text())
        site["environments"][-1]["extras"]["container"]["options"] = options
        path.write_text(yaml.safe_dump(site))


@pytest.fixture(scope="module")
def place(can_run_testbeds: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Contained]:
    if not IMAGE:
        pytest.skip("FABRICHECK_TEST_IMAGE names no platform and image")
    directory = tmp_path_factory.mktemp("inside")
    testbed = Testbed(directory / "tb")
    partition: dict[str, object] = {
        "scheduler": "squeue",
        "launcher": "srun",
        "access": ["--partition=main"],
        "max_jobs": 1,
    }
    made = Contained(testbed, directory, "inside", partition=partition, extras={})
    try:
        testbed.up(nodes=2, shares=[directory.parent, SUITE])
        yield made
    finally:
        testbed.down()


def measured(place: Contained, *environs: str) -> list[CaseEntry]:
    words = ("--benchmark=latency", "--transport=tcp", "--transport=shm")
    return place.run(*words, *(f"--environ={each}" for each in environs))


def test_cases_in_a_container_are_proved_as_those_on_the_node(place: Contained) -> None:
    cases = measured(place, "image", "openmpi")
    assert {each.level for each in cases} <= {"good", "warning"}, place.said.stdout
    inside, outside = (
        {each.transport: each for each in cases if each.environ == environ}
        for environ in ("image", "openmpi")
    )
    assert inside.keys() == outside.keys() == {"tcp", "shm"}
    for transport, case in inside.items():
        proof, _, container = case.evidence.rpartition("; ")
        assert container == f"in {PLATFORM} {IMAGE}"
        assert proof
        assert case.nodes == outside[transport].nodes
    place.ask("history", "refresh")
    assert "latency" in place.ask("compare", "openmpi", "image", "--all").stdout


def test_a_container_with_memory_of_its_own_is_not_trusted(place: Contained) -> None:
    place.set_options(ALONE[PLATFORM])
    try:
        cases = {each.transport: each for each in measured(place, "image")}
    finally:
        place.set_options(SHARED[PLATFORM])
    assert cases["shm"].level == "untrusted"
    assert any("UCX" in each for each in cases["shm"].findings), cases["shm"].findings
    assert cases["tcp"].level in ("good", "warning"), cases["tcp"].findings
