"""A series as a line of blocks, for a terminal."""

from typing import Final

import numpy as np
import numpy.typing as npt

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
