"""The RDMA ports of this node, by the roles of their counters; also told by a shell script."""

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from fabricheck.errors import FabricheckError
from fabricheck.fabric.counters import BANDS, KERNEL_DRIVERS, TABLE, Bands, Counter, Meaning, find
from fabricheck.fabric.limits import read_limits
from fabricheck.fabric.ports import Port, Snapshot, snapshot_of
from fabricheck.monitor.catalog import CATALOG, FAMILIES, ROLES, MetricKind, Sample, Source, sample
from fabricheck.nodes.told import SCRIPT, parse
from fabricheck.report.files import write_whole
from fabricheck.sites.files import extras_of

_SECONDS = 20
_HOUR = 3600
_BYTES_OF_GBIT = 1e9 / 8
EVERY = {
    Meaning.ERROR: "fabricheck_port_errors_total",
    Meaning.RETRANSMISSION: "fabricheck_port_retransmissions_total",
}
_SHARES = sorted(
    {(name, each.band) for row in TABLE if row.meaning in EVERY for each in row.rules
     for name in each.of}
)  # fmt: skip
"""Counters of packets, and the bands that judge a share of them."""


def default_state() -> Path:
    """Where the ports that were seen are kept: systemd's place, or the user's, by node."""
    if given := os.environ.get("STATE_DIRECTORY"):
        return Path(given) / "ports.json"
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "fabricheck" / f"ports-{os.uname().nodename}.json"


class Ports:
    """Reads the ports, and keeps which there were.

    Args:
        state: the file in which they are kept.
        bands: what the counters of this node are held to.

    Raises:
        FabricheckError: if that file is damaged.
    """

    name = Source.PORTS

    def __init__(self, state: Path, bands: Bands = BANDS) -> None:
        self._state = state
        self._bands = bands
        self._seen = _read_state(state)

    def read(self) -> Iterator[Sample]:
        """What the ports of this node say now.

        Raises:
            FabricheckError: if the kernel can't be asked, or the state not be written.
        """
        snapshot = _take()
        now = {
            (port.device, str(port.number)): port.active * (int(time.time()) // _HOUR * _HOUR)
            for port in snapshot.ports.values()
        }
        kept = self._seen | {name: max(at, self._seen.get(name, 0)) for name, at in now.items()}
        if kept != self._seen:
            self._keep(kept)
        for (device, number), last in sorted(self._seen.items()):
            place = (snapshot.host, device, number)
            yield from sample("fabricheck_port_missing", (device, number) not in now, *place)
            if last:
                yield from sample("fabricheck_port_last_active_timestamp_seconds", last, *place)
        yield from of_snapshot(snapshot)
        for name, level, limit in limits_of(self._bands):
            yield from sample("fabricheck_band_limit", limit, snapshot.host, name, level)

    def _keep(self, seen: dict[tuple[str, str], int]) -> None:
        try:
            self._state.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FabricheckError(
                f"FC2204 expected a place for the ports that were seen at {self._state}, found: "
                f"{error.strerror}: name another with --state"
            ) from error
        ports = [[*name, last] for name, last in sorted(seen.items())]
        write_whole(self._state, json.dumps({"ports": ports}) + "\n")
        self._seen = seen


class Defaults:
    """The suite's own limits, for nodes that serve none."""

    name = Source.LIMITS

    def read(self) -> Iterator[Sample]:
        """What they are."""
        for name, level, limit in limits_of(BANDS):
            yield from sample("fabricheck_band_limit", limit, "", name, level)


def bands_of(partition: str | None) -> Bands:
    """What the counters of a node are held to.

    Args:
        partition: ``SYSTEM:PARTITION`` that the node is in; ``None`` for the suite's own limits.

    Raises:
        FabricheckError: if no site has it, or its limits make no sense.
    """
    return read_limits(extras_of(partition)).bands if partition else BANDS


def limits_of(bands: Bands) -> Iterator[tuple[str, str, float]]:
    """Name, level and value of each limit that there is."""
    for name, band in bands.items():
        for level, limit in (("warning", band.warning), ("critical", band.critical)):
            if limit is not None:
                yield name, level, limit


def of_snapshot(snapshot: Snapshot) -> Iterator[Sample]:
    """What the ports of a snapshot say, without what was there before."""
    yield from sample("fabricheck_ports", len(snapshot.ports), snapshot.host)
    yield from sample("fabricheck_node_uptime_seconds", snapshot.uptime, snapshot.host)
    for port in snapshot.ports.values():
        place = (snapshot.host, port.device, str(port.number))
        interface = port.netdev.name if port.netdev else ""
        told = (port.driver, port.firmware, port.board, port.link_layer, interface)
        yield from sample("fabricheck_port_info", 1, *place, *told)
        yield from sample("fabricheck_port_active", port.active, *place)
        if port.rate is not None:
            yield from sample(
                "fabricheck_port_rate_bytes_per_second", port.rate * _BYTES_OF_GBIT, *place
            )
        if port.netdev and port.netdev.carrier_changes is not None:
            changes = port.netdev.carrier_changes
            yield from sample("fabricheck_port_carrier_changes_total", changes, *place)
        for (family, labels), value in _counters(port).items():
            yield from sample(family, value, *place, *labels)


def _counters(port: Port) -> Mapping[tuple[str, tuple[str, ...]], int]:
    """Values by family and labels; of several counters for one thing, the greatest."""
    values: dict[tuple[str, tuple[str, ...]], int] = {}
    for (where, name), value in port.counters.items():
        row = find(port.driver, where, name)
        if row is None:
            continue
        keys = []
        if row.role is not None:
            family, labels, factor = ROLES[row.role]
            if labels:
                labels = (*labels, row.number(name) or "all")
            keys.append(((family, labels), value * factor))
        keys += [((family, (band, name)), value) for family, band in _every(row, name)]
        for key, number in keys:
            values[key] = max(number, values.get(key, 0))
    return values


def _every(row: Counter, name: str) -> Iterator[tuple[str, str]]:
    """Families that hold a counter by its own name, each with the band that judges it there."""
    if row.meaning in EVERY:
        yield EVERY[row.meaning], row.rules[0].band if row.rules else "none"
    for packets, band in _SHARES:
        if packets == name:
            yield "fabricheck_port_packets_total", band


def _take() -> Snapshot:
    try:
        done = subprocess.run(
            [SCRIPT, "now", "ports", "adapters"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FabricheckError(
            f"FC2205 expected {SCRIPT} to report the ports, found: {error}"
        ) from error
    found = parse(done.stdout, SCRIPT.name)
    if len(found) != 1:
        raise FabricheckError(
            f"FC2206 expected one snapshot of {SCRIPT}, found {len(found)}: "
            f"{done.stderr.strip()[:200]}"
        )
    return snapshot_of(found[0])


def _read_state(path: Path) -> dict[tuple[str, str], int]:
    """Each port that was seen, and when it was last active; 0 if it never was."""
    try:
        found = json.loads(path.read_text())["ports"]
        # Those of an earlier version have no time.
        return {(str(device), str(number)): int(*last) for device, number, *last in found}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise FabricheckError(f"FC2207 expected to read {path}, found: {error}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise FabricheckError(
            f"FC2208 expected the ports that were seen in {path}, found something else: remove it; "
            "what is missing now is no longer reported"
        ) from error


_TEMPLATE = Path(__file__).with_name("textfile.sh")
_NUMBER, _NAME = "#", "@"
"""What stands for a counter's number and name in its labels."""


def script(bands: Bands) -> str:
    """The script, whole.

    Args:
        bands: what the counters of the node are held to.
    """
    text = _TEMPLATE.read_text()
    text = text.replace("#@COLLECT@", SCRIPT.read_text().partition("\n")[2].strip())
    return text.replace("#@TABLE@", "\n".join("\t".join(row) for row in _table(bands)))


def _table(bands: Bands) -> Iterator[tuple[str, ...]]:
    for family in CATALOG:
        if family.source is Source.PORTS:
            kind = "untyped" if family.kind is MetricKind.UNKNOWN else family.kind
            yield "F", family.name, kind, family.meaning
            if family.same_as:
                yield "O", family.name, family.same_as
    for kernel, driver in KERNEL_DRIVERS.items():
        yield "D", kernel, driver
    for band, level, limit in limits_of(bands):
        yield "L", band, level, repr(limit)
    for row in TABLE:
        if row.role is not None:
            name, values, factor = ROLES[row.role]
            labels = _labels(FAMILIES[name].labels[3:], values)
            yield "C", row.driver, row.place, row.name, name, labels, str(factor)
        for every, band in _every(row, row.name):
            labels = _labels(("band", "counter"), (band, _NAME))
            yield "C", row.driver, row.place, row.name, every, labels, "1"


def _labels(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    """The labels behind those of the port; the last one may be the counter's number."""
    values = (*values, _NUMBER)
    return "".join(f',{name}="{value}"' for name, value in zip(names, values, strict=False))
