"""Recorded noise: how values differ from night to night when nothing changes."""

import tempfile
from pathlib import Path

import numpy as np

from fabricheck.errors import FabricheckError
from fabricheck.history.store import History
from fabricheck.trend.robust import NORMAL_MAD, Array
from fabricheck.trend.segments import running_median

RECORDED = Path(__file__).with_name("recorded-noise.jsonl.gz")
"""Rounds of real measurements (lab/record-noise.py)."""

LEAST_NIGHTS = 40

_WEEKS = 21


def read_noise(source: Path = RECORDED) -> list[Array]:
    """The noise of each recorded series, in units of its own robust standard deviation.

    It is what is left of the logarithms after their running median over 21 values is taken away:
    the slow changes of a shared machine are not noise, the simulation makes its own.

    Args:
        source: a record, or a file of it.

    Raises:
        FabricheckError: if there is no series with enough values that differ.
    """
    with tempfile.TemporaryDirectory() as directory, History.open(Path(directory)) as history:
        history.refresh(perflogs=[source])
        found = list(history.series())
    noise = []
    for series in found:
        if len(series) < LEAST_NIGHTS or not (series.values > 0).all():
            continue
        logarithms = np.log(series.values)
        residuals = logarithms - running_median(logarithms, _WEEKS)
        scale = NORMAL_MAD * float(np.median(np.abs(residuals - np.median(residuals))))
        if scale > 0:
            noise.append((residuals - np.median(residuals)) / scale)
    if not noise:
        raise FabricheckError(
            f"expected a series of at least {LEAST_NIGHTS} nights whose values differ in {source}, "
            f"found none among {len(found)} series: name a record of more nights"
        )
    return noise
