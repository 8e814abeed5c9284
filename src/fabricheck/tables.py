"""Tables of the suite itself: CSV files beside the modules that read them."""

import csv
from collections.abc import Iterable
from pathlib import Path


def rows(path: Path) -> Iterable[dict[str, str]]:
    """The rows of a table, each by the names of its columns; a cell that is missing is empty.

    Args:
        path: the file; its lines that begin with ``#`` say why.
    """
    lines = (line for line in path.read_text().splitlines() if not line.startswith("#"))
    return csv.DictReader(lines, restval="")
