"""Other detectors, to be measured on the same data: plain settings of ruptures, and Apache Otava.

Each gets a series as its authors' example would: scaled by its median absolute deviation, all
nights, without what our detectors do about outliers, ties and the number of tests. Raised are
change points among the last nights.
"""

import json
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import ruptures

from fabricheck.errors import FabricheckError
from fabricheck.history.series import Series
from fabricheck.trend.robust import NORMAL_MAD, Array, Counts, Flags
from simulation.equal import Sums
from simulation.power import RECENT, Detector

_RBF_PENALTY = 3.0
_PENALTY = 3.0

_OTAVA = """
import json, sys
from otava.analysis import compute_change_points
asked = json.load(sys.stdin)
points = [compute_change_points(values, **asked["options"])[0] for values in asked["series"]]
json.dump([[int(point.index) for point in found] for found in points], sys.stdout)
"""


def rivals(otava: Path | None, recent: int = RECENT) -> dict[str, Detector]:
    """The other detectors by name.

    Args:
        otava: Python of an environment in which apache-otava is installed; ``None``: without it.
        recent: of so many last nights change points are raised.
    """
    found: dict[str, Detector] = {
        "PELT, rbf, penalty 3": _recent(partial(_kernel, "rbf"), recent),
        "PELT, l2, penalty 3·ln n": _recent(partial(_kernel, "linear"), recent),
    }
    if otava is not None:
        found["Apache Otava, defaults"] = partial(_otava, otava, recent)
    return found


def _recent(points: Callable[[Array], Any], recent: int) -> Detector:
    def detect(series: Sequence[Series]) -> list[list[int]]:
        return [_last(points(_scaled(each.values)), len(each), recent) for each in series]

    return detect


def _last(points: Sequence[int], nights: int, recent: int) -> list[int]:
    return [int(point) for point in points if nights - recent <= point < nights]


def _scaled(values: Array) -> Array:
    distances = values - np.median(values)
    scale = NORMAL_MAD * float(np.median(np.abs(distances)))
    return distances / (scale or 1.0)


def _kernel(kernel: str, values: Array) -> Any:
    penalty = _RBF_PENALTY if kernel == "rbf" else _PENALTY * np.log(len(values))
    return ruptures.KernelCPD(kernel=kernel, min_size=2).fit(values).predict(pen=penalty)


def _otava(python: Path, recent: int, series: Sequence[Series]) -> list[list[int]]:
    points = _of_otava(python, [each.values.tolist() for each in series])
    return [_last(found, len(each), recent) for found, each in zip(points, series, strict=True)]


def otava_at(python: Path, sums: Sums, nights: Counts, penalty: float) -> Flags:
    """Whether Otava raises a point among the last values where it accepts exp(-penalty) for p."""
    ends = nights.ravel().tolist()
    rows = sums.values.repeat(nights.shape[1], axis=0)
    series = [row[:end].tolist() for row, end in zip(rows, ends, strict=True)]
    points = _of_otava(python, series, max_pvalue=float(np.exp(-penalty)))
    raised = [bool(_last(each, end, RECENT)) for each, end in zip(points, ends, strict=True)]
    return np.array(raised).reshape(nights.shape)


def _of_otava(python: Path, series: list[list[float]], **options: float) -> list[list[int]]:
    request = json.dumps({"series": series, "options": options})
    try:
        answer = subprocess.run(
            [str(python), "-c", _OTAVA], input=request, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        detail = getattr(error, "stderr", "") or str(error)
        raise FabricheckError(
            f"expected a Python with apache-otava at {python}, found: "
            f"{detail.strip().splitlines()[-1]}: see docs/explanation/detection.md"
        ) from error
    points: list[list[int]] = json.loads(answer.stdout)
    return points
