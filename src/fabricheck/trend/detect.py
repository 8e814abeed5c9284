"""All detectors over all series: what changed, since when, and how it stands tonight."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from fabricheck.history.series import Series, SeriesKey
from fabricheck.trend import pools
from fabricheck.trend.accepted import Acceptance
from fabricheck.trend.events import Event, EventKind, EventState, merge
from fabricheck.trend.settings import Settings
from fabricheck.trend.system import System, row_of

SHOWN_DAYS = 30
"""Days before the newest value whose events are shown; older ones only if they are open."""


@dataclass(frozen=True, slots=True)
class Trend:
    """What the history says.

    Attributes:
        events: the events, latest first.
        series: number of series.
        judged: how many had enough nights for a verdict on a step.
        short: how many had fewer.
        silent: how many have had no value for too long.
        lost: of what no series is left that is not silent, if it had values in the last days.
        newest: the last night.
        visible: for each series that is judged the smallest relative change for the worse that five
            nights would show, alone and with 95 % probability.
    """

    events: tuple[Event, ...]
    series: int
    judged: int
    short: int
    silent: int
    newest: np.datetime64 | None
    visible: Mapping[SeriesKey, float] = field(default_factory=dict)
    lost: tuple[str, ...] = ()

    @property
    def regressions(self) -> Counter[EventState]:
        """How many regressions there are of each state: new, and open, which nobody accepted."""
        return Counter(
            each.state
            for each in self.events
            if each.kind is EventKind.REGRESSION and each.state in (EventState.NEW, EventState.OPEN)
        )

    def recent(self) -> list[Event]:
        """The events of the last days, and all that are open."""
        if self.newest is None:
            return []
        first = self.newest - np.timedelta64(SHOWN_DAYS, "D")
        return [e for e in self.events if e.since >= first or e.state is EventState.OPEN]

    @property
    def exit_code(self) -> int:
        """1 if there is a regression that is new or open."""
        return int(bool(self.regressions))


def analyse(
    series: Iterable[Series],
    settings: Mapping[str, Settings],
    accepted: Sequence[Acceptance] = (),
) -> Trend:
    """Judge all series, each system for itself.

    Args:
        series: the series, in any order.
        settings: settings of the systems that have their own.
        accepted: steps that are not raised again.
    """
    systems: dict[str, list[Series]] = {}
    for each in series:
        systems.setdefault(each.key.system, []).append(each)
    events: list[Event] = []
    visible: dict[SeriesKey, float] = {}
    judged = short = silent = 0
    lost: list[str] = []
    newest: np.datetime64 | None = None
    for system, members in sorted(systems.items()):
        chosen = settings.get(system, Settings())
        rows = [row_of(each, accepted) for each in members]
        rows = [row for row in rows if len(row.x)]
        last = max((row.series.times[-1] for row in rows), default=None)
        if last is None:
            continue
        newest = last if newest is None else max(newest, last)
        old = last - np.timedelta64(round(chosen.silent_days * 86400), "s")
        active = [row for row in rows if row.series.times[-1] >= old]
        silent += len(rows) - len(active)
        shown = last - np.timedelta64(SHOWN_DAYS, "D")
        gone = [row.series.key for row in rows if shown <= row.series.times[-1] < old]
        lost += pools.silent(gone, [row.series.key for row in active])
        judge = System(active, chosen, last)
        changes, enough = judge.changes()
        visible |= judge.visible()
        judged += enough
        short += len(active) - enough
        events += merge(changes, [row.series for row in active], chosen)
    events.sort(key=lambda event: -event.since.astype(int))
    count = judged + short + silent
    return Trend(tuple(events), count, judged, short, silent, newest, visible, tuple(lost))
