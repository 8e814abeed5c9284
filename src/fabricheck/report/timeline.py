"""When each case of a run was launched and measured, and where the time of the run went."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from fabricheck.report.run import ReportedCase, ReportedRun


@dataclass(frozen=True, slots=True)
class Bar:
    """One case; places and lengths are percent of the run.

    Attributes:
        begin: where its script began.
        launch: how long launcher and wrappers took.
        measuring: how long its program ran.
        words: what it is, and its seconds.
        color: of its status.
    """

    begin: float
    launch: float
    measuring: float
    words: str
    color: str


@dataclass(frozen=True, slots=True)
class Lane:
    """The cases of a partition, and the sums of their seconds."""

    name: str
    bars: tuple[Bar, ...]
    waiting: float
    launch: float
    measuring: float


@dataclass(frozen=True, slots=True)
class Timeline:
    """A run from the first case's beginning to the last one's end.

    Attributes:
        seconds: how long that was.
        lanes: its partitions.
        measured: the share of it in which a program ran, in percent; cases side by side count once.
    """

    seconds: float
    lanes: tuple[Lane, ...]
    measured: float


def timeline(run: ReportedRun) -> Timeline | None:
    """The time line of a run; None where its record doesn't tell the seconds of its cases."""
    cases = [case for case in run.cases if case.measuring is not None]
    if not cases:
        return None
    first = min(map(_begin, cases))
    whole = max(max(map(_end, cases)) - first, 1.0)
    names = sorted({case.partition for case in cases})
    return Timeline(
        whole,
        tuple(
            _lane(name, [c for c in cases if c.partition == name], first, whole) for name in names
        ),
        100 * _covered(cases) / whole,
    )


def _lane(name: str, cases: list[ReportedCase], first: float, whole: float) -> Lane:
    bars = [
        Bar(
            begin=100 * (_begin(case) - first) / whole,
            launch=100 * (case.launch or 0) / whole,
            measuring=100 * (case.measuring or 0) / whole,
            words=(
                f"{case.name} with {case.environ}: launch {case.launch or 0:.1f} s, "
                f"measuring {case.measuring or 0:.1f} s"
            ),
            color=case.status.color,
        )
        for case in sorted(cases, key=_begin)
    ]
    return Lane(
        name,
        tuple(bars),
        *(
            sum(getattr(case, part) or 0 for case in cases)
            for part in ("waiting", "launch", "measuring")
        ),
    )


def _covered(cases: Iterable[ReportedCase]) -> float:
    """Seconds in which at least one program ran; its end is that of its script."""
    covered, reached = 0.0, float("-inf")
    for begin, end in sorted((_end(case) - (case.measuring or 0), _end(case)) for case in cases):
        covered += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return covered


def _end(case: ReportedCase) -> float:
    return datetime.fromisoformat(case.time).timestamp()


def _begin(case: ReportedCase) -> float:
    return _end(case) - (case.measuring or 0) - (case.launch or 0)
