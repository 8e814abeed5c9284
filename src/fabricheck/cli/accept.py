"""``fabricheck accept``: is the fabric after a change as good as before it?"""

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fabricheck.cli.console import open_console
from fabricheck.cli.history import refreshed
from fabricheck.cli.options import (
    SITES,
    STORE,
    JsonOption,
    SelectArgument,
    SitesOption,
    StoreOption,
)
from fabricheck.cli.output import write_json
from fabricheck.errors import FabricheckError
from fabricheck.provenance import SUITE, home

if TYPE_CHECKING:
    from fabricheck.acceptance.answers import Acceptance
    from fabricheck.runner.campaign import Campaign

_WIDTH = 160
_OPEN = 3


def accept(
    series: SelectArgument = None,
    *,
    before: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SEL",
            help="Runs before the change, as of --performance-compare: a period, session or "
            "filter; may be repeated. Of a campaign: the command that puts the "
            "fabric into the state before the change.",
        ),
    ] = None,
    after: Annotated[
        list[str] | None, typer.Option(metavar="SEL", help="Runs after it, likewise.")
    ] = None,
    campaign: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Make the missing runs of this campaign. What follows -- are options of ReFrame.",
        ),
    ] = None,
    pairs: Annotated[
        int, typer.Option(min=1, max=9999, metavar="N", help="Runs on each side at most.")
    ] = 12,
    only: Annotated[
        str,
        typer.Option(
            metavar="SIDE",
            help="Make only the runs 'before' or 'after'; for a change that no command makes.",
        ),
    ] = "",
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            help="Write the record here, and its page beside it. With --sign alone: sign this one.",
        ),
    ] = None,
    sign: Annotated[str | None, typer.Option(metavar="NAME", help="Sign the record.")] = None,
    comment: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Comment of the signer.")
    ] = None,
    control: Annotated[
        bool,
        typer.Option("--control", help="Nothing was changed: any difference is wrong."),
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Show also what is fine.")] = False,
    alertmanager: Annotated[
        str,
        typer.Option(
            metavar="URL",
            envvar="FABRICHECK_ALERTMANAGER",
            help="Silence alerts there while a campaign runs.",
        ),
    ] = "",
    sites: SitesOption = SITES,
    store: StoreOption = STORE,
    machine: JsonOption = False,
) -> None:
    """Compare runs before a change with runs after it: accept, reject or inconclusive.

    Reads the history: "fabricheck history refresh" brings it up to date. The method, the margins
    and the settings are in docs/how-to/acceptance.md.

    A campaign makes the runs first. With commands for both states the sides take turns, A-B-B-A,
    and in the end the state before is restored. From the third pair on the runs are compared after
    each, until the answer is clear. Stopped, it goes on with the runs that the record lacks.

    Exit code 0: accept. 1: reject. 3: inconclusive. 2: bad input. Signing has the exit code of the
    record's verdict.

    Examples:

        fabricheck accept --before 20261101:20261108 --after 20261109:now

        fabricheck accept --before '?campaign=="fw28" and state=="before"' \\
            --after '?campaign=="fw28" and state=="after"' --record fw28.json

        fabricheck accept --record fw28.json --sign Ada --comment "Firmware 28.39, as announced"

        fabricheck accept --before now-14d:now-7d --after now-7d:now transport=rc statistic=p50

        fabricheck accept --campaign fw28 --before 'ssh sw1 use-image 27' \\
            --after 'ssh sw1 use-image 28' -- -n MpiPointToPoint -J 'nodelist=c[1-2]'

        fabricheck accept --campaign as-it-is --control -- -n MpiPointToPoint
    """
    if (sign is None) != (comment is None):
        raise FabricheckError(
            "FC2502 expected --sign NAME and --comment TEXT together, found one of them"
        )
    if not before and not after and record and sign and comment and not series:
        _sign(record, sign, comment, sites, machine=machine)
    _require_new(record)
    if campaign is not None:
        from fabricheck.runner.campaign import Campaign

        switch = tuple(before or ()), tuple(after or ())
        plan = Campaign(campaign, pairs, *switch, only, tuple(series or ()), control=control)
        before, after, made = _campaign(plan, sites, store, alertmanager)
        record, series = record or made, []
    if not before or not after:
        raise FabricheckError(
            "FC2503 expected --before SEL and --after SEL, or --record FILE.json with --sign and "
            "--comment, found neither: see fabricheck accept --help"
        )
    if sign and not record:
        raise FabricheckError(
            "FC2504 expected --record FILE.json with --sign, found none: name a file"
        )

    found, data = _compare(series or [], before, after, sites, store, control=control)
    if record:
        data = _write(data, record, sign, comment)
    if machine:
        write_json(data)
    else:
        from fabricheck.acceptance.acceptance_text import show

        show(found, open_console(_WIDTH), every=every)
        if record:
            typer.echo(f"record  {record}\npage    {record.with_suffix('.html')}")
    raise typer.Exit(found.verdict.exit_code)


def _campaign(
    plan: "Campaign", sites: list[Path], store: Path, alertmanager: str
) -> tuple[list[str], list[str], Path | None]:
    """Make the runs of a campaign; the selections of both sides, and the record to write."""
    from fabricheck.acceptance.acceptance_text import show
    from fabricheck.monitor.silence import silenced
    from fabricheck.runner.campaign import SIDES, measure

    before, after = ([plan.selection(side)] for side in SIDES)

    def is_clear() -> bool:
        refreshed(store)
        found, _ = _compare([], before, after, sites, store, control=plan.control)
        console = open_console(_WIDTH)
        with console.capture() as shown:
            show(found, console, every=False)
        typer.echo("\n".join(shown.get().splitlines()[:2]))
        return found.verdict.exit_code != _OPEN

    # At SIGTERM, ReFrame ends first, and the state before is restored.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    with silenced(alertmanager, f"fabricheck accept --campaign {plan.name}"):
        runs = measure(plan, SUITE, is_clear)
    if plan.only == SIDES[0]:
        again = f"fabricheck accept --campaign {plan.name} --only after --pairs {plan.pairs}"
        typer.echo(f"acceptance: now make the change, then: {again}")
        raise typer.Exit
    refreshed(store)
    record = home() / "reports" / "acceptance" / f"{plan.name}-{'-'.join(map(str, runs))}.json"
    return before, after, None if record.exists() else record


def _compare(
    series: list[str],
    before: list[str],
    after: list[str],
    sites: list[Path],
    store: Path,
    *,
    control: bool,
) -> "tuple[Acceptance, dict[str, Any]]":
    # They take a second to import, which the other commands need not wait for.
    from fabricheck.acceptance.accept import accept as compare
    from fabricheck.acceptance.record import as_record
    from fabricheck.acceptance.settings import read_settings
    from fabricheck.acceptance.sides import provenance_of, read_sides, read_spreads
    from fabricheck.history.store import History

    with History.open_to_read(store) as history:
        values = read_sides(history, before, after, series)
        provenance = provenance_of(history, values, series)
        spreads = read_spreads(history, values, series)
    settings = read_settings(sites, set(values["system"]))
    found = compare(values, settings, provenance, spreads, control=control)
    return found, as_record(found, settings, before, after, series)


def _require_new(record: Path | None) -> None:
    if record is None:
        return
    if record.suffix != ".json":
        raise FabricheckError(
            f"FC2505 expected --record FILE.json, found {record}: end it in .json"
        )
    for path in (record, record.with_suffix(".html")):
        if path.exists():
            raise FabricheckError(
                f"FC2506 expected no file at {path}, found one: name another record, since one "
                "that was written is not overwritten"
            )


def _sign(record: Path, sign: str, comment: str, sites: list[Path], *, machine: bool) -> None:
    from fabricheck.acceptance.answers import AcceptanceVerdict
    from fabricheck.acceptance.record import read_record
    from fabricheck.acceptance.settings import read_settings
    from fabricheck.acceptance.verify import check_settings
    from fabricheck.record.write import locked

    data = read_record(record)
    verdict = AcceptanceVerdict(data["verdict"])
    systems = {each["fields"]["system"] for each in data["answers"]}
    check_settings(data, read_settings(sites, systems), record)
    with locked(record):
        data = _write(read_record(record), record, sign, comment)
    if machine:
        write_json(data)
    else:
        typer.echo(f"{record}: {verdict}, signed by {sign}")
    raise typer.Exit(verdict.exit_code)


def _write(
    data: dict[str, Any], record: Path, sign: str | None, comment: str | None
) -> dict[str, Any]:
    from fabricheck.acceptance.record import signed, write_record

    if sign and comment:
        data = signed(data, sign, comment)
    write_record(data, record)
    return data
