"""The thread that owns what is served: it reads the sources, scrapes get the last whole page."""

import sys
import threading
import time
import traceback
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

from prometheus_client import CollectorRegistry, ProcessCollector

from fabricheck.errors import FabricheckError
from fabricheck.monitor.catalog import Sample, sample
from fabricheck.monitor.exposition import metrics, render

INTERVAL: Final = 5.0
"""Seconds between two readings of the sources."""
STALE: Final = 60.0
"""After so many seconds without a whole page, the exporter is not in health."""


class Readable(Protocol):
    """A source of samples."""

    @property
    def name(self) -> str:
        """What the exporter calls it."""

    def read(self) -> Iterable[Sample]:
        """What it says now.

        Raises:
            FabricheckError: if it can't be read.
        """


class Refresher:
    """Reads sources again and again, and holds the page that they make.

    A source that can't be read has no series, and says so in one that is always there: what it
    said before is never repeated.
    """

    def __init__(self, sources: Sequence[Readable], interval: float = INTERVAL) -> None:
        self._sources = sources
        self._interval = interval
        self._problems: dict[str, str] = {}
        self._process = ProcessCollector(registry=CollectorRegistry())
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="refresher", daemon=True)
        self._pages: Mapping[str, bytes] = {}
        self._done = 0.0

    @property
    def pages(self) -> Mapping[str, bytes]:
        """The last whole page by its content type."""
        return self._pages

    @property
    def age(self) -> float:
        """Seconds since it was made."""
        return time.monotonic() - self._done

    def start(self) -> None:
        """Read once, then go on in a thread of its own."""
        self.refresh()
        self._thread.start()

    def stop(self) -> None:
        """End the thread, after the reading that is under way."""
        self._stop.set()
        self._thread.join(timeout=self._interval)

    def refresh(self) -> None:
        """Read every source and make a new page."""
        began = time.monotonic()
        samples = [*collect(self._sources, self._tell)]
        samples += sample("fabricheck_exporter_refresh_timestamp_seconds", time.time())
        ended = time.monotonic()
        samples += sample("fabricheck_exporter_refresh_duration_seconds", ended - began)
        self._pages, self._done = render(samples, self._process), ended

    def _run(self) -> None:
        while not self._stop.wait(self._interval):
            try:
                self.refresh()
            except Exception:
                # The page gets old, which is shown.
                traceback.print_exc()

    def _tell(self, source: str, problem: str) -> None:
        """Say a problem once, not at every reading."""
        if problem != self._problems.get(source, ""):
            sys.stderr.write(f"{source}: {problem or 'it can be read again'}\n")
            sys.stderr.flush()
        self._problems[source] = problem


class Listener(Protocol):
    """What is told of each source: its name, and why it can't be read; empty if it can."""

    def __call__(self, source: str, problem: str) -> None:
        """Take note."""


def collect(sources: Sequence[Readable], tell: Listener) -> Iterable[Sample]:
    """The samples of all sources, and which of them could be read.

    Args:
        sources: where to read.
        tell: is told what is wrong with each.
    """
    for source in sources:
        try:
            found = list(source.read())
            metrics(found)
            problem = ""
        except (FabricheckError, OSError) as error:
            found, problem = [], str(error)
        except Exception as error:
            # One source's fault must not take the others along.
            found, problem = [], f"a fault of fabricheck: {error!r}"
            traceback.print_exc()
        tell(source.name, problem)
        yield from found
        yield from sample("fabricheck_exporter_source_up", not problem, source.name)
