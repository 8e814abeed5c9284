"""Slow places on the page: the strip of nodes, pairs or suspects, and who was accused before."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.localise import made
from tests.report import chromium, sample
from tests.report.chromium import all_drawn, complaints, find, opened

from fabricheck.history.selection import Selection
from fabricheck.history.store import History
from fabricheck.localise.effects import by_leaf, of_findings, of_nodes, of_pairs
from fabricheck.localise.located import locate
from fabricheck.report.load import load
from fabricheck.report.page import render, write_page
from fabricheck.report.places import MOST, accusations, place_views
from fabricheck.report.summary import summarise
from simulation.pairs import Kind, Simulated

SMALL = Kind(4, 2, 2, bad=1)
LARGE = Kind(8, 16, 16, bad=2, links=1)


def case(output: Path | str, level: str = "critical", **values: Any) -> sample.Entry:
    finding = "n3 sends at 0.40 of its peers, 6 of 6 tests slow"
    point = {"metric": "bandwidth", "statistic": "p50", "size": 1 << 20, "unit": "MB/s"}
    return sample.entry_of(
        "PairHealth %benchmark=pair_health-tcp",
        "openmpi",
        benchmark="pair_health",
        **sample.where("tcp-4n"),
        level=level,
        findings=() if level == "good" else (finding,),
        output=str(output),
        samples={"bandwidth_p50_1MiB": {**point, "value": 11.9, "level": level}},
        **values,
    )


def run_of(perflogs: Path, *cases: sample.Entry) -> Any:
    return load(sample.write(sample.run_of(list(cases)), perflogs))


def test_effects_are_those_that_were_made(tmp_path: Path) -> None:
    simulated = Simulated(SMALL, 3)
    located = locate(made.kept(simulated, tmp_path))
    factors = of_nodes(located.verdict, 8)
    (bad,) = simulated.bad
    slow = simulated.sends[bad]
    assert slow > 0
    assert abs(float(factors["sends"][bad]) / float(2.718281828**slow) - 1) < 0.05
    assert all(factors["receives"] < 1.05)
    pairs = list(of_pairs(located.verdict.tests[0], located.fabric))
    assert len(pairs) == 8 * 7, "up to 16 nodes, all pairs meet"
    assert {each.row for each in pairs if each.factor > 1.05} == {bad}
    (accused,) = located.verdict.accused
    cells = list(of_findings([accused], located.verdict, located.fabric))
    assert [each.column for each in cells] == list(range(1, located.rounds + 1))
    assert all(each.words.startswith(f"n{bad}->") for each in cells)


def test_nodes_are_sorted_by_leaf(tmp_path: Path) -> None:
    located = locate(made.kept(Simulated(SMALL, 3), tmp_path))
    located.fabric.leaf[:] = [9, 1, 9, 1, 0, 0, 1, 9]
    assert by_leaf(located.fabric).tolist() == [0, 2, 7, 1, 3, 6, 4, 5]


def test_few_nodes_are_shown_in_pairs_and_many_by_suspect(tmp_path: Path) -> None:
    small, large = (
        case(made.kept(Simulated(kind, 3), tmp_path / str(kind.nodes))) for kind in (SMALL, LARGE)
    )
    large["name"] = large["id"] = "PairHealth %benchmark=pair_health-rc"
    views, documents = place_views(run_of(tmp_path / "perflogs", small, large))
    assert [view.suspects for view in views] == [False, True]
    assert LARGE.nodes > MOST
    assert {view.strip for view in views} | {view.matrix for view in views} == set(documents)
    assert any("accused" in line for line in views[0].lines)


def test_a_case_whose_rounds_are_gone_says_so(tmp_path: Path) -> None:
    run = run_of(tmp_path / "perflogs", case("/nowhere"))
    ((view,), documents) = place_views(run)
    assert documents == {}
    assert "expected what PairHealth leaves in /nowhere" in view.lines[-1]
    page = render(run, summarise(run))
    assert "Which node, which link" in page
    assert view.lines[-1].split(":")[0] in page


def test_earlier_accusations_are_counted_and_shown(tmp_path: Path) -> None:
    cases = [
        case("", level, time=f"2026-11-{day:02}T05:44:10+00:00", session=f"s{day}")
        for day, level in enumerate(["critical", "good", "warning"], 1)
    ]
    for number, each in enumerate(cases):
        sample.write({"cases": [each], "end": None}, tmp_path / f"perflogs{number}")
    with History.open(tmp_path / "store") as history:
        roots = [tmp_path / f"perflogs{number}" for number in range(3)]
        history.refresh(roots, now=datetime(2026, 12, 1, tzinfo=UTC))
        found = accusations(history, Selection({"system": ("testbed",)}))
    assert [(each.time.day, each.words.split(",")[0]) for each in found.accused] == [
        (1, "n3 sends at 0.40 of its peers")
    ]
    assert (found.older, found.others) == (0, 2)


class TestInBrowser:
    pytestmark = [pytest.mark.e2e, *chromium.MARKS]

    def test_strip_and_matrix_are_drawn_and_tell_exact_values(self, tmp_path: Path) -> None:
        run = run_of(tmp_path / "perflogs", case(made.kept(Simulated(SMALL, 3), tmp_path / "o")))
        write_page(run, summarise(run), tmp_path / "page.html")
        with opened(tmp_path / "profile", tmp_path / "page.html") as driver:
            all_drawn(driver)
            assert {each.get_attribute("id") for each in find(driver, "#places ~ section .chart")}
            shown = driver.execute_script(
                """
                const [first] = Bokeh.documents.map((each) => each.roots()[0])
                  .filter((each) => each.renderers.some((one) => one.glyph.type === "Rect"));
                return first.renderers[0].data_source.data.factor.length;
                """
            )
            assert shown == 8 * 7
            assert complaints(driver) == []
