"""Samples as text in the formats that Prometheus asks for, and the history with timestamps."""

import math
from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST as OPENMETRICS
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics
from prometheus_client.registry import Collector

from fabricheck.history.series import Series
from fabricheck.monitor.catalog import CATALOG, FAMILIES, MetricKind, Sample
from fabricheck.monitor.last_run import point_of

Page = Mapping[str, bytes]
"""A page by its content type."""

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
    values: dict[str, dict[tuple[str, ...], float]] = {}
    for family, labels, value in samples:
        known = values.setdefault(family.name, {})
        if labels in known or len(labels) != len(family.labels) or not math.isfinite(value):
            raise ValueError(f"{family.name} has {labels} twice, too many of them, or {value}")
        known[tuple(map(_utf8, labels))] = value
    found = []
    for family in CATALOG:
        if family.name not in values:
            continue
        name = family.name
        if family.kind is MetricKind.COUNTER:
            name = name.removesuffix("_total")
        metric = Metric(name, family.meaning, family.kind)
        for labels, value in values[family.name].items():
            metric.add_sample(family.name, dict(zip(family.labels, labels, strict=True)), value)
        found.append(metric)
    return found


def render(samples: Iterable[Sample], *others: Collector) -> Page:
    """The page by its content type.

    Args:
        samples: what is served.
        others: collectors of the client library whose metrics come behind it.

    Raises:
        ValueError: as `metrics`.
    """
    registry = CollectorRegistry()
    registry.register(_Given(metrics(samples)))
    for other in others:
        registry.register(other)
    return {PLAIN: generate_latest(registry), OPENMETRICS: openmetrics(registry)}  # type: ignore[no-untyped-call]


def joined(pages: Iterable[Page], kind: str) -> bytes:
    """Pages without a family in common as one of this content type."""
    end = b"# EOF\n" if kind == OPENMETRICS else b""
    return b"".join(page[kind].removesuffix(end) for page in pages) + end


def choose(accept: str) -> str:
    """The content type for what a client says that it takes."""
    return OPENMETRICS if "application/openmetrics-text" in accept else PLAIN


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
