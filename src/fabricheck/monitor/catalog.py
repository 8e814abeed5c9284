"""The one table of metrics, from catalog.csv: what each is called, its unit, labels and meaning.

Names are as Prometheus asks for them (base units, ``_total`` for what only rises). Beside them
stands a closed list of the names of the MPI AI cluster benchmark, so that its dashboards go on
working; nothing is added to that list.
"""

import fnmatch
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from fabricheck.errors import FabricheckError
from fabricheck.fabric.counters import Role
from fabricheck.tables import A_ROW, TEXT, Cell, maybe, one_of, pattern, rows


class MetricKind(StrEnum):
    """Type of a metric in the exposition format."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"
    UNKNOWN = "unknown"


class Source(StrEnum):
    """What a metric is read from."""

    EXPORTER = "exporter"
    RUN = "run"
    NIGHT = "night"
    SCHEDULE = "schedule"
    PORTS = "ports"
    STRESS = "stress"
    LIMITS = "limits"


@dataclass(frozen=True, slots=True)
class Family:
    """One row of the catalogue.

    Attributes:
        name: as a query writes it.
        kind: its type.
        unit: in words; empty for a number without one.
        labels: names of its labels, in the order in which a sample gives their values.
        source: what it is read from.
        meaning: what it says, the ``HELP`` of the exposition.
        same_as: for a name of the other benchmark, ours.
    """

    name: str
    kind: MetricKind
    unit: str
    labels: tuple[str, ...]
    source: Source
    meaning: str
    same_as: str = ""


class Sample(NamedTuple):
    """One value of a family.

    Attributes:
        family: which.
        labels: the value of each of its labels.
        value: the value.
        part: of a histogram ``_bucket``, ``_sum`` or ``_count``.
        edge: of a bucket, the greatest value in it.
        exemplar: number of a job, value and Unix time of one that is in it.
    """

    family: Family
    labels: tuple[str, ...]
    value: float
    part: str = ""
    edge: str = ""
    exemplar: tuple[str, float, float] | None = None


_LABELS = (
    "benchmark|band|board|campaign|commit|counter|device|direction|driver|environment|firmware|interface"
    "|level|link_layer|mpi|mpi_version|name|operation|partition|placement|port|priority|session"
    "|size|size_bytes|source|state|statistic|status|step|system|transport|ucx_version|version"
    r"|(?<!size )(?<!size_bytes )node|((?<=size )|(?<=size_bytes ))nodes"
)
_LISTED = maybe(pattern(f"({_LABELS})( ({_LABELS}))*", "node device port"), "")
_COLUMNS = {
    "name": pattern("(fabricheck|mpi|rdma)_[a-z_]+", "fabricheck_cases"),
    "kind": one_of(MetricKind),
    "unit": maybe(one_of(("s", "B", "B/s", "packets", "frames")), ""),
    "labels": Cell(_LISTED.form, lambda text: tuple(_LISTED.read(text).split())),
    "source": one_of(Source),
    "meaning": maybe(TEXT, ""),
    "same as": A_ROW,
}
CATALOG: tuple[Family, ...] = tuple(
    Family(
        meaning=row.pop("meaning") or f"{row['same as']} by an older name.",
        same_as=row.pop("same as"),
        **row,
    )
    for row in rows(Path(__file__).with_name("catalog.csv"), _COLUMNS)
)
UNITS = {"s": "seconds", "B": "bytes", "B/s": "bytes_per_second"}
"""Units as names have them."""
FAMILIES = {family.name: family for family in CATALOG}
"""The catalogue by name."""

OLD_NAMES = {family.same_as: family for family in CATALOG if family.same_as}
"""The family that repeats one of ours by the other benchmark's name."""


class SeriesPlace(NamedTuple):
    """Where a counter of some role is shown: family, labels behind the port's, and factor."""

    family: str
    labels: tuple[str, ...] = ()
    factor: int = 1


# The kernel counts InfiniBand's data in words of four bytes.
_WORD = 4
ROLES = {
    Role.ECN_MARKED: SeriesPlace("fabricheck_port_ecn_marked_packets_total"),
    Role.CNP_SENT: SeriesPlace("fabricheck_port_cnp_sent_packets_total"),
    Role.CNP_HANDLED: SeriesPlace("fabricheck_port_cnp_handled_packets_total"),
    Role.PAUSE_SENT: SeriesPlace("fabricheck_port_pause_frames_total", ("sent",)),
    Role.PAUSE_RECEIVED: SeriesPlace("fabricheck_port_pause_frames_total", ("received",)),
    Role.PRIORITY_SENT: SeriesPlace("fabricheck_port_priority_bytes_total", ("sent",)),
    Role.LINK_DOWN: SeriesPlace("fabricheck_port_link_down_total"),
    Role.BYTES_SENT: SeriesPlace("fabricheck_port_sent_bytes_total"),
    Role.BYTES_RECEIVED: SeriesPlace("fabricheck_port_received_bytes_total"),
    Role.WORDS_SENT: SeriesPlace("fabricheck_port_sent_bytes_total", factor=_WORD),
    Role.WORDS_RECEIVED: SeriesPlace("fabricheck_port_received_bytes_total", factor=_WORD),
}
"""Where each role of the table of counters is shown."""


def chosen(patterns: Iterable[str], *, seed_names: bool = True) -> frozenset[str]:
    """Names of the families that a site wants.

    Args:
        patterns: with ``*`` and ``?``, as in the shell; all families, if there are none.
        seed_names: whether those of the MPI AI cluster benchmark are among them.

    Raises:
        FabricheckError: for a pattern that fits none.
    """
    names = {name for name, family in FAMILIES.items() if seed_names or not family.same_as}
    found = {each: set(fnmatch.filter(names, each)) for each in patterns}
    if idle := [each for each, fit in found.items() if not fit]:
        raise FabricheckError(
            "FC3501 expected a name of docs/reference/metrics.md, such as fabricheck_port_*, found "
            f"{idle[0]!r}, which fits none: correct --collect"
        )
    return frozenset().union(*found.values()) if found else frozenset(names)


def sample(name: str, value: float, *labels: str) -> Iterator[Sample]:
    """A value of a family, and again by its older name if that has the same labels."""
    family = FAMILIES[name]
    yield Sample(family, labels, float(value))
    old = OLD_NAMES.get(name)
    if old and old.labels == family.labels:
        yield Sample(old, labels, float(value))
