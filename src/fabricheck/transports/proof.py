"""Proof that a transport carried the data, by two independent witnesses.

The first witness is what the library says it chose (``statement``): UCX its lanes, MVAPICH2 the
parameters that it applied, Open MPI without UCX its BTLs. The second is the kernel: the counters
of the ports, which move with the payload on the transport that carries it and stay still on the
others.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from fabricheck.transports.gpu_memory import Load, check_counts, check_memory
from fabricheck.transports.rails import GIVEN, MOST_RAILS
from fabricheck.transports.statement import TransportReport
from fabricheck.transports.table import IPOIB, Counter, Transport
from fabricheck.transports.witness import Witness, by_host

# Slurm, PMI and PMIx talk over the same interfaces as the benchmark: so much may move there while
# shared memory carries the payload.
_CONTROL_BYTES = 2 << 20
_CONTROL_PACKETS = 4000

# The largest payload that a packet has: the largest path MTU of InfiniBand and RoCE.
_LARGEST_PACKET = 4096

# Every rank of every benchmark sends or receives at least its payload once for each call, so both
# directions of its node's ports together move that much; a tenth is left for rounding, and for
# drivers that bring their counters up to date now and then.
SHARE_THAT_MUST_MOVE = 0.9
# UCX spreads messages over several ports from its rendezvous on, which has begun at 64 KiB
# (measured over Soft-RoCE, UCX 1.13).
_SPREAD = 65536
_SHARE_THAT_MUST_STAY = 0.1


@dataclass(frozen=True, slots=True)
class Proof:
    """What the witnesses said.

    Attributes:
        evidence: a sentence that names lanes and counters.
        objections: a sentence for each reason not to believe the transport; empty when proved.
        remarks: a sentence for each thing that is true and not as it should be.
    """

    evidence: str
    objections: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def prove(
    transport: Transport,
    load: Load,
    said: TransportReport,
    witnesses: Sequence[Witness],
    *,
    quiet: bool,
    interfaces: Collection[str] = (),
) -> Proof:
    """Hear both witnesses about a transport.

    Args:
        transport: the transport that was asked for.
        load: the least that each rank exchanged.
        said: what the library said of its choice.
        witnesses: the witness file of every rank.
        quiet: whether the nodes' interfaces carry nothing but the job. Where they do, bytes on them
            speak against shared memory and against RDMA; elsewhere the library is the only witness
            of shared memory, and the RDMA ports must move all the same.
        interfaces: those that a transport over sockets must use; empty where any will do.
    """
    chosen = replace(transport, counter=said.counter)
    seen = _describe_counters(chosen, witnesses, interfaces)
    objections: list[str] = []
    if quiet or chosen.counter is not Counter.NONE:
        objections = _counter_objections(chosen, load, witnesses, interfaces, quiet=quiet)
    else:
        seen += " (counters ignored: other traffic uses these interfaces)"
    check = check_memory if transport.memory else check_counts
    memory = check(transport, load, said.logs)
    return Proof(
        "; ".join(filter(None, (said.evidence, memory.evidence, seen))),
        (*said.objections, *memory.objections, *objections),
        said.remarks,
    )


def _counter_objections(
    transport: Transport,
    load: Load,
    witnesses: Sequence[Witness],
    interfaces: Collection[str],
    *,
    quiet: bool,
) -> list[str]:
    objections = []
    # Nodes that share a kernel see each other's interfaces.
    below_ports = frozenset[str]().union(*(witness.below_ports for witness in witnesses))
    for host, ranks in by_host(witnesses).items():
        # Ranks of one node see the same ports: the rank that saw most saw the whole run.
        moved = max(ranks, key=lambda rank: rank.total("netdev", "bytes", of=interfaces))
        if transport.counter is Counter.NETDEV:
            objections += _must_move(transport, load, host, moved, interfaces)
        elif transport.counter is Counter.RDMA:
            objections += _ports_must_move(transport, load, host, max(ranks, key=_sent))
            objections += _rails_must_move(load, host, max(ranks, key=_sent), quiet=quiet)
            if quiet:
                objections += _must_stay(transport, load, host, moved, below_ports)
        elif transport.counter is Counter.ANY:
            objections += _something_must_move(transport, load, host, moved, max(ranks, key=_sent))
        else:
            objections += _must_stay(transport, load, host, moved)
    return objections


def _must_move(
    transport: Transport, load: Load, host: str, seen: Witness, interfaces: Collection[str]
) -> list[str]:
    which = ", ".join(interfaces) or "the interfaces"
    if transport.port == IPOIB and (others := sorted(set(interfaces) - seen.ipoib)):
        return [
            f"expected an interface of InfiniBand for {transport.name}, found {', '.join(others)} "
            f"of {host}, which is none (/sys/class/net/*/type is 32 for one): correct "
            "ucx_net_devices.ipoib in the site file"
        ]
    # What a node tells itself counts only where that is what is measured.
    without = () if transport.is_loopback else ("lo",)
    moved = seen.total("netdev", "bytes", of=interfaces, without=without)
    packets = seen.total("netdev", "packets", of=interfaces, without=without)
    if moved < SHARE_THAT_MUST_MOVE * load.payload:
        return [
            f"expected {load.payload} B or more on {which} of {host} for {transport.name}, "
            f"found {moved} B: something else carried the data"
        ]
    # The payload is that of the large messages, and says nothing of the small ones.
    if packets < SHARE_THAT_MUST_MOVE * load.packets:
        return [
            f"expected {load.packets} packets or more on {which} of {host} for "
            f"{transport.name}, found {packets}: something else carried the messages"
        ]
    return []


def _something_must_move(
    transport: Transport, load: Load, host: str, interfaces: Witness, ports: Witness
) -> list[str]:
    """Where lanes of both kinds share the data, their counters do too."""
    packets = interfaces.total("netdev", "packets", without=("lo",)) + _sent(ports)
    moved = interfaces.total("netdev", "bytes", without=("lo",))
    moved += (_sent(ports) + _received(ports)) * _LARGEST_PACKET
    if (
        moved >= SHARE_THAT_MUST_MOVE * load.payload
        and packets >= SHARE_THAT_MUST_MOVE * load.packets
    ):
        return []
    return [
        f"expected {load.payload} B and {load.packets} packets or more through interfaces and RDMA "
        f"ports of {host} for {transport.name}, found {moved} B at most in {packets} packets: "
        "something else carried the data"
    ]


def _ports_must_move(transport: Transport, load: Load, host: str, seen: Witness) -> list[str]:
    sent, both = _sent(seen), _sent(seen) + _received(seen)
    if sent < SHARE_THAT_MUST_MOVE * load.calls:
        return [
            f"expected {load.calls} packets or more from the RDMA ports of {host} for "
            f"{transport.name}, found {sent}: something else carried the data"
        ]
    packets = load.payload // _LARGEST_PACKET
    if both < SHARE_THAT_MUST_MOVE * packets:
        return [
            f"expected {packets} packets or more through the RDMA ports of {host} for a payload of "
            f"{load.payload} B over {transport.name}, found {both}: something else carried the data"
        ]
    return []


def _rails_must_move(load: Load, host: str, seen: Witness, *, quiet: bool) -> list[str]:
    """The ports that a node was given share large messages; its others stay still."""
    given = list(seen.rails.values())
    if not given:
        return []
    ports = {port for kind, port, _ in seen.moved if kind == "rdma"}
    moved = {port: _sent(seen, (port,)) + _received(seen, (port,)) for port in sorted(ports)}
    large = sum(size * count for size, count in load.whole.items() if size >= _SPREAD)
    rails = min(len(given), MOST_RAILS)
    least = round(_SHARE_THAT_MUST_STAY * large / _LARGEST_PACKET / rails)
    still = [port for port in given if moved.get(port, 0) < least]
    most = _CONTROL_PACKETS + _SHARE_THAT_MUST_STAY * load.calls
    others = [port for port, packets in moved.items() if port not in given and packets > most]
    found = []
    if len(given) - len(still) < rails:
        told = ", ".join(f"{moved.get(port, 0)} through {port}" for port in still)
        found.append(
            f"expected {least} packets or more through each of {rails} ports of {host} for "
            f"{large} B in large messages, found {told}: these cards carried nothing"
        )
    if quiet and others:
        told = ", ".join(f"{moved[port]} packets through {port}" for port in others)
        found.append(
            f"expected {', '.join(given)} alone to carry data on {host}, found {told}: another "
            "card did"
        )
    return found


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


def _sent(seen: Witness, ports: Collection[str] = ()) -> int:
    return sum(seen.total("rdma", name, of=ports) for name in ("sent_pkts", "port_xmit_packets"))


def _received(seen: Witness, ports: Collection[str] = ()) -> int:
    return sum(seen.total("rdma", name, of=ports) for name in ("rcvd_pkts", "port_rcv_packets"))


def _describe_counters(
    transport: Transport, witnesses: Sequence[Witness], interfaces: Collection[str]
) -> str:
    hosts = by_host(witnesses)
    packets = {host: f"{max(map(_sent, ranks))} packets" for host, ranks in hosts.items()}
    bytes_ = {
        host: f"{max(rank.total('netdev', 'bytes', of=interfaces) for rank in ranks)} B"
        for host, ranks in hosts.items()
    }
    if transport.counter is Counter.RDMA:
        moved = packets
    elif transport.counter is Counter.ANY:
        moved = {host: f"{packets[host]} and {bytes_[host]}" for host in hosts}
    else:
        moved = bytes_
    return "ports moved " + ", ".join(f"{amount} on {host}" for host, amount in moved.items())


def prove_packets(least: Sequence[int], witnesses: Sequence[Witness], device: str = "") -> Proof:
    """Hear the ports' counters; a program on verbs has no other way for its data.

    Args:
        least: the packets that each rank's node must have sent, by rank.
        witnesses: the witness file of every rank.
        device: the port that was asked for, such as ``mlx5_0:1``, or that each node found; empty
            for any.
    """
    objections, moved = [], []
    for packets, witness in zip(least, witnesses, strict=True):
        port = next(iter(witness.rails.values()), device) if GIVEN in device else device
        sent = _sent(witness, (port,) if port else ())
        moved.append(f"{sent} packets from {witness.host}")
        if sent < SHARE_THAT_MUST_MOVE * packets:
            objections.append(
                f"expected {packets} packets or more from {port or 'the RDMA ports'} of "
                f"{witness.host}, found {sent}: the messages went another way, or never"
            )
    return Proof(f"ports sent {', '.join(moved)}", tuple(objections))
