"""The first witness of a transport: what the library in the job said of its choice."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fabricheck.transports.families import Choice, Statement
from fabricheck.transports.rails import MOST_RAILS
from fabricheck.transports.table import MEMORY_LANES, RDMA_LANES, TCP_LANES, Counter, Transport
from fabricheck.transports.witness import (
    Lane,
    PeerBtl,
    Providers,
    UcxLog,
    Witness,
    by_host,
    providers_allowed,
    read_mvapich2_parameters,
    read_peer_btls,
    read_providers,
    read_ucx_logs,
)

# What UCX prints in the line of an endpoint configuration and no message travels on: the lane that
# asks whether the peer is alive, where ud is right for rc and dc. Wire-up and connection managers
# have no entry there (ucp_worker_print_used_tls, UCX 1.13 to 1.22). Any other kind, also one that a
# later UCX invents, counts as a lane for data.
_AUXILIARY_OPERATIONS = ("ka",)

_FALLBACK_OF = "rdma"
"""The feature of a partition where ``auto`` must not end on sockets without a word."""

# One component under two names: vader up to Open MPI 4.1, sm since 5.0.
_NAMES = {"vader": {"vader", "sm"}}


@dataclass(frozen=True, slots=True)
class TransportReport:
    """What a library said of its choice.

    Attributes:
        evidence: a phrase that names it.
        counter: the counters that must bear it out.
        objections: a sentence for each reason not to believe the transport.
        remarks: a sentence for each thing that is true and not as it should be.
        logs: the UCX log of every rank, where UCX says it.
    """

    evidence: str
    counter: Counter
    objections: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    logs: tuple[UcxLog, ...] = ()


def read_report(
    transport: Transport,
    choice: Choice,
    directory: Path,
    words: str,
    witnesses: Sequence[Witness],
    *,
    interfaces: Collection[str],
    offers: Collection[str],
) -> TransportReport:
    """What the MPI of a finished job said, wherever it says it.

    Args:
        transport: the transport that was asked for.
        choice: how the MPI was made to use it.
        directory: working directory of the job.
        words: its output and error output.
        witnesses: the witness file of every rank.
        interfaces: those that a transport over sockets must use; empty where any will do.
        offers: features of the partition.
    """
    if choice.statement is Statement.PARAMETERS:
        return read_parameters(transport, choice, read_mvapich2_parameters(words))
    if choice.statement is Statement.BTL:
        return read_btls(transport, choice, read_peer_btls(words), len(witnesses))
    if choice.statement is Statement.PROVIDER:
        return read_provider(transport, choice, read_providers(words), witnesses)
    if choice.statement is Statement.DEVICE:
        return read_device(transport, choice, witnesses)
    logs = tuple(read_ucx_logs(directory))
    told = read_lanes(transport, logs, len(witnesses), interfaces, offers)
    wrong = rail_objections(logs, witnesses)
    return replace(told, logs=logs, objections=(*told.objections, *wrong))


def read_lanes(
    transport: Transport,
    logs: Sequence[UcxLog],
    ranks: int,
    interfaces: Collection[str] = (),
    offers: Collection[str] = (),
) -> TransportReport:
    """What UCX said: the lanes of its endpoint configurations.

    Args:
        transport: the transport that was asked for.
        logs: the UCX log of every rank.
        ranks: how many ranks there were.
        interfaces: those that lanes over sockets must use; empty where any will do.
        offers: features of the partition. Where they hold ``rdma`` and UCX, left to itself, chose
            sockets, that is worth a remark: the values are true, and no user should get them.
    """
    lanes = sorted({str(lane) for log in logs for lane in log.lanes})
    evidence = f"UCX lanes {', '.join(lanes) or 'none'}"
    objections = tuple(_lane_objections(transport, logs, ranks, interfaces))
    if transport.counter is not Counter.ANY or objections:
        return TransportReport(evidence, transport.counter, objections)
    chosen = {lane.transport for log in logs for lane in _data(log)} - MEMORY_LANES
    if not chosen:
        why = "expected UCX lanes between nodes, found only shared memory of one"
        return TransportReport(evidence, transport.counter, (why,))
    if chosen <= RDMA_LANES:
        return TransportReport(evidence, Counter.RDMA)
    remarks = (_fallback(chosen),) if _FALLBACK_OF in offers and not chosen & RDMA_LANES else ()
    counter = Counter.NETDEV if chosen <= TCP_LANES else Counter.ANY
    return TransportReport(evidence, counter, remarks=remarks)


def read_parameters(
    transport: Transport, choice: Choice, applied: dict[str, str]
) -> TransportReport:
    """What MVAPICH2 said: the parameters that it applied.

    Args:
        transport: the transport that was asked for.
        choice: how MVAPICH2 was made to use it.
        applied: the parameters of its list and their values.
    """
    found = {name: applied.get(name, "nothing") for name in choice.said}
    objections = [
        f"expected {name}={value} for {transport.name}, found {found[name]} in the library's list "
        "of parameters: it did not choose this transport, or its list was lost"
        for name, value in choice.said.items()
        if found[name] != value
    ]
    said = ", ".join(f"{name}={value}" for name, value in found.items())
    return TransportReport(f"the library applied {said}", transport.counter, tuple(objections))


def read_btls(
    transport: Transport, choice: Choice, peers: Sequence[PeerBtl], ranks: int
) -> TransportReport:
    """What Open MPI without UCX said: the BTL that it took to each peer.

    Args:
        transport: the transport that was asked for.
        choice: how Open MPI was made to use it.
        peers: the BTLs that the ranks named, without those to themselves.
        ranks: how many ranks there were.
    """
    expected = choice.said["btl"]
    named = sorted({peer.btl for peer in peers})
    spoke = len({(peer.host, peer.process) for peer in peers})
    objections = []
    if spoke != ranks:
        objections.append(
            f"expected the BTL of all {ranks} ranks to their peers, found it of {spoke}: "
            "Open MPI did not run on ob1, or its output was lost"
        )
    objections += dict.fromkeys(
        f"expected BTL {expected} for {transport.name}, found {peer.btl} from {peer.host} to "
        f"{peer.to}: something else carried the data"
        for peer in peers
        if peer.btl not in _NAMES.get(expected, {expected})
    )
    return TransportReport(
        f"BTL {', '.join(named) or 'none'}", transport.counter, tuple(objections)
    )


def read_provider(
    transport: Transport, choice: Choice, said: Providers, witnesses: Sequence[Witness]
) -> TransportReport:
    """What the MPI said: the provider of libfabric that it opened.

    Args:
        transport: the transport that was asked for.
        choice: how the MPI was made to use it.
        said: what it said.
        witnesses: the witness file of every rank.
    """
    expected = choice.said["provider"]
    kind = transport.counter.value
    devices = {device for each in witnesses for of, device, _ in each.moved if of == kind}
    objections = []
    if not said.names | said.domains or said.ranks not in (None, len(witnesses)):
        objections.append(
            f"expected the provider of libfabric of all {len(witnesses)} ranks, found it of "
            f"{said.ranks or 'none'}: the MPI did not run on libfabric, or its output was lost"
        )
    # A layered provider is named by what is below it: tcp;ofi_rxm.
    objections += [
        f"expected provider {expected} of libfabric for {transport.name}, found {name}: the MPI "
        "fell back, or FI_PROVIDER of a module or of a user chose another"
        for name in sorted(said.names)
        if name.partition(";")[0] != expected
    ]
    objections += [
        f"expected a {kind} device below libfabric for {transport.name}, found {name}: another "
        "provider carried the data"
        for name in sorted(said.domains - devices)
    ]
    named = [*sorted(said.names), *(f"on {name}" for name in sorted(said.domains))]
    return TransportReport(
        f"libfabric provider {', '.join(named) or 'none'}", transport.counter, tuple(objections)
    )


def left_out(choice: Choice, directory: Path) -> str:
    """Which ``FI_PROVIDER`` of the ranks' environment keeps the MPI from its provider.

    Returns:
        a phrase that follows what went wrong; empty where nothing does. libfabric reads a list of
        names, or after ``^`` of those to leave out (``man fabric``).
    """
    wanted = choice.said.get("provider")
    for value in sorted(providers_allowed(directory)) if wanted else ():
        names = {name.partition(";")[0] for name in value.removeprefix("^").split(",")}
        if (wanted in names) == value.startswith("^"):
            return (
                f": FI_PROVIDER={value} leaves out {wanted}; unset it where a module, a profile or "
                "the site file sets it"
            )
    return ""


def read_device(
    transport: Transport, choice: Choice, witnesses: Sequence[Witness]
) -> TransportReport:
    """What MVAPICH2's library was built for, which is the only channel that it has.

    Args:
        transport: the transport that was asked for.
        choice: how MVAPICH2 was made to use it.
        witnesses: the witness file of every rank.
    """
    expected = choice.said["device"]
    found = sorted({witness.device or "nothing" for witness in witnesses})
    objections = [
        f"expected an MVAPICH2 that was built for {expected} for {transport.name}, found {device}: "
        "give the environment the prefix of that build"
        for device in found
        if not device.startswith(expected)
    ]
    return TransportReport(f"built for {', '.join(found)}", transport.counter, tuple(objections))


def rail_objections(logs: Sequence[UcxLog], witnesses: Sequence[Witness]) -> tuple[str, ...]:
    """Where UCX used fewer or other ports than each node was given, for a site that names several.

    Args:
        logs: the UCX log of every rank.
        witnesses: the witness file of every rank.
    """
    found = []
    for host, ranks in by_host(witnesses).items():
        given = {device: rail for rank in ranks for rail, device in rank.rails.items()}
        if not given:
            continue
        lanes = {lane for log in logs if log.host == host for lane in _data(log)}
        used = {lane.device for lane in lanes if lane.transport in RDMA_LANES}
        if strange := sorted(used - given.keys()):
            found.append(
                f"expected UCX lanes of {host} on {_named(given, given)} alone, found some on "
                f"{', '.join(strange)}: another card carried data"
            )
        lacking = given.keys() - used
        if used and len(given) - len(lacking) < min(len(given), MOST_RAILS):
            found.append(
                f"expected UCX lanes of {host} on {min(len(given), MOST_RAILS)} of the ports "
                f"{_named(given, given)}, found none on {_named(given, lacking)}: UCX did not take "
                "these cards, so nothing is known of them (UCX_MAX_RNDV_RAILS of a module or user?)"
            )
    return tuple(found)


def _named(given: Mapping[str, str], devices: Collection[str]) -> str:
    """Devices with the names that the site has for them, where these are others."""
    named = {each: f"{each} ({given[each]})" if given[each] != each else each for each in given}
    return ", ".join(named[each] for each in given if each in devices)


def _lane_objections(
    transport: Transport, logs: Sequence[UcxLog], ranks: int, interfaces: Collection[str]
) -> list[str]:
    if len(logs) != ranks:
        return [
            f"expected {ranks} UCX logs, one for each rank, found {len(logs)}: "
            "the MPI did not run on UCX, or its log was lost"
        ]
    objections = []
    for log in logs:
        data = _data(log)
        strangers = sorted(str(lane) for lane in data if lane.transport not in transport.lanes)
        if not data:
            objections.append(
                f"expected UCX lanes to other ranks on {transport.name}, "
                f"found none on {log.host or 'a rank without endpoint configuration'}"
            )
        elif strangers and transport.counter is not Counter.ANY:
            objections.append(
                f"expected data lanes on {transport.name} ({', '.join(sorted(transport.lanes))}), "
                f"found {', '.join(strangers)} on {log.host}"
            )
        elif elsewhere := sorted(
            str(lane)
            for lane in data
            if interfaces and lane.transport in TCP_LANES and lane.device not in interfaces
        ):
            objections.append(
                f"expected lanes of {transport.name} on {', '.join(interfaces)}, found "
                f"{', '.join(elsewhere)} on {log.host}"
            )
    return list(dict.fromkeys(objections))


def _data(log: UcxLog) -> set[Lane]:
    return {lane for lane in log.lanes if lane.operation not in _AUXILIARY_OPERATIONS}


def _fallback(chosen: Collection[str]) -> str:
    return (
        f"UCX, left to choose, took {', '.join(sorted(chosen))} where the partition offers RDMA: "
        "every user without settings gets this: see why UCX has no RDMA device (ucx_info -d) on "
        "these nodes"
    )
