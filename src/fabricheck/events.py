"""Events as lines of logfmt, for Loki, journald and grep: time, level, event, and its fields."""

import contextlib
import json
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

LOG: Final = "events.log"
"""The file below ``reports`` that has those of stress and nights."""
_PLAIN: Final = re.compile(r"[^\s\"=\\]+")


def emit(event: str, reports: Path | None = None, *, level: str = "info", **fields: object) -> None:
    """Write an event; one that can't be written stops no work.

    Args:
        event: what happened, in a word.
        reports: the suite's directory of reports, whose file gets it; without one, standard error.
        level: ``info``, ``warn`` or ``error``.
        fields: what else is known; what is empty is left out.
    """
    time = datetime.now(UTC).isoformat(timespec="seconds")
    told = {"time": time, "level": level, "event": event, **fields}
    text = " ".join(f"{name}={_quoted(str(each))}" for name, each in told.items() if each != "")
    if not reports:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
        return
    with contextlib.suppress(OSError), (reports / LOG).open("ab") as file:
        # One call: lines of several programs stay whole.
        file.write((text + "\n").encode(errors="backslashreplace"))


def _quoted(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else json.dumps(value, ensure_ascii=False)
