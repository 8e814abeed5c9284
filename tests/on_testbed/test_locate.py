"""Who is slow on real leaves and spines: one node is named, a disturbed one isn't accused."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.bench.conftest import build
from tests.testbeds import measured_again

from drill.pairs import Measured, Programs, measure
from fabricheck.launch.disturbance import FOREIGN_SHARE
from fabricheck.localise import recorded
from fabricheck.provenance import SUITE
from fabricheck_testbed import Testbed, fabric, faults

pytestmark = [pytest.mark.e2e, pytest.mark.alone]

SECONDS = 0.25


@pytest.fixture(scope="module")
def leaves(can_run_testbeds: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    directory = tmp_path_factory.mktemp("locate")
    testbed = Testbed(directory / "tb")
    try:
        testbed.up(fabric=fabric.LEAF_SPINE_LFT, shares=[directory.parent, SUITE])
        yield testbed
    finally:
        testbed.down()


def measured(testbed: Testbed, stage: Path) -> Measured:
    return measure(testbed, Programs(build("openmpi").folder), stage, SECONDS)


def broken(testbed: Testbed, stage: Path, place: str, *fault: str) -> Measured:
    """What is found while a place has a fault."""
    faults.inject(testbed.files, place, list(fault))
    try:
        return measured_again(lambda: measured(testbed, stage), lambda found: found.objections)
    finally:
        faults.clear(testbed.files, place)


def test_a_slow_node_is_named_and_nobody_else(leaves: Testbed, tmp_path: Path) -> None:
    found = broken(leaves, tmp_path, "n3", "rate", "20mbit")
    assert found.objections == ()
    assert "eth0" in found.proof
    names = {name for each in found.located.verdict.accused for name in each.names}
    assert names
    assert names <= {"n3 sends", "n3 receives"}
    assert found.located.bad == ["n3"]


def test_a_node_whose_port_is_down_is_left_out_and_named(leaves: Testbed, tmp_path: Path) -> None:
    found = broken(leaves, tmp_path, "n6", "link", "down")
    assert found.objections == ()
    assert found.located.dead == {"n6": "eth0"}
    assert found.located.bad == ["n6"]
    assert len(found.located.fabric.nodes) == 7


def test_a_link_is_named(leaves: Testbed, tmp_path: Path) -> None:
    found = broken(leaves, tmp_path, "leaf1-to-spine2", "rate", "20mbit")
    assert [each.names for each in found.located.verdict.accused] == [("leaf1->spine2",)]


def test_a_healthy_fabric_with_a_busy_node_is_disturbed_and_accuses_nobody(
    leaves: Testbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(FOREIGN_SHARE, raising=False)
    loops = [
        subprocess.Popen(leaves.command("n3", "sh", "-c", "while :; do :; done"))
        for _ in range(2)
    ]  # fmt: skip
    try:
        found = measured(leaves, tmp_path)
    finally:
        for each in loops:
            each.kill()
            each.wait()
    assert any(each.startswith("other programs had") for each in found.objections)
    assert found.located.bad == []


def test_slurm_and_the_written_file_tell_the_same_leaves(leaves: Testbed) -> None:
    told = leaves.run("login", "scontrol", "show", "topology", timeout_seconds=60.0).stdout
    written = recorded.load(leaves.files.topology)
    assert recorded.slurm(told).leaves == written.leaves
    assert written.spines["leaf4"] == fabric.SPINES
