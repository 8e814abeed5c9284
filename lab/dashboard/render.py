"""The dashboards for Grafana, from the catalogue's names and the bands of fabric health.

Every panel has a title, a description, a unit, and a word on why it may be empty; colours change
where the bands do.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import Final, TypeVar

from grafana_foundation_sdk.builders import prometheus, stat, table, timeseries
from grafana_foundation_sdk.builders.common import (
    GraphThresholdsStyleConfig,
    ReduceDataOptions,
    ScaleDistributionConfig,
)
from grafana_foundation_sdk.builders.dashboard import (
    Dashboard,
    DashboardLink,
    DatasourceVariable,
    QueryVariable,
    Row,
    TextBoxVariable,
    ThresholdsConfig,
)
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import GraphThresholdsStyleMode, ScaleDistribution
from grafana_foundation_sdk.models.dashboard import (
    AnnotationQuery,
    DashboardLinkType,
    DataSourceRef,
    DataTransformerConfig,
    DynamicConfigValue,
    Threshold,
    ThresholdsMode,
    ValueMap,
    ValueMappingResult,
    VariableRefresh,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from dashboard.nights import NIGHTS
from dashboard.now import NOW
from dashboard.panels import MARKS, STATUSES, Board, Kind, Panel, Steps
from fabricheck.provenance import SUITE

BOARDS: Final = {
    SUITE / "src" / "fabricheck" / "monitor" / f"{each.uid}.json": each for each in (NOW, NIGHTS)
}
"""Where `fabricheck dashboard` finds each."""

_DATA: Final = DataSourceRef(type_val="prometheus", uid="${datasource}")
_HEIGHT, _LOW = 8, 4
_NARROW: Final = 60


def render(given: Board) -> str:
    """A dashboard as JSON, with sorted keys."""
    other = NIGHTS if given is NOW else NOW
    board = (
        Dashboard(given.title)
        .uid(given.uid)
        .description(given.description)
        .tags(["fabricheck"])
        .refresh(given.refresh)
        .time(given.since, "now")
        .readonly()
        .with_variable(DatasourceVariable("datasource").label("Data source").type("prometheus"))
        .link(_link(other.title, f"/d/{other.uid}"))
        .link(_link("Pages of the nights", "${pages}"))
        .link(_link("What to do", "${docs}/how-to/alerts/"))
    )
    for name, title, family in given.variables:
        board = board.with_variable(_variable(name, title, family))
    for name, title in (("pages", "Address of the nights' pages"), ("docs", "Address of the docs")):
        board = board.with_variable(TextBoxVariable(name).label(title))
    for name, expression, colour in MARKS:
        # A month has thirty nights, on the lines of the days.
        shown = given is NOW or name != "Night"
        board = board.annotation(_Annotation(name, expression, colour, shown=shown))
    number = itertools.count(1)
    for title, panels in given.rows:
        board = board.with_row(Row(title).id(next(number)))
        for panel in panels:
            board = board.with_panel(_drawn(panel, next(number)))
    return JSONEncoder(sort_keys=True, indent=1).encode(board.build()) + "\n"


def _link(title: str, url: str) -> DashboardLink:
    return DashboardLink(title).type(DashboardLinkType.LINK).url(url).keep_time(keep_time=False)


class _Marked(AnnotationQuery):
    """With what Grafana's model leaves out: whether a value is the time, in milliseconds."""

    def to_json(self) -> dict[str, object]:
        is_time = str(self.expr).endswith("* 1000")
        return {**super().to_json(), "useValueForTime": is_time, "titleFormat": self.name}


class _Annotation(Builder[AnnotationQuery]):
    """A query whose results are marked in each panel."""

    def __init__(self, name: str, expression: str, colour: str, *, shown: bool) -> None:
        self._query = _Marked(name, _DATA, enable=shown, icon_color=colour, expr=expression)

    def build(self) -> AnnotationQuery:
        return self._query


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
        made = prometheus.Dataquery().ref_id(letter).expr(query.expression)
        if panel.kind is Kind.TABLE:
            yield made.instant().format(PromQueryFormat.TABLE)
        else:
            yield made.legend_format(query.legend or "__auto")


_Drawn = TypeVar("_Drawn", timeseries.Panel, stat.Panel, table.Panel)


def _common(shown: _Drawn, panel: Panel, height: int) -> _Drawn:
    text = f"{panel.description} Empty: {panel.empty}."
    shown.title(panel.title).description(text).unit(panel.unit)
    shown.datasource(_DATA).span(panel.width).height(height)
    # Grafana writes it at each mark of a logarithmic axis that has no number.
    if not panel.log:
        shown.no_value(panel.empty)
    shown.thresholds(_thresholds(panel.steps))
    for query in _queries(panel):
        shown.with_target(query)
    return shown


def _course(panel: Panel) -> timeseries.Panel:
    shown = _common(timeseries.Panel(), panel, _HEIGHT)
    if len(panel.steps) > 1:
        lines = GraphThresholdsStyleConfig().mode(GraphThresholdsStyleMode.DASHED)
        shown = shown.thresholds_style(lines)
    if panel.log:
        scale = ScaleDistributionConfig().type(ScaleDistribution.LOG).log(10)
        shown = shown.scale_distribution(scale)
    if panel.ends:
        shown = shown.min(panel.ends[0]).max(panel.ends[1])
    if panel.right:
        own = {"unit": panel.right, "custom.axisPlacement": "right"}
        shown = shown.override_by_query("B", _own({**own, "custom.scaleDistribution": _LINEAR}))
    for name, fixed in STATUSES.items() if panel.queries[0].legend == "{{status}}" else ():
        by_status = {"color": {"mode": "fixed", "fixedColor": fixed}}
        shown = shown.override_by_name(name, _own(by_status))
    for letter, query in zip("ABCD", panel.queries, strict=False):
        if query.bound:
            colour = {"mode": "fixed", "fixedColor": query.bound}
            dash = {"fill": "dash", "dash": [10, 10]}
            line = {"color": colour, "custom.lineStyle": dash, "custom.lineWidth": 1}
            shown = shown.override_by_query(letter, _own(line))
    return shown


_LINEAR: Final = {"type": "linear"}


def _own(values: Mapping[str, object]) -> list[DynamicConfigValue]:
    return [DynamicConfigValue(id_val=name, value=value) for name, value in values.items()]


def _last_value(panel: Panel) -> stat.Panel:
    shown = _common(stat.Panel(), panel, _LOW)
    shown = shown.reduce_options(ReduceDataOptions().calcs(["lastNotNull"]))
    if panel.words:
        words = {
            str(value): ValueMappingResult(text=word, index=index)
            for index, (value, word) in enumerate(panel.words)
        }
        shown = shown.mappings([ValueMap(options=words)])
    return shown


def _table(panel: Panel) -> table.Panel:
    columns = (*panel.columns, *(["Value"] if panel.value else []))
    options = {
        "includeByName": dict.fromkeys(columns, True),
        "indexByName": {name: index for index, name in enumerate(columns)},
        "renameByName": {"Value": panel.value} if panel.value else {},
    }
    change = DataTransformerConfig(id_val="organize", options=options)
    return _common(table.Panel(), panel, _HEIGHT).min_width(_NARROW).with_transformation(change)


def _drawn(panel: Panel, number: int) -> timeseries.Panel | stat.Panel | table.Panel:
    if panel.kind is Kind.TABLE:
        return _table(panel).id(number)
    return (_last_value if panel.kind is Kind.VALUE else _course)(panel).id(number)
