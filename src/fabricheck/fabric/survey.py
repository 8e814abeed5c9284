"""What the ports of many nodes are, in lines to read and in values to record."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from fabricheck.fabric.counter import Band, Measure, Place
from fabricheck.fabric.health import Reading, missing
from fabricheck.fabric.limits import Limits
from fabricheck.fabric.port import EMPTY_GID, Port, Snapshot
from fabricheck.fabric.state import ports_in_use
from fabricheck.fabric.table import rows_of

VALUES: Mapping[str, tuple[str, ...]] = {
    "error_ratio": ("loss", "soft_loss"),
    "ce_ratio": ("ecn_share",),
    "ecn_rate": ("ecn",),
    "pause_rate": ("pfc",),
}
"""The bands whose worst reading is recorded, by the metric's name."""

_UNKNOWN = "not available"


def worst_readings(readings: Iterable[Reading], limits: Limits) -> dict[str, tuple[float, Band]]:
    """The reading that is worst for its band, by metric; none where no port can tell."""
    worst: dict[str, tuple[float, Band]] = {}
    for reading in readings:
        band = limits.bands[reading.band]
        few = band.measure is Measure.RATIO and 0 < reading.rise < limits.least_events
        if reading.value is None or few:
            continue
        for metric, bands in VALUES.items():
            if reading.band in bands and _badness(reading.value, band) >= _badness(
                *worst.get(metric, (-1.0, band))
            ):
                worst[metric] = (reading.value, band)
    return worst


def describe(snapshots: Sequence[Snapshot], limits: Limits) -> Iterator[str]:
    """A line for each port in use, and one for each set of counters that ports lack."""
    lacking: dict[str, list[str]] = {}
    for snapshot in snapshots:
        for port in ports_in_use(snapshot, limits).values():
            place = f"{snapshot.host} {port.name}"
            yield f"{place}: {_describe_port(port, limits)}"
            if words := _describe_missing(port):
                lacking.setdefault(words, []).append(place)
    for words, places in lacking.items():
        yield f"counters {_UNKNOWN} on {', '.join(places)}: {words}"


def _badness(value: float, band: Band) -> float:
    return value / (band.critical or band.warning or 1.0)


def _describe_port(port: Port, limits: Limits) -> str:
    rate = f"{port.rate:g} Gbit/s" if port.rate is not None else f"rate {_UNKNOWN}"
    width = f" ({port.width}X{f' {port.speed}' if port.speed else ''})" if port.width else ""
    mtu = f"{port.mtu} B" if port.mtu is not None else _UNKNOWN
    netdev = f" over {port.netdev.name} ({port.netdev.mtu} B)" if port.netdev else ""
    return ", ".join(
        [
            f"{port.state or f'state {_UNKNOWN}'}, {port.link_layer or 'link layer unknown'}",
            f"{rate}{width}",
            f"RDMA MTU {mtu}{netdev}",
            _describe_gid(port, limits),
            f"{port.driver or 'driver unknown'} {port.driver_version}",
            f"firmware {port.firmware or _UNKNOWN}{f' of {port.board}' if port.board else ''}",
        ]
    )


def _describe_gid(port: Port, limits: Limits) -> str:
    filled = {index: gid for index, gid in port.gids.items() if gid.address != EMPTY_GID}
    index = limits.gid_index if limits.gid_index is not None else next(iter(filled), 0)
    gid = filled.get(index)
    kind = f" ({gid.kind})" if gid and gid.kind else ""
    return f"GID {index} {gid.address if gid else 'empty'}{kind}"


def _describe_missing(port: Port) -> str:
    """The counters that a port lacks; a place is named once where nothing of it is there."""
    lacking = missing(port)
    words = []
    for place in Place:
        names = [row.name for row in lacking if row.place is place]
        known = [row for row in rows_of(port.driver) if row.place is place and row.rules]
        if names and len(names) == len(known):
            words.append(f"all of {place}")
        else:
            words += names
    return ", ".join(words)
