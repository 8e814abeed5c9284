"""``fabricheck baseline``: references from the history, proposed, compared, accepted, outdated."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabricheck.cli.options import (
    REFERENCES,
    STORE,
    JsonOption,
    ReferencesOption,
    SelectArgument,
    SinceOption,
    StoreOption,
    UntilOption,
    Where,
    gathered,
    moment,
)
from fabricheck.cli.output import picked, tell, write_json
from fabricheck.errors import FabricheckError
from fabricheck.provenance import home

if TYPE_CHECKING:
    from fabricheck.baseline.apply import ReferenceChange
    from fabricheck.baseline.proposal import Proposal

app = typer.Typer(no_args_is_help=True)

_PROPOSALS = home() / "reports" / "baseline"

ProposalsOption = Annotated[
    Path,
    typer.Option(
        "--proposals",
        metavar="DIR",
        help="Where proposals are kept until they are accepted.",
        show_default="reports/baseline",
    ),
]
SystemOption = Annotated[
    str | None,
    typer.Option(help="The system.", show_default="the only one of the history", metavar="NAME"),
]


@app.command()
@gathered
def propose(
    select: SelectArgument = None,
    *,
    system: SystemOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    nights: Annotated[
        int, typer.Option(min=5, metavar="N", help="The latest N nights of each variable.")
    ] = 60,
    least: Annotated[
        int, typer.Option(min=5, metavar="N", help="Fewest nights that are enough.")
    ] = 20,
    critical: Annotated[
        float,
        typer.Option(
            min=1e-6,
            max=0.1,
            help="False alarms: critical nights of a case, as share.",
            metavar="SHARE",
        ),
    ] = 0.001,
    warning: Annotated[
        float, typer.Option(min=1e-6, max=0.3, help="The same for warnings.", metavar="SHARE")
    ] = 0.01,
    outliers: Annotated[
        float,
        typer.Option(
            min=0.001,
            max=0.2,
            help="Share of nights that are outliers, not noise.",
            metavar="SHARE",
        ),
    ] = 0.02,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Also what would be the same, with newer nights.")
    ] = False,
    where: Where,
    proposals: ProposalsOption = _PROPOSALS,
    machine: JsonOption = False,
) -> None:
    """Propose references: medians of the last nights, with tolerances from their noise.

    A case with too few nights, with a change of level or of software inside its nights, or with
    too much noise is refused, with the reason. Nothing but the proposal is written.

    Exit code 0: proposed. 2: bad input.

    Examples:

        fabricheck baseline propose

        fabricheck baseline propose transport=rc benchmark=latency,bw --since 2026-11-12 --least 10

        fabricheck baseline propose --json | jq '.refused[].reasons'
    """
    from fabricheck.baseline import evidence, proposal, proposal_text
    from fabricheck.baseline.noise import Rates
    from fabricheck.baseline.propose import Request
    from fabricheck.baseline.propose import propose as proposed

    if not warning >= critical:
        raise FabricheckError(
            f"FC2507 expected --warning of at least --critical, found {warning:g} and {critical:g}"
        )
    if least > nights:
        raise FabricheckError(
            f"FC2508 expected --least of at most --nights, found {least} and {nights}"
        )
    fields = _fields(select)
    name, cases, known = evidence.read(
        where.store, system, moment(until), where.sites, where.references
    )
    rates = Rates(critical, warning, outliers)
    request = Request(least, nights, moment(since), rates, fresh=fresh)
    made = proposed(name, cases, fields, known, request)
    if not made.proposed and not made.refused:
        raise FabricheckError(
            f"FC2509 expected cases{' with ' + ' '.join(select) if select else ''} of {name} in "
            f"the history {where.store}, found none that can have references: select others"
        )
    path = proposal.write(proposals, made)
    lines = [*proposal_text.lines(made), f"{path}: look at it with fabricheck baseline diff"]
    tell(lines, {"path": str(path), **proposal.as_json(made)}, machine=machine)


@app.command()
def diff(
    select: SelectArgument = None,
    *,
    system: SystemOption = None,
    references: ReferencesOption = REFERENCES,
    proposals: ProposalsOption = _PROPOSALS,
    machine: JsonOption = False,
) -> None:
    """Show what accepting the proposal would change in the reference file.

    Exit code 0: shown. 2: bad input.

    Examples:

        fabricheck baseline diff

        fabricheck baseline diff benchmark=latency placement=rc-2n
    """
    made, change = _change(select, system, references, proposals)
    if machine:
        counts = {str(each.case): each.state for each in made.proposed}
        steps = [each.date for each in made.steps]
        write_json(
            {"path": str(change.path), "diff": change.diff(), "cases": counts, "steps": steps}
        )
        return
    typer.echo(change.diff() or f"{change.path} already contains all of it", nl=not change.diff())
    for step in made.steps:
        typer.echo(f"accepted with it, from {step.date}: {step.words}")


@app.command()
@gathered
def accept(
    select: SelectArgument = None,
    *,
    step: Annotated[
        str | None,
        typer.Option(
            metavar="DATE",
            help="Accept the steps of this day instead of a proposal; references come later.",
        ),
    ] = None,
    by: Annotated[str, typer.Option(help="Who accepts steps.", metavar="NAME")] = "",
    why: Annotated[str, typer.Option(help="Why steps are right.", metavar="TEXT")] = "",
    system: SystemOption = None,
    where: Where,
    proposals: ProposalsOption = _PROPOSALS,
    machine: JsonOption = False,
) -> None:
    """Write the proposed references, and record the steps that come with them as accepted.

    What changes is what "fabricheck baseline diff" shows, and no other case gets other references
    by it. Doing it twice changes nothing. The trend doesn't raise accepted steps again.

    Exit code 0: written, or nothing to write. 2: bad input; then nothing is written.

    Examples:

        fabricheck baseline accept

        fabricheck baseline accept transport=rc --by Ada --why "Firmware 28.39"

        fabricheck baseline accept --step 2026-11-12 --by Ada --why "Firmware 28.39"
    """
    from fabricheck.baseline import apply, evidence
    from fabricheck.baseline.steps import steps_of_day
    from fabricheck.judge.reference_file import path_of

    with apply.locked(where.references[0]):
        changes = []
        if step is None:
            proposed, change = _change(select, system, where.references, proposals)
            changes.append(change)
            name, accepted_steps = proposed.system, list(proposed.steps)
        else:
            name, _, nights = evidence.read(
                where.store, system, None, where.sites, where.references
            )
            accepted_steps = steps_of_day(nights.trend, name, step, _fields(select))
        if accepted_steps:
            _signed(by, why, [each.date for each in accepted_steps])
            place = path_of(where.references, name).parent
            changes.append(apply.steps(place, name, accepted_steps, by, why))
        for each in changes:
            each.write()
    written = [str(each.path) for each in changes if each.after != each.before]
    lines = [*map(_became, changes)]
    lines += [f"accepted, from {accepted.date}: {accepted.words}" for accepted in accepted_steps]
    data = {"written": written, "steps": [each.date for each in accepted_steps]}
    tell(lines, data, machine=machine)


@app.command()
@gathered
def best(select: SelectArgument = None, *, system: SystemOption = None, where: Where) -> None:
    """Write the best values of the history, for rules that give bounds and no values.

    They judge what is absurd, on systems where absolute times mean little. The values of other
    cases stay as they are.

    Exit code 0: written. 2: bad input.

    Examples:

        fabricheck baseline best --system testbed

        fabricheck baseline best check=MpiCollective
    """
    from fabricheck.baseline import apply, evidence
    from fabricheck.judge.reference_file import path_of

    fields = _fields(select)
    with apply.locked(where.references[0]):
        name, cases, _ = evidence.read(where.store, system, None, where.sites, where.references)
        wanted = {case: series for case, series in cases.items() if case.has(fields)}
        change = apply.best(path_of(where.references, name), wanted)
        change.write()
    typer.echo(_became(change))


@app.command()
def expire(
    *,
    days: Annotated[
        int, typer.Option(min=1, metavar="N", help="Age of an expired reference.")
    ] = 180,
    mark: Annotated[
        bool,
        typer.Option("--mark", help="Mark them in their file: what they judge is then a warning."),
    ] = False,
    system: SystemOption = None,
    references: ReferencesOption = REFERENCES,
    store: StoreOption = STORE,
    machine: JsonOption = False,
) -> None:
    """List measured references that are too old, or that were measured with other software.

    The marks go when new references are accepted.

    Exit code 0: none is expired. 1: some references are expired. 2: bad input.

    Examples:

        fabricheck baseline expire

        fabricheck baseline expire --days 90 --mark
    """
    from fabricheck.baseline import apply, evidence
    from fabricheck.baseline.software import expired
    from fabricheck.judge.reference_file import path_of

    name, used = evidence.read_software(store, system)
    path = path_of(references, name)
    with apply.locked(references[0]):
        listed, count = expired(path, used, datetime.now(UTC).date(), days)
        if mark:
            reasons = {each.number: each.reason for each in listed if not each.marked}
            apply.expired(path, reasons).write()
    rows = [picked(each, "place case reason marked") for each in listed]
    lines = [f"{each.place}: {' '.join(each.case.values())}: {each.reason}" for each in listed]
    marked = ", now marked" if mark and listed else ""
    lines.append(f"{len(listed)} of {count} measured cases have expired{marked}")
    tell(lines, {"path": str(path), "measured": count, "expired": rows}, machine=machine)
    raise typer.Exit(int(bool(listed)))


def _became(change: "ReferenceChange") -> str:
    return f"{change.path}: {'written' if change.before != change.after else 'as it was'}"


def _change(
    select: list[str] | None, system: str | None, references: list[Path], proposals: Path
) -> "tuple[Proposal, ReferenceChange]":
    """The wanted part of a proposal, and what it changes in the reference file."""
    from fabricheck.baseline import apply, evidence, proposal
    from fabricheck.judge.reference_file import path_of

    kept = {path.stem for path in proposals.glob("*.json")}
    name = evidence.the_only(system, kept, f"the proposals {proposals}")
    made = proposal.read(proposals, name).part(_fields(select))
    if not made.proposed:
        raise FabricheckError(
            f"FC2510 expected proposed references{' with ' + ' '.join(select) if select else ''}, "
            "found none: propose them, or select others"
        )
    path = path_of(references, name)
    return made, apply.references(path, made.proposed)


def _fields(select: list[str] | None) -> dict[str, tuple[str | int, ...]]:
    from fabricheck.history.selection import Selection

    return Selection.read(select or ()).fields


def _signed(by: str, why: str, days: list[str]) -> None:
    if not by.strip() or not why.strip():
        raise FabricheckError(
            f"FC2511 expected --by NAME and --why REASON, since the steps of {', '.join(days)} are "
            "accepted: add both"
        )
