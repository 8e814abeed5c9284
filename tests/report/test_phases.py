"""Phases of matrix multiplications: figures of a run, on the page and in files."""

import re
import sys
from typing import Any

import pytest
from tests.report import sample

from fabricheck.cli import main
from fabricheck.errors import FabricheckError
from fabricheck.report.load import load
from fabricheck.report.page import render
from fabricheck.report.phases import phase_figures, write_phases
from fabricheck.report.summary import summarise

pytestmark = pytest.mark.integration

PHASES = ["total", "transfer_a", "broadcast_b", "compute", "transfer_c"]
PNG = b"\x89PNG\r\n\x1a\n"


def matmul_case(benchmark: str, environ: str, placement: str, *, measured: bool = True) -> Any:
    samples = {
        f"{phase}_p50_N{order}": {
            "metric": phase,
            "statistic": "p50",
            "size": order,
            "unit": "us",
            "level": "good",
            "value": order * (1.0 + number) if measured else None,
        }
        for order in (240, 480)
        for number, phase in enumerate(PHASES)
    }
    name = f"MpiMatmul %benchmark={benchmark} %placement={placement}"
    place = sample.where(placement)
    return sample.entry_of(
        name, environ, benchmark=benchmark, level="good", samples=samples, **place
    )


@pytest.fixture
def perflogs(write):
    document = sample.report("latency")
    document["cases"] += [
        matmul_case("matmul_blocking_np4", environ, placement)
        for environ in ("openmpi", "mpich")
        for placement in ("shm-1n", "tcp-2n")
    ]
    document["cases"] += [
        matmul_case("matmul_blocking_np2", "openmpi", "tcp-2n"),
        matmul_case("matmul_collective_np2", "openmpi", "tcp-2n", measured=False),
    ]
    return write(sample.announced(document))


def test_a_figure_for_each_mode_and_number_of_ranks(perflogs):
    figures = phase_figures(load(perflogs))
    assert [figure.title for figure in figures] == [
        "testbed:slurm, 2 ranks, blocking",
        "testbed:slurm, 4 ranks, blocking",
    ]
    panels = figures[1].panels
    assert [panel.name.rpartition("-")[2] for panel in panels] == PHASES
    assert [line.label for line in panels[0].lines] == [
        "openmpi shm-1n", "openmpi tcp-2n", "mpich shm-1n", "mpich tcp-2n",
    ]  # fmt: skip
    assert panels[1].lines[0].sizes == (240, 480)
    assert panels[1].lines[0].values == (480.0, 960.0)
    assert "openmpi tcp-2n from 480 us at N240 to 960 us at N480" in panels[1].words


def test_both_paths_of_gpus_are_in_one_figure_with_their_ratio(write):
    document = sample.report("latency")
    document["cases"] += [
        matmul_case("matmul_gpu_aware_blocking_np2", "openmpi", "rc_cuda-2n"),
        matmul_case("matmul_gpu_staged_blocking_np2", "openmpi", "rc-2n"),
        matmul_case("matmul_gpu_staged_blocking_np2", "openmpi", "tcp-2n"),
        matmul_case("matmul_gpu_staged_blocking_np2", "mpich", "rc-2n"),
    ]
    slow = document["cases"][-3]["samples"]
    for each in slow.values():
        each["value"] *= 3
    (figure,) = phase_figures(load(write(sample.announced(document))))
    assert figure.title == "testbed:slurm, 2 ranks, blocking, GPUs"
    assert [line.label for line in figure.panels[0].lines] == [
        "openmpi rc_cuda-2n aware", "openmpi rc-2n staged", "openmpi tcp-2n staged",
        "mpich rc-2n staged",
    ]  # fmt: skip
    (ratio,) = figure.panels[-1].lines
    assert (ratio.label, ratio.sizes, ratio.values) == ("openmpi rc_cuda-2n", (240, 480), (3, 3))
    assert "from 3 at N240 to 3 at N480" in figure.panels[-1].words


def test_the_page_has_a_chart_for_each_phase(perflogs):
    run = load(perflogs)
    html = render(run, summarise(run))
    assert '<h2 id="phases"' in html
    names = re.findall(r'class="chart" id="(phases-[\w-]+)" role="img" aria-label="(.+?)"', html)
    assert len(names) == 2 * len(PHASES)
    assert "N 240" in html
    assert "240B" not in html


def test_a_page_without_multiplications_has_no_such_part(write):
    run = load(write(sample.report("latency")))
    assert 'id="phases"' not in render(run, summarise(run))


def test_files_of_all_panels_and_the_same_bytes_again(perflogs, tmp_path):
    figures = phase_figures(load(perflogs))
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


def test_the_command_writes_them(perflogs, tmp_path, monkeypatch):
    command = ["fabricheck", "report", "--perflogs", str(perflogs)]
    monkeypatch.setattr("sys.argv", [*command, "--no-table"])
    with pytest.raises(SystemExit):
        main()
    assert list(tmp_path.glob("*.svg")) == []
    monkeypatch.setattr("sys.argv", [*command, "--plots", str(tmp_path / "plots")])
    with pytest.raises(SystemExit):
        main()
    assert len(list((tmp_path / "plots").glob("*.svg"))) == 2 * len(PHASES)


def test_without_the_extra_its_name_is_said(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(FabricheckError, match=r"matplotlib, found none.*fabricheck\[plots\]"):
        write_phases((), tmp_path)


def test_nothing_to_draw_and_nowhere_to_write(perflogs, tmp_path):
    with pytest.raises(FabricheckError, match="expected values of a matrix multiplication"):
        write_phases((), tmp_path)
    figures = phase_figures(load(perflogs))
    with pytest.raises(FabricheckError, match="cannot write the plots into"):
        write_phases(figures, next(perflogs.rglob("*.jsonl")) / "below")


def gpu_case(benchmark: str, placement: str, program: str = "mpi_probe") -> Any:
    samples = {
        f"bandwidth_avg_{label}": {
            "metric": "bandwidth", "statistic": "avg", "size": size, "unit": "MB/s",
            "level": "good", "value": 100.0 + size,
        }
        for label, size in (("1B", 1), ("1MiB", 1 << 20))
    }  # fmt: skip
    name = f"CudaMpi %benchmark={benchmark} %placement={placement}"
    place = sample.where(placement)
    return sample.entry_of(
        name, "openmpi", benchmark=benchmark, level="good", samples=samples, **place
    ) | {"program": program}


@pytest.mark.parametrize("program", ["mpi_probe", "mpi_probe (fake GPU)"])
def test_both_paths_of_gpus_are_lines_of_one_panel(write, program):
    document = sample.report("latency")
    document["cases"] += [
        gpu_case("bw_device_aware", "cuda_ipc-1n", program),
        gpu_case("bw_device_staged", "shm-1n", program),
    ]
    run = load(write(sample.announced(document)))
    (figure,) = phase_figures(run)
    is_fake = "fake" in program
    assert figure.title.endswith("in the place of GPUs") == is_fake
    (panel,) = figure.panels
    assert [line.label for line in panel.lines] == [
        "openmpi device aware cuda_ipc-1n",
        "openmpi device staged shm-1n",
    ]
    assert "from 101 MB/s at 1B to 1048676 MB/s at 1MiB" in panel.words
    html = render(run, summarise(run))
    assert f'id="{panel.name}"' in html
    assert panel.words in html
