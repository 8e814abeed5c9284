"""Proof that a transport carried the data, by two independent witnesses.

The first witness is what UCX says it selected: the lanes of its endpoint configurations, at
``UCX_LOG_LEVEL=info``; or, for an MPI that is not on UCX, the parameters that it says it applied.
The second is the kernel: the counters of the ports, which move with the
payload on the transport that carries it and stay still on the others.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from fabricheck.transports.table import Counter, Transport
from fabricheck.transports.witness import UcxLog, Witness, by_host

# What UCX prints in the line of an endpoint configuration and no message travels on: the lane that
# asks whether the peer is alive, where ud is right for rc and dc. Wire-up and connection managers
# have no entry there (ucp_worker_print_used_tls, UCX 1.13 to 1.22). Any other kind, also one that a
# later UCX invents, counts as a lane for data.
_AUXILIARY_OPERATIONS = ("ka",)

# Slurm, PMI and PMIx talk over the same interfaces as the benchmark: so much may move there while
# shared memory carries the payload.
_CONTROL_BYTES = 2 << 20
_CONTROL_PACKETS = 4000

# The largest payload that a packet has: the largest path MTU of InfiniBand and RoCE.
_LARGEST_PACKET = 4096

# Every rank of every benchmark sends or receives at least its payload once for each call, so both
# directions of its node's ports together move that much; a tenth is left for rounding.
_SHARE_THAT_MUST_MOVE = 0.9
_SHARE_THAT_MUST_STAY = 0.1


@dataclass(frozen=True, slots=True)
class Load:
    """The least that one rank must have exchanged with others.

    Attributes:
        payload: bytes: size × iterations, summed over the sizes.
        calls: iterations, summed over the sizes.
    """

    payload: int
    calls: int


@dataclass(frozen=True, slots=True)
class Proof:
    """What the witnesses said.

    Attributes:
        evidence: a sentence that names lanes and counters.
        objections: a sentence for each reason not to believe the transport; empty when proved.
    """

    evidence: str
    objections: tuple[str, ...]


def prove(
    transport: Transport,
    load: Load,
    logs: Sequence[UcxLog],
    witnesses: Sequence[Witness],
    *,
    quiet: bool,
) -> Proof:
    """Hear both witnesses about a transport of UCX.

    Args:
        transport: the transport that was asked for.
        load: the least that each rank exchanged.
        logs: the UCX log of every rank.
        witnesses: the witness file of every rank.
        quiet: whether the nodes' interfaces carry nothing but the job. Where they do, bytes on them
            speak against shared memory and against RDMA; elsewhere the lanes are the only witness
            of shared memory, and the RDMA ports must move all the same.
    """
    lanes = sorted({str(lane) for log in logs for lane in log.lanes})
    ports = _hear_ports(transport, load, witnesses, quiet=quiet)
    return Proof(
        f"UCX lanes {', '.join(lanes) or 'none'}; {ports.evidence}",
        (*_lane_objections(transport, logs, len(witnesses)), *ports.objections),
    )


def prove_without_ucx(
    transport: Transport,
    load: Load,
    expected: Mapping[str, str],
    applied: Mapping[str, str],
    witnesses: Sequence[Witness],
    *,
    quiet: bool,
) -> Proof:
    """Hear both witnesses about an MPI that is not on UCX: its list of parameters takes the lanes'
    place.

    Args:
        transport: as for ``prove``.
        load: as for ``prove``.
        expected: the parameters that choose the transport, and their values.
        applied: the parameters that the library says it applied.
        witnesses: as for ``prove``.
        quiet: as for ``prove``.
    """
    found = {name: applied.get(name, "nothing") for name in expected}
    objections = [
        f"expected {name}={value} for {transport.name}, found {found[name]} in the library's list "
        "of parameters: it did not choose this transport, or its list was lost"
        for name, value in expected.items()
        if found[name] != value
    ]
    ports = _hear_ports(transport, load, witnesses, quiet=quiet)
    said = ", ".join(f"{name}={value}" for name, value in found.items())
    return Proof(f"the library applied {said}; {ports.evidence}", (*objections, *ports.objections))


def _hear_ports(
    transport: Transport, load: Load, witnesses: Sequence[Witness], *, quiet: bool
) -> Proof:
    evidence = _describe_counters(transport, witnesses)
    if quiet or transport.counter is not Counter.NONE:
        objections = _counter_objections(transport, load, witnesses, quiet=quiet)
        return Proof(evidence, tuple(objections))
    return Proof(f"{evidence} (not heard: other traffic shares these interfaces)", ())


def _lane_objections(transport: Transport, logs: Sequence[UcxLog], ranks: int) -> list[str]:
    if len(logs) != ranks:
        return [
            f"expected {ranks} UCX logs, one for each rank, found {len(logs)}: "
            "the MPI did not run on UCX, or its log was lost"
        ]
    objections = []
    for log in logs:
        data = {lane for lane in log.lanes if lane.operation not in _AUXILIARY_OPERATIONS}
        strangers = sorted(str(lane) for lane in data if lane.transport not in transport.lanes)
        if not data:
            objections.append(
                f"expected UCX lanes to other ranks on {transport.name}, "
                f"found none on {log.host or 'a rank without endpoint configuration'}"
            )
        elif strangers:
            objections.append(
                f"expected data lanes on {transport.name} ({', '.join(sorted(transport.lanes))}), "
                f"found {', '.join(strangers)} on {log.host}"
            )
    return list(dict.fromkeys(objections))


def _counter_objections(
    transport: Transport, load: Load, witnesses: Sequence[Witness], *, quiet: bool
) -> list[str]:
    objections = []
    # Nodes that share a kernel see each other's interfaces.
    below_ports = frozenset[str]().union(*(witness.below_ports for witness in witnesses))
    for host, ranks in by_host(witnesses).items():
        # Ranks of one node see the same ports: the rank that saw most saw the whole run.
        moved = max(ranks, key=lambda rank: rank.total("netdev", "bytes"))
        if transport.counter is Counter.NETDEV:
            objections += _must_move(transport, load, host, moved)
        elif transport.counter is Counter.RDMA:
            objections += _ports_must_move(transport, load, host, max(ranks, key=_sent))
            if quiet:
                objections += _must_stay(transport, load, host, moved, below_ports)
        else:
            objections += _must_stay(transport, load, host, moved)
    return objections


def _must_move(transport: Transport, load: Load, host: str, seen: Witness) -> list[str]:
    moved = seen.total("netdev", "bytes", without=("lo",))
    packets = seen.total("netdev", "packets", without=("lo",))
    if moved < _SHARE_THAT_MUST_MOVE * load.payload:
        return [
            f"expected {load.payload} B or more on the interfaces of {host} for {transport.name}, "
            f"found {moved} B: something else carried the data"
        ]
    # Large segments and acknowledgements that ride on data make one packet of several calls, so
    # packets witness only benchmarks without payload.
    if load.payload == 0 and packets < _SHARE_THAT_MUST_MOVE * load.calls:
        return [
            f"expected {load.calls} packets or more on the interfaces of {host} for "
            f"{transport.name}, found {packets}: something else carried the messages"
        ]
    return []


def _ports_must_move(transport: Transport, load: Load, host: str, seen: Witness) -> list[str]:
    sent, both = _sent(seen), _sent(seen) + _received(seen)
    if sent < _SHARE_THAT_MUST_MOVE * load.calls:
        return [
            f"expected {load.calls} packets or more from the RDMA ports of {host} for "
            f"{transport.name}, found {sent}: something else carried the data"
        ]
    packets = load.payload // _LARGEST_PACKET
    if both < _SHARE_THAT_MUST_MOVE * packets:
        return [
            f"expected {packets} packets or more through the RDMA ports of {host} for a payload of "
            f"{load.payload} B over {transport.name}, found {both}: something else carried the data"
        ]
    return []


def _must_stay(
    transport: Transport,
    load: Load,
    host: str,
    seen: Witness,
    without: Collection[str] = (),
) -> list[str]:
    moved = seen.total("netdev", "bytes", without=without)
    packets = seen.total("netdev", "packets", without=without)
    which = f"interfaces of {host}{' without RoCE' if without else ''}"
    if moved > _CONTROL_BYTES + _SHARE_THAT_MUST_STAY * load.payload:
        return [
            f"expected the {which} to stay still for {transport.name}, found "
            f"{moved} B for a payload of {load.payload} B: they carried the data"
        ]
    if packets > _CONTROL_PACKETS + _SHARE_THAT_MUST_STAY * load.calls:
        return [
            f"expected the {which} to stay still for {transport.name}, found "
            f"{packets} packets for {load.calls} calls: they carried the messages"
        ]
    return []


def _sent(seen: Witness) -> int:
    return seen.total("rdma", "sent_pkts") + seen.total("rdma", "port_xmit_packets")


def _received(seen: Witness) -> int:
    return seen.total("rdma", "rcvd_pkts") + seen.total("rdma", "port_rcv_packets")


def _describe_counters(transport: Transport, witnesses: Sequence[Witness]) -> str:
    hosts = by_host(witnesses)
    if transport.counter is Counter.RDMA:
        moved = {host: f"{max(map(_sent, ranks))} packets" for host, ranks in hosts.items()}
    else:
        moved = {
            host: f"{max(rank.total('netdev', 'bytes') for rank in ranks)} B"
            for host, ranks in hosts.items()
        }
    return "ports moved " + ", ".join(f"{amount} on {host}" for host, amount in moved.items())
