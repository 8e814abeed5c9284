"""The one error family that users of fabricheck see."""

import importlib
import re
from collections.abc import Mapping
from typing import Any, Final

EXIT_BAD_INPUT = 2
EXIT_FAULT = 70
"""EX_SOFTWARE of sysexits.h: a fault of ours."""

_CODE = re.compile(r"(FC\d{4}) (.*)", re.DOTALL)


class FabricheckError(Exception):
    """A problem that the user can act on.

    The message is one sentence (two at most) that says what was expected, what was found, where,
    and what to do. The command line prints it without a traceback and ends with ``exit_code``.

    Args:
        message: the sentence, behind its code, which is no part of ``str(error)``. A sentence
            without one has that of the error that it was raised from.
    """

    exit_code = EXIT_BAD_INPUT

    def __init__(self, message: str) -> None:
        coded = _CODE.fullmatch(message)
        super().__init__(coded[2] if coded else message)
        self._code = coded[1] if coded else ""

    @property
    def code(self) -> str:
        """Its code, such as FC0101: docs/reference/errors.md lists them."""
        return self._code or getattr(self.__cause__ or self.__context__, "code", "")


EXTRAS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("bokeh", "jinja2"), "report"),
    "scipy": "statistics",
    "prometheus_client": "exporter",
    "reframe": "reframe",
}
"""Modules that only an extra of the package installs, and which."""


def optional(module: str, extra: str) -> Any:
    """A module that only an extra of the package installs.

    Raises:
        FabricheckError: if it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise lacking(str(error.name), extra) from error


def lacking(module: str, extra: str = "") -> FabricheckError:
    """The error of a module that is not installed.

    Args:
        module: its name.
        extra: of the package, which installs it; the one that is known for it, if empty.
    """
    return FabricheckError(
        f"FC0110 expected the Python package {module}, found none: install it with pip install "
        f"'fabricheck[{extra or EXTRAS[module.partition('.')[0]]}]'"
    )


class Terminated(KeyboardInterrupt):
    """SIGTERM came; the message tells what became of what was running."""


class ParseError(FabricheckError):
    """The output of a benchmark cannot be read as that of one complete run."""
