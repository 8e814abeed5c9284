"""Asking other programs."""

import subprocess
from collections.abc import Sequence
from typing import Final

from fabricheck.errors import FabricheckError

PATIENCE: Final = 60.0
"""Seconds; a program that only tells something has long done so."""


class UnansweredError(FabricheckError):
    """A program is not there, failed or hangs; the message is its last words."""


class MissingError(UnansweredError):
    """There is no such program."""


def ask(command: Sequence[str], patience: float = PATIENCE) -> str:
    """What a program prints.

    Raises:
        UnansweredError: if it is not there, fails, or takes longer than so many seconds.
    """
    try:
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=patience,
            check=False,
        )
    except FileNotFoundError:
        raise MissingError(f"FC0101 {command[0]} is not on PATH") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnansweredError(str(error)) from None
    if ended.returncode:
        words = ended.stderr.strip().splitlines() or [f"exit code {ended.returncode}"]
        raise UnansweredError(words[-1])
    return ended.stdout


def told(command: Sequence[str]) -> str:
    """What a program prints; nothing where it does not answer."""
    try:
        return ask(command)
    except UnansweredError:
        return ""
