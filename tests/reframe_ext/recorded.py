"""What a ReFrame that a test started has recorded."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from fabricheck.record.entries import Case, Entry
from fabricheck.record.read import entries, record_files

LOGGING = [
    {
        "handlers": [{"type": "stream", "name": "stdout", "format": "%(message)s"}],
        "handlers_perflog": [
            {"type": "fabricheck", "basedir": "perflogs", "format": "%(message)s"}
        ],
    }
]
"""What makes ReFrame record; its configuration imports ``fabricheck.reframe_ext.recorder``."""


def recorded(place: Path) -> list[Entry]:
    """The entries of the record below a directory."""
    perflogs = place / "perflogs"
    files = record_files(perflogs) if perflogs.exists() else []
    return [entry for path in files for entry in entries(path)[0]]


def measured(place: Path) -> list[dict[str, Any]]:
    """The fields of the recorded cases, without builds, in the order of their attempts."""
    found = [e for e in recorded(place) if isinstance(e, Case) and not e.fixture]
    found.sort(key=lambda case: case.attempt)
    return [{each.name: getattr(case, each.name) for each in fields(Case)} for case in found]
