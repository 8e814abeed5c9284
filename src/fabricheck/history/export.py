"""The history as other tools take it: ReFrame's perflog, and OpenMetrics with times."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import polars as pl

from fabricheck.history.frame import CASE, POINT
from fabricheck.measures.metrics import point_label

PERFLOG: Final = (
    *("job_completion_time_unix", "name", "system", "partition", "environ", "jobid", "result"),
    *("num_tasks", "job_nodelist", "perf_var", "perf_value", "perf_unit", "perf_ref"),
    *("perf_lower_thres", "perf_upper_thres"),
)
"""Columns of the perflog, by ReFrame's names: a line for each value (``perflog_multiline``)."""

_RESULTS: Final = {"good": "pass", "warning": "pass", "critical": "fail", "untrusted": "fail"}
"""ReFrame's word for a level; what nobody judged has none."""

METRIC: Final = "fabricheck_value"


def perflog(values: pl.DataFrame) -> Iterator[str]:
    """Lines of a perflog of ReFrame 4, the header first; what has no value is left out."""
    yield "|".join(PERFLOG)
    for row in _rows(values):
        variable = "_".join(filter(None, (row["metric"], row["statistic"], _label(row))))
        words = (row[name] for name in ("benchmark", "transport", "layout", "port") if row[name])
        bounds = (_threshold(row, name) for name in ("lower", "upper"))
        cells = (
            *(row["time"].timestamp(), f"{row['check']} %case={'-'.join(words)}"),
            *(row[name] for name in ("system", "partition", "environ", "job")),
            *(
                row["result"] or _RESULTS.get(row["level"]),
                row["ranks"],
                row["node_list"],
                variable,
            ),
            *(row["value"], row["unit"], row["reference"], *bounds),
        )
        yield "|".join("null" if each is None else str(each).replace("|", "/") for each in cells)


def openmetrics(values: pl.DataFrame) -> Iterator[str]:
    """Lines of OpenMetrics: each value with its time, its series as labels.

    ``promtool tsdb create-blocks-from openmetrics`` makes blocks of Prometheus of them. Samples of
    a series follow each other in the order of time.
    """
    yield f"# TYPE {METRIC} gauge"
    yield f"# HELP {METRIC} A value of the record of fabricheck, in the unit that its label has."
    labels = [*CASE, *POINT, "level"]
    for row in _rows(values.sort(*labels, "time", nulls_last=False)):
        named = ",".join(
            f'{name}="{_escaped(str(row[name]))}"'
            for name in labels
            if row[name] not in (None, "", 0)
        )
        yield f"{METRIC}{{{named}}} {row['value']!r} {row['time'].timestamp():.3f}"
    yield "# EOF"


def _rows(values: pl.DataFrame) -> Iterator[Mapping[str, Any]]:
    return values.filter(pl.col("value").is_not_null()).iter_rows(named=True)


def _escaped(text: str) -> str:
    """A value of a label: all but three characters stands for itself."""
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _label(row: Mapping[str, Any]) -> str:
    return "" if row["size"] is None else point_label(row["metric"], row["size"])


def _threshold(row: Mapping[str, Any], name: str) -> float | None:
    """A bound as ReFrame has it: its distance from the reference, as a share of that."""
    bound, reference = row[name], row["reference"]
    return None if bound is None or not reference else bound / reference - 1
