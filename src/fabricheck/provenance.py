"""Where a result comes from: the state of the suite itself."""

import functools
import os
import re
import socket
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

from fabricheck.asking import told
from fabricheck.errors import FabricheckError

_WHEEL = Path(__file__).resolve().with_name("suite")
SUITE = _WHEEL if _WHEEL.is_dir() else _WHEEL.parents[2]
"""The suite's own files, such as checks/ and src/bench/: the checkout, or what a wheel brought."""

_PAGE: Final = re.compile(r"(?<![\w/.-])docs/[\w/-]+\.md")


def located(words: str) -> str:
    """Words whose pages, such as ``docs/reference/sites.md``, are named by where a wheel has them.

    In a checkout they stay as they are.
    """
    return _PAGE.sub(lambda page: f"{SUITE}/{page[0]}", words) if SUITE == _WHEEL else words


def places(suite: Path = SUITE) -> tuple[Path, ...]:
    """The directories that hold sites/ and references/, the nearest first.

    Those that ``FABRICHECK_SITES`` names, with ``:`` between them, and the suite's own. An
    installed wheel keeps nothing beside itself: without the variable, its nearest place is the
    current directory.

    Args:
        suite: root of the suite.

    Raises:
        FabricheckError: if the variable names what is no directory.
    """
    named = os.environ.get("FABRICHECK_SITES") or (str(Path.cwd()) if suite == _WHEEL else "")
    found = [Path(each).absolute() for each in named.split(":") if each]
    for each in found:
        if not each.is_dir():
            raise FabricheckError(
                f"FC0112 expected directories in FABRICHECK_SITES, found {each}, which is none: "
                "correct it"
            )
    return tuple(dict.fromkeys((*found, suite)))


def home(suite: Path = SUITE) -> Path:
    """The nearest place, which holds perflogs/, reports/, stage/, output/ and build/ as well."""
    return places(suite)[0]


def folders(folder: str, suite: Path = SUITE) -> list[Path]:
    """A folder of each place, the nearest first."""
    return [place / folder for place in places(suite)]


@functools.cache
def commit(directory: Path) -> str:
    """Short git commit of a directory, ``+`` appended when tracked files were changed.

    Empty where git or the repository is missing, as in an unpacked release. Of a wheel, its
    version: a repository that it lies in is another one.
    """
    if directory == _WHEEL:
        return f"v{version('fabricheck')}"
    return told(
        ["git", "-C", str(directory), "describe", "--always", "--exclude=*", "--dirty=+"]
    ).strip()


SESSION: Final = "FABRICHECK_SESSION"
"""Environment variable with which a command names the session of the ReFrame that it starts."""


@functools.cache
def session() -> str:
    """Identity of this process as a session of measurements: when, where and which it is."""
    return (
        os.environ.get(SESSION)
        or f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{socket.gethostname()}-{os.getpid()}"
    )
