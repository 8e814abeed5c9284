"""The command by which a testbed is used, and where it lies unless the user says so.

Kept free of heavy imports: ``testbed exec`` passes here.
"""

import os
from pathlib import Path
from typing import Final, NamedTuple

from fabricheck_testbed.enter import run_in_node
from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.layout import layout_at, refuse_of_other_package

_OPTION: Final = "--state-dir"


class Request(NamedTuple):
    """A command to run in a node."""

    state_dir: Path
    node: str
    command: list[str]

    def run(self) -> int:
        """Run it; returns the command's exit code (see ``enter.run_in_node``)."""
        files = layout_at(self.state_dir)
        refuse_of_other_package(files)
        return run_in_node(files, self.node, self.command)


class Door(NamedTuple):
    """A command line of testbeds; a program that has them as a part of its own has one, too.

    Attributes:
        command: how the user calls it.
        variable: the environment variable that names the state directory.
        place: the default state directory, below the user's XDG state directory.
    """

    command: str
    variable: str
    place: str

    def state_dir(self) -> Path:
        """The state directory if no option names one. Raises TestbedError without a home."""
        return Path(os.environ.get(self.variable) or self.default())

    def default(self) -> Path:
        """The state directory if nothing names one. Raises TestbedError without a home."""
        try:
            home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
        except RuntimeError as error:
            raise TestbedError(
                f"expected a home directory for user {os.geteuid()}, found none: set HOME, or name "
                f"a directory with {_OPTION}"
            ) from error
        return Path(home) / self.place

    def request(self, arguments: list[str]) -> Request | None:
        """Read ``exec [--state-dir DIR] NODE [--] CMD...``; None for all else (--help, mistakes).

        Without a command line library, whose import takes longer than the command.
        """
        if arguments[:1] != ["exec"]:
            return None
        rest = arguments[1:]
        state_dir = self.state_dir()
        while rest and rest[0].startswith(_OPTION):
            option, equals, value = rest.pop(0).partition("=")
            if option != _OPTION or not (equals or rest):
                return None
            state_dir = Path(value if equals else rest.pop(0))
        if len(rest) > 1 and rest[1] == "--":
            del rest[1]
        if len(rest) < 2 or rest[0].startswith("-"):  # noqa: PLR2004
            return None
        return Request(state_dir, rest[0], rest[1:])


OWN: Final = Door("testbed", "TESTBED_STATE_DIR", "testbed")
