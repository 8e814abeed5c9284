"""The offline HTML page of a run: one file, no network, readable without JavaScript."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from fabricheck.localise.nodes import words as node_words
from fabricheck.report import canvas, charts
from fabricheck.report.changes import FILTERS, event_views, past_verdict
from fabricheck.report.courses import NIGHTS, courses
from fabricheck.report.coverage import missing, remarks
from fabricheck.report.curves import Group, groups
from fabricheck.report.drill import build_drill
from fabricheck.report.drill_charts import CURVE, STATISTICS, TREND, drill_charts
from fabricheck.report.files import write_whole
from fabricheck.report.matrix import Matrix, build_matrix
from fabricheck.report.matrix_parts import parts
from fabricheck.report.model import Run
from fabricheck.report.nights import packed_json
from fabricheck.report.nodes import abbreviated, node_tables
from fabricheck.report.offline import require_offline
from fabricheck.report.past import SHOWN_DAYS, Past
from fabricheck.report.phase_charts import phase_chart
from fabricheck.report.phases import PhaseFigure, phase_figures
from fabricheck.report.places import place_views
from fabricheck.report.sections import (
    benchmark_views,
    chart_name,
    figure,
    matrix_rows,
    not_measured,
    provenance,
)
from fabricheck.report.summary import Summary, reference_legend
from fabricheck.report.timeline import timeline

_RED = "red"

SHOWN_PROBLEMS = 12
"""Problems that are seen without a click, the worst; the others are folded."""

OPEN_EVENTS = 3
"""Events that are seen without a click; the others are folded."""


def write_page(
    run: Run, summary: Summary, path: Path, past: Past | None = None, unread: str = ""
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


def render(run: Run, summary: Summary, past: Past | None = None, unread: str = "") -> str:
    """The page as text; arguments as of ``write_page``."""
    matrix = build_matrix(run)
    curves = groups(matrix)
    beside = _beside(run, past) if past else _NOTHING
    phases = phase_figures(run)
    places, place_charts = place_views(run)
    documents = _charts(curves, matrix) | _phase_charts(phases) | place_charts
    verdict = beside["past_verdict"]
    worse = verdict and verdict.color == _RED and summary.verdict.passes
    drill = beside["drill"]
    if drill:
        documents |= drill_charts()
    packs = {"charts": packed_json(documents)} if documents else {}
    if drill:
        packs |= {"drill-index": drill.index, "drill-values": drill.values}
    return (
        _environment()
        .get_template("page.html")
        .render(
            run=run,
            summary=summary,
            shown_problems=SHOWN_PROBLEMS,
            tone=_RED if worse else summary.verdict.color,
            matrix=matrix,
            parts=[
                (part, matrix_rows(matrix, part, summary, beside["by_case"]))
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
            **beside,
        )
    )


_NOTHING: dict[str, Any] = {
    "past_verdict": None,
    "accusations": None,
    "drill": None,
    "by_case": {},
    "remarks": [],
    "missing": [],
}
"""What a page without history shows of it."""


def _beside(run: Run, past: Past) -> dict[str, Any]:
    """What the history adds to the page."""
    drill = build_drill(past) if any(len(each) for each in past.series) else None
    places = drill.places if drill else {}
    events = event_views(past, places)
    by_case = courses(run, past, places)
    rows = [event.row for event in events] + [course.row for course in by_case.values()]
    return {
        "past_verdict": past_verdict(past),
        "nodes": [line for each in past.nodes for line in node_words(each)],
        "accusations": past.accusations,
        "events": events,
        "open_events": OPEN_EVENTS,
        "shown_days": SHOWN_DAYS,
        "places": places,
        "drill": drill,
        "drill_names": {"trend": TREND, "curve": CURVE, "statistics": STATISTICS},
        "first_row": next((row for row in rows if row is not None), 0),
        "by_case": by_case,
        "courses": list(by_case.values()),
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
    environment.filters |= {"nodes": abbreviated, "figure": figure, **FILTERS}
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
