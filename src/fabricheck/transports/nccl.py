"""What NCCL says of the algorithm and of the channels that it chose, from its debug logs.

Lines of NCCL 2.21 and later (2.21 to 2.23 write numbers for algorithm and protocol)::

    n1:7:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0
    n1:7:9 [0] NCCL INFO AllReduce: 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fabricheck.transports.settings import Ports
from fabricheck.transports.statement import TransportReport
from fabricheck.transports.table import Transport

LOGS = "nccl.%h.%p.log"
LOGGING: Mapping[str, str] = {
    "NCCL_DEBUG": "INFO",
    "NCCL_DEBUG_SUBSYS": "INIT,ENV,NET,P2P,SHM,TUNING",
    "NCCL_DEBUG_FILE": LOGS,
}
"""What makes NCCL tell it. It writes a line for each call, so never in a run that is timed."""

WAYS: Mapping[str, str] = {**LOGGING, "NCCL_DEBUG_SUBSYS": "INIT,ENV,NET"}
"""What makes NCCL tell its channels alone, when they are made: a timed run may have it."""

_CHANNEL = re.compile(r"NCCL INFO Channel \S+ : .* via (?P<way>NET/\w+|\w+)(?P<rest>\S*)")
_ALGORITHM = re.compile(
    r"NCCL INFO (?P<operation>\w+): +\d+ Bytes -> Algo (?P<algorithm>\w+) proto (?P<protocol>\w+)"
)
_VERSION = re.compile(r"NCCL version (\d+\.\d+\.\d+)")
# NCCL_ALGO_* and NCCL_PROTO_* of nccl_device.h.
_ALGORITHMS = ("TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT")
_PROTOCOLS = ("LL", "LL128", "SIMPLE")


@dataclass(frozen=True, slots=True)
class NcclLogs:
    """What the ranks of a job wrote.

    Attributes:
        versions: of NCCL.
        algorithms: such as ``RING``, of the calls of the operation.
        protocols: such as ``LL128``.
        ways: of the channels to other ranks, such as ``P2P`` or ``NET/IB``.
        gpudirect: whether a network card reads or writes memory of a GPU itself.
    """

    versions: frozenset[str]
    algorithms: frozenset[str]
    protocols: frozenset[str]
    ways: frozenset[str]
    gpudirect: bool


def network(transport: Transport, ports: Ports) -> Mapping[str, str]:
    """What makes NCCL use the network of a transport, at the site's ports."""
    if transport.name == "nccl_socket":
        return {"NCCL_NET": "Socket", **_devices("NCCL_SOCKET_IFNAME", ports, "tcp")}
    if transport.name != "nccl_ib":
        return {}
    asked = ports.variables("NCCL_IB_GID_INDEX", "NCCL_IB_SL", "NCCL_IB_TC")
    return {"NCCL_NET": "IB", **_devices("NCCL_IB_HCA", ports, "rdma"), **asked}


def _devices(variable: str, ports: Ports, key: str) -> Mapping[str, str]:
    """Devices by their exact names, which a = asks of NCCL."""
    return {variable: f"={','.join(names)}"} if (names := ports.names(key)) else {}


def read_nccl_logs(directory: Path, operation: str) -> NcclLogs:
    """The logs in a job's working directory.

    Args:
        directory: where they are.
        operation: NCCL's name of the collective without separators, in any case: ``AllReduce``.
    """
    text = "\n".join(
        path.read_text(errors="replace") for path in sorted(directory.glob("nccl.*.log"))
    )
    calls = [
        match
        for match in _ALGORITHM.finditer(text)
        if match["operation"].lower() == operation.lower()
    ]
    channels = list(_CHANNEL.finditer(text))
    return NcclLogs(
        versions=frozenset(_VERSION.findall(text)),
        algorithms=frozenset(_named(match["algorithm"], _ALGORITHMS) for match in calls),
        protocols=frozenset(_named(match["protocol"], _PROTOCOLS) for match in calls),
        ways=frozenset(match["way"] for match in channels),
        gpudirect=any("GDRDMA" in match["rest"] for match in channels),
    )


def report_of_nccl(
    transport: Transport, logs: NcclLogs, algorithm: str, beside: Collection[str] = ()
) -> TransportReport:
    """What NCCL said of its choice.

    Args:
        transport: the transport that was asked for, with ways of which channels must have one.
        logs: what the ranks wrote.
        algorithm: what was asked for, such as ``RING``; empty where NCCL chooses.
        beside: ways that are right too, between GPUs of a node.
    """
    found = [
        f"algorithm {', '.join(sorted(logs.algorithms)) or 'not reported'}",
        f"protocol {', '.join(sorted(logs.protocols)) or 'not reported'}",
        f"channels via {', '.join(sorted(logs.ways)) or 'none'}",
    ]
    if logs.gpudirect:
        found.append("GPUDirect RDMA")
    evidence = f"NCCL {', '.join(sorted(logs.versions)) or 'of no version'}: {', '.join(found)}"
    objections = _objections(transport, logs, algorithm, beside)
    return TransportReport(evidence, transport.counter, tuple(objections))


def _objections(
    transport: Transport, logs: NcclLogs, algorithm: str, beside: Collection[str]
) -> Iterator[str]:
    right = ", ".join(sorted(transport.lanes))
    if not logs.ways:
        yield (
            f"expected NCCL's lines on its channels ({LOGS}) for {transport.name}, found none: "
            "NCCL did not start, or a single rank only copied"
        )
        return
    strangers = logs.ways - transport.lanes - set(beside)
    if strangers or not logs.ways & transport.lanes:
        yield (
            f"expected channels via {right} for {transport.name}, found "
            f"{', '.join(sorted(strangers or logs.ways))}: something else carried the data"
        )
    if algorithm and not logs.algorithms:
        yield (
            f"expected NCCL's line on the algorithm {algorithm}, found none: NCCL before 2.21 does "
            "not tell it, or NCCL_DEBUG_SUBSYS lacks TUNING"
        )
    elif algorithm and logs.algorithms != {algorithm}:
        yield (
            f"expected the algorithm {algorithm} for every size, found "
            f"{', '.join(sorted(logs.algorithms))}: NCCL did not take NCCL_ALGO"
        )


def _named(word: str, names: tuple[str, ...]) -> str:
    return names[int(word)] if word.isdecimal() and int(word) < len(names) else word.upper()
