"""CPUs are kept awake for as long as this process lives, where that is allowed."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from fabricheck.launch.awake import keep_awake
from fabricheck.reframe_ext import judged


def test_the_device_takes_no_latency_at_all_and_stays_open(tmp_path: Path) -> None:
    device = tmp_path / "cpu_dma_latency"
    device.write_bytes(b"")
    held = keep_awake(device)
    assert held is not None
    assert (device.read_bytes(), Path(f"/proc/self/fd/{held}").resolve()) == (bytes(4), device)
    assert not os.get_inheritable(held), "a program that ReFrame starts would hold it longer"
    assert keep_awake(device) == held, "it is asked before each case"
    os.close(held)


def test_a_machine_without_it_runs_its_cases_all_the_same(tmp_path: Path) -> None:
    assert keep_awake(tmp_path / "cpu_dma_latency") is None
    assert keep_awake(tmp_path) is None


@pytest.mark.parametrize(("feature", "times"), [("shared_cores", 1), ("tcp", 0)])
def test_cases_ask_for_it_where_nodes_are_parts_of_this_machine(
    monkeypatch: pytest.MonkeyPatch, feature: str, times: int
) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(judged, "keep_awake", lambda: asked.append(True))
    case = SimpleNamespace(current_partition=SimpleNamespace(features=[feature]))
    judged.Judged.keep_nodes_awake(case)
    assert len(asked) == times
    hooks = [hook.__name__ for hook in judged.Judged.pipeline_hooks()["pre_run"]]
    assert "keep_nodes_awake" in hooks
