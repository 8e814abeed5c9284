"""The dashboards: generated, whole, in a grid, and asking for nothing that nobody exports."""

import json
import re
from typing import Any

import pytest
import yaml
from tests.monitor.conftest import ROOT, metrics_of, query_of

from dashboard.panels import Kind
from dashboard.render import BOARDS, render
from fabricheck.fabric.counters import BANDS
from fabricheck.monitor.catalog import FAMILIES

FILES = {file: json.loads(file.read_text()) for file in BOARDS}
NOW, NIGHTS = FILES.values()
PANELS: list[dict[str, Any]] = [each for board in FILES.values() for each in board["panels"]]
ASKING = [panel for panel in PANELS if panel["type"] != "row"]
RULES = yaml.safe_load((ROOT / "bin/prometheus/rules.yml").read_text())["groups"]
RECORDED = {rule["record"] for group in RULES for rule in group["rules"] if "record" in rule}
OF_OTHERS = {"nexus_pfc_rx_frames", "ALERTS", "up"}
# They sum over a whole fleet, or hold one value for a system.
FEW = ("sum(", "min(", "max(", "count(", "time() - max(", "sum by (status)", "max by (band, level)")
# What is a number for each stress, of which there are few at a time.
STRESS = re.compile("fabricheck_stress_(latency|critical)_seconds|ecn_latency_correlation")


def test_the_files_are_what_the_command_writes() -> None:
    for file, board in BOARDS.items():
        assert file.read_text() == render(board)
        assert (ROOT / "bin" / "grafana" / file.name).resolve() == file
    # Links to the dashboard of the MPI AI cluster benchmark go on working.
    assert (NOW["uid"], NOW["refresh"]) == ("mpi-benchmark-dashboard", "30s")
    assert NOW["time"]["from"] == "now-1h"
    assert NIGHTS["time"]["from"] == "now-30d"


@pytest.mark.parametrize("panel", ASKING, ids=lambda panel: panel["title"])
def test_a_panel_of_a_large_fleet_has_few_lines(panel: dict[str, Any]) -> None:
    for target in panel["targets"]:
        expression = target["expr"]
        if expression.startswith(FEW) or STRESS.search(expression):
            continue
        (most,) = {int(each) for each in re.findall(r"topk\((\d+)", expression)}
        assert most <= 100
        # The greatest of each moment would be others each time.
        if not expression.startswith("topk"):
            assert "[$__range] @ end())" in expression
        elif panel["type"] == "timeseries":
            assert re.search(r"by \(|stress|system|nexus", expression)


@pytest.mark.parametrize("panel", ASKING, ids=lambda panel: panel["title"])
def test_a_panel_says_what_it_shows_and_asks_for_what_there_is(panel: dict[str, Any]) -> None:
    assert panel["description"].endswith(".")
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    assert panel["targets"]
    for target in panel["targets"]:
        used = metrics_of(query_of(target["expr"]))
        assert used
        parts = {f"{name}{part}" for name in FAMILIES for part in ("_bucket", "_count", "_sum")}
        assert used - FAMILIES.keys() - RECORDED - parts <= OF_OTHERS


@pytest.mark.parametrize("board", FILES.values(), ids=lambda board: board["uid"])
def test_panels_have_numbers_of_their_own_and_do_not_overlap(board: dict[str, Any]) -> None:
    numbers = [panel["id"] for panel in board["panels"]]
    assert len(set(numbers)) == len(numbers)
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
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
        ("Links down", 1, "red"),
        ("Most of their tolerance", 1, "red"),
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
        # A word on why there may be nothing.
        defaults = panel["fieldConfig"]["defaults"]
        _, _, why = panel["description"].partition(" Empty: ")
        assert len(why) > 10
        scale = defaults.get("custom", {}).get("scaleDistribution", {})
        # It would stand at each mark of a logarithmic axis.
        assert defaults.get("noValue", "") + "." == ("." if scale else why)


def test_latency_and_marks_stand_on_two_axes() -> None:
    (panel,) = [panel for panel in PANELS if panel["title"] == "Latency and marks"]
    (override,) = panel["fieldConfig"]["overrides"]
    assert override["matcher"] == {"id": "byFrameRefID", "options": "B"}
    own = {each["id"]: each["value"] for each in override["properties"]}
    scale = {"custom.scaleDistribution": {"type": "linear"}}
    assert own == {"unit": "pps", "custom.axisPlacement": "right", **scale}
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
    (asked,) = [each for each in NOW["templating"]["list"] if each["type"] == "datasource"]
    assert source["type"] == asked["query"] == "prometheus"
    prometheus = yaml.safe_load((ROOT / "bin/prometheus/prometheus.yml").read_text())
    (itself,) = (j for j in prometheus["scrape_configs"] if j["job_name"] == "prometheus")
    assert source["url"] == f"http://{itself['static_configs'][0]['targets'][0]}"
    assert source["jsonData"]["timeInterval"] == prometheus["global"]["scrape_interval"]
    (provider,) = given["dashboards"]["providers"]
    assert provider["type"] == "file"
    page = (ROOT / "docs/how-to/monitoring.md").read_text()
    now, nights = (f"{provider['options']['path']}/{file.name}\n" for file in FILES)
    assert f"fabricheck dashboard {now}" in page
    assert f"fabricheck dashboard --nights {nights}" in page


def test_a_bound_is_dashed_and_red_and_a_table_names_its_columns() -> None:
    (panel,) = [panel for panel in PANELS if panel["title"] == "Allreduce"]
    (override,) = panel["fieldConfig"]["overrides"]
    own = {each["id"]: each["value"] for each in override["properties"]}
    assert own["color"] == {"mode": "fixed", "fixedColor": "red"}
    assert own["custom.lineStyle"]["fill"] == "dash"
    assert "critical" in panel["targets"][1]["expr"]
    assert panel["fieldConfig"]["defaults"]["custom"]["scaleDistribution"]["type"] == "log"
    tables = [panel for panel in PANELS if panel["type"] == Kind.TABLE]
    assert len(tables) == 5
    for panel in tables:
        assert panel["targets"][0]["instant"]
        assert panel["transformations"][0]["options"]["includeByName"]
