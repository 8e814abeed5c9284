"""The history as OpenMetrics with timestamps, under the names that the exporter serves."""

from collections.abc import Iterable, Iterator, Mapping

from fabricheck.history.series import Series
from fabricheck.monitor.catalog import FAMILIES
from fabricheck.monitor.last_run import point_of

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


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
