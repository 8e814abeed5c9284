"""Which node, which link: the cases that looked for slow places, and who was accused before."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl

from fabricheck.errors import FabricheckError
from fabricheck.history.selection import Selection
from fabricheck.history.store import History
from fabricheck.judge.levels import Level
from fabricheck.localise.located import Located, lines, locate
from fabricheck.measures.registry import names
from fabricheck.report.place_charts import matrix, strip
from fabricheck.report.run import Case, Run
from fabricheck.report.status import Status

_SHOWN = 30
_BENCHMARKS = tuple(names("pair_health"))
_JUDGED = (Status.GOOD, Status.WARNING, Status.CRITICAL)


@dataclass(frozen=True, slots=True)
class PlaceView:
    """A case that looked for slow places.

    Attributes:
        title: the case, and where it ran.
        status: its status.
        lines: what it found, as the terminal has it; or why nothing can be shown.
        strip: name of the chart of all nodes; empty without.
        matrix: name of the chart of pairs, or of suspects by round; empty without.
        suspects: whether the matrix is one of suspects.
    """

    title: str
    status: Status
    lines: tuple[str, ...]
    strip: str = ""
    matrix: str = ""
    suspects: bool = False


@dataclass(frozen=True, slots=True)
class Accused:
    """A run in which a place was accused."""

    time: datetime
    where: str
    words: str


@dataclass(frozen=True, slots=True)
class Accusations:
    """What runs before said.

    Attributes:
        accused: runs with an accusation, the newest first.
        older: how many of them are not among these.
        others: runs without any.
    """

    accused: Sequence[Accused]
    older: int
    others: int


def place_views(run: Run) -> tuple[list[PlaceView], dict[str, dict[str, Any]]]:
    """The cases of a run, and the documents of their charts by the names of their elements."""
    views: list[PlaceView] = []
    documents: dict[str, dict[str, Any]] = {}
    for case in run.cases:
        if case.benchmark in _BENCHMARKS:
            view, drawn = _view(case, len(views) + 1)
            views.append(view)
            documents |= drawn
    return views, documents


def _view(case: Case, number: int) -> tuple[PlaceView, dict[str, dict[str, Any]]]:
    title = f"{case.title} ({case.system}:{case.partition})"
    if case.status not in _JUDGED:
        return PlaceView(title, case.status, case.causes), {}
    try:
        located = locate(Path(case.output))
    except FabricheckError as error:
        return PlaceView(title, case.status, (*case.causes, str(error))), {}
    return _drawn(title, case.status, located, number)


def _drawn(
    title: str, status: Status, located: Located, number: int
) -> tuple[PlaceView, dict[str, dict[str, Any]]]:
    name = f"places-{number}"
    documents = {f"{name}-nodes": strip(located, f"{name}-nodes")}
    pairs = matrix(located, f"{name}-pairs")
    if pairs is not None:
        documents[f"{name}-pairs"] = pairs.document
    view = PlaceView(
        title,
        status,
        tuple(lines(located)),
        f"{name}-nodes",
        f"{name}-pairs" if pairs else "",
        pairs is not None and pairs.suspects,
    )
    return view, documents


def accusations(history: History, selection: Selection) -> Accusations:
    """The runs of a history that looked for slow places."""
    fields = {**selection.fields, "benchmark": _BENCHMARKS}
    found = (
        history.values(Selection(fields, selection.since, selection.until))
        .select("time", "system", "partition", "environ", "transport", "level", "finding")
        .unique(maintain_order=True)
        .collect()
    )
    accused = found.filter(pl.col("level") == Level.CRITICAL).sort("time", descending=True)
    return Accusations(
        [
            Accused(time, f"{environ} {transport} ({system}:{partition})", finding)
            for time, system, partition, environ, transport, _, finding in accused[
                :_SHOWN
            ].iter_rows()
        ],
        max(len(accused) - _SHOWN, 0),
        len(found) - len(accused),
    )
