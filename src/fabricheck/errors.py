"""The one error family that users of fabricheck see."""

import importlib
from typing import Any

EXIT_BAD_INPUT = 2
EXIT_FAULT = 70
"""EX_SOFTWARE of sysexits.h: a fault of ours."""


class FabricheckError(Exception):
    """A problem that the user can act on.

    The message is one sentence (two at most) that says what was expected, what was found, where,
    and what to do. The command line prints it without a traceback and ends with ``exit_code``.
    """

    exit_code = EXIT_BAD_INPUT


def optional(module: str, extra: str) -> Any:
    """A module that only an extra of the package installs.

    Raises:
        FabricheckError: if it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise FabricheckError(
            f"expected the Python package {error.name}, found none: install it with pip install "
            f"'fabricheck[{extra}]'"
        ) from error


class ParseError(FabricheckError):
    """The output of a benchmark cannot be read as that of one complete run."""
