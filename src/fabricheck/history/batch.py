"""Lines of many files that are converted at once.

A frame of fifty lines costs Polars nearly as much as one of fifty thousand.
"""

from bisect import bisect_right
from dataclasses import replace

import numpy as np
import polars as pl

from fabricheck.history.layout import Layout, NoLayout
from fabricheck.history.lines import Block
from fabricheck.history.problems import Located

_Part = tuple[int, Block]


class Batch:
    """Blocks of lines of files that have one layout.

    Args:
        layout: how they are to be read.
    """

    def __init__(self, layout: Layout | NoLayout) -> None:
        self._layout = layout
        self._parts: list[_Part] = []

    def add(self, source: int, block: Block) -> None:
        """Add a block of a source; one source's blocks must follow each other."""
        self._parts.append((source, block))

    def read(self) -> tuple[pl.DataFrame, list[Located]]:
        """The values in the order of files and lines, with a column ``source``; damaged lines."""
        lines = [block.lines for _, block in self._parts]
        begins = np.cumsum([1, *lines], dtype=np.int64)
        whole = Block(b"".join(block.data for _, block in self._parts), 1, int(begins[-1]) - 1)
        frame, problems = self._layout.read(whole)
        if not frame["line"].is_sorted():
            frame = frame.sort("line", maintain_order=True)
        sources = np.array([source for source, _ in self._parts], dtype=np.uint32)
        shifts = np.array([block.first_line for _, block in self._parts]) - begins[:-1]
        numbers = frame["line"].to_numpy()
        parts = np.searchsorted(begins, numbers, side="right") - 1
        frame = frame.with_columns(
            pl.Series("line", numbers + shifts[parts], dtype=pl.UInt32),
            pl.Series("source", sources[parts], dtype=pl.UInt32),
        )
        located: list[Located] = []
        for problem in problems:
            first = bisect_right(begins, problem.first) - 1
            for part in range(first, bisect_right(begins, problem.last)):
                low = max(problem.first, int(begins[part])) + int(shifts[part])
                high = min(problem.last, int(begins[part + 1]) - 1) + int(shifts[part])
                located.append((int(sources[part]), replace(problem, first=low, last=high)))
        return frame, located
