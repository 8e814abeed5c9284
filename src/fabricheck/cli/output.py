"""What a terminal or a pipe is given: whole or with an error, and no control character of others.

Kept free of heavy imports: ``fabricheck testbed exec`` passes here too.
"""

import errno
import io
import json
import os
import re
import signal
import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final

from fabricheck.errors import FabricheckError
from fabricheck.inputs import FORMAT

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_CONTROL_BUT_COLOUR: Final = re.compile(rf"(\x1b\[[0-9;]*m)|{_CONTROL.pattern}")
_PICTURES: Final = 0x2400
_DELETE: Final = 0x7F


def visible(text: str) -> str:
    """The text with a sign for each control character: none of a file's may act on a terminal."""
    return _CONTROL.sub(_sign, text)


def _sign(found: re.Match[str]) -> str:
    if found.lastindex:
        return found[0]
    code = ord(found[0])
    if code == _DELETE:
        return "\N{SYMBOL FOR DELETE}"
    return chr(_PICTURES + code) if code < ord(" ") else "\N{REPLACEMENT CHARACTER}"


class Output(io.TextIOWrapper):
    """Standard output that takes everything, or ends the command with a sentence."""

    def write(self, text: str) -> int:
        """As of a file.

        Raises:
            FabricheckError: if it can't be written.
        """
        pattern = _CONTROL_BUT_COLOUR if self.isatty() else _CONTROL
        try:
            super().write(pattern.sub(_sign, text))
        except OSError as error:
            raise self._lost(error) from error
        return len(text)

    def flush(self) -> None:
        """As of a file; raises as ``write``."""
        try:
            super().flush()
        except OSError as error:
            raise self._lost(error) from error

    def _lost(self, error: OSError) -> BaseException:
        discard(self.fileno())
        if error.errno == errno.EPIPE:
            # As of head: who has read enough asks for no words.
            return SystemExit(128 + signal.SIGPIPE)
        return FabricheckError(
            "FC2521 expected to write the whole output to standard output, found: "
            f"{error.strerror or error}: give it room, and run the command again"
        )


def discard(descriptor: int) -> None:
    """Let a descriptor that takes nothing lead nowhere.

    What is still in its buffer would be tried again when Python ends, and fail again: from 3.13 on
    that is an exit code of its own, 120.
    """
    with open(os.devnull, "wb") as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), descriptor)


def prepare() -> None:
    """Let standard output keep the rule of this module, also where there is none.

    A descriptor that the caller closed would become that of the next file, and get what programs
    that are started write.
    """
    for descriptor, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, mode), True)
    if sys.stdin is None:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        # Without it, what is said there would go to standard output.
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    elif sys.stdout is not sys.__stdout__:
        return
    before = sys.stdout
    if isinstance(before, io.TextIOWrapper):
        # What the locale lacks is written as its number.
        encoding, lines = before.encoding, before.line_buffering
        sys.stdout = Output(before.detach(), encoding, "backslashreplace", line_buffering=lines)


def write_json(data: Mapping[str, Any]) -> None:
    """Write data to standard output, for machines: an object with its ``format``."""
    json.dump({"format": FORMAT, **data}, sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")


def tell(lines: Iterable[str], data: Mapping[str, Any], *, machine: bool) -> None:
    """Write lines to standard output, or, for machines, data."""
    if machine:
        write_json(data)
        return
    for line in lines:
        sys.stdout.write(f"{line}\n")


def picked(given: object, names: str) -> dict[str, Any]:
    """Some attributes of an object, by their names with blanks between them."""
    return {name: getattr(given, name) for name in names.split()}
