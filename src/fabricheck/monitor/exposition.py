"""Samples as text in the two formats that Prometheus asks for."""

import math
from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST as OPENMETRICS
from prometheus_client.openmetrics.exposition import generate_latest as openmetrics
from prometheus_client.registry import Collector

from fabricheck.monitor.catalog import CATALOG, Kind, Sample

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
        known[labels] = value
    found = []
    for family in CATALOG:
        if family.name not in values:
            continue
        name = family.name
        if family.kind is Kind.COUNTER:
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


def joined(pages: Iterable[Page]) -> Page:
    """Pages without a family in common as one."""
    pages = list(pages)
    plain = b"".join(page[PLAIN] for page in pages)
    end = b"# EOF\n"
    return {
        PLAIN: plain,
        OPENMETRICS: b"".join(page[OPENMETRICS].removesuffix(end) for page in pages) + end,
    }


def choose(accept: str) -> str:
    """The content type for what a client says that it takes."""
    return OPENMETRICS if "application/openmetrics-text" in accept else PLAIN
