"""The stress as metrics between two scrapes: no block is lost, and each names its job and place."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.monitor import conftest
from tests.monitor.test_stress import PLACE, Scheduler, scheduler, seed, values
from tests.stress.made import BEGIN, block, place

from fabricheck.monitor.exposition import OPENMETRICS, PLAIN, render
from fabricheck.monitor.spread import WINDOW
from fabricheck.monitor.stress import Stress

__all__ = ["scheduler"]


def test_no_block_is_lost_between_two_scrapes(
    tmp_path: Path, scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    stress_ = place(tmp_path / "stress" / "s", job="17")
    source = Stress(tmp_path)
    clock = 0.0
    monkeypatch.setattr("fabricheck.monitor.spread.time.monotonic", lambda: clock)
    kind = 'name="s",operation="allreduce",size_bytes="4194304",nodes="8"'
    greatest = f"fabricheck_stress_greatest_latency_seconds{{{kind}}}"
    total, number, seen, peaks = 0.0, 0, [], []
    for _ in range(6):
        for _ in range(5):
            number += 1
            value = 1000.0 + number % 7 * 1000
            made = block(f"{number}.1", value=value, at=scheduler.now)
            peak = replace(made.samples[-1], value=value * 3)
            stress_.append(replace(made, samples=(*made.samples[:-1], peak)))
            total += value
            peaks.append(value * 3e-6)
        scheduler.now += 15
        clock += 15
        found = values(source.read())
        assert found[f"fabricheck_stress_block_latency_seconds{{{kind}}}_count"] == number
        assert found[f"fabricheck_stress_block_latency_seconds{{{kind}}}_sum"] == pytest.approx(
            total / 1e6
        )
        assert found[f"fabricheck_stress_block_latency_seconds{{{kind}}}_bucket 0.005"] == sum(
            each <= 0.0151 for each in peaks
        )
        seen.append(found[greatest])
    assert max(seen) == pytest.approx(max(peaks))
    # A failed block and one without proof are counted, and are no latency.
    stress_.append(block("100.1", value=1e6, level="untrusted"))
    assert values(source.read())[f"fabricheck_stress_block_latency_seconds{{{kind}}}_count"] == 30
    clock += WINDOW + 1
    assert greatest not in values(source.read())


def test_a_bucket_names_a_job_that_is_in_it(tmp_path: Path, scheduler: Scheduler) -> None:
    seed(tmp_path)
    page = render(Stress(tmp_path).read())
    line = next(
        each for each in page[OPENMETRICS].decode().splitlines()
        if 'le="0.05"' in each and "allreduce" in each
    )  # fmt: skip
    assert line.endswith(f'}} 2.0 # {{job="17"}} 0.04497766 {float(BEGIN)}')
    assert b"# {" not in page[PLAIN]


def test_a_stress_says_where_it_runs_and_with_what(tmp_path: Path, scheduler: Scheduler) -> None:
    made = seed(tmp_path)
    made.append(replace(block("3.1"), mpi="openmpi", mpi_version="4.1.4", ucx_version="1.20"))
    told = (
        'session="stress-s-20261122T000000Z",mpi="openmpi",mpi_version="4.1.4",ucx_version="1.20"'
    )
    found = conftest.values(Stress(tmp_path).read())
    assert found[f'fabricheck_stress_info{{name="s"{PLACE},{told}}}'] == 1
    (made.path / "plan.json").unlink()
    found = conftest.values(Stress(tmp_path).read())
    empty = (
        PLACE.replace("testbed", "").replace("main", "").replace("openmpi", "").replace("rc", "")
    )
    assert found[f'fabricheck_stress_restarts_total{{name="s"{empty}}}'] == 0
