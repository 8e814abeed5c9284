"""``fabricheck testbed exec`` without a command line library, whose import takes longer than it."""

import os
from pathlib import Path
from typing import Final, NamedTuple

from fabricheck.testbed.enter import run_in_node
from fabricheck.testbed.layout import STATE_VARIABLE, default_state_dir, layout_at

_OPTION: Final = "--state-dir"


class Request(NamedTuple):
    """A command to run in a node."""

    state_dir: Path
    node: str
    command: list[str]


def parse(arguments: list[str]) -> Request | None:
    """Read ``[--state-dir DIR] NODE [--] CMD...``; None for all else (--help, mistakes)."""
    state_dir = os.environ.get(STATE_VARIABLE) or str(default_state_dir())
    rest = list(arguments)
    while rest and rest[0].startswith(_OPTION):
        option, equals, value = rest.pop(0).partition("=")
        if option != _OPTION or not (equals or rest):
            return None
        state_dir = value if equals else rest.pop(0)
    if len(rest) > 1 and rest[1] == "--":
        del rest[1]
    if len(rest) < 2 or rest[0].startswith("-"):  # noqa: PLR2004
        return None
    return Request(Path(state_dir), rest[0], rest[1:])


def run(request: Request) -> int:
    """Run it; returns the command's exit code (see ``enter.run_in_node``)."""
    return run_in_node(layout_at(request.state_dir), request.node, request.command)
