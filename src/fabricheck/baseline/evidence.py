"""What the history holds of a system: its series, their trend, and with what they were measured."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from fabricheck.baseline.proposal import ReferenceCase
from fabricheck.baseline.propose import Evidence, cases_of
from fabricheck.baseline.software import Used, read_used
from fabricheck.errors import FabricheckError
from fabricheck.history.selection import Selection
from fabricheck.history.series import Series
from fabricheck.history.store import History
from fabricheck.judge.reference_file import path_of
from fabricheck.trend.accepted import read_accepted
from fabricheck.trend.detect import analyse
from fabricheck.trend.settings import Settings, read_settings


def read(
    store: Path,
    system: str | None,
    until: datetime | None,
    sites: Iterable[Path],
    references: Sequence[Path],
) -> tuple[str, dict[ReferenceCase, list[Series]], Evidence]:
    """A system's name, its cases that can have references, and what is known of them.

    All its series are analysed together, whatever is selected later, as the trend does it.

    Args:
        store: the history.
        system: the system, ``None`` for the only one.
        until: nothing from this time on.
        sites: directories of the site files.
        references: directories of the reference files.

    Raises:
        FabricheckError: if there is no such history or system, or a file is wrong.
    """
    with History.open_to_read(store) as history:
        series = list(history.series(_wanted(system, until)))
        name = the_only(system, {each.key.system for each in series}, f"the history {store}")
        used = read_used(history.values(_wanted(name, until)))
    settings = read_settings(sites, {each.key.system for each in series})
    accepted = read_accepted(references)
    trend = analyse(series, settings, accepted)
    return (
        name,
        cases_of(series),
        Evidence(
            trend,
            settings.get(name, Settings()),
            [each for each in accepted if each.system == name],
            used,
            path_of(references, name),
        ),
    )


def read_software(
    store: Path, system: str | None
) -> tuple[str, Mapping[ReferenceCase, Sequence[Used]]]:
    """A system's name, and with what its cases were measured.

    Raises:
        FabricheckError: if there is no such history or system.
    """
    with History.open_to_read(store) as history:
        used = read_used(history.values(_wanted(system, None)))
    return the_only(system, {case.key.system for case in used}, f"the history {store}"), used


def the_only(system: str | None, found: Collection[str], where: str) -> str:
    """The system that is meant.

    Raises:
        FabricheckError: if there is none, or several and none was named.
    """
    if system is None and len(found) == 1:
        return next(iter(found))
    if system is None and found:
        raise FabricheckError(
            f"FC1904 expected --system with one of {', '.join(sorted(found))}, as {where} has "
            "several"
        )
    if system is None or system not in found:
        raise FabricheckError(
            f"FC1905 expected {system or 'a system'} in {where}, found "
            f"{', '.join(sorted(found)) or 'nothing'}: measure, and read the record with "
            "fabricheck history refresh"
        )
    return system


def _wanted(system: str | None, until: datetime | None) -> Selection:
    return Selection({"system": (system,)} if system else {}, until=until)
