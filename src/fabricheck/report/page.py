"""The offline HTML page of a run: one file, no network, readable without JavaScript."""

import json
from collections.abc import Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup
from reframe.utility import nodelist_abbrev

from fabricheck.report import charts
from fabricheck.report.curves import Group, groups
from fabricheck.report.files import write_whole
from fabricheck.report.matrix import Matrix, build_matrix
from fabricheck.report.model import Run
from fabricheck.report.nodes import node_tables
from fabricheck.report.offline import require_offline
from fabricheck.report.sections import (
    benchmark_views,
    chart_name,
    figure,
    matrix_rows,
    not_measured,
    provenance,
)
from fabricheck.report.summary import Summary, reference_legend


def write_page(run: Run, summary: Summary, path: Path) -> None:
    """Write the page of a run, whole or not at all.

    Raises:
        FabricheckError: if the file cannot be written.
    """
    html = render(run, summary)
    require_offline(html)
    write_whole(path, html)


def render(run: Run, summary: Summary) -> str:
    """The page as text."""
    matrix = build_matrix(run)
    curves = groups(matrix)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fabricheck.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"nodes": nodelist_abbrev, "figure": figure}
    return environment.get_template("page.html").render(
        run=run,
        summary=summary,
        matrix=matrix,
        rows=matrix_rows(matrix, summary),
        legend=reference_legend(run),
        benchmarks=benchmark_views(curves),
        node_tables=node_tables(run),
        not_measured=not_measured(run),
        provenance=provenance(run),
        charts=_charts(curves, matrix),
        bokeh=Markup(charts.library()),  # noqa: S704
    )


def _charts(curves: Sequence[Group], matrix: Matrix) -> dict[str, Markup]:
    """Bokeh's documents by the name of their element, safe inside a script element."""
    environs = sorted({column.environ for column in matrix.columns})
    found = {}
    for group in curves:
        for metric in group.metrics:
            name = chart_name(group, metric)
            document = charts.chart(group, metric, environs, name)
            if document is not None:
                text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
                found[name] = Markup(text.replace("<", "\\u003c"))  # noqa: S704
    return found
