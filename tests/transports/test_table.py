import pytest

from fabricheck.errors import FabricheckError
from fabricheck.transports import MPI_FAMILIES, TRANSPORTS, Placement, placements, settings


def test_only_placements_that_can_exist_are_made() -> None:
    made = placements([1, 2, 4])
    assert "shm-1n" in made
    assert "tcp-2n" in made
    assert "shm-2n" not in made
    assert "tcp-1n" not in made
    assert {name.split("-")[0] for name in made} == set(TRANSPORTS)


@pytest.mark.parametrize("text", placements([1, 2, 16]))
def test_a_placement_reads_back(text: str) -> None:
    assert str(Placement.read(text)) == text


def test_features_name_transport_and_nodes() -> None:
    assert Placement.read("ud-4n").features == ("rdma", "nodes-4")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("tcp", "such as tcp-2n"),
        ("tcp-n", "such as tcp-2n"),
        ("ib-2n", "rc, ud, dc, tcp, shm"),
        ("shm-2n", "one node"),
        ("rc-1n", "two nodes or more"),
    ],
)
def test_a_placement_that_cannot_exist_is_refused(text: str, part: str) -> None:
    with pytest.raises(FabricheckError, match=part):
        Placement.read(text)


@pytest.mark.parametrize("family", MPI_FAMILIES)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_every_family_has_every_transport(family: str, transport: str) -> None:
    variables = settings(family, transport, {"tcp": "eth0", "rdma": "mlx5_0:1"})
    assert variables["UCX_TLS"].startswith(("sm" if transport == "shm" else transport) + ",")
    assert variables["UCX_LOG_LEVEL"] == "info"
    device = {"tcp": "eth0", "rc": "mlx5_0:1", "ud": "mlx5_0:1"}.get(transport)
    assert variables.get("UCX_NET_DEVICES") == device


def test_an_unknown_family_is_named() -> None:
    with pytest.raises(FabricheckError, match=r"openmpi, mpich.*'intelmpi'.*extras.mpi_family"):
        settings("intelmpi", "tcp", {})
