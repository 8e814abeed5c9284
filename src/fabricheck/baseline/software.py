"""With what a case was measured, and which references hold no longer for it."""

import datetime
import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from fabricheck.baseline.proposal import ReferenceCase
from fabricheck.judge.reference import CaseKey
from fabricheck.judge.reference_file import exists, fields_of, load
from fabricheck.transports.placement import written

_PLACE = ("transport", "num_nodes", "layout", "port")
_CASE = ("system", "partition", "environ", "check", "benchmark", *_PLACE)
_SOFTWARE = ("mpi_version", "ucx_version", "program", "program_version")


@dataclass(frozen=True, slots=True)
class Used:
    """With what a session measured a case.

    Attributes:
        session: identity of the session.
        day: when, ISO.
        software: versions of MPI, UCX and benchmark; empty where the record has none.
        commit: the suite's commit.
    """

    session: str
    day: str
    software: str
    commit: str


def read_used(values: pl.LazyFrame) -> Mapping[ReferenceCase, Sequence[Used]]:
    """With what each case was measured, oldest session first.

    Args:
        values: values of the history (``History.values``).
    """
    sessions = (
        values.filter((pl.col("transport") != "") & pl.col("value").is_not_null())
        .group_by(*_CASE, "session")
        .agg(pl.col("time").min(), *(pl.col(name).first() for name in (*_SOFTWARE, "commit")))
        .sort("time")
        .collect()
    )
    found: dict[ReferenceCase, list[Used]] = defaultdict(list)
    for row in sessions.iter_rows(named=True):
        place = f"{row['system']}:{row['partition']}"
        placement = written(*(row[name] for name in _PLACE))
        key = CaseKey(row["system"], place, row["environ"], row["benchmark"], placement)
        case = ReferenceCase(row["check"], key)
        used = Used(row["session"], str(row["time"].date()), _words(row), row["commit"] or "")
        found[case].append(used)
    return found


def change_of(used: Sequence[Used]) -> list[str]:
    """What changed among sessions, in words; nothing if it is all the same."""
    for before, after in itertools.pairwise(used):
        if before.software != after.software:
            return [
                f"the software changed inside the window, on {after.day}: "
                f"{before.software or 'unknown'} became {after.software or 'unknown'}; "
                f"propose --since {after.day}"
            ]
    return []


def _words(row: Mapping[str, str | None]) -> str:
    mpi, ucx, program, version = (row[name] or "" for name in _SOFTWARE)
    # Open MPI adds where it was packaged, and when.
    parts = [mpi.split(",")[0], ucx and f"UCX {ucx}", f"{program} {version}".strip()]
    return ", ".join(filter(None, parts))


DAYS = 180
"""Age from which on references are too old."""


@dataclass(frozen=True, slots=True)
class Expired:
    """Measured references that hold no longer.

    Attributes:
        number: number of their entry in the file, from 0.
        case: fields of their case.
        place: file and line where they stand.
        reason: why.
        marked: whether the file says so already.
    """

    number: int
    case: Mapping[str, str]
    place: str
    reason: str
    marked: bool


def expired(
    path: Path, used: Mapping[ReferenceCase, Sequence[Used]], today: datetime.date, days: int = DAYS
) -> tuple[list[Expired], int]:
    """The measured references of a system that hold no longer, and how many there are in all.

    Args:
        path: the file of its rules.
        used: by case, with what each session measured, oldest first.
        today: the day on which it is asked.
        days: oldest age that is not too old.

    Raises:
        FabricheckError: if the files cannot be read or are wrong anywhere.
    """
    measured = load(path).measured if exists(path) else ()
    listed = []
    for number, rule in enumerate(measured):
        says, reasons = rule.says, []
        if (today - says["date"]).days > days:
            reasons.append(f"measured on {says['date']}, over {days} days ago")
        then = says.get("software", "")
        for case, sessions in used.items():
            now = sessions[-1].software
            if then and now and then != now and rule.is_for(fields_of(case.check, case.key)):
                reasons.append(f"measured with {then}, now it is {now}")
        mark = says.get("expired", "")
        if mark or reasons:
            reason = mark or "; ".join(reasons)
            listed.append(Expired(number, dict(rule.fits), rule.place(), reason, bool(mark)))
    return listed, len(measured)
