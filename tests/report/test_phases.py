"""Phases of matrix multiplications: figures of a run, on the page and in files."""

import json
import re
from typing import Any

import pytest
from tests.report import sample

from fabricheck.cli import main
from fabricheck.errors import FabricheckError
from fabricheck.report.load import load
from fabricheck.report.page import render
from fabricheck.report.phase_files import write_phases
from fabricheck.report.phases import phase_figures
from fabricheck.report.summary import summarise

PHASES = ["total", "transfer_a", "broadcast_b", "compute", "transfer_c"]
PNG = b"\x89PNG\r\n\x1a\n"


def matmul_case(benchmark: str, environ: str, placement: str, *, measured: bool = True) -> Any:
    [case] = [
        each
        for each in sample.report("latency")["runs"][0]["testcases"]
        if (each.get("benchmark"), each.get("placement")) == ("latency", "tcp-2n")
        and each["environ"] == environ
    ]
    case |= {"benchmark": benchmark, "placement": placement, "transport": placement[:3]}
    name = f"MpiMatmul %benchmark={benchmark} %placement={placement}"
    case |= {"display_name": name, "name": name, "unique_name": name}
    values = {
        f"{case['system']}:{case['partition']}:{phase}_p50_N{order}": [
            order * (1.0 + number) if measured else None, 0, None, None, "us", "pass",
        ]
        for order in (240, 480)
        for number, phase in enumerate(PHASES)
    }  # fmt: skip
    case["perfvalues"] = values
    case["levels"] = {key.split(":")[-1]: "good" for key in values}
    return case


@pytest.fixture
def run_report(tmp_path):
    document = sample.report("latency")
    document["runs"][0]["testcases"] += [
        matmul_case("matmul_blocking_np4", environ, placement)
        for environ in ("openmpi", "mpich")
        for placement in ("shm-1n", "tcp-2n")
    ]
    document["runs"][0]["testcases"] += [
        matmul_case("matmul_blocking_np2", "openmpi", "tcp-2n"),
        matmul_case("matmul_collective_np2", "openmpi", "tcp-2n", measured=False),
    ]
    path = tmp_path / "run.json"
    path.write_text(json.dumps(document))
    return path


def test_a_figure_for_each_mode_and_number_of_ranks(run_report):
    figures = phase_figures(load(run_report))
    assert [figure.title for figure in figures] == [
        "testbed:slurm, 2 ranks, blocking",
        "testbed:slurm, 4 ranks, blocking",
    ]
    panels = figures[1].panels
    assert [panel.name.rpartition("-")[2] for panel in panels] == PHASES
    assert [line.label for line in panels[0].lines] == [
        "openmpi shm-1n", "openmpi tcp-2n", "mpich shm-1n", "mpich tcp-2n",
    ]  # fmt: skip
    assert panels[1].lines[0].orders == (240, 480)
    assert panels[1].lines[0].values == (480.0, 960.0)
    assert "openmpi tcp-2n from 480 us at N 240 to 960 us at N 480" in panels[1].words


def test_the_page_has_a_chart_for_each_phase(run_report):
    run = load(run_report)
    html = render(run, summarise(run))
    assert '<h2 id="phases"' in html
    names = re.findall(r'class="chart" id="(phases-[\w-]+)" role="img" aria-label="(.+?)"', html)
    assert len(names) == 2 * len(PHASES)
    assert "N 240" in html
    assert "240B" not in html


def test_a_page_without_multiplications_has_no_such_part(tmp_path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps(sample.report("latency")))
    run = load(path)
    assert 'id="phases"' not in render(run, summarise(run))


def test_files_of_all_panels_and_the_same_bytes_again(run_report, tmp_path):
    figures = phase_figures(load(run_report))
    written = write_phases(figures[:1], tmp_path / "a" / "b")
    assert len(written) == 2 * len(PHASES)
    for path in written:
        content = path.read_bytes()
        assert content.startswith(PNG if path.suffix == ".png" else b"<?xml")
    svg = written[0].read_text()
    assert "openmpi tcp-2n" in svg
    assert "Whole multiplication" in svg
    again = write_phases(figures[:1], tmp_path / "c")
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]


def test_the_command_writes_them(run_report, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["fabricheck", "report", str(run_report), "--no-table"])
    with pytest.raises(SystemExit):
        main()
    assert list(tmp_path.glob("*.svg")) == []
    monkeypatch.setattr("sys.argv", [*["fabricheck", "report"], str(run_report), "--plots",
                                     str(tmp_path / "plots")])  # fmt: skip
    with pytest.raises(SystemExit):
        main()
    assert len(list((tmp_path / "plots").glob("*.svg"))) == 2 * len(PHASES)


def test_nothing_to_draw_and_nowhere_to_write(run_report, tmp_path):
    with pytest.raises(FabricheckError, match="expected values of a matrix multiplication"):
        write_phases((), tmp_path)
    figures = phase_figures(load(run_report))
    with pytest.raises(FabricheckError, match="cannot write the plots into"):
        write_phases(figures, run_report / "below")
