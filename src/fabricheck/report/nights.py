"""The last nights of all series, in as few bytes as a page can have.

A value is kept as a whole number of steps from the middle of its series: steps of 0.2 % where all
values are positive, else of a thousandth of the series' range. The numbers are packed as two planes
of bytes, low and high, in which neighbours are alike, so that gzip finds little to keep.
"""

import gzip
import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from fabricheck.history.series import Series

STEP: Final = 2e-3
"""Step of logarithms: values on the page are rounded to half of it, relative to themselves."""

MISSING: Final = -(1 << 15)
"""Stands for a night without value."""

MOST_VALUES: Final = 500_000
"""Values that a page has room for, whatever they are."""

MOST_NIGHTS: Final = 400

Steps = npt.NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class Row:
    """What turns the steps of a series into values.

    Attributes:
        series: the series.
        middle: the value of step 0.
        step: None where steps are of the logarithm, else the value of one.
    """

    series: Series
    middle: float
    step: float | None

    def steps(self, values: npt.NDArray[np.float64]) -> Steps:
        """Values as steps, those out of range as the farthest."""
        if self.step is None:
            steps = np.log(values / self.middle) / STEP
        else:
            steps = (values - self.middle) / self.step
        return np.clip(np.rint(steps), MISSING + 1, -MISSING - 1).astype(np.int16)


@dataclass(frozen=True, slots=True)
class Nights:
    """A table of series by sessions.

    Attributes:
        sessions: identities of the sessions, oldest first.
        times: when each began to measure, seconds since 1970, UTC.
        rows: the series that have a value in one of them.
        steps: their values in steps, one row for each series.
        before: number of sessions that are too old for the table.
    """

    sessions: tuple[str, ...]
    times: tuple[int, ...]
    rows: tuple[Row, ...]
    steps: Steps
    before: int

    def place(self, session: str) -> int:
        """Column of a session, -1 for one that is older than the table."""
        return self.sessions.index(session) if session in self.sessions else -1


def lay_out(series: Sequence[Series], most_values: int = MOST_VALUES) -> Nights:
    """The last sessions of all series, as many as ``most_values`` leave room for."""
    room = max(1, min(MOST_NIGHTS, most_values // max(1, len(series))))
    first: dict[str, int] = {}
    for each in series:
        for session, time in zip(each.sessions[-room:], each.times[-room:], strict=True):
            moment = int(time.astype("datetime64[s]").astype(np.int64))
            first[str(session)] = min(moment, first.get(str(session), moment))
    sessions = sorted(first, key=lambda session: (first[session], session))[-room:]
    columns = {session: column for column, session in enumerate(sessions)}
    rows, lines = [], []
    for each in series:
        line = np.full(len(sessions), MISSING, dtype=np.int16)
        places = [columns.get(str(session), -1) for session in each.sessions[-room:]]
        kept = np.array(places) >= 0
        values = each.values[-room:][kept]
        finite = np.isfinite(values)
        if not finite.any():
            continue
        row = _row(each, values[finite])
        line[np.array(places)[kept][finite]] = row.steps(values[finite])
        rows.append(row)
        lines.append(line)
    longest = max((len(each) for each in series), default=0)
    return Nights(
        tuple(sessions),
        tuple(first[session] for session in sessions),
        tuple(rows),
        np.array(lines, dtype=np.int16).reshape(len(rows), len(sessions)),
        max(0, longest - len(sessions)),
    )


def _row(series: Series, values: npt.NDArray[np.float64]) -> Row:
    # Rounded first, so that what the steps are counted from is what the page has.
    middle = float(f"{np.median(values):.4g}")
    if values.min() > 0:
        return Row(series, middle, None)
    return Row(series, middle, float(np.ptp(values)) / 1000 or 1.0)


def packed(content: bytes) -> str:
    """Bytes as text that a script of the page unpacks: gzip, then base 64."""
    return b64encode(gzip.compress(content, 9, mtime=0)).decode("ascii")


def packed_json(document: Any) -> str:
    """Data as text that a script of the page unpacks."""
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return packed(text.encode())


def packed_steps(steps: Steps) -> str:
    """A table of steps as text: the plane of low bytes, then that of high bytes."""
    planes = steps.astype("<i2").view(np.uint8).reshape(-1, 2).T
    return packed(planes.tobytes())
