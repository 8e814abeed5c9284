"""Results of Ramble and SuperBench become cases of the record."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.history.recorded import table
from tests.record.test_imports import taken

from fabricheck.record.imports import import_all


def figure(name: str, value: object, units: str = "") -> dict[str, object]:
    return {
        "name": name,
        "value": value,
        "units": units,
        "origin": "osu-micro-benchmarks",
        "origin_type": "application",
    }


def context(name: str, *figures: dict[str, object]) -> dict[str, object]:
    return {"name": name, "foms": list(figures), "display_name": name}


EXPERIMENT: dict[str, Any] = {
    "name": "osu-micro-benchmarks.osu_latency.two",
    "RAMBLE_STATUS": "SUCCESS",
    "N_REPEATS": 0,
    "application_name": "osu-micro-benchmarks",
    "n_nodes": "2",
    "n_ranks": "2",
    "processes_per_node": "1",
    "CONTEXTS": [
        context("null", figure("Total time", "2.5", "s"), figure("Host", "c1")),
        context("Message Size: 8", figure("Latency", "1.25", "us")),
    ],
    "RAMBLE_VARIABLES": {"batch_partition": "compute"},
    "TAGS": [],
}


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return tmp_path / "record"


def ramble(folder: Path, *experiments: dict[str, Any]) -> Path:
    path = folder / "results.2026-11-03_04.05.06.json"
    path.write_text(json.dumps({"workspace_name": "nights", "experiments": experiments}))
    link = folder / "results.latest.json"
    link.symlink_to(path)
    return link


def test_experiments_of_ramble_are_cases(tmp_path: Path, record: Path) -> None:
    done = taken(record, tmp_path / "store", ramble(tmp_path, EXPERIMENT))
    assert (done.cases, done.values, done.unmeasured, done.problems) == (1, 2, 1, [])
    found = table(tmp_path / "store").filter(table(tmp_path / "store")["value"].is_not_null())
    names = ("system", "partition", "ranks", "metric", "value", "unit")
    assert set(found.select(names).rows()) == {
        ("nights", "compute", 2, "Total time", 2.5, "s"),
        ("nights", "compute", 2, "Message Size 8/Latency", 1.25, "us"),
    }
    assert {str(each)[:10] for each in found["time"]} == {"2026-11-03"}


def test_statistics_of_repetitions_are_left_to_these(tmp_path: Path, record: Path) -> None:
    source = ramble(tmp_path, {**EXPERIMENT, "N_REPEATS": 2}, {**EXPERIMENT, "name": "two.1"})
    assert import_all([source], record).cases == 1


def test_a_damaged_experiment_costs_only_itself(tmp_path: Path, record: Path) -> None:
    wrong = {**EXPERIMENT, "CONTEXTS": [context("null", figure("Latency", "fast", "us"))]}
    done = import_all([ramble(tmp_path, wrong, EXPERIMENT)], record)
    assert (done.cases, len(done.problems)) == (1, 1)
    assert "experiment 1" in done.problems[0].detail


NODE = {
    "node": "sb-01",
    "ib-loopback/return_code:0": 0,
    "ib-loopback/IB_write_8_Avg_0:0": 12.5,
    "nccl-bw/return_code:0": 1,
    "nccl-bw/allreduce_8_busbw:0": None,
}


def superbench(folder: Path, *lines: str) -> Path:
    path = folder / "results-summary.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_lines_of_superbench_are_cases_of_a_node(tmp_path: Path, record: Path) -> None:
    source = superbench(tmp_path, json.dumps(NODE))
    os.utime(source, (1793664000, 1793664000))
    done = taken(record, tmp_path / "store", source)
    assert (done.cases, done.values, done.unmeasured, done.problems) == (2, 1, 1, [])
    found = table(tmp_path / "store")
    names = ("check", "metric", "value", "result", "node_list")
    assert set(found.select(names).rows()) == {
        ("ib-loopback", "IB_write_8_Avg_0:0", 12.5, "pass", "sb-01"),
        ("nccl-bw", "allreduce_8_busbw:0", None, "fail", "sb-01"),
    }


def test_a_damaged_line_of_superbench_costs_only_itself(tmp_path: Path, record: Path) -> None:
    done = import_all([superbench(tmp_path, '{"node": "a"', json.dumps(NODE))], record)
    assert (done.cases, [each.line for each in done.problems]) == (2, [1])
