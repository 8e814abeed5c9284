"""The dashboard for Grafana, from the catalogue's names and the bands of fabric health.

Every panel has a title, a description and a unit; colours change where the bands do.
"""

import itertools
from collections.abc import Iterator
from typing import Final, TypeVar

from grafana_foundation_sdk.builders import prometheus, stat, text, timeseries
from grafana_foundation_sdk.builders.common import GraphThresholdsStyleConfig, ReduceDataOptions
from grafana_foundation_sdk.builders.dashboard import (
    Dashboard,
    DatasourceVariable,
    QueryVariable,
    Row,
    ThresholdsConfig,
)
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import GraphThresholdsStyleMode
from grafana_foundation_sdk.models.dashboard import (
    DataSourceRef,
    DynamicConfigValue,
    Threshold,
    ThresholdsMode,
    ValueMap,
    ValueMappingResult,
    VariableRefresh,
)

from dashboard.panels import ROWS, Panel, Steps
from fabricheck.fabric.counters import BANDS
from fabricheck.provenance import SUITE

FILE: Final = SUITE / "src" / "fabricheck" / "monitor" / "mpi-benchmark-dashboard.json"
"""Where `fabricheck dashboard` finds it."""
UID: Final = "mpi-benchmark-dashboard"
"""As the dashboard of the MPI AI cluster benchmark has it, so that links go on working."""

_DATA: Final = DataSourceRef(type_val="prometheus", uid="${datasource}")
_HEIGHT, _LOW = 8, 4


def render() -> str:
    """The dashboard as JSON, with sorted keys."""
    board = (
        Dashboard("MPI Benchmark")
        .uid(UID)
        .description("fabricheck: runs and nights, and the ports of every node")
        .tags(["fabricheck"])
        .refresh("30s")
        .time("now-1h", "now")
        .readonly()
        .with_variable(DatasourceVariable("datasource").label("Data source").type("prometheus"))
        .with_variable(_variable("system", "System", "fabricheck_verdict_passed"))
        .with_variable(_variable("node", "Node", "fabricheck_port_active"))
    )
    number = itertools.count(1)
    for title, panels in ROWS:
        board = board.with_row(Row(title).id(next(number)))
        for panel in panels:
            last = panel.width < _HEIGHT
            shown = _last_value(panel) if last else _course(panel)
            board = board.with_panel(shown.id(next(number)))
    board = board.with_row(Row("Limits").id(next(number)))
    board = board.with_panel(_limits().id(next(number)))
    return JSONEncoder(sort_keys=True, indent=1).encode(board.build()) + "\n"


def _variable(name: str, label: str, family: str) -> QueryVariable:
    return (
        QueryVariable(name)
        .label(label)
        .datasource(_DATA)
        .query(f"label_values({family}, {name})")
        .multi(multi=True)
        .include_all(include_all=True)
        .all_value(".*")
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
    )


def _thresholds(steps: Steps) -> ThresholdsConfig:
    return (
        ThresholdsConfig()
        .mode(ThresholdsMode.ABSOLUTE)
        .steps([Threshold(value=value, color=colour) for value, colour in steps])
    )


def _queries(panel: Panel) -> Iterator[prometheus.Dataquery]:
    for letter, query in zip("ABCD", panel.queries, strict=False):
        yield (
            prometheus.Dataquery()
            .ref_id(letter)
            .expr(query.expression)
            .legend_format(query.legend or "__auto")
        )


_Drawn = TypeVar("_Drawn", timeseries.Panel, stat.Panel)


def _common(shown: _Drawn, panel: Panel, height: int) -> _Drawn:
    shown.title(panel.title).description(panel.description).unit(panel.unit)
    shown.datasource(_DATA).span(panel.width).height(height)
    shown.thresholds(_thresholds(panel.steps))
    for query in _queries(panel):
        shown.with_target(query)
    return shown


def _course(panel: Panel) -> timeseries.Panel:
    shown = _common(timeseries.Panel(), panel, _HEIGHT)
    if len(panel.steps) > 1:
        lines = GraphThresholdsStyleConfig().mode(GraphThresholdsStyleMode.DASHED)
        shown = shown.thresholds_style(lines)
    if panel.right:
        own = {"unit": panel.right, "custom.axisPlacement": "right"}
        values = [DynamicConfigValue(id_val=name, value=value) for name, value in own.items()]
        shown = shown.override_by_query("B", values)
    return shown


def _last_value(panel: Panel) -> stat.Panel:
    shown = _common(stat.Panel(), panel, _LOW).no_value("no data")
    shown = shown.reduce_options(ReduceDataOptions().calcs(["lastNotNull"]))
    if panel.words:
        words = {
            str(value): ValueMappingResult(text=word, index=index)
            for index, (value, word) in enumerate(panel.words)
        }
        shown = shown.mappings([ValueMap(options=words)])
    return shown


def _limits() -> text.Panel:
    lines = ["| band | compared | warning | critical |", "|---|---|---|---|"]
    for name, band in BANDS.items():
        edges = ["never" if each is None else f"{each:g}" for each in (band.warning, band.critical)]
        lines.append(f"| {name} | {band.measure} | {' | '.join(edges)} |")
    return (
        text.Panel()
        .title("What counters are held to")
        .description("The limits of fabric health; a case's counters are judged by them.")
        .content("\n".join(lines))
        .span(24)
        .height(_HEIGHT + 3)
    )
