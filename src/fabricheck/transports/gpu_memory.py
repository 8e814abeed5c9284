"""Whether messages came from the memory and by the lanes asked for, by UCX's tables."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fabricheck.transports.protocols import Protocol
from fabricheck.transports.table import Counter, Memory, Scope, Transport
from fabricheck.transports.witness import UcxLog

_SHARE_THAT_MUST_COME = 0.9
_TABLES_SINCE = (1, 16)
_COUNTS_SINCE = (1, 21)
_VERSION = re.compile(r"(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Load:
    """The least that one rank must have exchanged with others.

    Attributes:
        payload: bytes: size × iterations, summed over the sizes.
        calls: iterations, summed over the sizes.
        whole: iterations of each size in bytes, of messages that no MPI cuts into pieces.
        waits: whether each call waits for a message of another rank, so that no two share a packet.
    """

    payload: int
    calls: int
    whole: Mapping[int, int] = field(default_factory=dict)
    waits: bool = False

    @property
    def packets(self) -> int:
        """The least that the calls take; 0 where one packet may have the messages of several."""
        return self.calls if self.waits or self.payload == 0 else 0


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """What the tables say.

    Attributes:
        evidence: a phrase with counts.
        objections: a sentence with the first reason not to believe the path; none if there is none.
    """

    evidence: str
    objections: tuple[str, ...]


def check_memory(transport: Transport, load: Load, logs: Sequence[UcxLog]) -> MemoryReport:
    """Hold UCX's tables against the memory that messages of a transport must come from.

    Messages that an MPI may cut, or send inside a node too, must only be there. Where the memory is
    the host's, because the program itself copies, a UCX without tables says nothing against it.

    Args:
        transport: the transport that was asked for, with its memory.
        load: the least that each rank exchanged. In pairs, each message has one sender, so that
            all ranks together send at least half of what they exchange.
        logs: the UCX log of every rank.
    """
    tables = [row for log in logs for row in log.protocols]
    if not tables:
        version = next((log.version for log in logs if log.version), "")
        lacking = () if transport.memory is Memory.HOST else (_without_tables(transport, version),)
        return MemoryReport(f"no protocol tables of UCX {version}".rstrip(), lacking)
    of_gpu = [row for row in tables if row.is_of_gpu]
    of_host = [row for row in tables if row.is_message and not row.is_of_gpu]
    needed = _SHARE_THAT_MUST_COME * len(logs) / 2
    evidence = f"from GPU {_described(of_gpu)}; from host memory {_total(of_host)}"
    if transport.memory is Memory.HOST:
        messages = [row for row in of_gpu if row.is_message]
        return MemoryReport(
            evidence, tuple(_not_staged(transport, messages, of_host, needed * load.calls))
        )
    if transport.memory is Memory.EITHER:
        return MemoryReport(evidence, ())
    objections = list(_not_aware(transport, of_gpu, of_host, needed * load.calls))
    if transport.direct:
        edge = _edge(of_gpu)
        evidence += f"; copied by UCX up to {edge:.0f} B" if math.isfinite(edge) else ""
        objections += _copied_too_much(transport, of_gpu, load.whole, edge, needed)
    else:
        objections += _copied_too_little(transport, of_gpu)
    return MemoryReport(evidence, tuple(objections[:1]))


def check_counts(transport: Transport, load: Load, logs: Sequence[UcxLog]) -> MemoryReport:
    """Hold the counts of UCX 1.21 and later, where an environment asks for them, against the lanes.

    Args:
        transport: the transport that was asked for.
        load: the least that each rank exchanged.
        logs: the UCX log of every rank.
    """
    rows = [row for log in logs for row in log.protocols if row.count is not None]
    if not rows:
        return MemoryReport("", ())
    strangers = [row for row in _used(rows) if row.is_certain and set(row.lanes) - transport.lanes]
    objections = []
    if strangers and transport.counter is not Counter.ANY:
        objections.append(
            f"expected messages on {', '.join(sorted(transport.lanes))} for {transport.name}, "
            f"found {_described(strangers)} in UCX's counts: something else carried the data"
        )
    # Collectives inside a node may pass UCX by; a rendezvous is counted with its message.
    needed = _SHARE_THAT_MUST_COME * load.calls * len({log.host for log in logs}) / 2
    sent = _sum(row for row in rows if not row.operation.startswith("rendezvous"))
    if not objections and transport.scope is Scope.INTER_NODE and sent < needed:
        objections.append(
            f"expected {math.ceil(needed)} messages or more in UCX's counts for {transport.name}, "
            f"found {sent}: something else carried the data"
        )
    return MemoryReport(f"UCX counted {_described(rows)}", tuple(objections))


def _without_tables(transport: Transport, version: str) -> str:
    found = _VERSION.match(version)
    number = (int(found[1]), int(found[2])) if found else (0, 0)
    if number >= _COUNTS_SINCE:
        return (
            f"expected UCX's tables of protocols for {transport.name}, found none of UCX "
            f"{version}: UCX_PROTO_INFO did not reach the ranks, or UCX was not closed before "
            "they ended"
        )
    if number >= _TABLES_SINCE:
        return (
            f"expected UCX's tables of protocols for {transport.name}, found none: UCX {version} "
            "prints them only with UCX_PROTO_INFO=y: add [UCX_PROTO_INFO, y] to env_vars of the "
            "environment in the site file"
        )
    return (
        f"expected UCX 1.16 or later for {transport.name}, which reports the memory that messages "
        f"came from, found UCX {version or 'of no version'}: the path can't be proved; build the "
        "MPI on a newer UCX (docs/how-to/gpu.md)"
    )


def _not_staged(
    transport: Transport, of_gpu: Sequence[Protocol], of_host: Sequence[Protocol], needed: float
) -> Iterable[str]:
    if _used(of_gpu):
        yield (
            f"expected messages from host memory for {transport.name} on the staged path, found "
            f"{_total(of_gpu)} from memory of a GPU: the program handed MPI the GPU's memory"
        )
    elif _is_counted(of_host) and _sum(of_host) < needed:
        yield (
            f"expected {math.ceil(needed)} messages or more from host memory for {transport.name} "
            f"on the staged path, found {_sum(of_host)}: something else carried the data"
        )


def _not_aware(
    transport: Transport, of_gpu: Sequence[Protocol], of_host: Sequence[Protocol], needed: float
) -> Iterable[str]:
    messages = [row for row in of_gpu if row.is_message]
    if not _used(messages):
        yield (
            f"expected messages from memory of a GPU for {transport.name}, found only those from "
            f"host memory ({_total(of_host)}): the program or the MPI copied them to the host first"
        )
    elif _is_counted(messages) and _sum(messages) < needed:
        yield (
            f"expected {math.ceil(needed)} messages or more from memory of a GPU for "
            f"{transport.name}, found {_sum(messages)}: the others were copied to the host first"
        )
    # Of rows without counts, those that may have carried.
    strangers = [
        row for row in _used(of_gpu) if row.is_certain and set(row.lanes) - transport.lanes
    ]
    if strangers:
        yield (
            f"expected memory of a GPU on {', '.join(sorted(transport.lanes))} for "
            f"{transport.name}, found {_described(strangers)}: something else carried the data"
        )


def _copied_too_little(transport: Transport, rows: Iterable[Protocol]) -> Iterable[str]:
    if found := [row for row in _used(rows) if row.is_certain and row.is_zero_copy]:
        yield (
            f"expected UCX to copy memory of a GPU through the host for {transport.name}, found "
            f"{_described(found)}: the lane read it itself"
        )


def _copied_too_much(
    transport: Transport,
    rows: Sequence[Protocol],
    whole: Mapping[int, int],
    edge: float,
    needed: float,
) -> Iterable[str]:
    by = " or ".join(sorted(transport.direct))
    direct = [row for row in _used(rows) if row.is_certain and _is_direct(transport, row)]
    others = [row for row in _used(rows) if row.is_certain and not _is_direct(transport, row)]
    if not direct:
        yield (
            f"expected zero-copy from memory of a GPU over {by} for {transport.name}, found "
            f"{_described(others)}: UCX copied everything through the host"
        )
    elif whole and math.isinf(edge):
        yield (
            f"expected zero-copy over {by} for the largest messages of {transport.name}, found "
            f"{_described([row for row in others if math.isinf(row.most)])} for them"
        )
    elif _is_counted(direct):
        above = math.ceil(needed * sum(count for size, count in whole.items() if size > edge))
        if _sum(direct) < above:
            yield (
                f"expected {above} messages or more above {edge:.0f} B as zero-copy over {by} for "
                f"{transport.name}, found {_sum(direct)}: UCX copied the others through the host"
            )


def _is_direct(transport: Transport, row: Protocol) -> bool:
    return row.is_zero_copy and bool(row.lanes) and set(row.lanes) <= transport.direct


def _edge(rows: Iterable[Protocol]) -> float:
    """The largest message in bytes that UCX still copies through host memory.

    It comes of UCX's model of the GPU, so it moves with both.
    """
    copied = (row.most for row in _used(rows) if row.is_certain and not row.is_zero_copy)
    return max(copied, default=0)


def _used(rows: Iterable[Protocol]) -> list[Protocol]:
    return [row for row in rows if row.count is None or row.count]


def _is_counted(rows: Iterable[Protocol]) -> bool:
    return all(row.count is not None for row in rows)


def _sum(rows: Iterable[Protocol]) -> int:
    return sum(row.count or 0 for row in rows)


def _total(rows: Sequence[Protocol]) -> str:
    if not _used(rows):
        return "none"
    return f"{_sum(rows)} messages" if _is_counted(rows) else "some, not counted"


def _described(rows: Iterable[Protocol]) -> str:
    """How many went how: counts of rows alike are added."""
    counts: dict[str, int | None] = {}
    for row in _used(rows):
        if row.is_certain:
            way = f"{row.how} by {', '.join(row.lanes) or 'copies alone'}"
            counts[way] = None if row.count is None else (counts.get(way) or 0) + row.count
    ways = (way if count is None else f"{count} × {way}" for way, count in counts.items())
    return ", ".join(ways) or "none"
