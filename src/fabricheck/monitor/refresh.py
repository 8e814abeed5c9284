"""The thread that owns what is served: it reads the sources, scrapes get the last whole page."""

import sys
import threading
import time
import traceback
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from prometheus_client import CollectorRegistry, ProcessCollector

from fabricheck.errors import FabricheckError
from fabricheck.monitor.catalog import Sample, sample
from fabricheck.monitor.exposition import Page, joined, metrics, render

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
        self._rendered: dict[str, tuple[Sequence[Sample], Page]] = {}
        self._process = ProcessCollector(registry=CollectorRegistry())
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="refresher", daemon=True)
        self._pages: Page = {}
        self._done = 0.0

    @property
    def pages(self) -> Page:
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
        pages, own = [], list[Sample]()
        for source in self._sources:
            found, problem = read(source)
            self._tell(source.name, problem)
            pages.append(self._page(source.name, found))
            own += sample("fabricheck_exporter_source_up", not problem, source.name)
        own += sample("fabricheck_exporter_refresh_timestamp_seconds", time.time())
        ended = time.monotonic()
        own += sample("fabricheck_exporter_refresh_duration_seconds", ended - began)
        self._pages, self._done = joined([*pages, render(own, self._process)]), ended

    def _page(self, source: str, samples: Sequence[Sample]) -> Page:
        """What a source says, rendered again only if it says something else."""
        known = self._rendered.get(source)
        if known is None or known[0] != samples:
            known = self._rendered[source] = (samples, render(samples))
        return known[1]

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


def read(source: Readable) -> tuple[Sequence[Sample], str]:
    """The samples of a source, and why it can't be read; empty if it can."""
    try:
        found = list(source.read())
        metrics(found)
    except (FabricheckError, OSError) as error:
        return [], str(error)
    except Exception as error:
        # One source's fault must not take the others along.
        traceback.print_exc()
        return [], f"a fault of fabricheck: {error!r}"
    return found, ""
