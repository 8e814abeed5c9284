import pytest
from tests.refusals import refused

from fabricheck.sites.extras import PartitionExtras
from fabricheck.transports.families import MPIS
from fabricheck.transports.settings import Ports, launcher_options, settings, ucx_settings
from fabricheck.transports.table import TRANSPORTS, Counter, Scope

ON_UCX = [name for name, transport in TRANSPORTS.items() if transport.ucx_tls]
SITE = PartitionExtras(
    ucx_net_devices={"tcp": "eth0", "rdma": "mlx5_0:1", "ipoib": "ib0"},
    fabric="roce",
    gid_index=3,
    service_level=4,
    traffic_class=106,
    pkey=0x8012,
)


@pytest.mark.parametrize("family", ["openmpi", "mpich", "mvapich"])
@pytest.mark.parametrize("transport", ON_UCX)
def test_a_site_names_the_devices_of_ucx(family: str, transport: str) -> None:
    variables = settings(family, transport, SITE.given_ports)
    device = {"tcp": "eth0", "ipoib": "ib0", "auto": "all", "ud_verbs_sm": "all"}
    device["tcp_cuda"] = device["tcp"]
    if TRANSPORTS[transport].scope is Scope.INTRA_NODE:
        assert "UCX_NET_DEVICES" not in variables
    else:
        assert variables["UCX_NET_DEVICES"] == device.get(transport, "mlx5_0:1")
    assert ucx_settings(transport, SITE.given_ports).items() <= variables.items()


@pytest.mark.parametrize("transport", ON_UCX)
def test_address_level_and_partition_are_for_rdma(transport: str) -> None:
    variables = ucx_settings(transport, SITE.given_ports)
    found = {name: variables[name] for name in variables if name.startswith("UCX_IB_")}
    assert found.pop("UCX_IB_GPU_DIRECT_RDMA", "") == "n" * (transport == "rc_cuda_nogdr")
    if TRANSPORTS[transport].counter in (Counter.RDMA, Counter.ANY):
        assert found == {
            "UCX_IB_GID_INDEX": "3",
            "UCX_IB_SL": "4",
            "UCX_IB_TRAFFIC_CLASS": "106",
            "UCX_IB_PKEY": "0x12",
        }
    else:
        assert found == {}
    bare = Ports({"ipoib": "ib0"})
    bare_ports = {*ucx_settings(transport, bare)} - {"UCX_IB_GPU_DIRECT_RDMA"}
    assert not any(name.startswith("UCX_IB_") for name in bare_ports)


@pytest.mark.parametrize("transport", ["rc", "ud", "hybrid"])
def test_mvapich2_has_names_of_its_own(transport: str) -> None:
    plain = settings("mvapich2", transport)
    assert not any(name.startswith("UCX") or "HCA" in name or "RoCE" in name for name in plain)
    assert plain.pop("FABRICHECK_DEVICES") == "MV2_IBA_HCA"
    assert settings("mvapich2", transport, SITE.given_ports) == {
        **plain,
        "MV2_IBA_HCA": "mlx5_0",
        "MV2_DEFAULT_PORT": "1",
        "MV2_USE_RoCE": "1",
        "MV2_DEFAULT_GID_INDEX": "3",
        "MV2_DEFAULT_SERVICE_LEVEL": "4",
        "MV2_DEFAULT_PKEY": "0x12",
    }


def test_mvapich2_takes_several_devices_and_looks_for_all() -> None:
    several = Ports({"rdma": "mlx5_0:1,mlx5_1:1"})
    assert settings("mvapich2", "rc", several)["MV2_IBA_HCA"] == "mlx5_0:mlx5_1"
    every = settings("mvapich2", "rc", Ports({"rdma": "all"}))
    assert every["FABRICHECK_DEVICES"] == "MV2_IBA_HCA"
    assert "MV2_IBA_HCA" not in every


def test_mvapich2_needs_no_port_inside_a_node() -> None:
    inside = settings("mvapich2", "shm", SITE.given_ports)
    assert inside == MPIS["mvapich2"].choices["shm"].variables


@pytest.mark.parametrize(
    ("extras", "is_roce"),
    [
        ({}, False),
        ({"gid_index": 1}, True),
        ({"fabric": "roce"}, True),
        ({"fabric": "infiniband", "gid_index": 0}, False),
    ],
)
def test_a_fabric_is_roce_where_the_site_says_so(extras: dict[str, object], is_roce: bool) -> None:
    assert PartitionExtras.of(extras).given_ports.is_roce is is_roce
    chosen = settings("mvapich2", "rc", PartitionExtras.of(extras).given_ports)
    assert ("MV2_USE_RoCE" in chosen) is is_roce


def test_ob1_takes_the_interface_of_the_site() -> None:
    ports = SITE.given_ports
    assert settings("openmpi", "ob1_tcp", ports)["OMPI_MCA_btl_tcp_if_include"] == "eth0"
    assert settings("openmpi", "ob1_shm", ports) == MPIS["openmpi"].choices["ob1_shm"].variables
    assert not any(name.startswith("UCX") for name in settings("openmpi", "ob1_tcp", ports))


@pytest.mark.parametrize(("transport", "interface"), [("tcp", "eth0"), ("ipoib", "ib0")])
def test_mvapich2_for_ethernet_takes_the_interface_of_the_site(
    transport: str, interface: str
) -> None:
    variables = settings("mvapich2_nemesis", transport, SITE.given_ports)
    assert variables["MPIR_CVAR_NEMESIS_TCP_NETWORK_IFACE"] == interface
    assert not any(name.startswith(("UCX", "MV2")) for name in variables)


@pytest.mark.parametrize("devices", [{}, {"tcp": "eth0"}, {"ipoib": "all"}])
@pytest.mark.parametrize("family", ["openmpi", "mvapich2_nemesis"])
def test_ipoib_without_an_interface_is_refused(family: str, devices: dict[str, str]) -> None:
    with refused("FC1008"):
        settings(family, "ipoib", Ports(devices))


@pytest.mark.parametrize("transport", ["uc", "hybrid", "ob1_tcp"])
def test_ucx_refuses_what_it_does_not_have(transport: str) -> None:
    with refused("FC1007", f"found '{transport}': UCX doesn't have it"):
        ucx_settings(transport)


def test_launchers_of_open_mpi_must_be_told_what_to_carry() -> None:
    names = ["OMPI_MCA_pml", "UCX_TLS", "FABRICHECK_PIN"]
    told = ["-x", "UCX_TLS", "-x", "FABRICHECK_PIN"]
    assert launcher_options("openmpi", "mpirun", names) == told
    assert launcher_options("openmpi", "mpiexec", names) == told
    assert launcher_options("openmpi", "srun", names) == []
    assert launcher_options("mpich", "mpirun", names) == []
