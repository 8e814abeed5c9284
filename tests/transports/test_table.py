import pytest

from fabricheck.errors import FabricheckError
from fabricheck.transports import (
    MPI_FAMILIES,
    TRANSPORTS,
    Placement,
    applied_settings,
    families,
    placements,
    settings,
    ucx_settings,
)


def test_only_placements_that_can_exist_are_made() -> None:
    made = placements([1, 2, 4])
    assert "shm-1n" in made
    assert "tcp-2n" in made
    assert "shm-2n" not in made
    assert "tcp-1n" not in made
    assert {name.split("-")[0] for name in made} == set(TRANSPORTS) - {"uc"}


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
        ("ib-2n", "rc, ud, uc, dc, tcp, shm"),
        ("shm-2n", "one node"),
        ("rc-1n", "two nodes or more"),
    ],
)
def test_a_placement_that_cannot_exist_is_refused(text: str, part: str) -> None:
    with pytest.raises(FabricheckError, match=part):
        Placement.read(text)


@pytest.mark.parametrize("family", ["openmpi", "mpich"])
@pytest.mark.parametrize("transport", [name for name in TRANSPORTS if name != "uc"])
def test_families_on_ucx_have_all_its_transports(family: str, transport: str) -> None:
    variables = settings(family, transport, {"tcp": "eth0", "rdma": "mlx5_0:1"})
    assert variables["UCX_TLS"].startswith(("sm" if transport == "shm" else transport) + ",")
    assert variables["UCX_LOG_LEVEL"] == "info"
    device = {"tcp": "eth0", "rc": "mlx5_0:1", "ud": "mlx5_0:1"}.get(transport)
    assert variables.get("UCX_NET_DEVICES") == device
    assert applied_settings(family, transport) is None


@pytest.mark.parametrize(("transport", "only_ud"), [("rc", "0"), ("ud", "1")])
def test_mvapich2_has_settings_of_its_own(transport: str, only_ud: str) -> None:
    plain = settings("mvapich2", transport, {})
    assert plain["MV2_USE_ONLY_UD"] == only_ud
    assert applied_settings("mvapich2", transport).items() <= plain.items()  # type: ignore[union-attr]
    assert not any(name.startswith("UCX") or "HCA" in name or "RoCE" in name for name in plain)
    assert plain.pop("FABRICHECK_DEVICES") == "MV2_IBA_HCA"
    roce = settings("mvapich2", transport, {"rdma": "mlx5_0:1"}, gid_index=3)
    assert roce == {
        **plain,
        "MV2_IBA_HCA": "mlx5_0",
        "MV2_DEFAULT_PORT": "1",
        "MV2_USE_RoCE": "1",
        "MV2_DEFAULT_GID_INDEX": "3",
    }


def test_families_are_those_that_have_the_transport() -> None:
    assert families("rc") == families("ud") == MPI_FAMILIES
    assert families("dc") == families("tcp") == families("shm") == ("openmpi", "mpich")
    assert families("uc") == ()
    with pytest.raises(FabricheckError, match=r"transport tcp \(openmpi, mpich\), found mvapich2"):
        settings("mvapich2", "tcp", {})


def test_an_unknown_family_is_named() -> None:
    with pytest.raises(
        FabricheckError, match=r"openmpi, mpich, mvapich2.*'intelmpi'.*extras.mpi_family"
    ):
        settings("intelmpi", "tcp", {})


def test_unreliable_connections_are_for_programs_on_verbs_alone() -> None:
    assert Placement.read("uc-2n").features == ("rdma", "nodes-2")
    with pytest.raises(FabricheckError, match="found 'uc': only programs on verbs have it"):
        ucx_settings("uc", {})
    with pytest.raises(FabricheckError, match=r"transport uc \(none has\), found mpich"):
        settings("mpich", "uc", {})


@pytest.mark.parametrize(
    ("transport", "index"), [("rc", "3"), ("ud", "3"), ("dc", "3"), ("tcp", None), ("shm", None)]
)
def test_the_gid_index_is_for_rdma(transport: str, index: str | None) -> None:
    variables = ucx_settings(transport, {}, gid_index=3)
    assert variables.get("UCX_IB_GID_INDEX") == index
    assert settings("mpich", transport, {}, 3).items() >= variables.items()
    assert "UCX_IB_GID_INDEX" not in ucx_settings(transport, {})
