"""The offline HTML page of a run: one file, no network, readable without JavaScript."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from fabricheck.localise.nodes import words as node_words
from fabricheck.nodes.names import fold
from fabricheck.report import canvas, charts
from fabricheck.report.changes import FILTERS, event_views, history_verdict
from fabricheck.report.coverage import missing, remarks
from fabricheck.report.curves import Group, groups
from fabricheck.report.explorer import build_explorer
from fabricheck.report.explorer_charts import CURVE, STATISTICS, TREND, explorer_charts
from fabricheck.report.files import write_whole
from fabricheck.report.history_view import HistoryView
from fabricheck.report.matrix import Matrix, build_matrix
from fabricheck.report.matrix_parts import parts
from fabricheck.report.nights import packed_json
from fabricheck.report.nodes import node_tables
from fabricheck.report.offline import require_offline
from fabricheck.report.phase_charts import phase_chart
from fabricheck.report.phases import PhaseFigure, phase_figures
from fabricheck.report.places import place_views
from fabricheck.report.run import Run
from fabricheck.report.sections import (
    benchmark_views,
    chart_name,
    figure,
    matrix_rows,
    not_measured,
    provenance,
)
from fabricheck.report.sparklines import NIGHTS, sparklines
from fabricheck.report.summary import Summary, of_fabric, reference_legend
from fabricheck.report.timeline import timeline
from fabricheck.trend.detect import SHOWN_DAYS

_RED = "red"

SHOWN_PROBLEMS = 12
"""Problems that are seen without a click, the worst; the others are folded."""

SHOWN_CAUSES = 3
"""Sentences on a case that are seen without a click, the most telling."""

OPEN_EVENTS = 3
"""Events that are seen without a click; the others are folded."""


def write_page(
    run: Run, summary: Summary, path: Path, past: HistoryView | None = None, unread: str = ""
) -> None:
    """Write the page of a run, whole or not at all.

    Args:
        run: the run.
        summary: the verdict on it.
        path: the file to write.
        past: what the history says, None where there is none.
        unread: why a history that is there could not be read.

    Raises:
        FabricheckError: if the file cannot be written.
    """
    html = render(run, summary, past, unread)
    require_offline(html)
    write_whole(path, html)


def render(run: Run, summary: Summary, past: HistoryView | None = None, unread: str = "") -> str:
    """The page as text; arguments as of ``write_page``."""
    matrix = build_matrix(run)
    curves = groups(matrix)
    of_history = _of_history(run, past) if past else _NOTHING
    phases = phase_figures(run)
    places, place_charts = place_views(run)
    documents = _charts(curves, matrix) | _phase_charts(phases) | place_charts
    verdict = of_history["history_verdict"]
    worse = verdict and verdict.color == _RED and summary.verdict.passes
    explorer = of_history["explorer"]
    if explorer:
        documents |= explorer_charts()
    packs = {"charts": packed_json(documents)} if documents else {}
    if explorer:
        packs |= {"explorer-index": explorer.index, "explorer-values": explorer.values}
    return (
        _environment()
        .get_template("page.html")
        .render(
            run=run,
            summary=summary,
            of_fabric=of_fabric(summary),
            shown_problems=SHOWN_PROBLEMS,
            shown_causes=SHOWN_CAUSES,
            tone=_RED if worse else summary.verdict.color,
            matrix=matrix,
            parts=[
                (part, matrix_rows(matrix, part, summary, of_history["by_case"]))
                for part in parts(matrix)
            ],
            legend=reference_legend(run),
            benchmarks=benchmark_views(curves),
            phase_figures=phases,
            place_views=places,
            node_tables=node_tables(run),
            time_line=timeline(run),
            not_measured=not_measured(run),
            provenance=provenance(run),
            unread=unread,
            packs=packs,
            bokeh=Markup(canvas.library()),  # noqa: S704
            **of_history,
        )
    )


_NOTHING: dict[str, Any] = {
    "history_verdict": None,
    "accusations": None,
    "explorer": None,
    "by_case": {},
    "remarks": [],
    "missing": [],
}
"""What a page without history shows of it."""


def _of_history(run: Run, past: HistoryView) -> dict[str, Any]:
    """What the history adds to the page."""
    explorer = build_explorer(past) if any(len(each) for each in past.series) else None
    places = explorer.places if explorer else {}
    events = event_views(past, places)
    by_case = sparklines(run, past, places)
    rows = [event.row for event in events] + [sparkline.row for sparkline in by_case.values()]
    return {
        "history_verdict": history_verdict(past),
        "nodes": [line for each in past.nodes for line in node_words(each)],
        "accusations": past.accusations,
        "events": events,
        "open_events": OPEN_EVENTS,
        "shown_days": SHOWN_DAYS,
        "places": places,
        "explorer": explorer,
        "drill_names": {"trend": TREND, "curve": CURVE, "statistics": STATISTICS},
        "first_row": next((row for row in rows if row is not None), 0),
        "by_case": by_case,
        "sparklines": list(by_case.values()),
        "course_nights": NIGHTS,
        "remarks": remarks(past),
        "missing": missing(run, past),
    }


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fabricheck.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"nodes": fold, "figure": figure, **FILTERS}
    return environment


def _charts(curves: Sequence[Group], matrix: Matrix) -> dict[str, dict[str, Any]]:
    """Bokeh's documents by the name of their element."""
    environs = sorted({column.environ for column in matrix.columns})
    found = {}
    for group in curves:
        for metric in group.metrics:
            name = chart_name(group, metric)
            document = charts.chart(group, metric, environs, name)
            if document is not None:
                found[name] = document
    return found


def _phase_charts(figures: Sequence[PhaseFigure]) -> dict[str, dict[str, Any]]:
    """The documents of matrix multiplications by the name of their element."""
    return {panel.name: phase_chart(panel) for figure in figures for panel in figure.panels}
