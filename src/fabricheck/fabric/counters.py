"""The one table of counters, counters.yaml: what each means, how it is judged, and its source."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any

import yaml


class Meaning(StrEnum):
    """What a counter counts."""

    ERROR = "error"
    CONGESTION = "congestion"
    RETRANSMISSION = "retransmission"
    PACKETS = "traffic, packets"
    BYTES = "traffic, bytes"
    IGNORED = "ignored"


class Role(StrEnum):
    """What a monitor calls a counter, whatever its driver calls it."""

    ECN_MARKED = "ecn_marked"
    CNP_SENT = "cnp_sent"
    CNP_HANDLED = "cnp_handled"
    PAUSE_SENT = "pause_sent"
    PAUSE_RECEIVED = "pause_received"
    PRIORITY_SENT = "priority_sent"
    LINK_DOWN = "link_down"
    BYTES_SENT = "bytes_sent"
    BYTES_RECEIVED = "bytes_received"
    WORDS_SENT = "words_sent"
    WORDS_RECEIVED = "words_received"


class CounterPlace(StrEnum):
    """Where a counter is read."""

    COUNTERS = "counters"
    HW_COUNTERS = "hw_counters"
    ETHTOOL = "ethtool -S"
    IP = "IP"


class Measure(StrEnum):
    """What is compared with a band."""

    RATE = "per second"
    RATIO = "share of packets"
    PAUSED = "share of the time"
    RISE = "increase"


@dataclass(frozen=True, slots=True)
class Band:
    """When to warn, and when to fail; a value on a limit is still inside, but for rates' warnings.

    Attributes:
        measure: what is compared.
        warning: warning above, of a rate from there on, as the source of the ECN bands has it;
            ``None`` for never.
        critical: critical above; ``None`` for never.
        source: where the two limits come from.
    """

    measure: Measure
    warning: float | None
    critical: float | None
    source: str

    @property
    def good(self) -> float | None:
        """The edge that is no longer good itself; ``None`` where the limit is still inside."""
        return self.warning if self.measure is Measure.RATE and self.warning else None


@dataclass(frozen=True, slots=True)
class CounterRule:
    """One way to judge a counter.

    Attributes:
        band: name of the band.
        of: for a share of packets, the counters of the same port that hold the packets.
    """

    band: str
    of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Counter:
    """One row of the table.

    Attributes:
        driver: whose counter it is: ``mlx5``, ``bnxt_re``, ``irdma``, ``rxe``, or ``any``.
        place: where it is read.
        name: its name there; ``{n}`` stands for a number.
        meaning: what it counts.
        rules: how it is judged; none for traffic and for what says nothing about the fabric.
        advice: what its rise says and what to do, with ``{hosts}`` for the nodes of the job.
        source: where its meaning is written.
        ceiling: the value at which it stays, for counters that don't wrap.
        role: what a monitor shows it as, beside the counters of other drivers; ``None`` for most.
    """

    driver: str
    place: CounterPlace
    name: str
    meaning: Meaning
    rules: tuple[CounterRule, ...]
    advice: str
    source: str
    ceiling: int | None = None
    role: Role | None = None

    def number(self, name: str) -> str | None:
        """What ``{n}`` stands for in a counter's name.

        Empty where the row has none, ``None`` where the counter is not this row's.
        """
        if "{n}" not in self.name:
            return "" if name == self.name else None
        pattern = re.escape(self.name).replace(re.escape("{n}"), r"(\d+)")
        found = re.fullmatch(pattern, name)
        return found and found[1]


_DATA: Mapping[str, Any] = yaml.load(
    resources.files("fabricheck.fabric").joinpath("counters.yaml").read_text(),
    yaml.CSafeLoader,
)

Bands = Mapping[str, Band]

BANDS: Bands = {
    name: Band(Measure(measure), *limits) for name, (measure, *limits) in _DATA["bands"].items()
}
"""The suite's own limits of each band. ``fabric_health.bands`` in the extras of a partition
replaces them."""

ROLES: Mapping[tuple[str, str], Role] = {
    (driver, name): Role(role)
    for driver, roles in _DATA["roles"].items()
    for role, names in roles.items()
    for name in names
}
"""What a monitor shows a counter as, by driver and name."""


def _counters() -> Iterator[Counter]:
    for driver, places in _DATA["counters"].items():
        for place, groups in places.items():
            source = groups.pop("source")
            for meaning, entries in groups.items():
                for entry in entries:
                    what = {"source": source, **entry}
                    names, bands = what.pop("names"), what.pop("bands", {})
                    rules = tuple(CounterRule(band, tuple(of)) for band, of in bands.items())
                    for name in names:
                        role = ROLES.get((driver, name))
                        kind = Meaning(meaning)
                        yield Counter(
                            driver, CounterPlace(place), name, kind, rules, **what, role=role
                        )


TABLE: tuple[Counter, ...] = tuple(_counters())

KERNEL_DRIVERS: Mapping[str, str] = _DATA["kernel_drivers"]
"""The driver of the table for each kernel driver that an adapter is bound to."""


@cache
def find(kernel_driver: str, place: CounterPlace, name: str) -> Counter | None:
    """The row of a counter; ``None`` if the table doesn't know it."""
    for counter in rows_of(kernel_driver):
        if counter.place is place and counter.number(name) is not None:
            return counter
    return None


@cache
def rows_of(kernel_driver: str) -> tuple[Counter, ...]:
    """The rows of a kernel driver, and those that every driver shares."""
    driver = KERNEL_DRIVERS.get(kernel_driver)
    return tuple(counter for counter in TABLE if counter.driver in ("any", driver))
