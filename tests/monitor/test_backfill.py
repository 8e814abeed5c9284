"""The history as OpenMetrics: Prometheus makes blocks of it, and has the same values."""

import json
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from tests.history.recorded import FIRST, case, read, record
from tests.monitor.conftest import promtool
from tests.refusals import refused

from fabricheck.cli.metrics import backfill
from fabricheck.history.series import Series, SeriesKey
from fabricheck.monitor.exposition import lines
from fabricheck.record.entries import Sample

NIGHTS = 5
LABELS = (
    '{system="testbed",partition="main",environment="openmpi",benchmark="latency",'
    'placement="tcp-2n",statistic="p50",size_bytes="8"}'
)


def seconds(night: int) -> int:
    return int((FIRST + timedelta(days=night)).timestamp())


@pytest.fixture
def history(store: Path, tmp_path: Path) -> Path:
    logs = tmp_path / "perflogs"
    bandwidth = Sample(
        metric="bandwidth", statistic="avg", size=1 << 20, value=100.0, unit="MB/s", level="good"
    )
    for night in range(NIGHTS):
        record(logs, case(night), case(night, benchmark="bw", samples=(bandwidth,)))
    # Medians of an hour under load are no night's.
    record(logs, case(NIGHTS, value=400.0, check="Stress"))
    read(store, logs)
    return store


def test_each_family_once_in_the_order_of_time(history: Path, tmp_path: Path) -> None:
    file = tmp_path / "history.om"
    backfill(file, store=history)
    text = file.read_text().splitlines()
    assert text[-1] == "# EOF"
    assert [line.split()[2] for line in text if line.startswith("# TYPE")] == [
        "fabricheck_case_bandwidth_bytes_per_second",
        "fabricheck_case_latency_seconds",
    ]
    points = [line for line in text if line.startswith(f"fabricheck_case_latency_seconds{LABELS}")]
    assert [line.rsplit(" ", 2)[1:] for line in points] == [
        [repr(9.58 * 1e-6), str(seconds(night))] for night in range(NIGHTS)
    ]
    assert text.count(text[-2].rpartition(" ")[0]) <= 1
    backfill(file, ["benchmark=bw"], store=history, since="2026-11-03")
    assert len(file.read_text().splitlines()) == 2 + NIGHTS - 2 + 1


def test_what_is_not_served_is_an_error(history: Path, tmp_path: Path) -> None:
    with refused("FC2517"):
        backfill(tmp_path / "x", ["size=4"], store=history)
    with refused("FC2516", "expected values with benchmark=none"):
        backfill(tmp_path / "x", ["benchmark=none"], store=history)
    assert not (tmp_path / "x").exists()


def test_series_that_are_told_alike_become_one_and_names_are_quoted() -> None:
    def series(program: str, environ: str, *times: int) -> Series:
        key = SeriesKey(
            "s", "p", environ, "c", "latency", "tcp", 2, program=program,
            metric="latency", statistic="p50", size=8, unit="us",
        )  # fmt: skip
        when = np.array(times, "datetime64[s]")
        return Series(key, when, np.ones(len(times)), np.array(["x"] * len(times)))

    found = list(lines([series("a", "e", 30, 50), series("b", "e", 40, 50), series("a", '"\\\n')]))
    assert [line.rpartition(" ")[2] for line in found[2:-1]] == ["30", "40", "50"]
    quoted = list(lines([series("a", '"\\\n', 1)]))[2]
    assert r'environment="\"\\\n"' in quoted


@pytest.mark.integration
def test_prometheus_makes_blocks_of_it(
    history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, blocks = tmp_path / "history.om", tmp_path / "data"
    backfill(file, store=history)
    done = promtool("tsdb", "create-blocks-from", "openmetrics", file, blocks)
    assert done.returncode == 0, done.stderr
    told = [json.loads((each / "meta.json").read_text())["stats"] for each in blocks.iterdir()]
    assert sum(each["numSamples"] for each in told) == 2 * NIGHTS
    # Of a server's directory promtool reads; blocks alone are none. From 2.53 on it wants a data/
    # where it runs.
    (blocks / "wal").mkdir()
    monkeypatch.chdir(tmp_path)
    dumped = promtool("tsdb", "dump", blocks).stdout.splitlines()
    assert sum(f" {seconds(0)}000" in line for line in dumped) == 2
