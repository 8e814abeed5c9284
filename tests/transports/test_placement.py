import pytest

from fabricheck.errors import FabricheckError
from fabricheck.transports.families import families
from fabricheck.transports.placement import Placement, placements
from fabricheck.transports.table import MEMORY_LANES, TRANSPORTS, Memory


def test_only_placements_that_can_exist_are_made() -> None:
    made = placements([1, 2, 4])
    assert "shm-1n" in made
    assert "tcp-2n" in made
    assert "shm-2n" not in made
    assert "tcp-1n" not in made
    of_gpus = {name for name, each in TRANSPORTS.items() if each.memory}
    assert {name.split("-")[0] for name in made} == set(filter(families, TRANSPORTS)) - of_gpus
    gpu = placements([1, 2, 4], memory=Memory.GPU)
    assert {name.split("-")[0] for name in gpu} == of_gpus


@pytest.mark.parametrize("text", [*placements([1, 2, 16]), *placements([1, 2], layout="full")])
def test_a_placement_reads_back(text: str) -> None:
    assert str(Placement.read(text)) == text


def test_features_name_transport_and_nodes() -> None:
    assert Placement.read("ud-4n").features == ("rdma", "nodes_4")
    assert Placement.read("uc-2n").features == ("rdma", "nodes_2")
    assert Placement.read("rc_mlx5-2n").features == ("rc_mlx5", "nodes_2")


def test_all_cores_are_a_placement_of_their_own_that_a_site_must_offer() -> None:
    full = Placement.read("rc-2n-full")
    assert full.features == ("rdma", "nodes_2", "full_nodes")
    assert set(placements([2], layout="full")).isdisjoint(placements([2]))
    # Between ranks of one node shared memory carries what the transport carries between nodes.
    assert full.carrier.lanes == full.transport.lanes | MEMORY_LANES
    assert Placement.read("rc-2n").carrier is Placement.read("rc-2n").transport


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("tcp", "such as tcp-2n"),
        ("tcp-n", "such as tcp-2n"),
        ("tcp-2n-half", "such as tcp-2n"),
        ("tcp-full", "with -full behind it"),
        ("shm-2n-full", "one node"),
        ("ib-2n", "rc, ud, uc, dc, tcp, shm"),
        ("shm-2n", "one node"),
        ("ob1_shm-2n", "one node"),
        ("rc-1n", "two nodes or more"),
    ],
)
def test_a_placement_that_cannot_exist_is_refused(text: str, part: str) -> None:
    with pytest.raises(FabricheckError, match=part):
        Placement.read(text)
