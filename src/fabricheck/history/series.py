"""Series: one measured value of one case over the nights."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from fabricheck.errors import FabricheckError
from fabricheck.measures.metrics import Direction, Metric, point_label
from fabricheck.record.entries import Setup

_PAIR = 2
"""Ranks that go without saying: two inside a node, or one on each node."""


@dataclass(frozen=True, slots=True, order=True)
class SeriesKey(Setup):
    """What makes values comparable from night to night.

    Attributes:
        metric: what is measured, such as ``latency``.
        statistic: such as ``p50``; empty where the variable has none.
        size: message size in bytes, ``None`` where there is none.
        unit: unit of the values.
    """

    metric: str = ""
    statistic: str = ""
    size: int | None = None
    unit: str = ""

    def __str__(self) -> str:
        """The key in words, without its unit."""
        place = f"{self.system}:{self.partition}+{self.environ}"
        variable = [
            self.metric,
            self.statistic,
            "" if self.size is None else point_label(self.metric, self.size),
        ]
        words = [
            place,
            self.check,
            self.benchmark,
            self.placement,
            f"{self.ranks} ranks" if self.ranks > max(self.num_nodes, _PAIR) else "",
            self.binding,
            self.program,
            self.options,
            "_".join(filter(None, variable)),
        ]
        return " ".join(filter(None, words))

    @property
    def direction(self) -> Direction | None:
        """Which values are better, ``None`` where the metric is not one of the suite's."""
        return Metric(self.metric).row.direction if self.metric in set(Metric) else None


@dataclass(frozen=True, slots=True)
class Series:
    """The values of a key, one for each session, oldest first.

    A session that measured the case several times counts once, with the median.

    Attributes:
        key: whose values they are.
        times: UTC, ``datetime64[s]``, when the session measured it.
        values: ``float64``, in the key's unit.
        sessions: identities of the sessions.
        better: which values are better, as ReFrame's thresholds tell of other suites' metrics.

    Raises:
        FabricheckError: if the arrays differ in length.
    """

    key: SeriesKey
    times: npt.NDArray[np.datetime64]
    values: npt.NDArray[np.float64]
    sessions: npt.NDArray[np.str_]
    better: Direction | None = None

    def __post_init__(self) -> None:
        lengths = {len(self.times), len(self.values), len(self.sessions)}
        if len(lengths) > 1:
            raise FabricheckError(
                f"FC0703 expected times, values and sessions of the same length for {self.key}, "
                f"found lengths {sorted(lengths)}"
            )

    def __len__(self) -> int:
        return len(self.values)

    @property
    def direction(self) -> Direction | None:
        """Which values are better, ``None`` where nobody knows."""
        return self.better or self.key.direction


_BLOCKS: Final = "▁▂▃▄▅▆▇█"


def sparkline(values: npt.NDArray[np.float64], width: int = 40) -> str:
    """The values from lowest to highest block; the last ``width`` of them."""
    shown = values[-width:]
    if not len(shown):
        return ""
    low, high = float(shown.min()), float(shown.max())
    span = high - low
    top = len(_BLOCKS) - 1
    return "".join(
        _BLOCKS[round((value - low) / span * top) if span else top // 2] for value in shown
    )
