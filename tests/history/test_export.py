"""The history as other tools take it, and what those read of it."""

import csv
import math
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import run
from tests.history.recorded import NOW, case, read, record, table
from tests.monitor.conftest import promtool

from fabricheck.history.export import PERFLOG, openmetrics, perflog
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


def test_a_perflog_has_the_columns_of_reframe(values: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "out.log"
    path.write_text("".join(f"{line}\n" for line in perflog(values)))
    found = pl.read_csv(path, separator="|", null_values="null")
    assert tuple(found.columns) == PERFLOG
    measured = values.filter(pl.col("value").is_not_null())
    assert sorted(found["perf_value"]) == sorted(measured["value"])


def test_tables_are_read_back(values: pl.DataFrame, tmp_path: Path) -> None:
    store, text, packed = (str(tmp_path / name) for name in ("store", "out.csv", "out.parquet"))
    run("history", "export", "--store", store, "--output", text)
    run("history", "export", "--store", store, "--output", packed, "--format", "parquet")
    written = pl.read_parquet(packed)
    assert written.schema == values.schema
    assert written.sort(written.columns).equals(values)
    with Path(text).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [*rows[0]] == values.columns
    told = [float(row["value"]) for row in rows if row["value"]]
    assert sorted(told) == sorted(values["value"].drop_nulls())


@pytest.mark.integration
def test_promtool_reads_every_value_with_its_labels(
    values: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = values.with_columns(
        environ=pl.lit('a\tb "\\c\né'), time=pl.col("time") + timedelta(seconds=0.2)
    )
    both = pl.concat([values, odd, odd.with_columns(time=pl.col("time") + timedelta(seconds=0.2))])
    file, blocks = tmp_path / "out.om", tmp_path / "data"
    file.write_text("".join(f"{line}\n" for line in openmetrics(both)), "utf-8")
    done = promtool("tsdb", "create-blocks-from", "openmetrics", file, blocks)
    assert done.returncode == 0, done.stderr
    # Of a server's directory promtool reads; blocks alone are none. From 2.53 on it wants a data/
    # where it runs.
    (blocks / "wal").mkdir()
    monkeypatch.chdir(tmp_path)
    dumped = promtool("tsdb", "dump", blocks).stdout.splitlines()
    assert len(dumped) == both["value"].drop_nulls().len()
    # It prints a label as Go quotes it.
    named = [line for line in dumped if r'environ="a\tb \"\\c\né"' in line]
    assert len(named) == 2 * values["value"].drop_nulls().len()


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
