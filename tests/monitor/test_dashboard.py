"""The dashboard: generated, whole, in a grid, and asking for nothing that nobody exports."""

import json
from typing import Any

import pytest
import yaml
from tests.monitor.conftest import ROOT, metrics_of, query_of

from dashboard.render import FILE, render
from fabricheck.fabric.counters import BANDS
from fabricheck.monitor.catalog import FAMILIES

BOARD = json.loads(FILE.read_text())
PANELS: list[dict[str, Any]] = BOARD["panels"]
ASKING = [panel for panel in PANELS if panel["type"] not in ("row", "text")]
OF_OTHERS = {"nexus_pfc_rx_frames"}


def test_the_file_is_what_the_command_writes() -> None:
    assert FILE.read_text() == render()
    assert (BOARD["uid"], BOARD["refresh"]) == ("mpi-benchmark-dashboard", "30s")
    assert BOARD["time"] == {"from": "now-1h", "to": "now"}


@pytest.mark.parametrize("panel", ASKING, ids=lambda panel: panel["title"])
def test_a_panel_says_what_it_shows_and_asks_for_what_there_is(panel: dict[str, Any]) -> None:
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    assert panel["targets"]
    for target in panel["targets"]:
        used = metrics_of(query_of(target["expr"]))
        assert used
        assert used - FAMILIES.keys() <= OF_OTHERS


def test_panels_have_numbers_of_their_own_and_do_not_overlap() -> None:
    numbers = [panel["id"] for panel in PANELS]
    assert len(set(numbers)) == len(numbers)
    taken: set[tuple[int, int]] = set()
    for panel in PANELS:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken
        taken |= cells


@pytest.mark.parametrize(
    ("title", "value", "colour"),
    [
        ("Last night", 0, "red"),
        ("Last night", 1, "green"),
        ("Critical cases", 0, "green"),
        ("Critical cases", 1, "red"),
        ("Regressions", 1, "red"),
        ("A night is missing in", -1, "red"),
        ("A night is missing in", 0, "green"),
        ("Sources", 0, "red"),
        ("Links that flapped", 1, "red"),
        ("ECN marks", BANDS["ecn"].warning, "yellow"),
        ("ECN marks", BANDS["ecn"].critical, "yellow"),
        ("ECN marks", BANDS["ecn"].critical + 0.01, "red"),
        ("Pauses at the nodes", 0, "green"),
    ],
)
def test_colours_change_where_the_meaning_does(title: str, value: float, colour: str) -> None:
    (panel,) = [panel for panel in PANELS if panel["title"] == title]
    steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    assert steps[0]["value"] is None
    assert [s["color"] for s in steps if s["value"] is None or s["value"] <= value][-1] == colour


def test_what_is_absent_is_no_zero() -> None:
    for panel in ASKING:
        assert "vector(" not in str(panel["targets"])
        if panel["type"] == "stat":
            assert panel["fieldConfig"]["defaults"]["noValue"] == "no data"


def test_latency_and_marks_stand_on_two_axes() -> None:
    (panel,) = [panel for panel in PANELS if panel["title"] == "Latency and marks"]
    (override,) = panel["fieldConfig"]["overrides"]
    assert override["matcher"] == {"id": "byFrameRefID", "options": "B"}
    own = {each["id"]: each["value"] for each in override["properties"]}
    assert own == {"unit": "pps", "custom.axisPlacement": "right"}
    assert panel["fieldConfig"]["defaults"]["unit"] == "s"
    assert "marked_packets" in panel["targets"][1]["expr"]


def test_grafana_takes_the_dashboard_and_prometheus_from_the_files_for_it() -> None:
    place = ROOT / "bin" / "grafana" / "provisioning"
    given = {each.parent.name: yaml.safe_load(each.read_text()) for each in place.glob("*/*.yml")}
    assert {name: each["apiVersion"] for name, each in given.items()} == {
        "datasources": 1,
        "dashboards": 1,
    }
    (source,) = given["datasources"]["datasources"]
    (asked,) = [each for each in BOARD["templating"]["list"] if each["type"] == "datasource"]
    assert source["type"] == asked["query"] == "prometheus"
    prometheus = yaml.safe_load((ROOT / "bin/prometheus/prometheus.yml").read_text())
    (itself,) = (j for j in prometheus["scrape_configs"] if j["job_name"] == "prometheus")
    assert source["url"] == f"http://{itself['static_configs'][0]['targets'][0]}"
    assert source["jsonData"]["timeInterval"] == prometheus["global"]["scrape_interval"]
    (provider,) = given["dashboards"]["providers"]
    assert provider["type"] == "file"
    page = (ROOT / "docs/how-to/monitoring.md").read_text()
    assert f"fabricheck dashboard {provider['options']['path']}/{FILE.name}\n" in page
