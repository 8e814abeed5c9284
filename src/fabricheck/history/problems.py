"""What is wrong with lines of the record: counted and named, and never in the way of the rest."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum


class Kind(StrEnum):
    """What can be wrong with a line."""

    DAMAGED = "damaged"
    CUT = "cut"
    LOST = "lost"
    DUPLICATE = "duplicate"
    FUTURE = "future"
    CLOCK = "clock"
    UNITS = "units"
    SESSION = "session"
    UNREAD = "unread"

    @property
    def stops(self) -> bool:
        """Whether a person must look before anything is read.

        A damaged line costs itself. A clock that jumped, two units in one series and two values of
        one job put true values in the wrong place, and what is computed from them is wrong.
        """
        return self in STOPPING


STOPPING = (Kind.CLOCK, Kind.UNITS, Kind.SESSION)


@dataclass(frozen=True, slots=True)
class Problem:
    """Neighbouring lines of a file with the same problem.

    Attributes:
        kind: what is wrong.
        first: number of the first line, from 1; 0 for the file as a whole.
        last: number of the last line.
        detail: what was expected and found, in words, at the first line.
        expires: time in seconds since 1970 from which it is none any more, for a future date.
        session: of a results database, whose cases are meant in place of lines.
    """

    kind: Kind
    first: int
    last: int
    detail: str
    expires: float | None = None
    session: str = ""

    @property
    def lines(self) -> int:
        """How many lines it concerns."""
        return self.last - self.first + 1

    @property
    def where(self) -> str:
        """The lines, in words."""
        if self.session:
            case = f", case {self.first}" if self.first else ""
            return f"session {ascii(self.session)[1:-1]}{case}"
        if not self.first:
            return "as a whole"
        return f"line {self.first}" if self.lines == 1 else f"lines {self.first} to {self.last}"


Located = tuple[int, Problem]
"""A problem with the number of its source."""


def _fault(problem: Problem) -> tuple[Kind, str]:
    return problem.kind, problem.detail.partition(", found")[0]


def merged(problems: Iterable[Problem]) -> list[Problem]:
    """The problems in the order of their lines, neighbours with the same fault as one."""
    result: list[Problem] = []
    for problem in sorted(problems, key=lambda each: (each.first, each.kind)):
        last = result[-1] if result else None
        if last and _fault(last) == _fault(problem) and problem.first == last.last + 1:
            expires = max(last.expires or 0, problem.expires or 0) or None
            result[-1] = replace(last, last=problem.last, expires=expires)
        else:
            result.append(problem)
    return result
