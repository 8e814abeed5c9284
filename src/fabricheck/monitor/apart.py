"""Reading the record in a process of its own, which takes neither this one's time nor its memory.

It ends when it has written the page, packed: what is parsed is parsed once.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from fabricheck.errors import FabricheckError
from fabricheck.monitor.catalog import FAMILIES, Source
from fabricheck.monitor.exposition import Page, packed, render
from fabricheck.monitor.last_run import of_sessions

_PATIENCE = 60.0
"""Seconds that reading a session may take: one usually, several on a busy machine."""
_POLITE = 10


class Recorded(Protocol):
    """A source that reads sessions of the record."""

    @property
    def name(self) -> Source:
        """What the exporter calls it."""

    def sessions(self) -> Sequence[str]:
        """Which sessions it would read now."""


class Parser:
    """Makes the pages of sessions, in one process at a time.

    Args:
        perflogs: the record.
        names: families that are served.
    """

    def __init__(self, perflogs: Path, names: Collection[str] = FAMILIES) -> None:
        self._given = (perflogs, ",".join(names))
        self._lock = threading.Lock()
        self._known: tuple[Sequence[str], Mapping[Source, Page]] | None = None

    def pages(self, sessions: Sequence[str]) -> Mapping[Source, Page]:
        """What each source says of these sessions; of the last ones that were asked for it is kept.

        Raises:
            FabricheckError: if they can't be read, or that process did not end well.
            TimeoutError: if it takes too long, which may be otherwise next time.
        """
        with self._lock:
            if self._known is None or self._known[0] != sessions:
                # A record that can't be read may be repaired without another session.
                self._known = None
                self._known = sessions, self._made(sessions)
            return self._known[1]

    def _made(self, sessions: Sequence[str]) -> Mapping[Source, Page]:
        try:
            done = subprocess.run(
                [sys.executable, "-m", __name__, *self._given, *sessions],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=_PATIENCE,
            )
        except subprocess.TimeoutExpired:
            raise TimeoutError(
                f"expected to read {self._given[0]} within {_PATIENCE:g} s, found it unfinished: "
                "what is served is older, and it is tried again; look whether this machine or its "
                "file system is overloaded"
            ) from None
        if done.returncode:
            words = done.stderr.decode(errors="replace").strip().splitlines()
            raise FabricheckError((words or [f"exit code {done.returncode}"])[-1])
        return msgspec.json.decode(done.stdout, type=dict[Source, dict[str, bytes]])


class Apart:
    """A source whose page is made by a process of its own, when it has another session.

    Args:
        source: what says which sessions are to be read.
        parser: what reads them; sources of one record share it.
    """

    def __init__(self, source: Recorded, parser: Parser) -> None:
        self._source = source
        self._parser = parser
        self.name = source.name
        self._known: Sequence[str] | None = None
        self._page: Page = {}

    def read(self) -> Page:
        """What may be said now.

        Raises:
            FabricheckError: as `Parser.pages`.
            TimeoutError: likewise.
        """
        sessions = self._source.sessions()
        if sessions != self._known:
            self._known = None
            self._page = self._parser.pages(sessions)[self.name]
            self._known = sessions
        return self._page


def main() -> None:
    """Write the pages of what the command line names."""
    os.nice(_POLITE)
    perflogs, names, *sessions = sys.argv[1:]
    try:
        found = of_sessions(Path(perflogs), sessions)
        pages = {
            source: packed(render(samples, names=frozenset(names.split(","))))
            for source, samples in found.items()
        }
    except FabricheckError as error:
        sys.exit(" ".join(str(error).split()))
    sys.stdout.buffer.write(msgspec.json.encode(pages))


if __name__ == "__main__":
    main()
