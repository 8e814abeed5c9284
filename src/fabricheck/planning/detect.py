"""What tools say of a machine, as far as a site file needs it, each read from its output."""

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DetectedPort:
    """An RDMA port.

    Attributes:
        device: such as ``mlx5_0``.
        number: from 1.
        is_active: whether its link is up.
        layer: ``InfiniBand`` or ``Ethernet``.
        gigabits: its rate; ``None`` where the tool doesn't say.
    """

    device: str
    number: int
    is_active: bool
    layer: str
    gigabits: float | None

    def __str__(self) -> str:
        return f"{self.device}:{self.number}"


@dataclass(frozen=True, slots=True)
class Processor:
    """CPUs of a node, in ReFrame's terms."""

    num_cpus: int
    num_cpus_per_core: int
    num_sockets: int


def read_ibv_devinfo(text: str) -> list[DetectedPort]:
    """The ports in the output of ``ibv_devinfo -v``."""
    return [
        _port(device, number, lines)
        for device, ports in _blocks(text, r"^hca_id:\s*(\S+)")
        for number, lines in _blocks(ports, r"^\s+port:\s*(\d+)")
    ]


def read_ucx_info(text: str) -> dict[str, set[str]]:
    """Transports of ``ucx_info -d``, each with its devices."""
    found: dict[str, set[str]] = {}
    transport = ""
    for line in text.splitlines():
        if match := re.match(r"#\s+Transport:\s*(\S+)", line):
            transport = match[1]
        elif (match := re.match(r"#\s+Device:\s*(\S+)", line)) and transport:
            found.setdefault(transport, set()).add(match[1])
    return found


def read_lscpu(text: str) -> Processor | None:
    """The processor in the output of ``lscpu --json``; ``None`` where it doesn't say."""
    # Newer versions nest the fields.
    fields = dict(re.findall(r'"field":\s*"([^"]+?):?",\s*"data":\s*"([^"]*)"', text))
    try:
        threads, sockets = int(fields["Thread(s) per core"]), int(fields["Socket(s)"])
        return Processor(int(fields["CPU(s)"]), threads, sockets)
    except (ValueError, KeyError):
        return None


_NEMESIS = re.compile(r"\bfabrics:?=nemesis\b")


def read_spack_find(text: str) -> list[str]:
    """The MPI families in the output of ``spack find`` with name and variants, each once.

    MVAPICH2's build for Ethernet is a family of its own.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    return list(
        dict.fromkeys(
            f"{line.split()[0]}{'_nemesis' * bool(_NEMESIS.search(line))}" for line in lines
        )
    )


def read_mpi_types(text: str) -> list[str]:
    """What a launcher lists as what it can speak to an MPI, one word a line behind its name."""
    found = re.findall(r"^(?:\w+:)?\s*(\w+)\s*$", text, re.MULTILINE)
    return [word for word in found if word != "none"]


def _blocks(text: str, head: str) -> Iterator[tuple[str, str]]:
    """The parts of a text that begin with a heading, each with what the heading names."""
    matches = list(re.finditer(head, text, re.MULTILINE))
    ends = [*(match.start() for match in matches[1:]), len(text)]
    for match, end in zip(matches, ends, strict=False):
        yield match[1], text[match.end() : end]


def _port(device: str, number: str, text: str) -> DetectedPort:
    def field(name: str) -> str:
        match = re.search(rf"^\s+{name}:\s*(.+?)\s*$", text, re.MULTILINE)
        return match[1] if match else ""

    # "active_width: 4X (2)", "active_speed: 25.0 Gbps (32)": lanes times the rate of a lane.
    width, speed = (
        re.match(r"(\d+)X", field("active_width")),
        re.match(r"([\d.]+) Gbps", field("active_speed")),
    )
    return DetectedPort(
        device,
        int(number),
        "PORT_ACTIVE" in field("state"),
        field("link_layer"),
        float(width[1]) * float(speed[1]) if width and speed else None,
    )
