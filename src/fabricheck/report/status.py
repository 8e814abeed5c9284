"""What became of a test case: the levels, and every way of not having one."""

from enum import StrEnum

from fabricheck.judge.levels import Level


class Status(StrEnum):
    """Outcome of a case as people see it, from best to worst.

    The levels keep their names. The others say why there is no level: nothing that was not
    measured, proved and judged is ever shown as good.
    """

    GOOD = Level.GOOD
    SKIPPED = "skipped"
    WARNING = Level.WARNING
    NOT_RUN = "not run"
    NO_REFERENCE = Level.NO_REFERENCE
    DISTURBED = Level.DISTURBED
    CRITICAL = Level.CRITICAL
    UNTRUSTED = Level.UNTRUSTED
    UNJUDGED = "not judged"
    ABORTED = "aborted"
    FAILED = "failed"
    BUILD_FAILED = "build failed"
    INCOMPLETE = "incomplete"

    @property
    def severity(self) -> int:
        """Rank in the order of the definition, 0 for good."""
        return list(Status).index(self)

    @property
    def symbol(self) -> str:
        """One character that tells the statuses apart without colour."""
        return _SYMBOLS[self][0]

    @property
    def ascii_symbol(self) -> str:
        """The symbol for outputs that only have ASCII."""
        return _SYMBOLS[self][1]

    @property
    def color(self) -> str:
        """Colour family: green, yellow, red, magenta or grey (see the style sheet)."""
        return _SYMBOLS[self][2]

    @property
    def judged(self) -> bool:
        """Whether values were compared with references."""
        return self in (Status.GOOD, Status.WARNING, Status.CRITICAL)

    @property
    def measured(self) -> bool:
        """Whether the case ran to its end, whatever was found."""
        return self not in _NOT_MEASURED

    @property
    def passes(self) -> bool:
        """Whether a run that holds this status may end with exit code 0."""
        return self in (Status.GOOD, Status.SKIPPED, Status.WARNING)


_NOT_MEASURED = frozenset(
    {Status.SKIPPED, Status.NOT_RUN, Status.ABORTED, Status.FAILED, Status.BUILD_FAILED}
)

_SYMBOLS = {
    Status.GOOD: ("✓", "+", "green"),
    Status.SKIPPED: ("–", "-", "grey"),  # noqa: RUF001
    Status.WARNING: ("▲", "!", "yellow"),
    Status.NO_REFERENCE: ("?", "?", "magenta"),
    Status.DISTURBED: ("≈", "~", "magenta"),
    Status.CRITICAL: ("✖", "X", "red"),
    Status.UNTRUSTED: ("⊘", "U", "magenta"),
    Status.UNJUDGED: ("□", "0", "magenta"),
    Status.NOT_RUN: ("…", "N", "red"),
    Status.ABORTED: ("‡", "A", "red"),
    Status.FAILED: ("†", "F", "red"),
    Status.BUILD_FAILED: ("#", "#", "red"),
    Status.INCOMPLETE: ("≠", "=", "red"),
}
