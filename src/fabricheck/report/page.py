"""The offline HTML page of a run: one file, no network, readable without JavaScript."""

from pathlib import Path
from typing import Any

import jinja2

from fabricheck.localise.nodes import words as node_words
from fabricheck.nodes.names import fold
from fabricheck.report import by_node, charts, explorer, past, sections
from fabricheck.report.cards import worst_tables
from fabricheck.report.curves import groups
from fabricheck.report.files import write_whole
from fabricheck.report.headline import headline
from fabricheck.report.history_view import HistoryView
from fabricheck.report.matrix import build_matrix, parts
from fabricheck.report.offline import require_offline
from fabricheck.report.packing import packed, packed_json
from fabricheck.report.phases import phase_chart, phase_figures
from fabricheck.report.places import place_views
from fabricheck.report.run import ReportedRun
from fabricheck.report.summary import Summary, reference_legend
from fabricheck.report.timeline import timeline
from fabricheck.trend import trend_text
from fabricheck.trend.detect import SHOWN_DAYS

_RED = "red"

SHOWN_PROBLEMS = 12
"""Problems that are seen without a click, the worst; the others are folded."""

SHOWN_CAUSES = 3
"""Sentences on a case that are seen without a click, the most telling."""

OPEN_EVENTS = 3
"""Events that are seen without a click; the others are folded."""


def write_page(
    run: ReportedRun,
    summary: Summary,
    path: Path,
    view: HistoryView | None = None,
    unread: str = "",
) -> None:
    """Write the page of a run, whole or not at all.

    Args:
        run: the run.
        summary: the verdict on it.
        path: the file to write.
        view: what the history says, None where there is none.
        unread: why a history that is there could not be read.

    Raises:
        FabricheckError: if the file cannot be written.
    """
    html = render(run, summary, view, unread)
    require_offline(html)
    write_whole(path, html)


def render(
    run: ReportedRun, summary: Summary, view: HistoryView | None = None, unread: str = ""
) -> str:
    """The page as text; arguments as of ``write_page``."""
    matrix = build_matrix(run)
    curves = groups(matrix)
    environs = sorted({column.environ for column in matrix.columns})
    phases = phase_figures(run)
    places, place_charts = place_views(run)
    documents = {}
    for group in curves:
        for metric in group.metrics:
            name = sections.chart_name(group, metric)
            if document := charts.chart(group, metric, environs, name):
                documents[name] = document
    documents |= {panel.name: phase_chart(panel) for each in phases for panel in each.panels}
    documents |= place_charts
    cards, more_cards = worst_tables(summary.cards)
    of_history = _of_history(run, view) if view else _NOTHING
    nightly = of_history["explorer"]
    if nightly:
        documents |= explorer.explorer_charts()
    packs = {}
    if documents:
        library = packed(charts.library().encode())
        packs = {"library": library, "charts": packed_json(documents)}
    if nightly:
        packs |= {"explorer-index": nightly.index, "explorer-values": nightly.values}
    verdict = of_history["history_verdict"]
    worse = verdict and verdict.color == _RED and summary.verdict.passes
    page = _environment().get_template("page.html")
    return page.render(
        run=run,
        summary=summary,
        head=headline(run, summary),
        node_rows=by_node.node_rows(run, summary),
        shown_nodes=by_node.SHOWN,
        shown_problems=SHOWN_PROBLEMS,
        shown_causes=SHOWN_CAUSES,
        tone=_RED if worse else summary.verdict.color,
        matrix=matrix,
        parts=[
            (part, sections.matrix_rows(matrix, part, summary, of_history["by_case"]))
            for part in parts(matrix)
        ],
        legend=reference_legend(run),
        curves=curves,
        all_sizes=sections.ALL_SIZES,
        phase_figures=phases,
        place_views=places,
        card_tables=cards,
        more_cards=more_cards,
        node_cases=[case for case in run.cases if case.prerequisites],
        time_line=timeline(run),
        not_measured=sections.not_measured(run),
        provenance=sections.provenance(run),
        unread=unread,
        packs=packs,
        **of_history,
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


def _of_history(run: ReportedRun, view: HistoryView) -> dict[str, Any]:
    """What the history adds to the page."""
    nightly = explorer.build_explorer(view) if any(map(len, view.series)) else None
    places = nightly.places if nightly else {}
    events = past.event_views(view, places)
    by_case = past.sparklines(run, view, places)
    rows = [event.row for event in events] + [line.row for line in by_case.values()]
    names = {"trend": explorer.TREND, "curve": explorer.CURVE, "statistics": explorer.STATISTICS}
    return {
        "history_verdict": past.history_verdict(view),
        "changed": [line for each in view.nodes for line in node_words(each)],
        "lost": view.trend.lost,
        "accusations": view.accusations,
        "events": events,
        "open_events": OPEN_EVENTS,
        "shown_days": SHOWN_DAYS,
        "places": places,
        "explorer": nightly,
        "drill_names": names,
        "first_row": next((row for row in rows if row is not None), 0),
        "by_case": by_case,
        "course_nights": past.NIGHTS,
        "remarks": past.remarks(view),
        "missing": past.missing(run, view),
    }


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fabricheck.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    words = ("amount", "levels", "moment", "series_words", "typical", "where_words")
    shown = ("description", "figure", "known_failure", "links", "metric_views", "node_status")
    environment.filters |= {"nodes": fold, "identity": id}
    environment.filters |= {name: getattr(trend_text, name) for name in words}
    environment.filters |= {name: getattr(sections, name) for name in shown}
    return environment
