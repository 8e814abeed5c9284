"""What became of a test case: the levels, and every way of not having one."""

from collections.abc import Iterable
from enum import StrEnum

from fabricheck.judge.levels import Level


class Status(StrEnum):
    """Outcome of a case as people see it, from best to worst.

    The levels keep their names. The others say why there is no level: nothing that was not
    measured, proved and judged is ever shown as good.

    Attributes:
        symbol: one character that tells the statuses apart without colour.
        ascii_symbol: the symbol for outputs that only have ASCII.
        color: colour family: green, yellow, red, magenta or grey (see the style sheet).
    """

    symbol: str
    ascii_symbol: str
    color: str

    def __new__(
        cls, name: str, symbol: str = "", ascii_symbol: str = "", color: str = ""
    ) -> "Status":
        """A status with its signs."""
        status = str.__new__(cls, name)
        status._value_ = str(name)
        status.symbol, status.ascii_symbol, status.color = symbol, ascii_symbol, color
        return status

    GOOD = Level.GOOD, "✓", "+", "green"
    SKIPPED = "skipped", "–", "-", "grey"  # noqa: RUF001
    WARNING = Level.WARNING, "▲", "!", "yellow"
    NOT_RUN = "not run", "…", "N", "red"
    NO_REFERENCE = Level.NO_REFERENCE, "?", "?", "magenta"
    DISTURBED = Level.DISTURBED, "≈", "~", "magenta"
    CRITICAL = Level.CRITICAL, "✖", "X", "red"
    UNTRUSTED = Level.UNTRUSTED, "⊘", "U", "magenta"
    UNJUDGED = "not judged", "□", "0", "magenta"
    ABORTED = "aborted", "‡", "A", "red"
    FAILED = "failed", "†", "F", "red"
    BUILD_FAILED = "build failed", "#", "#", "red"
    INCOMPLETE = "incomplete", "≠", "=", "red"

    @classmethod
    def worst(cls, statuses: Iterable["Status"]) -> "Status":
        """The worst of some statuses, of which there is at least one."""
        return max(statuses, key=lambda status: status.severity)

    @property
    def severity(self) -> int:
        """Rank in the order of the definition, 0 for good."""
        return list(Status).index(self)

    @property
    def judged(self) -> bool:
        """Whether values were compared with references."""
        return self in (Status.GOOD, Status.WARNING, Status.CRITICAL)

    @property
    def measured(self) -> bool:
        """Whether the case ran to its end, whatever was found."""
        without = (
            Status.SKIPPED,
            Status.NOT_RUN,
            Status.ABORTED,
            Status.FAILED,
            Status.BUILD_FAILED,
        )
        return self not in without

    @property
    def passes(self) -> bool:
        """Whether a run that holds this status may end with exit code 0."""
        return self in (Status.GOOD, Status.SKIPPED, Status.WARNING)
