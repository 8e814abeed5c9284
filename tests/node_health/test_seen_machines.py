"""Machines that people showed to the public: each fact of a card is read, or it is not told.

Names, drivers, firmware, boards, link layers and states are those of outputs of ibv_devinfo,
ibstat, rdma, lspci and of sysfs that were published with problems of other projects; where an
output leaves a rate or the way up out, it stands as the kernel writes it for such a card.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.cli.conftest import run
from tests.node_health.trees import configure, plug, write

pytestmark = pytest.mark.integration

IB, ETH = "InfiniBand", "Ethernet"
ACTIVE, DOWN = "4: ACTIVE", "1: DOWN"


class Card(NamedTuple):
    """Files of a card, and state, rate and link layer of each port, as sysfs has them."""

    name: str
    driver: str
    firmware: str
    board: str
    ports: tuple[tuple[str, str, str], ...]
    ways: tuple[str, ...] = ()
    control: int = 0


NDR = (ACTIVE, "400 Gb/sec (4X NDR)", IB)
EDR = (ACTIVE, "100 Gb/sec (4X EDR)", IB)
HDR = (ACTIVE, "200 Gb/sec (4X HDR)", IB)
ROCE = (ACTIVE, "100 Gb/sec (4X EDR)", ETH)
NO_LINK = (DOWN, "40 Gb/sec (4X QDR)", ETH)

MACHINES: dict[str, tuple[Card, ...]] = {
    "ConnectX-3, two ports": (
        Card("mlx4_0", "mlx4_core", "2.31.5050", "SM_1141000001000",
             ((ACTIVE, "40 Gb/sec (4X QDR)", IB),) * 2),),
    "ConnectX-3, virtual function": (
        Card("mlx4_2", "mlx4_core", "2.40.7000", "MT_1100120019",
             ((ACTIVE, "56 Gb/sec (4X FDR)", IB),), ("0000:82:00.1 x0@Unknown x0@Unknown",)),),
    "ConnectX-4, board of a vendor": (
        Card("mlx5_0", "mlx5_core", "12.18.1000", "FJT2180110032", (EDR,)),),
    "ConnectX-4 Lx, 25 Gbit/s": (
        Card("mlx5_0", "mlx5_core", "14.28.2006", "SM_2001000001034",
             ((ACTIVE, "25 Gb/sec (1X EDR)", ETH),)),),
    "ConnectX-5, without a link": (
        Card("mlx5_0", "mlx5_core", "16.21.2010", "MT_0000000011", (NO_LINK,)),),
    "ConnectX-5, second of two": (
        Card("mlx5_1", "mlx5_core", "16.23.1020", "MT_0000000008", (EDR,)),),
    "cloud: InfiniBand by SR-IOV, and an accelerated interface": (
        Card("ibP57247p0s2", "mlx5_core", "16.26.0206", "", (EDR,),
             ("df9f:00:02.0 x0@Unknown x16@16.0",)),
        Card("rdmaP23800p0s2", "mlx5_core", "14.25.8102", "MSF0010110035",
             ((ACTIVE, "40 Gb/sec (4X QDR)", ETH),), ("5cf8:00:02.0 x8@8.0 x8@8.0",)),),
    "cloud, newer": (
        Card("mlx5_0", "mlx5_core", "20.31.1014", "MT_0000000223", (HDR,)),
        Card("mlx5_1", "mlx5_core", "14.30.1284", "", (ROCE,)),),
    "ConnectX-6, one port": (
        Card("mlx5_0", "mlx5_core", "20.41.1000", "MT_0000000222", (HDR,),
             ("0000:97:01.0 x16@16.0 x16@16.0", "0000:99:00.0 x16@16.0 x16@16.0")),),
    "ConnectX-6 of another maker": (
        Card("mlx5_0", "mlx5_core", "20.32.1010", "BL_12001644", (HDR,)),),
    "ConnectX-6, another board": (
        Card("mlx5_0", "mlx5_core", "20.37.1700", "MT_0000000594", (HDR,)),),
    "ConnectX-6 Dx in a slot of generation 3": (
        Card("mlx5_0", "mlx5_core", "22.32.2004", "", (ROCE,),
             ("0000:b2:00.0 x16@8.0 x16@8.0", "0000:b3:00.0 x16@8.0 x16@16.0"),
             control=1 << 5 | 5 << 12 | 1 << 4),),
    "ConnectX-6 Dx at a fraction of a gigabit": (
        Card("mlx5_2", "mlx5_core", "22.29.2002", "FB_0000000025",
             ((ACTIVE, "2.5 Gb/sec (1X SDR)", ETH),),
             ("0000:2f:00.0 x16@8.0 x16@16.0", "0000:30:00.0 x16@8.0 x16@16.0")),),
    "ConnectX-6 Dx and ConnectX-7": (
        Card("mlx5_12", "mlx5_core", "22.38.1900", "MT_0000000436", (NO_LINK,)),
        Card("mlx5_13", "mlx5_core", "28.39.2048", "MT_0000000838", (NDR,)),),
    "ConnectX-7, RoCE": (
        Card("mlx5_2", "mlx5_core", "28.42.1000", "MT_0000000838",
             ((ACTIVE, "400 Gb/sec (4X NDR)", ETH),)),
        Card("mlx5_3", "mlx5_core", "16.35.4030", "", (NO_LINK,))),
    "ConnectX-7, 200 Gbit/s, a card that is disabled": (
        Card("mlx5_0", "mlx5_core", "28.39.1002", "",
             ((ACTIVE, "200 Gb/sec (2X NDR)", ETH),)),
        Card("mlx5_10", "mlx5_core", "22.31.1014", "", (NO_LINK,))),
    "ConnectX-7 on two PCI domains": (
        Card("rocep1s0f1", "mlx5_core", "28.45.4028", "NVD0000000087",
             ((ACTIVE, "200 Gb/sec (2X NDR)", ETH),),
             ("0000:00:00.0 x4@32.0 x4@32.0", "0000:01:00.1 x4@32.0 x16@32.0")),
        Card("roceP2p1s0f0", "mlx5_core", "28.45.4028", "NVD0000000087", (NO_LINK,),
             ("0002:00:00.0 x4@32.0 x4@32.0", "0002:01:00.0 x4@32.0 x16@32.0")),),
    "Broadcom, one of two up": (
        Card("bnxt_re0", "bnxt_en", "231.0.154.0", "", (ROCE,)),
        Card("bnxt_re1", "bnxt_en", "231.0.154.0", "", (NO_LINK,))),
    "Intel X722, whose counters are none": (
        Card("i40iw0", "i40e", "", "", ((ACTIVE, "40 Gb/sec (4X QDR)", ETH),)),),
    "Intel E810": (
        Card("rocep24s0f0", "ice", "1.75", "", (ROCE,)),),
    "Chelsio T6, iWARP, two ports": (
        Card("cxgb4_0", "cxgb4", "1.23.4.0", "1425.6408", (NO_LINK, ROCE)),
        Card("mlx5_0", "mlx5_core", "16.21.2010", "MT_0000000011", (NO_LINK,))),
    "Omni-Path": (
        Card("hfi1_0", "hfi1", "1.27.0", "100Gb 1-port QSFP28 x16 PCIe Gen3 Omni-Path Adapter",
             ((ACTIVE, "100 Gb/sec (4X EDR)", IB),)),),
    "Omni-Path that does not tell its firmware": (
        Card("hfi1_0", "hfi1", "", "", ((ACTIVE, "100 Gb/sec (4X EDR)", IB),)),),
    "EFA": (
        Card("efa_0", "efa", "0.0.0.0", "", ((ACTIVE, "100 Gb/sec (4X EDR)", "Unknown"),)),),
    "Pensando": (
        Card("rocep229s0", "ionic", "1.110.1-a-1", "", (NO_LINK,)),),
}  # fmt: skip


def build(root: Path, cards: tuple[Card, ...]) -> None:
    for name in ("self/status", "self/limits", "uptime", "sys/kernel/osrelease"):
        write(root, f"proc/{name}", (Path("/proc") / name).read_text())
    for card in cards:
        base = f"sys/class/infiniband/{card.name}"
        address = card.ways[-1].split()[0] if card.ways else "0000:41:00.0"
        write(root, f"{base}/device/uevent", f"DRIVER={card.driver}\nPCI_SLOT_NAME={address}\n")
        if card.firmware:
            write(root, f"{base}/fw_ver", f"{card.firmware}\n")
        if card.board:
            write(root, f"{base}/board_id", f"{card.board}\n")
        for number, files in enumerate(card.ports, start=1):
            for name, text in zip(("state", "rate", "link_layer"), files, strict=True):
                write(root, f"{base}/ports/{number}/{name}", f"{text}\n")
            write(root, f"{base}/ports/{number}/counters/symbol_error", "N/A (no PMA)\n")
        if card.ways:
            plug(root, card.name, *card.ways)
        if card.control:
            configure(root, address, card.control)


def expected(card: Card) -> dict[str, dict[str, str]]:
    """What is reported of a card, of PCIe only where both its ends are known."""
    facts = {"board": card.board, "firmware": card.firmware, "driver": card.driver}
    facts["PCI address"] = card.ways[-1].split()[0] if card.ways else "0000:41:00.0"
    if len(card.ways) > 1:
        width, _, speed = card.ways[-1].split()[1].partition("@")
        facts["PCIe link"] = f"{width} {float(speed):g} GT/s"
    found = {card.name: {name: text for name, text in facts.items() if text}}
    for number, (state, rate, layer) in enumerate(card.ports, start=1):
        name = state.split()[1]
        port = {"state": name, "link layer": layer}
        if name == "ACTIVE":
            port["rate"] = rate.partition(" (")[0]
        found[f"{card.name}:{number}"] = port
    return found


@pytest.mark.parametrize("name", MACHINES)
def test_each_fact_is_read_or_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    build(tmp_path, MACHINES[name])
    monkeypatch.setenv("FABRICHECK_NODE_ROOT", str(tmp_path))
    result = run("node", "--json")
    said: dict[str, Any] = json.loads(result.output)
    told = said["facts"]
    ports = sum(len(card.ports) for card in MACHINES[name])
    assert told.pop("") == {"RDMA ports": str(ports)}
    lost = {card: facts.pop("PCIe loss", "") for card, facts in told.items()}
    more = {card: facts.pop("MaxReadReq", "") for card, facts in told.items()}
    payload = {(facts.pop("MaxPayload", ""), facts.pop("relaxed ordering", ""))
               for facts in told.values()} - {("", "")}  # fmt: skip
    wanted: dict[str, dict[str, str]] = {}
    for card in MACHINES[name]:
        wanted |= expected(card)
    assert told == wanted
    # The slot of generation 4 gave its card generation 3; no other link is slower than its ends.
    at_fraction = name == "ConnectX-6 Dx at a fraction of a gigabit"
    assert any(lost.values()) == at_fraction, lost
    is_configured = name == "ConnectX-6 Dx in a slot of generation 3"
    assert (set(more.values()) - {""}, payload) == (
        ({"4096"}, {("256", "on")}) if is_configured else (set(), set())
    )


def test_there_are_at_least_twenty_of_four_drivers() -> None:
    drivers = {card.driver for cards in MACHINES.values() for card in cards}
    assert len(MACHINES) >= 20
    assert {"mlx5_core", "bnxt_en", "ice", "i40e", "cxgb4"} <= drivers
