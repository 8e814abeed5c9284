"""``fabricheck compare`` as a user meets it."""

import json
from pathlib import Path

import pytest
from tests.acceptance.test_side_by_side import night, sides
from tests.cli.conftest import run
from tests.history.recorded import read
from tests.refusals import refused

from fabricheck.record.write import append
from fabricheck.report.offline import outside_resources


@pytest.fixture
def store(tmp_path: Path) -> Path:
    lone = [night(number, 1.0, transport="rc") for number in range(6)]
    append(tmp_path / "logs", sides(range(6), 1.1) + lone)
    read(tmp_path / "store", tmp_path / "logs")
    return tmp_path / "store"


def test_the_answer_stands_first_and_the_table_has_what_differs(store: Path):
    shown = run("compare", "openmpi", "openmpi5", "--store", store)
    assert shown.exit_code == 0
    first, counts, sessions, lone, *_ = shown.stdout.splitlines()
    assert first.startswith("B (openmpi5) is 0.911")
    assert first.endswith(": B worse")
    assert (counts, sessions) == ("4 series: 4 B worse", "6 sessions that have both sides, paired")
    assert lone.startswith("without partner: ")
    assert shown.stdout.count("latency_p50_") == 4


def test_what_does_not_differ_is_shown_on_demand(tmp_path: Path):
    append(tmp_path / "logs", sides(range(6)))
    read(tmp_path / "store", tmp_path / "logs")
    words = ("compare", "openmpi", "openmpi5", "--store", tmp_path / "store")
    assert "latency_p50_" not in run(*words).stdout
    assert run(*words, "--all").stdout.count("latency_p50_") == 4


def test_the_data_have_everything(store: Path):
    found = json.loads(run("compare", "openmpi", "openmpi5", "--store", store, "--json").stdout)
    assert (found["format"], found["a"], found["b"]) == (1, "openmpi", "openmpi5")
    assert [row["scope"] for row in found["ratios"]] == ["all", "case", *["series"] * 4]
    assert all(0 <= row["p"] <= row["q"] <= 1 for row in found["ratios"])


def test_the_page_has_figure_and_table_and_loads_nothing(store: Path, tmp_path: Path):
    page = tmp_path / "page.html"
    shown = run("compare", "openmpi", "openmpi5", "--store", store, "--html", page)
    assert f"page    {page}" in shown.stdout
    html = page.read_text()
    assert outside_resources(html) == []
    assert html.count('<svg class="ratios"') == 1
    assert html.count("<path") == 4
    assert "Without partner" in html
    assert html.count("▼</span> B worse") == 6


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("openmpi", "mpich"), "FC2020", "environ openmpi, openmpi5"),
        (("tcp", "rc", "environ=openmpi5"), "FC2020", "transport tcp;"),
        (("openmpi", "openmpi5", "nothing=1"), "FC0701", "nothing"),
        (("openmpi", "openmpi5", "--since", "soon"), "FC2520", "soon"),
    ],
)
def test_bad_input_says_what_is_there(store: Path, words: tuple[str, ...], code: str, says: str):
    with refused(code, says):
        run("compare", *words, "--store", store)
