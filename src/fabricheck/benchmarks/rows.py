"""What strict readers of foreign tables share: numbers, and errors that name the line."""

import math
import re

from fabricheck.benchmarks.program_result import ParseError

_WHOLE_NUMBER = re.compile(r"\d{1,18}", re.ASCII)


class Rows:
    """The lines of a table.

    Args:
        source: what to call it in messages.
    """

    NUMBER = re.compile(r"\d{1,30}(?:\.\d{1,30})?", re.ASCII)

    def __init__(self, source: str) -> None:
        self._source = source

    def _value(self, number: int, title: str, word: str) -> float:
        """The number in a cell of a line."""
        value = float(word) if self.NUMBER.fullmatch(word) else math.nan
        if not math.isfinite(value):
            raise self._error(
                number, f"expected a finite number, not negative, as {title}, found {word!r}"
            )
        return value

    def _whole(self, number: int, title: str, word: str, least: int = 0) -> int:
        """The whole number in a cell of a line."""
        if not _WHOLE_NUMBER.fullmatch(word) or int(word) < least:
            wanted = "whole number above zero" if least else "whole number, not negative,"
            raise self._error(number, f"expected a {wanted} as {title}, found {word!r}")
        return int(word)

    def _error(self, number: int, message: str) -> ParseError:
        return ParseError(f"{self._source}: line {number}: {message}")
