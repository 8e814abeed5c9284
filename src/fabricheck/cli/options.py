"""Options and arguments that several commands have."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_type_hints

import typer

from fabricheck.cli import completion
from fabricheck.errors import FabricheckError
from fabricheck.provenance import folders, home

if TYPE_CHECKING:
    from fabricheck.report.run import ReportedRun

SITES: Final = folders("sites")
REFERENCES: Final = folders("references")
STORE: Final = home() / "reports" / "history"

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
StoreOption = Annotated[
    Path,
    typer.Option(
        "--store",
        metavar="DIR",
        help="Where the history is kept. It is a cache: removing it loses nothing.",
        show_default="reports/history",
    ),
]
SelectArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FIELD=VALUE[,VALUE]]...",
        help="Only series with these values; fields are system, partition, environ, check, "
        "benchmark, transport, nodes, layout, ranks, program, metric, statistic, size, unit.",
    ),
]
SinceOption = Annotated[
    str | None, typer.Option(metavar="DATE", help="Nothing before this day or time.")
]
UntilOption = Annotated[
    str | None, typer.Option(metavar="DATE", help="Nothing from this day or time on.")
]
SitesOption = Annotated[
    list[Path],
    typer.Option(
        "--sites",
        metavar="DIR",
        help="Directory of site files; may be repeated.",
        show_default="sites/ of each place",
    ),
]
ReferencesOption = Annotated[
    list[Path],
    typer.Option(
        "--references",
        metavar="DIR",
        help="Directory of references and of accepted steps; may be repeated.",
        show_default="references/ of each place",
    ),
]
PerflogsOption = Annotated[
    Path,
    typer.Option(
        metavar="DIR", envvar="FABRICHECK_PERFLOGS", help="The record.", show_default=True
    ),
]


@dataclass(frozen=True, slots=True)
class Asked:
    """Of which session a command speaks."""

    session: Annotated[
        str,
        typer.Option(
            help="A session of the record by its name.",
            show_default="the last night, else the last run",
            metavar="SESSION",
        ),
    ] = ""
    system: Annotated[
        str,
        typer.Option(
            help="The last night of this system.",
            show_default="any",
            autocompletion=completion.systems,
            metavar="NAME",
        ),
    ] = ""
    perflogs: PerflogsOption = Path("perflogs")

    def run(self) -> "ReportedRun":
        """The run of the session.

        Raises:
            FabricheckError: if there is none, or it can't be read.
        """
        from fabricheck.report.load import load

        return load(self.perflogs, self.session, self.system)


@dataclass(frozen=True, slots=True)
class Where:
    """Where a command finds what it reads of sites and of their history."""

    sites: SitesOption = field(default_factory=lambda: SITES)
    references: ReferencesOption = field(default_factory=lambda: REFERENCES)
    store: StoreOption = STORE


def gathered(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command have a dataclass among its parameters: each of its fields is an option."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}

    @wraps(command)
    def run(**given: Any) -> None:
        for name, kind in groups.items():
            own = {each.name for each in fields(kind)} & given.keys()
            given[name] = kind(**{each: given.pop(each) for each in own})
        command(**given)

    told = inspect.signature(command).parameters.values()
    parameters = [
        option
        for each in told
        for option in (_options_of(groups[each.name]) if each.name in groups else [each])
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _options_of(kind: Any) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    for each in fields(kind):
        default = each.default if each.default_factory is MISSING else each.default_factory()
        yield inspect.Parameter(
            each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[each.name]
        )


def moment(text: str | None) -> datetime | None:
    """The day or time that an option names, in UTC where it says no zone.

    Raises:
        FabricheckError: if it is none.
    """
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
        # At both ends of the calendar a zone leads out of it.
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise FabricheckError(
            f"FC2520 expected a date such as 2026-11-21 or 2026-11-21T06:00, found {text!r}"
        ) from error
