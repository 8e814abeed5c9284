"""The guide's table of a training, and the distributions of sums, on the page."""

from typing import Any

import pytest
from tests.report import sample

from fabricheck.programs.allreduce_lab.entries import SCHEMES
from fabricheck.programs.allreduce_lab.page import figures
from fabricheck.report.load import load
from fabricheck.report.page import render
from fabricheck.report.phases import write_phases
from fabricheck.report.summary import summarise

pytestmark = pytest.mark.integration

GOOD = dict(zip(SCHEMES, (2.66, 2.99, 2.36, 1.41), strict=True))


def sample_of(metric: str, statistic: str, value: float) -> dict[str, Any]:
    unit = "1" if metric in ("error_ratio", "tail", "ratio") else "s"
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
    found["cases"] += [
        case_of("gpt2_tail3", averages | loss),
        case_of(
            "sum_tail3",
            percentiles
            | averages
            | loss
            | {
                "tail_avg": sample_of("tail", "avg", 1.6),
                "ratio_avg": sample_of("ratio", "avg", 0.95),
            },
        ),
        case_of("bert_large_tail3", {}),
    ]
    run = load(write(sample.announced(found)))
    figure, networks = figures(run)
    assert networks.table is not None
    [row] = networks.table.rows
    assert row[2:] == (
        "2.66e+03/1.41e+03 = 1.89", "1.33", "1.60", "0.95", "-", "1.23 %", "-", "-", "-",
    )  # fmt: skip
    assert figure.table is not None
    assert figure.table.head == (
        "Model", "Env", "Ring", "BCube", "TAR+TCP", "OptiReduce", "Loss", "Skipped",
    )  # fmt: skip
    assert figure.table.rows == (
        ("GPT-2", "3", "2.66 s (1.89x)", "2.99 s (2.12x)", "2.36 s (1.67x)", "1.41 s (best)",
         "1.23 %", "-"),
    )  # fmt: skip
    [panel] = figure.panels
    assert panel.title.endswith("p99/p50 = 3; OptiReduce lost 1.23 %")
    assert panel.lines[0].values == (1.0, 50.0, 99.0)
    assert panel.lines[0].sizes == pytest.approx((10.1, 15, 19.9))
    assert "Ring from 1 % at 10.1 ms to 99 % at 19.9 ms" in panel.words
    html = render(run, summarise(run))
    assert "Seconds for each iteration of a training" in html
    assert "1.41 s (best)" in html
    assert len(write_phases([figure], tmp_path)) == 2
