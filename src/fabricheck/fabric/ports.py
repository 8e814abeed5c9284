"""The RDMA ports of a node, of what ``nodes/collect.sh`` wrote; ``None`` and absence mean "not
available"."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fabricheck.fabric.counters import CounterPlace
from fabricheck.nodes.told import Told

EMPTY_GID = "0000:0000:0000:0000:0000:0000:0000:0000"


@dataclass(frozen=True, slots=True)
class Gid:
    """One entry of a port's table of addresses.

    Attributes:
        address: eight groups of hexadecimal digits.
        kind: ``RoCE v2``, ``IB/RoCE v1`` or empty.
    """

    address: str
    kind: str


@dataclass(frozen=True, slots=True)
class Netdev:
    """The network interface below a RoCE port.

    Attributes:
        name: its name.
        operstate: ``up``, ``down`` and the like; empty if not available.
        mtu: bytes.
        speed: Mbit/s.
        carrier_changes: how often its link came or went.
    """

    name: str
    operstate: str
    mtu: int | None
    speed: int | None
    carrier_changes: int | None


@dataclass(frozen=True, slots=True)
class Port:
    """One port of an RDMA device.

    Attributes:
        device: name of the device.
        number: from 1.
        state: ``ACTIVE``, ``DOWN``, ``INIT``, … as the kernel writes it, without the number.
        phys_state: ``LinkUp``, ``Disabled``, ``Polling``, … in the same way.
        rate: Gbit/s.
        width: lanes.
        speed: the lane's speed by name, such as ``HDR``; empty if not available.
        link_layer: ``Ethernet`` or ``InfiniBand``.
        mtu: active RDMA MTU in bytes.
        gids: the addresses that were read, empty ones among them.
        netdev: the network interface of a RoCE port.
        counters: value of each counter by place and name.
        driver: kernel driver of the device.
        driver_version: its own version or, for a driver of the kernel, the kernel's.
        firmware: version of the firmware.
        board: the card's part number; firmware is compared between equal boards.
    """

    device: str
    number: int
    state: str
    phys_state: str
    rate: float | None
    width: int | None
    speed: str
    link_layer: str
    mtu: int | None
    gids: Mapping[int, Gid]
    netdev: Netdev | None
    counters: Mapping[tuple[CounterPlace, str], int]
    driver: str
    driver_version: str
    firmware: str
    board: str

    @property
    def name(self) -> str:
        """Device and port as UCX writes them: ``mlx5_0:1``."""
        return f"{self.device}:{self.number}"

    @property
    def active(self) -> bool:
        """Whether the port can carry data."""
        return self.state == "ACTIVE"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What one node said at one moment.

    Attributes:
        moment: ``before`` or ``after``.
        host: host name of the node.
        uptime: seconds since the node booted.
        ports: by name.
        log: what its kernel's log said of cards until then; ``None`` where that was not read.
    """

    moment: str
    host: str
    uptime: float
    ports: Mapping[str, Port]
    log: Sequence[str] | None = None


_PORT = re.compile(r"sys/class/infiniband/(?P<device>[^/]+)/ports/(?P<number>\d+)/state")
_RATE = re.compile(r"(?P<rate>[\d.]+) Gb/sec(?: \((?P<width>\d+)X(?: (?P<speed>\w+))?\))?")
_VERBS = re.compile(r"\s*(?P<key>hca_id|port|active_mtu):\s*(?P<value>\S+)")

# IB_GRH 40, UDP 8, BTH 12, XRC 4, the longest extended header 28, ICRC 4: what the kernel leaves
# room for when it takes a RoCE port's MTU from that of the interface (iboe_get_mtu).
_ROCE_HEADERS = 96
_RDMA_MTUS = (4096, 2048, 1024, 512, 256)

Values = dict[str, str]


def snapshot_of(told: Told) -> Snapshot:
    """The ports of a node at one moment."""
    values = {path: told.value(path) for path in told.lines}
    tables = told.lines
    mtus = _verbs_mtus(tables.get("ibv_devinfo", []))
    ports = [
        _port(match["device"], int(match["number"]), values, tables, mtus)
        for match, _ in told.matching(_PORT)
    ]
    log = told.lines.get("kernel_log", ()) if told.value("log") == "read" else None
    return Snapshot(told.moment, told.host, told.uptime, {port.name: port for port in ports}, log)


def _port(
    device: str,
    number: int,
    values: Values,
    tables: Mapping[str, Sequence[str]],
    mtus: Mapping[tuple[str, int], int],
) -> Port:
    base = f"sys/class/infiniband/{device}"
    place = f"{base}/ports/{number}"
    rate = _RATE.match(values.get(f"{place}/rate", ""))
    driver = _driver(base, values, tables)
    netdev = _netdev(f"{place}/gid_attrs/ndevs", values.get(f"{base}/parent", ""), values)
    kernel = values.get("proc/sys/kernel/osrelease", "")
    return Port(
        device=device,
        number=number,
        state=_words(values.get(f"{place}/state", "")),
        phys_state=_words(values.get(f"{place}/phys_state", "")),
        rate=float(rate["rate"]) if rate else None,
        width=int(rate["width"]) if rate and rate["width"] else None,
        speed=(rate["speed"] or "") if rate else "",
        link_layer=values.get(f"{place}/link_layer", ""),
        mtu=mtus.get((device, number)) or _roce_mtu(netdev),
        gids=dict(_gids(place, values)),
        netdev=netdev,
        counters=dict(_counters(place, netdev, values, tables)),
        driver=driver,
        driver_version=values.get(f"sys/module/{driver}/version", f"of kernel {kernel}"),
        firmware=values.get(f"{base}/fw_ver", ""),
        board=values.get(f"{base}/board_id", ""),
    )


def _words(state: str) -> str:
    """``ACTIVE`` of ``4: ACTIVE``."""
    return state.partition(":")[2].strip() or state


def _driver(base: str, values: Values, tables: Mapping[str, Sequence[str]]) -> str:
    # Soft-RoCE is the driver that names the interface which it sits on; it has no device of its
    # own, or shows that of the interface.
    if f"{base}/parent" in values:
        return "rdma_rxe"
    lines = tables.get(f"{base}/device/uevent", [])
    return next((line[7:] for line in lines if line.startswith("DRIVER=")), "")


def _netdev(table: str, parent: str, values: Values) -> Netdev | None:
    names = (value for path, value in values.items() if path.startswith(f"{table}/"))
    name = next(names, parent)
    if not name:
        return None
    base = f"sys/class/net/{name}"
    speed = _number(values.get(f"{base}/speed", ""))
    return Netdev(
        name=name,
        operstate=values.get(f"{base}/operstate", ""),
        mtu=_number(values.get(f"{base}/mtu", "")),
        # The kernel writes -1 for a speed that it doesn't know.
        speed=speed if speed is None or speed > 0 else None,
        carrier_changes=_number(values.get(f"{base}/carrier_changes", "")),
    )


def _number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _roce_mtu(netdev: Netdev | None) -> int | None:
    if netdev is None or netdev.mtu is None:
        return None
    room = netdev.mtu - _ROCE_HEADERS
    return next((mtu for mtu in _RDMA_MTUS if mtu <= room), None)


def _verbs_mtus(lines: Sequence[str]) -> dict[tuple[str, int], int]:
    """Active MTU by device and port, from the lines of ``ibv_devinfo``."""
    mtus = {}
    device, port = "", 0
    for match in filter(None, map(_VERBS.match, lines)):
        if match["key"] == "hca_id":
            device = match["value"]
        elif match["key"] == "port":
            port = int(match["value"])
        else:
            mtus[device, port] = int(match["value"])
    return mtus


def _gids(place: str, values: Values) -> Iterator[tuple[int, Gid]]:
    for path, address in values.items():
        if path.startswith(f"{place}/gids/"):
            index = int(path.rpartition("/")[2])
            kind = values.get(f"{place}/gid_attrs/types/{index}", "")
            yield index, Gid(address or EMPTY_GID, kind)


def _counters(
    place: str, netdev: Netdev | None, values: Values, tables: Mapping[str, Sequence[str]]
) -> Iterator[tuple[tuple[CounterPlace, str], int]]:
    folders = {
        f"{place}/counters/": CounterPlace.COUNTERS,
        f"{place}/hw_counters/": CounterPlace.HW_COUNTERS,
    }
    if netdev:
        folders[f"ethtool/{netdev.name}/"] = CounterPlace.ETHTOOL
    for path, value in values.items():
        folder, name = path[: path.rfind("/") + 1], path[path.rfind("/") + 1 :]
        # A value such as "N/A (no PMA)" is no number, and no zero.
        if folder in folders and (number := _number(value)) is not None:
            yield (folders[folder], name), number
    lines = tables.get(f"proc/net/dev_snmp6/{netdev.name}", []) if netdev else []
    for name, number in (*_pairs(lines), *_columns(tables.get("proc/net/netstat", []))):
        yield (CounterPlace.IP, name), number


def _pairs(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    for line in lines:
        name, _, value = line.partition(" ")
        if (number := _number(value)) is not None:
            yield name, number


def _columns(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    """ECN counters of /proc/net/netstat: a line of names, and one of values, both IpExt."""
    rows = [line.split()[1:] for line in lines if line.startswith("IpExt:")]
    if len(rows) == 2:  # noqa: PLR2004 - names and values
        for name, value in zip(*rows, strict=False):
            if name.endswith(("ECT0Pkts", "ECT1Pkts", "CEPkts")):
                yield name, int(value)
