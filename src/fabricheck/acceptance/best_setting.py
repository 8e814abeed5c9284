"""Which setting of a sweep is better than the default, and by how much.

A round gives each setting one logarithm of its ratio to the default of that round: the mean over
the sizes of a range. The estimate is that of ``side_by_side``. The best of many settings looks
better than it is, so all intervals of a sweep, of each setting in each range, hold together with
95 %: each misses the truth at 5 % over their number (Bonferroni). A setting is better if all of its
interval is.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, Final

import numpy as np

from fabricheck.acceptance.side_by_side import ERROR_RATE, SAME, estimate, exp
from fabricheck.errors import FabricheckError
from fabricheck.judge.levels import Level
from fabricheck.measures.metrics import Direction, row_of
from fabricheck.record.entries import CaseEntry, Sample
from fabricheck.report.curves import PRIMARY
from fabricheck.units import KIB

ALL: Final = "all sizes"
BETTER, WORSE, UNTRUSTED, FEW = "better", "worse", "untrusted", "too few rounds"
_RANGES: Final = (
    ("up to 1 KiB", -1, KIB),
    ("above 1 KiB to 64 KiB", KIB, 64 * KIB),
    ("above 64 KiB", 64 * KIB, 2**63),
)
_LEAST_SHARE: Final = 0.5
"""Of the planned rounds so many must have both values."""
Row = dict[str, Any]
Values = Mapping[int | None, float]


def best_setting(
    settings: Sequence[Mapping[str, str]], order: Sequence[int], cases: Sequence[CaseEntry]
) -> Row:
    """The comparison as data, format 1.

    ``ratio`` is how many times as good as the default a setting is: above 1 it is better.

    Args:
        settings: the variables of each, the first the default.
        order: which setting each run has.
        cases: the runs, in that order.

    Raises:
        FabricheckError: if no run has values that could be compared.
    """
    metric, statistic = _compared(cases)
    lower = getattr(row_of(metric), "direction", None) is Direction.LOWER
    rounds = len(order) // len(settings)
    runs = [[c for o, c in zip(order, cases, strict=True) if o == s] for s in range(len(settings))]
    sign = -1 if lower else 1
    values = [[_logs(case, metric, statistic, sign) for case in each] for each in runs]
    told = [_told(*each) for each in zip(settings, runs, strict=True)]
    sizes = {size for each in values for run in each for size in run}
    ranges = [(ALL, sizes), *_ranges(sizes)]
    error_rate = ERROR_RATE / (len(ranges) * (len(settings) - 1) or 1)
    rows = [
        {
            "range": name,
            "variables": told[setting]["variables"],
            **_beside(values[0], values[setting], each, error_rate, told[setting]["why"]),
        }
        for name, each in ranges
        for setting in range(1, len(settings))
    ]
    better = [row for row in rows if row["says"] == BETTER]
    of_ranges = [[row for row in better if row["range"] == name] for name, _ in ranges]
    return {
        "format": 1,
        "metric": metric,
        "statistic": statistic,
        "rounds": rounds,
        "allocations": sorted({case.job.partition("/")[0] for case in cases if "/" in case.job}),
        "nodes": sorted({node for case in cases for node in case.nodes}),
        "settings": told,
        "ratios": rows,
        "best": [max(found, key=lambda row: row["ratio"]) for found in of_ranges if found],
    }


def _told(variables: Mapping[str, str], cases: Sequence[CaseEntry]) -> Row:
    """What the runs of a setting say beside their values."""
    disturbed = [case for case in cases if case.level == Level.DISTURBED]
    return {
        "variables": dict(variables),
        "levels": dict(Counter(case.level or case.result for case in cases)),
        "why": _first(case for case in cases if not (_is_sound(case) or case in disturbed)),
        "disturbed": _first(disturbed),
        "evidence": next((case.evidence for case in cases if case.evidence), ""),
    }


def _first(cases: Iterable[CaseEntry]) -> str:
    found = ((*case.findings, case.fail_reason or case.result)[0] for case in cases)
    return next(found, "")


def _is_sound(case: CaseEntry) -> bool:
    return bool(case.level) and case.level not in (Level.UNTRUSTED, Level.DISTURBED)


def _compared(cases: Sequence[CaseEntry]) -> tuple[str, str]:
    """The metric and the statistic that are compared: the first of the registry's, its middle."""
    sound = [case for case in cases if _is_sound(case)]
    samples = [each for case in sound for each in case.samples if _counts(each)]
    found = {each.statistic for each in samples if each.metric == samples[0].metric}
    statistic = next((each for each in PRIMARY if each in found), "")
    if sound and not statistic:
        raise FabricheckError(
            f"FC2910 expected values that can be compared, with {' or '.join(PRIMARY)}, found none "
            f"in {len(sound)} runs of {sound[0].benchmark}: sweep another benchmark"
        )
    return samples[0].metric if samples else "", statistic


def _counts(sample: Sample) -> bool:
    row = row_of(sample.metric)
    return bool(row and row.is_compared and sample.value and sample.value > 0)


def _logs(case: CaseEntry, metric: str, statistic: str, sign: int) -> Values:
    """The logarithm of the value of each size, greater is better; none that can't be believed."""
    found = (each for each in case.samples if _is_sound(case) and _counts(each))
    return {
        each.size: sign * math.log(each.value or 1)
        for each in found
        if (each.metric, each.statistic) == (metric, statistic)
    }


def _ranges(sizes: set[int | None]) -> Iterator[tuple[str, set[int | None]]]:
    """The ranges, where there is more than one."""
    known = sizes - {None}
    found = ((name, {s for s in known if low < (s or 0) <= up}) for name, low, up in _RANGES)
    there = [each for each in found if each[1]]
    yield from there if len(there) > 1 else ()


def _beside(
    default: Sequence[Values],
    given: Sequence[Values],
    sizes: set[int | None],
    error_rate: float,
    why: str,
) -> Row:
    logs = [
        fmean(other[size] - one[size] for size in both)
        for one, other in zip(default, given, strict=True)
        if (both := sizes & one.keys() & other.keys())
    ]
    middle, reach, _ = estimate(np.array(logs), error_rate=error_rate) if logs else (0.0, None, 1.0)
    ends = None if reach is None else [exp(middle - reach), exp(middle + reach)]
    enough = len(logs) >= _LEAST_SHARE * len(default)
    return {
        "ratio": exp(middle) if logs else None,
        "interval": ends,
        "rounds": len(logs),
        "says": UNTRUSTED if why else _says(ends) if ends and enough else FEW,
    }


def _says(ends: list[float]) -> str:
    return BETTER if ends[0] > 1 else WORSE if ends[1] < 1 else SAME
