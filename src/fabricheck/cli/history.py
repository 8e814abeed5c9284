"""``fabricheck history``: what the record holds, read once and kept in columns."""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer

from fabricheck.cli.options import (
    STORE,
    JsonOption,
    SelectArgument,
    SinceOption,
    StoreOption,
    UntilOption,
    moment,
)
from fabricheck.cli.output import picked, tell, write_json
from fabricheck.errors import FabricheckError
from fabricheck.history.export import openmetrics, perflog
from fabricheck.history.selection import Selection
from fabricheck.history.series import Series, sparkline
from fabricheck.history.store import History, HistoryStatus
from fabricheck.provenance import home
from fabricheck.record.cache import CacheOutcome, is_cache
from fabricheck.record.imports import import_all
from fabricheck.record.read import Problem, ProblemKind, shown
from fabricheck.tables import in_columns

app = typer.Typer(no_args_is_help=True)

DEFAULT_PERFLOGS = home() / "perflogs"

_SHOWN_PROBLEMS = 20


class Format(StrEnum):
    """What an export can be written as."""

    CSV = "csv"
    PARQUET = "parquet"
    PERFLOG = "perflog"
    OPENMETRICS = "openmetrics"


@app.command()
def refresh(
    *,
    perflogs: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="Directory with a record, or a file of one; may be repeated. Remembered.",
            show_default="perflogs/ of the suite",
        ),
    ] = None,
    store: StoreOption = STORE,
    machine: JsonOption = False,
) -> None:
    """Read what is new in the record.

    Without options: the places that were named before, at first that of the suite. Lines that are
    damaged, cut, duplicated or dated in the future are counted, and named by "fabricheck history
    status".

    Exit code 0: read. 2: bad input; the history is then as it was.

    Examples:

        fabricheck history refresh

        fabricheck history refresh --perflogs /srv/host1/perflogs --perflogs /srv/host2/perflogs
    """
    outcome = refreshed(store, perflogs or [])
    lines = [
        *(f"changed, or gone: {each}" for each in outcome.changed),
        f"{outcome.values} new values of {outcome.cases} cases from {outcome.files} files in "
        f"{outcome.seconds:.1f} s; {outcome.unchanged} files as they were",
        *(f"not read: {each}" for each in outcome.unread),
    ]
    if outcome.problems:
        lines.append(f"{outcome.problems} lines with a problem: see fabricheck history status")
    tell(lines, asdict(outcome), machine=machine)


def refreshed(store: Path, perflogs: Sequence[Path] = ()) -> CacheOutcome:
    """Read what is new; where no place was ever named, in the record of the suite."""
    with History.open(store) as history:
        of_suite = not perflogs and not history.roots()
        return history.refresh([DEFAULT_PERFLOGS] if of_suite else perflogs)


@app.command("import")
def import_(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE|DIR...",
            help="Perflogs, run reports (.json) and results databases of ReFrame, or directories "
            "of them; results.latest.json of Ramble, "
            "results-summary.jsonl of SuperBench.",
        ),
    ],
    *,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="Format of perflogs without a header, as in the ReFrame configuration; may be "
            "repeated. What ReFrame 3 and excalibur-tests write is read without it.",
        ),
    ] = None,
    mappings: Annotated[
        list[str] | None,
        typer.Option(
            "--mapping",
            metavar="FILE|NAME",
            help="How series map to ours (docs/how-to/history.md): a file, excalibur-tests, "
            "eessi or cscs; may be repeated.",
        ),
    ] = None,
    perflogs: Annotated[
        Path, typer.Option(metavar="DIR", help="The record.", show_default="perflogs/ of the suite")
    ] = DEFAULT_PERFLOGS,
    machine: JsonOption = False,
) -> None:
    """Make files of the record from what ReFrame has written, of this suite or another.

    Each source becomes a file of its own below "imported", written whole, so that one that has
    grown may be imported again. What the record has already counts once. A mapping gives series
    the names that this suite has for them, so that trend, references and acceptance apply; what was
    imported is never judged, for nothing proves its transport.

    Exit code 0: imported. 1: imported without some damaged lines or cases. 2: bad input.

    Examples:

        fabricheck history import ~/other-suite/perflogs

        fabricheck history import reports/results.db reports/run-17.json

        fabricheck history import old/perflogs --perflogs /srv/record

        fabricheck history import perflogs --mapping excalibur-tests --mapping our-names.yaml
    """
    done = import_all(sources, perflogs, formats or (), mappings or ())
    lines = [
        f"{done.values} values of {done.cases} cases from {done.files} files"
        + (f", {done.unmeasured} variables without a value" if done.unmeasured else ""),
        *(
            [f"{done.renamed} of them in this suite's words, by {', '.join(mappings)}"]
            if mappings
            else []
        ),
    ]
    if done.cases and not done.values:
        lines.append(
            "no value at all: for %(check_perf_var)s ReFrame needs perflog_multiline: True"
        )
    figures = picked(done, "files cases values unmeasured renamed")
    data = {**figures, "problems": list(map(str, done.problems))}
    tell(lines + _first(done.problems), data, machine=machine)
    raise typer.Exit(1 if done.problems else 0)


@app.command()
def status(*, store: StoreOption = STORE, machine: JsonOption = False) -> None:
    """Show what the history holds, and what is wrong with lines of the record.

    Exit code 0: shown. 2: bad input.

    Examples:

        fabricheck history status

        fabricheck history status --json
    """
    with History.open_to_read(store) as history:
        found = history.status()
    counts = Counter[str](problem.kind for problem in found.problems)
    lines = [
        f"{found.values} values of {found.series} series, {found.oldest} to {found.newest}",
        f"{found.sessions} sessions, {len(found.sources)} files, read from:",
        *(f"  {shown(root)}" for root in found.roots),
        "problems: " + (", ".join(f"{n} {kind}" for kind, n in counts.items()) or "none"),
        *_first(found.problems),
    ]
    tell(lines, _as_json(found, counts), machine=machine)


def _first(problems: Sequence[Problem]) -> list[str]:
    """Lines on the first few of many."""
    rest = len(problems) - _SHOWN_PROBLEMS
    more = [f"  and {rest} more: see --json"] if rest > 0 else []
    return [f"  {each}" for each in problems[:_SHOWN_PROBLEMS]] + more


def _as_json(found: HistoryStatus, counts: Counter[str]) -> dict[str, Any]:
    return {
        **picked(found, "values series sessions"),
        "oldest": found.oldest or None,
        "newest": found.newest or None,
        "roots": [str(path) for path in found.roots],
        "files": [{"path": source.path, "lines": source.lines} for source in found.sources],
        "problem_lines": {str(kind): counts[kind] for kind in ProblemKind},
        "problems": [
            {**picked(each, "kind line detail"), "path": str(each.path)} for each in found.problems
        ],
    }


@app.command()
def show(
    select: SelectArgument = None,
    *,
    since: SinceOption = None,
    until: UntilOption = None,
    limit: Annotated[
        int, typer.Option(min=1, metavar="N", help="No more than N series; JSON has all.")
    ] = 40,
    store: StoreOption = STORE,
    machine: JsonOption = False,
) -> None:
    """Show series, one line each: sessions, median, last value and sparkline.

    Exit code 0: shown. 2: bad input, or no such series.

    Examples:

        fabricheck history show benchmark=latency transport=tcp statistic=p50

        fabricheck history show benchmark=latency size=8,1KiB --since 2026-11-01

        fabricheck history show system=testbed --json
    """
    found = selected(store, select, since, until)
    heads = ("series", "sessions", "median", "last", "unit", "newest", "sparkline")
    lines = list(in_columns(heads, map(_row, found[:limit])))
    if len(found) > limit:
        lines.append(f"and {len(found) - limit} more: select fewer, or give --limit")
    tell(lines, {"series": [_series_as_json(series) for series in found]}, machine=machine)


def selected(
    store: Path, select: list[str] | None, since: str | None, until: str | None
) -> list[Series]:
    """The selected series.

    Raises:
        FabricheckError: if there are none.
    """
    with History.open_to_read(store) as history:
        wanted = _selection(select, since, until)
        found = list(history.series(wanted))
        unmeasured = 0 if found else history.values(wanted).collect().height
    if not found:
        raise _nothing(select, store, unmeasured)
    return found


def _row(series: Series) -> list[str]:
    values, newest = series.values, str(series.times[-1].astype("datetime64[D]"))
    figures = (str(len(series)), f"{np.median(values):.4g}", f"{values[-1]:.4g}")
    return [str(series.key), *figures, series.key.unit, newest, sparkline(values)]


def _series_as_json(series: Series) -> dict[str, Any]:
    return {
        "key": asdict(series.key),
        "direction": series.direction,
        "times": [f"{time}Z" for time in series.times.astype(str)],
        "values": series.values.tolist(),
        "sessions": series.sessions.tolist(),
    }


@app.command()
def export(
    select: SelectArgument = None,
    *,
    form: Annotated[Format, typer.Option("--format", help="What to write.")] = Format.CSV,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to.", show_default="standard output, text only"),
    ] = None,
    since: SinceOption = None,
    until: UntilOption = None,
    store: StoreOption = STORE,
    machine: JsonOption = False,
) -> None:
    """Write all values with all their fields, for other tools.

    A perflog is as ReFrame writes it, a line for each value; OpenMetrics is what promtool makes
    blocks of. With --json, list in JSON what was written; --output is then required.

    Exit code 0: written. 2: bad input, or nothing to write.

    Examples:

        fabricheck history export benchmark=latency > latency.csv

        fabricheck history export --format parquet --output history.parquet

        fabricheck history export --format perflog system=testbed > testbed.log
    """
    if output is None and (form is Format.PARQUET or machine):
        raise FabricheckError(
            "FC2512 expected --output FILE with Parquet and with --json: name a file"
        )
    if output and is_cache(output) and output.parent.resolve() == store.resolve():
        raise FabricheckError(
            f"FC2513 expected --output FILE, found {output}, a file of the history itself: name "
            "another"
        )
    with History.open_to_read(store) as history:
        values = history.values(_selection(select, since, until)).collect()
    if values.is_empty():
        raise _nothing(select, store)
    try:
        if form is Format.PARQUET:
            values.write_parquet(output or "")
        elif form is Format.CSV:
            values.write_csv(output or sys.stdout.buffer)
        else:
            lines = perflog(values) if form is Format.PERFLOG else openmetrics(values)
            text = "".join(f"{line}\n" for line in lines)
            if output:
                output.write_text(text, "utf-8")
            else:
                sys.stdout.write(text)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise FabricheckError(
            f"FC2514 cannot write {output or 'standard output'}: {error}"
        ) from error
    if machine:
        write_json({"path": str(output), "written_as": form, "values": values.height})


def _selection(terms: list[str] | None, since: str | None, until: str | None) -> Selection:
    return Selection.read(terms or (), moment(since), moment(until))


def _nothing(select: list[str] | None, store: Path, unmeasured: int = 0) -> FabricheckError:
    wanted = f" with {' '.join(select)}" if select else ""
    if unmeasured:
        return FabricheckError(
            f"FC2515 expected values{wanted} in the history {store}, found {unmeasured} "
            "without a measurement: fabricheck history export shows what their tests printed"
        )
    return FabricheckError(
        f"FC2516 expected values{wanted} in the history {store}, found none: read the record first "
        "with fabricheck history refresh, or select others"
    )
