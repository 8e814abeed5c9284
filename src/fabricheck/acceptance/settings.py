"""Settings of an acceptance: defaults, and what a site file says instead."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fabricheck.errors import FabricheckError
from fabricheck.trend.settings import read_section

KEY = "acceptance"
"""Key of a site file that holds the settings for the site's systems."""

_TAIL = re.compile(r"max|p(9\d|\d{3})(\.\d+)?")


@dataclass(frozen=True, slots=True)
class Settings:
    """What an acceptance asks for; docs/how-to/acceptance.md has the reasons.

    Attributes:
        margin: how much worse, relative, is still as good as before: the margin of equivalence.
        tail_margin: the same for p90 and above and the maximum, which scatter more.
        error_rate: largest probability of accepting what is worse by the margin or more, and of
            rejecting what is not.
        pairs: pairs of runs that are planned.
        most_pairs: pairs of runs after which more are no longer advised.
    """

    margin: float = 0.05
    tail_margin: float = 0.25
    error_rate: float = 0.05
    pairs: int = 12
    most_pairs: int = 60

    @property
    def rejecting(self) -> float:
        """The error rate of rejecting at one look; looks may follow each pair of runs."""
        return self.error_rate / 10

    def accepting(self, pairs: int) -> float:
        """The error rate of accepting at a look after so many pairs: most is kept for the plan."""
        return self.error_rate * (0.4 if pairs == self.pairs else 0.1)

    def margin_of(self, statistic: str) -> float:
        """The margin of a statistic as a difference of logarithms: a ratio of 1 + margin."""
        tail = _TAIL.fullmatch(statistic) is not None
        return math.log1p(self.tail_margin if tail else self.margin)


def read_settings(sites: Iterable[Path], systems: set[str]) -> Settings:
    """The settings of the site whose systems are compared; the defaults where none says anything.

    Args:
        sites: directories of the site files.
        systems: names of the systems.

    Raises:
        FabricheckError: for a bad site file, and for systems with different settings.
    """
    found = set(read_section(sites, systems, KEY, Settings).values())
    if len(found) > 1:
        raise FabricheckError(
            f"FC2006 expected systems with the same settings under '{KEY}', found "
            f"{', '.join(systems)} with different ones: accept each by itself, with system=NAME"
        )
    return found.pop() if found else Settings()
