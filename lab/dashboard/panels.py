"""What a panel is: what it asks for, how it is drawn, and from which values on which colour."""

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from fabricheck.fabric.counters import BANDS, Band

Steps = Sequence[tuple[float | None, str]]
PLAIN: Final[Steps] = ((None, "blue"),)
ZERO_IS_GOOD: Final[Steps] = ((None, "green"), (1, "red"))
ONE_IS_GOOD: Final[Steps] = ((None, "red"), (1, "green"))
STATUSES: Final = {"critical": "red", "untrusted": "orange", "warning": "yellow"}
"""The colours of cases by status, where a panel's legend is theirs."""
PORT: Final = 'node=~"$node",device=~"$device"'
"""The ports that were chosen."""
MOST: Final = 10
"""Lines of a panel that shows the greatest of thousands."""


NO_NIGHT: Final = "no night yet (fabricheck nightly)"
SYSTEM: Final = ("system", "System", "fabricheck_verdict_passed")
"""The variable that both dashboards have."""
MARKS: Final = (
    ("Night", "fabricheck_night_run_timestamp_seconds * 1000", "blue"),
    ("Stress", 'fabricheck_stress_state{state="running"} == 1', "purple"),
    ("Acceptance", "fabricheck_acceptance_info", "yellow"),
    ("Software changed", "fabricheck_software_info unless fabricheck_software_info offset 1d",
     "orange"),
)  # fmt: skip
"""What happened, marked in each panel of both: name, expression, colour."""


class Kind(StrEnum):
    """How a panel is drawn."""

    VALUE = "stat"
    COURSE = "timeseries"
    TABLE = "table"


class Query(NamedTuple):
    """An expression of PromQL, and what its series are called; a bound has a colour, and a dash."""

    expression: str
    legend: str = ""
    bound: str = ""


class Panel(NamedTuple):
    """One panel.

    Attributes:
        title: above it.
        description: what it says, and what is good.
        unit: Grafana's name of it.
        queries: what it shows.
        empty: why there may be nothing to show.
        kind: how it is drawn.
        steps: from which value on which colour; the first without a value.
        words: what is written instead of a number.
        columns: labels that a table shows, in their order.
        value: what a table calls the value; it is left out without a name.
        width: columns of 24.
        right: unit of the second query, if that has an axis of its own.
        log: whether its axis is logarithmic.
        ends: least and greatest value of its axis, if it has them.
    """

    title: str
    description: str
    unit: str
    queries: tuple[Query, ...]
    empty: str
    kind: Kind = Kind.COURSE
    steps: Steps = PLAIN
    words: tuple[tuple[int, str], ...] = ()
    columns: tuple[str, ...] = ()
    value: str = ""
    width: int = 12
    right: str = ""
    log: bool = False
    ends: tuple[float, float] | None = None


class Board(NamedTuple):
    """One dashboard.

    Attributes:
        uid: by which links find it.
        title: above it.
        description: what it is for.
        since: what it shows, as Grafana writes it.
        refresh: how often it asks.
        variables: label, title, and a metric that has it.
        rows: panels by the title of their row.
    """

    uid: str
    title: str
    description: str
    since: str
    refresh: str
    variables: tuple[tuple[str, str, str], ...]
    rows: tuple[tuple[str, tuple[Panel, ...]], ...]


def band_steps(name: str) -> Steps:
    """Green, from the warning limit on yellow, and above the critical one red."""
    band = BANDS[name]
    assert band.warning is not None
    assert band.critical is not None
    # Grafana's step begins with its value, and a value on the critical limit is still inside.
    return (
        (None, "green"),
        (band.warning, "yellow"),
        (math.nextafter(band.critical, math.inf), "red"),
    )


def told(band: Band) -> str:
    """Its limits in words."""
    return f"good below {band.warning:g}/s, critical above {band.critical:g}/s"


def one(
    title: str, description: str, expression: str, steps: Steps, empty: str,
    *, words: tuple[tuple[int, str], ...] = (), unit: str = "none",
) -> Panel:  # fmt: skip
    """A panel that shows the last value."""
    queries = (Query(expression),)
    return Panel(title, description, unit, queries, empty, Kind.VALUE, steps, words, width=4)


def verdict(title: str, description: str, expression: str) -> Panel:
    """Whether a night may be called good, in words."""
    words = ((0, "LOOK"), (1, "FINE"))
    return one(title, description, expression, ONE_IS_GOOD, NO_NIGHT, words=words)


def table(
    title: str, description: str, expression: str, columns: str, empty: str,
    *, value: str = "", width: int = 12,
) -> Panel:  # fmt: skip
    """A panel that names things, with their labels, and their value under a name of its own."""
    made = Panel(title, description, "none", (Query(expression),), empty, Kind.TABLE, width=width)
    return made._replace(columns=tuple(columns.split()), value=value)


def greatest(expression: str, labels: str = "node, device, port") -> str:
    """The series that were greatest in the time that is shown, never more of them."""
    most = f"topk({MOST}, max_over_time({expression}[$__range] @ end()))"
    return f"{expression} and on ({labels}) {most}"
