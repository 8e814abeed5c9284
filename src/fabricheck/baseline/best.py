"""The best values of the history, for rules that give bounds and no values.

For systems on which absolute times mean little, such as the embedded testbed: bounds that are
large multiples catch what is absurd. Noise only ever makes things worse, so what they are multiples
of is the best of all runs and environments: of latencies the lowest median, else the highest
average.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fabricheck.baseline.apply import Change, read
from fabricheck.baseline.proposal import Case
from fabricheck.history.series import Series
from fabricheck.judge.reference_file import (
    fields_of,
    load,
    measured_path,
    read_measured,
    written,
)
from fabricheck.measures.metrics import Metric, point_label

_CASE = ("check", "benchmark", "placement")
_Sizes = dict[int | None, float]


def best(path: Path, cases: Mapping[Case, Sequence[Series]]) -> Change:
    """The measured references of a system with the best values of these cases.

    Args:
        path: the file of its rules. Cases get a value where rules give them bounds, but none.
        cases: what the history has of the system.

    Raises:
        FabricheckError: if a file is wrong.
    """
    rules = load(path).rules
    found: dict[tuple[str, ...], list[Series]] = defaultdict(list)
    for case, series in cases.items():
        fields = fields_of(case.check, case.key)
        said = {key for rule in rules if rule.is_for(fields) for key in rule.says}
        if "bound" in said and "value" not in said:
            found[tuple(fields[name] for name in _CASE)] += series
    known = read_measured(path)
    entries = {tuple(each[name] for name in _CASE): each for each in known["best"]}
    for names, series in sorted(found.items()):
        entries[names] = {**dict(zip(_CASE, names, strict=True)), "value": _values(series)}
    own = measured_path(path)
    return Change(own, read(own), written({**known, "best": list(entries.values())}))


def _values(series: Iterable[Series]) -> dict[str, Any]:
    """The best value by metric and size."""
    found: dict[Metric, _Sizes] = defaultdict(dict)
    for each in series:
        metric, size = Metric(each.key.metric), each.key.size
        if metric is Metric.LATENCY and each.key.statistic != "p50":
            continue
        pick = min if metric is Metric.LATENCY else max
        values = [float(value) for value in each.values if value > 0]
        known = found[metric].get(size)
        if values:
            found[metric][size] = pick([*values, *([] if known is None else [known])])
    return {str(metric): _written(metric, sizes) for metric, sizes in found.items() if sizes}


def _written(metric: Metric, sizes: _Sizes) -> float | dict[str, float]:
    """Values with three digits.

    Few runs may each have been stopped at one size or another, so other sizes have a say: a message
    takes no longer than a larger one, there are no fewer of them in a second, and a larger one
    carries no less.
    """
    if None in sizes:
        return float(f"{sizes[None]:.3g}")
    known = {size: value for size, value in sizes.items() if size is not None}
    pick = min if metric is Metric.LATENCY else max
    return {
        point_label(metric, size): float(
            f"{pick(v for at, v in known.items() if _counts(metric, at, size)):.3g}"
        )
        for size in sorted(known)
    }


def _counts(metric: Metric, at: int, size: int) -> bool:
    return at >= size if metric in (Metric.LATENCY, Metric.MESSAGE_RATE) else at <= size
