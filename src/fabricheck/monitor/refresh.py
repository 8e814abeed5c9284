"""The threads that own what is served, one for each source: scrapes get the last whole pages."""

import threading
import time
import traceback
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Final, Protocol

from prometheus_client import CollectorRegistry, ProcessCollector

from fabricheck.errors import FabricheckError
from fabricheck.events import emit
from fabricheck.monitor.catalog import FAMILIES, Sample, sample
from fabricheck.monitor.exposition import Page, joined, packed, render
from fabricheck.provenance import SUITE, commit

STALE: Final = 60.0
"""After so many seconds without a reading, a source is down and the exporter not in health."""


_NOTHING: Final = packed(render(()))


class Readable(Protocol):
    """A source of samples."""

    @property
    def name(self) -> str:
        """What the exporter calls it."""

    def read(self) -> Iterable[Sample] | Page:
        """What it says now, or the page that says it, packed.

        Raises:
            FabricheckError: if it can't be read.
            TimeoutError: if it takes too long; what it said before is then served as old.
        """


class Reader:
    """Reads a source, and holds the page that it makes.

    A source that can't be read has no series, and says so in one that is always there: what it
    said before is not repeated. Where the time ran out alone, it is, and called old.

    Args:
        source: what is read.
        names: families that are served.

    Attributes:
        name: of the source.
        problem: why it can't be read; empty if it can.
        late: whether that is only because it took too long.
        read_at: Unix time at which the last reading ended.
        duration: seconds that it took.
    """

    def __init__(self, source: Readable, names: Collection[str] = FAMILIES) -> None:
        self._source = source
        self._names = names
        self.name = source.name
        self.late = False
        self.problem = "not read yet"
        self.read_at = time.time()
        self.duration = 0.0
        self._done = time.monotonic()
        self._samples: Sequence[Sample] = ()
        self._page: Page = _NOTHING

    @property
    def age(self) -> float:
        """Seconds since the last reading ended."""
        return time.monotonic() - self._done

    @property
    def page(self) -> Page | None:
        """What it said; nothing if it could not be read, or hangs."""
        return self._page if self.up or self.late else None

    @property
    def up(self) -> bool:
        """Whether it was read, and not long ago."""
        return not self.problem and self.age <= STALE

    def read(self) -> None:
        """Read the source, and render what it says if that is something else than before."""
        began, samples, problem, late = time.monotonic(), list[Sample](), "", False
        try:
            found = self._source.read()
            if isinstance(found, Mapping):
                self._page = found
            elif (samples := list(found)) != self._samples:
                self._page = packed(render(samples, names=self._names))
        except TimeoutError as error:
            problem, late = str(error), True
        except (FabricheckError, OSError) as error:
            problem = str(error)
        except Exception as error:
            # One source's fault must not take the others along.
            problem = f"a fault of fabricheck: {error!r}"
            if problem != self.problem:
                traceback.print_exc()
        # Whole before it is seen: what renders next compares with what is on the page.
        self._samples = () if problem else samples
        if problem and not late:
            self._page = _NOTHING
        self._tell(problem)
        self.late = late
        done = time.monotonic()
        self.duration = done - began
        if not late:
            self._done, self.read_at = done, time.time()

    def _tell(self, problem: str) -> None:
        """Say a problem once, not at every reading."""
        if problem and problem != self.problem:
            emit("source_down", level="error", source=self.name, why=problem)
        elif self.problem not in (problem, "not read yet"):
            emit("source_up", source=self.name)
        self.problem = problem


class Refresher:
    """Reads sources again and again, each in its own thread: one that hangs delays no other.

    Args:
        sources: what is read.
        interval: seconds between two readings.
        names: families that are served; those of the exporter itself are always.
    """

    def __init__(
        self,
        sources: Sequence[Readable],
        interval: float = 5.0,
        names: Collection[str] = FAMILIES,
    ) -> None:
        self._readers = [Reader(each, names) for each in sources]
        self._interval = interval
        self._build = version("fabricheck"), commit(SUITE)
        self._process = ProcessCollector(registry=CollectorRegistry())
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=[each], name=each.name, daemon=True)
            for each in self._readers
        ]

    def page(self, kind: str) -> bytes:
        """What the sources say, as a page of this content type, packed."""
        own, pages = [*sample("fabricheck_build_info", 1, *self._build)], list[Page]()
        for each in self._readers:
            page = each.page
            own += sample("fabricheck_exporter_source_up", each.up, each.name)
            own += sample(
                "fabricheck_exporter_source_read_timestamp_seconds", each.read_at, each.name
            )
            pages += [page] if page else []
        oldest = min((each.read_at for each in self._readers), default=time.time())
        own += sample("fabricheck_exporter_refresh_timestamp_seconds", oldest)
        slowest = max((each.duration for each in self._readers), default=0.0)
        own += sample("fabricheck_exporter_refresh_duration_seconds", slowest)
        return joined([*pages, packed(render(own, self._process))], kind)

    @property
    def age(self) -> float:
        """Seconds since the source was read that was read longest ago."""
        return max((each.age for each in self._readers), default=0.0)

    def start(self) -> None:
        """Start the threads, and give each a moment for its first reading."""
        limit = time.monotonic() + self._interval
        for each in self._threads:
            each.start()
        while time.monotonic() < limit and any(not each.duration for each in self._readers):
            time.sleep(0.01)

    def stop(self) -> None:
        """End the threads, after the readings that are under way."""
        self._stop.set()
        for each in self._threads:
            each.join(timeout=self._interval)

    def refresh(self) -> None:
        """Read every source once."""
        for each in self._readers:
            each.read()

    def _run(self, reader: Reader) -> None:
        reader.read()
        while not self._stop.wait(self._interval):
            reader.read()
