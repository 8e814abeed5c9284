"""libfabric's provider, as real MPIs name it, is held against what was asked."""

from pathlib import Path

import pytest

from fabricheck.sites.extras import PartitionExtras
from fabricheck.transports.families import MPIS, choice
from fabricheck.transports.gpu_memory import Load
from fabricheck.transports.proof import prove
from fabricheck.transports.settings import interfaces
from fabricheck.transports.statement import TransportReport, left_out, read_provider
from fabricheck.transports.table import find
from fabricheck.transports.witness import Witness, read_providers

DATA = Path(__file__).parents[1] / "data" / "providers"
RANKS = tuple(
    Witness(rank, "vm", "", "0", 0, {("netdev", "eth0", "tx_bytes"): 9, ("rdma", "rxe0", "x"): 9})
    for rank in range(2)
)
SEEN = sorted(path.stem for path in DATA.glob("*.txt"))


def words(name: str) -> str:
    return (DATA / f"{name}.txt").read_text()


def said(family: str, asked: str, text: str, ranks: int = 2) -> TransportReport:
    return read_provider(find(asked), choice(family, asked), read_providers(text), RANKS[:ranks])


@pytest.mark.parametrize("asked", ["ofi_tcp", "ofi_shm", "ofi_verbs"])
@pytest.mark.parametrize("name", [name for name in SEEN if name != "mpich-4.0.2-ofi_tcp"])
def test_another_provider_than_the_one_that_was_asked_is_not_believed(
    name: str, asked: str
) -> None:
    family, version, served = name.split("-")
    if (family, asked) == ("openmpi", "ofi_shm"):
        pytest.skip("Open MPI has no such choice")
    report = said(family, asked, words(name))
    if asked == served:
        assert report.objections == ()
        named = "on eth0" if version == "4.1.4" else asked[4:]
        assert report.evidence.startswith(f"libfabric provider {named}")
    else:
        (objection,) = report.objections
        wanted = "a rdma device below" if version == "4.1.4" else f"provider {asked[4:]} of"
        assert f"expected {wanted} libfabric for {asked}, found " in objection


def test_an_mpi_without_libfabric_is_not_believed() -> None:
    # Debian's MPICH has no libfabric, and runs on UCX whatever the variables say.
    (objection,) = said("mpich", "ofi_tcp", words("mpich-4.0.2-ofi_tcp")).objections
    assert "of all 2 ranks, found it of none" in objection


@pytest.mark.parametrize("version", ["4.1.4", "5.0.11"])
def test_a_rank_of_open_mpi_that_names_no_provider_is_not_believed(version: str) -> None:
    text = words(f"openmpi-{version}-ofi_tcp")
    lines = [line for line in text.splitlines() if "mtl:ofi:provider: " in line]
    assert len(lines) == 2
    (objection,) = said("openmpi", "ofi_tcp", text.replace(lines[0], "")).objections
    assert "of all 2 ranks, found it of 1" in objection


def test_the_domain_that_an_old_open_mpi_names_must_be_a_device_of_the_transport() -> None:
    text = words("openmpi-4.1.4-ofi_tcp")
    (objection,) = said("openmpi", "ofi_verbs", text).objections
    assert "expected a rdma device below libfabric for ofi_verbs, found eth0" in objection
    assert said("openmpi", "ofi_verbs", text.replace("eth0", "rxe0")).objections == ()
    (objection,) = said("openmpi", "ofi_tcp", text.replace("eth0", "rxe0")).objections
    assert "expected a netdev device below libfabric for ofi_tcp, found rxe0" in objection


SENT = 10_000 * 4096
INTERFACE = {("netdev", "eth0", "rx_bytes"): 2 * SENT, ("netdev", "eth0", "rx_packets"): 40_000}
CARD = {("rdma", "mlx5_0:1", "port_xmit_packets"): 10_000}
NAMES = {"ofi_tcp": "tcp", "ofi_shm": "shm", "ofi_verbs": "verbs;ofi_rxm"}


@pytest.mark.parametrize(
    ("asked", "moved", "objection"),
    [
        ("ofi_tcp", INTERFACE, ""),
        ("ofi_tcp", {}, "B or more on the interfaces of vm for ofi_tcp, found 0 B"),
        ("ofi_tcp", CARD, "B or more on the interfaces of vm for ofi_tcp, found 0 B"),
        ("ofi_shm", {}, ""),
        ("ofi_shm", INTERFACE, "expected the interfaces of vm to stay still for ofi_shm"),
        ("ofi_verbs", CARD, ""),
        ("ofi_verbs", {}, "packets or more from the RDMA ports of vm for ofi_verbs, found 0"),
        ("ofi_verbs", INTERFACE, "packets or more from the RDMA ports of vm for ofi_verbs, found"),
        (
            "ofi_verbs",
            CARD | INTERFACE,
            "expected the interfaces of vm to stay still for ofi_verbs",
        ),
    ],
)
def test_the_counters_must_bear_out_what_libfabric_named(
    asked: str, moved: dict[tuple[str, str, str], int], objection: str
) -> None:
    ranks = [Witness(rank, "vm", "", "0", 0, moved) for rank in range(2)]
    report = said("intelmpi", asked, f"[0] MPI startup(): libfabric provider: {NAMES[asked]}\n")
    assert report.objections == ()
    load = Load(payload=SENT, calls=10_000)
    proof = prove(find(asked), load, report, ranks, quiet=True)
    assert bool(proof.objections) == bool(objection)
    assert objection in " ".join(proof.objections)


@pytest.mark.parametrize(
    ("family", "asked", "line"),
    [
        (family, asked, line)
        for family, line in {
            "openmpi": "[vm:{0}] x.c:343: mtl:ofi:provider: tcp\n"
            "[vm:{0}] x.c:368: mtl:ofi:provider:domain: eth0\n",
            "mpich": "libfabric provider: tcp - 192.0.2.0/24\n",
            "intelmpi": "[0] MPI startup(): libfabric provider: tcp;ofi_rxm\n",
            "craympich": "libfabric provider: tcp\n",
        }.items()
        for asked in ("ofi_verbs", "cxi", "efa", "opx", "psm2")
        if asked in MPIS[family].choices
    ],
)
def test_a_fallback_to_sockets_is_not_believed_of_any_family(
    family: str, asked: str, line: str
) -> None:
    (objection,) = said(family, asked, line.format(1) + line.format(2)).objections
    assert f"of libfabric for {asked}, found tcp" in objection


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ("tcp", False),
        ("shm,tcp", False),
        ("tcp;ofi_rxm", False),
        ("^verbs", False),
        ("sockets", True),
        ("shm,verbs", True),
        ("^tcp", True),
        ("^shm,tcp", True),
    ],
)
def test_a_variable_that_leaves_the_provider_out_is_named(
    tmp_path: Path, value: str, named: bool
) -> None:
    (tmp_path / "witness.0").write_text(f"rank 0\nhost n1\nprovider {value}\n")
    found = left_out(choice("openmpi", "ofi_tcp"), tmp_path)
    assert found.startswith(f": FI_PROVIDER={value} leaves out tcp;") if named else not found
    assert not left_out(choice("openmpi", "tcp"), tmp_path), "UCX reads no such variable"


@pytest.mark.parametrize(("interface", "is_proved"), [("lo", True), ("eth0", False)])
def test_sockets_inside_a_node_are_proved_by_the_loopback_interface(
    interface: str, *, is_proved: bool
) -> None:
    asked, ports = find("tcp_lo"), PartitionExtras(ucx_net_devices={"tcp": "eth0"}).ports
    moved = {("netdev", interface, "rx_bytes"): 2 * SENT, ("netdev", "lo", "rx_packets"): 9}
    ranks = [Witness(rank, "vm", "", str(rank), 0, moved) for rank in range(2)]
    report = TransportReport("libfabric provider tcp", asked.counter)
    found = prove(
        asked,
        Load(payload=SENT, calls=10_000),
        report,
        ranks,
        quiet=False,
        interfaces=interfaces(asked, ports),
    )
    if is_proved:
        assert found.objections == ()
    else:
        (objection,) = found.objections
        assert "B or more on lo of vm for tcp_lo, found 0 B" in objection


def test_what_a_node_tells_itself_proves_no_sockets_between_nodes() -> None:
    moved = {("netdev", "lo", "rx_bytes"): 2 * SENT}
    ranks = [Witness(rank, f"n{rank}", "", "0", 0, moved) for rank in range(2)]
    report = TransportReport("libfabric provider tcp", find("ofi_tcp").counter)
    load = Load(payload=SENT, calls=10_000)
    assert prove(find("ofi_tcp"), load, report, ranks, quiet=False).objections
