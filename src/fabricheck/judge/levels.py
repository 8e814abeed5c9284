"""The levels of a verdict, from best to worst."""

from collections.abc import Iterable
from enum import StrEnum


class Level(StrEnum):
    """Verdict on a value, a curve or a case.

    ``no-reference`` and ``untrusted`` are verdicts of their own: a value that nothing judges and a
    value that nobody proved are never shown as good. What was measured beside foreign work is
    ``disturbed``: it says nothing, neither good nor bad.
    """

    GOOD = "good"
    WARNING = "warning"
    NO_REFERENCE = "no-reference"
    DISTURBED = "disturbed"
    CRITICAL = "critical"
    UNTRUSTED = "untrusted"

    @property
    def severity(self) -> int:
        """Rank in the order of the definition, 0 for good."""
        return list(Level).index(self)

    @property
    def passes(self) -> bool:
        """Whether a run with this level may end with exit code 0."""
        return self in (Level.GOOD, Level.WARNING)


def worst(levels: Iterable[Level]) -> Level:
    """The worst of the levels; ``no-reference`` when there is none, since nothing was judged."""
    return max(levels, key=lambda level: level.severity, default=Level.NO_REFERENCE)
