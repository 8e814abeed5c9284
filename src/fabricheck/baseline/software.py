"""With what a case was measured: a reference holds for the software that it was measured with."""

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from fabricheck.baseline.proposal import Case
from fabricheck.judge.model import CaseKey
from fabricheck.transports.placement import written

_PLACE = ("transport", "num_nodes", "layout")
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


def read_used(values: pl.LazyFrame) -> Mapping[Case, Sequence[Used]]:
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
    found: dict[Case, list[Used]] = defaultdict(list)
    for row in sessions.iter_rows(named=True):
        place = f"{row['system']}:{row['partition']}"
        placement = written(*(row[name] for name in _PLACE))
        key = CaseKey(row["system"], place, row["environ"], row["benchmark"], placement)
        case = Case(row["check"], key)
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
