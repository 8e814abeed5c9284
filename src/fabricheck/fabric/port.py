"""What a snapshot tells of a node's RDMA ports; ``None`` and absence mean "not available"."""

from collections.abc import Mapping
from dataclasses import dataclass

from fabricheck.fabric.counter import Place

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
    counters: Mapping[tuple[Place, str], int]
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
    """

    moment: str
    host: str
    uptime: float
    ports: Mapping[str, Port]
