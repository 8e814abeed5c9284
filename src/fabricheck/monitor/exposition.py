"""Samples as text in the formats that Prometheus asks for, and the history with timestamps."""

import gzip
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST as OPENMETRICS
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar

from fabricheck.history.series import Series
from fabricheck.monitor.catalog import CATALOG, FAMILIES, UNITS, Family, MetricKind, Sample
from fabricheck.monitor.last_run import point_of

Page = Mapping[str, bytes]
"""A page by its content type; packed, each is a member of a gzip file and has no end."""

PLAIN = CONTENT_TYPE_PLAIN_0_0_4
"""Content type of the text format, which every Prometheus reads."""


class _Given(Collector):
    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = tuple(metrics)

    def collect(self) -> Iterable[Metric]:
        return self._metrics


def metrics(samples: Iterable[Sample]) -> list[Metric]:
    """The samples as metrics of the client library, in the order of the catalogue.

    Raises:
        ValueError: for a sample that comes twice, or whose labels are not those of its family:
            Prometheus would refuse the whole page.
    """
    values: dict[str, dict[tuple[str, ...], Sample]] = {}
    for each in samples:
        family, labels = each.family, each.labels
        known, key = values.setdefault(family.name, {}), (*labels, each.part, each.edge)
        if key in known or len(labels) != len(family.labels) or not math.isfinite(each.value):
            raise ValueError(f"{family.name} has {key} twice, too many of them, or {each.value}")
        known[key] = each
    found = []
    for family in CATALOG:
        if family.name not in values:
            continue
        name = family.name
        if family.kind is MetricKind.COUNTER:
            name = name.removesuffix("_total")
        metric = Metric(name, family.meaning, family.kind, _unit(name, family))
        for each in values[family.name].values():
            told = dict(zip(family.labels, map(_utf8, each.labels), strict=True))
            if each.edge:
                told["le"] = each.edge
            seen = each.exemplar and Exemplar({"job": each.exemplar[0]}, *each.exemplar[1:])
            metric.add_sample(family.name + each.part, told, each.value, exemplar=seen)
        found.append(metric)
    return found


def _unit(name: str, family: Family) -> str:
    """The unit as OpenMetrics has it, which is the end of the name."""
    unit = UNITS.get(family.unit, family.unit)
    return unit if unit and name.endswith(f"_{unit}") else ""


def render(
    samples: Iterable[Sample], *others: Collector, names: Collection[str] = FAMILIES
) -> Page:
    """The page by its content type.

    Args:
        samples: what is served.
        others: collectors of the client library whose metrics come behind it.
        names: families that are served; the others are left out.

    Raises:
        ValueError: as `metrics`.
    """
    registry = CollectorRegistry()
    registry.register(_Given(metrics(each for each in samples if each.family.name in names)))
    for other in others:
        registry.register(other)
    return {PLAIN: generate_latest(registry), OPENMETRICS: openmetrics(registry)}  # type: ignore[no-untyped-call]


_END = b"# EOF\n"


def packed(page: Page) -> Page:
    """The page as it is kept: a fortieth of its size, and joined without unpacking."""
    return {kind: gzip.compress(text.removesuffix(_END), 6, mtime=0) for kind, text in page.items()}


def joined(pages: Iterable[Page], kind: str) -> bytes:
    """Packed pages without a family in common as one of this content type, packed."""
    end = gzip.compress(_END, mtime=0) if kind == OPENMETRICS else b""
    return b"".join(page[kind] for page in pages) + end


def choose(accept: str) -> str:
    """The content type that a client likes best; the text format where it doesn't say."""
    known = _liked(accept)
    # What stands for any is no wish for one.
    ours = [known.get(("application/openmetrics-text", each), 0.0) for each in ("", "1.0.0")]
    text = max((q for (media, _), q in known.items() if media == "text/plain"), default=0.0)
    return OPENMETRICS if max(ours) > 0 and max(ours) >= text else PLAIN


def takes_gzip(accept_encoding: str) -> bool:
    """Whether a client says that it takes gzip."""
    known = {name: q for (name, _), q in _liked(accept_encoding).items()}
    return known.get("gzip", known.get("*", 0.0)) > 0


def _liked(header: str) -> Mapping[tuple[str, str], float]:
    """The weight of each name with its version in a header such as Accept (RFC 9110, 12.4.2)."""
    found = {}
    for each in header.lower().split(","):
        name, *rest = (part.strip() for part in each.split(";"))
        given = {name: value for name, _, value in (part.partition("=") for part in rest)}
        with suppress(ValueError):
            found[name, given.get("version", "").strip('"')] = float(given.get("q", 1))
    return found


Values = dict[int, float]
"""A value by its time in seconds of Unix."""


def lines(series: Iterable[Series]) -> Iterator[str]:
    """The document: each family once, each series in the order of time, and the end.

    What the exporter doesn't serve is left out. Series that differ only in what it doesn't tell
    are one; of two values of one second the last is kept.
    """
    for name, found in sorted(_by_family(series).items()):
        family = FAMILIES[name]
        yield f"# HELP {name} {family.meaning}"
        yield f"# TYPE {name} {family.kind}"
        for labels, values in sorted(found.items()):
            told = ",".join(
                f'{label}="{_escaped(value)}"'
                for label, value in zip(family.labels, labels, strict=True)
            )
            for time, value in sorted(values.items()):
                yield f"{name}{{{told}}} {value!r} {time}"
    yield "# EOF"


def _by_family(series: Iterable[Series]) -> Mapping[str, dict[tuple[str, ...], Values]]:
    found: dict[str, dict[tuple[str, ...], Values]] = {}
    for each in series:
        key = each.key
        point = point_of(key.metric, key.statistic, key.size, key.unit)
        if point is None:
            continue
        family, rest, factor = point
        labels = (key.system, key.partition, key.environ, key.benchmark, key.placement, *rest)
        values = found.setdefault(family, {}).setdefault(labels, {})
        times = each.times.astype("datetime64[s]").astype(int).tolist()
        values.update(zip(times, (each.values * factor).tolist(), strict=True))
    return found


def _utf8(text: str) -> str:
    """A label as Prometheus takes it: what is no UTF-8 stands there as Python writes it."""
    return text.encode(errors="backslashreplace").decode()


def _escaped(text: str) -> str:
    return _utf8(text).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
