"""Reading what ``collect.sh`` told of a node, from a running one or from a recorded tree."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabricheck.errors import FabricheckError

SCRIPT: Final = Path(__file__).with_name("collect.sh")
PREFIX: Final = "node."
"""The files of nodes in a job's directory are called so, with the name of the node behind it."""
PART: Final = ".part"
"""Behind that as long as a node writes."""

_HEAD: Final = re.compile(r"told (?P<moment>\S+) (?P<host>\S+) (?P<uptime>\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class Told:
    """What a node told at one moment.

    Attributes:
        moment: the word that it was asked with, such as ``before``.
        host: the node.
        uptime: seconds since its boot.
        lines: the lines of each file, by its path without the first slash.
    """

    moment: str
    host: str
    uptime: float
    lines: Mapping[str, Sequence[str]]

    def value(self, path: str) -> str:
        """The last line of a file; empty where the node told none."""
        return self.lines.get(path, ("",))[-1].strip()

    def matching(self, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str]]:
        """The files whose whole path matches, and the value of each."""
        for path in self.lines:
            if match := pattern.fullmatch(path):
                yield match, self.value(path)


def files(directory: Path) -> list[Path]:
    """The files of nodes in a job's directory, by their names; none that is still written."""
    found = directory.glob(f"{PREFIX}*")
    return sorted(path for path in found if path.suffix != PART and path.is_file())


def read_told(path: Path) -> list[Told]:
    """What a node told, in the order in which it did.

    Raises:
        FabricheckError: if the file can't be read or is not what ``collect.sh`` writes.
    """
    try:
        return parse(path.read_text(errors="replace"), path.name)
    except OSError as error:
        raise FabricheckError(
            f"FC1601 cannot read the answer of a node in {path}: {error.strerror or error}"
        ) from error


def parse(text: str, source: str) -> list[Told]:
    """What stands in a text; a moment that has no end was cut by a kill and is left out.

    Raises:
        FabricheckError: if it is not what ``collect.sh`` writes.
    """
    told = []
    head, lines = None, dict[str, list[str]]()
    for number, line in enumerate(text.splitlines(), start=1):
        if match := _HEAD.fullmatch(line):
            head, lines = match, {}
        elif head and line == "end":
            told.append(Told(head["moment"], head["host"], float(head["uptime"]), lines))
            head = None
        elif head:
            path, _, value = line.partition(":")
            lines.setdefault(path, []).append(value)
        else:
            raise FabricheckError(
                f"FC1602 {source}, line {number}: expected 'told MOMENT HOST UPTIME', found "
                f"{line!r}: the answer of this node is damaged, run the case again"
            )
    return told
