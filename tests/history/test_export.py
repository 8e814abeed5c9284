"""The history as a perflog, which this suite reads back, and as OpenMetrics."""

import math
from pathlib import Path

import polars as pl
import pytest
from tests.history.recorded import NOW, case, read, record, table

from fabricheck.history.export import openmetrics, perflog
from fabricheck.record.imports import import_all

LATER = NOW.replace(year=2027)


@pytest.fixture
def values(tmp_path: Path) -> pl.DataFrame:
    (sample, *_) = case(1).samples
    bounded = [type(sample)(**{**_fields(sample), "reference": 10.0, "upper": 12.0})]
    record(tmp_path / "logs", case(0), case(1, samples=tuple(bounded)), case(2, value=None))
    read(tmp_path / "store", tmp_path / "logs", now=LATER)
    return table(tmp_path / "store")


def _fields(sample: object) -> dict[str, object]:
    return {name: getattr(sample, name) for name in sample.__dataclass_fields__}  # type: ignore[attr-defined]


def test_a_perflog_is_read_back(values: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "out.log"
    path.write_text("".join(f"{line}\n" for line in perflog(values)))
    done = import_all([path], tmp_path / "again")
    measured = values.filter(pl.col("value").is_not_null())
    assert (done.values, done.problems) == (measured.height, [])
    read(tmp_path / "store2", tmp_path / "again", now=LATER)
    found = table(tmp_path / "store2")
    assert sorted(found["value"]) == sorted(measured["value"])
    assert set(found["metric"]) == {f"latency_p50_{size}B" for size in (1, 2, 4, 8)}
    assert found["time"].sort().to_list() == measured["time"].sort().to_list()
    (upper,) = found["upper"].drop_nulls()
    assert math.isclose(upper, 12.0)


@pytest.mark.parametrize(
    ("level", "result"),
    [("good", "pass"), ("untrusted", "fail"), ("", "null"), ("disturbed", "null")],
)
def test_what_nobody_judged_has_not_passed(level: str, result: str, values: pl.DataFrame) -> None:
    _, line, *_ = perflog(values.with_columns(level=pl.lit(level), result=pl.lit("")))
    assert line.split("|")[6] == result


def test_openmetrics_have_labels_and_times_in_order(values: pl.DataFrame) -> None:
    first, _, *samples, last = openmetrics(values)
    assert (first, last) == ("# TYPE fabricheck_value gauge", "# EOF")
    assert len(samples) == values.filter(pl.col("value").is_not_null()).height
    assert 'metric="latency",statistic="p50",size="8",unit="us"' in samples[-1]
    series: dict[str, list[float]] = {}
    for line in samples:
        name, _, time = line.rpartition(" ")
        series.setdefault(name.rpartition(" ")[0], []).append(float(time))
    assert all(times == sorted(times) for times in series.values())
