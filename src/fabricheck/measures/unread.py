"""Programs whose output people have beside ours, and that is not read (``unread.csv``)."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from fabricheck.tables import TEXT, rows

ROWS: Final = tuple(rows(Path(__file__).with_suffix(".csv"), {"name": TEXT, "pattern": TEXT}))


def name_of(lines: Sequence[str]) -> str | None:
    """The program that printed these lines, as one of them shows."""
    return next(
        (row["name"] for row in ROWS if any(re.search(row["pattern"], line) for line in lines)),
        None,
    )
