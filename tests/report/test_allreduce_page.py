"""The guide's table of a training, and the distributions of sums, on the page."""

from typing import Any

import pytest
from tests.report import sample

from fabricheck.programs.allreduce_lab.entries import KNOWN, SCHEMES
from fabricheck.programs.allreduce_lab.page import figures
from fabricheck.report.load import load
from fabricheck.report.page import render
from fabricheck.report.phases import write_phases
from fabricheck.report.summary import summarise

pytestmark = pytest.mark.integration

GOOD = dict(zip(SCHEMES, (2.66, 2.99, 2.36, 1.41), strict=True))


def sample_of(metric: str, statistic: str, value: float) -> dict[str, Any]:
    unit = "1" if metric in ("error_ratio", "tail", "ratio", "accuracy", "drift") else "s"
    return {"metric": metric, "statistic": statistic, "size": None, "unit": unit, "level": "good",
            "value": value}  # fmt: skip


def case_of(benchmark: str, samples: dict[str, Any]) -> Any:
    return sample.entry_of(
        f"Lab %benchmark={benchmark}", "builtin", benchmark=benchmark, level="good",
        samples=samples, **sample.where("tcp-4n"),
    )  # fmt: skip


def test_the_page_has_the_guides_table_with_ratios_and_distributions_with_the_loss(write, tmp_path):
    found = sample.report("latency")
    loss = {"error_ratio_avg": sample_of("error_ratio", "avg", 0.0123)}
    averages = {f"{s}_avg": sample_of(s, "avg", time) for s, time in GOOD.items()}
    percentiles = {
        f"{scheme}_p{percent}": sample_of(scheme, f"p{percent}", 0.01 * (1 + percent / 100))
        for scheme in SCHEMES
        for percent in (1, 50, 99)
    }
    known = {
        f"{scheme}_to{percent}": sample_of(scheme, f"to{percent}", seconds * percent)
        for scheme, seconds in (("ring", 0.02), ("optireduce", 0.01))
        for percent in KNOWN
    }
    more = {"tail": 1.6, "ratio": 0.9, "accuracy": 0.6, "drift": 0.004}
    told = {f"{name}_avg": sample_of(name, "avg", value) for name, value in more.items()}
    found["cases"] += [
        case_of("gpt2_tail3", averages | loss),
        case_of("sum_tail3", percentiles | averages | loss | told),
        case_of("learn_elastic4", known | loss | told),
        case_of("bert_large_tail3", {}),
    ]
    run = load(write(sample.announced(found)))
    sums, learning, trainings = figures(run)
    assert sums.table is not None
    assert sums.table.rows == (
        ("long bursts, p99/p50 = 3", "2660", "1410", "1.89", "2.10", "-", "1.33", "1.60",
         "1.23 %", "-"),
    )  # fmt: skip
    [panel] = sums.panels
    assert panel.title == "Long bursts, p99/p50 = 3; OptiReduce lost 1.23 %"
    assert panel.lines[0].values == (1.0, 50.0, 99.0)
    assert panel.lines[0].sizes == pytest.approx((10.1, 15, 19.9))
    assert "Ring from 1 % at 10.1 ms to 99 % at 19.9 ms" in panel.words
    assert learning.table is not None
    assert learning.table.rows == (
        ("beside a ring of 4 processes", "1000", "500", "2.00", "60.00 %", "0.40 %", "1.23 %",
         "-"),
    )  # fmt: skip
    [panel] = learning.panels
    assert [line.values[-1] for line in panel.lines] == [50.0, 50.0]
    assert "OptiReduce from 20 % at 200 ms to 50 % at 500 ms" in panel.words
    assert trainings.table is not None
    assert trainings.table.rows == (
        ("GPT-2", "3", "2.66 s (1.89x)", "2.99 s (2.12x)", "2.36 s (1.67x)", "1.41 s (best)",
         "1.23 %", "-"),
    )  # fmt: skip
    html = render(run, summarise(run))
    assert "Seconds for each iteration of a training" in html
    assert "1.41 s (best)" in html
    assert len(write_phases([sums, learning], tmp_path)) == 4
