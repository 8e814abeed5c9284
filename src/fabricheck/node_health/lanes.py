"""How light and current of each lane of a module move over weeks, as they do before it fails."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Final

from fabricheck.errors import FabricheckError
from fabricheck.judge.levels import Level
from fabricheck.node_health.facts import Facts
from fabricheck.node_health.survey import Line

RULE: Final = "lanes"
FEWEST: Final = 7
"""Days, of which the first and the last three are compared."""

_LIGHT, _CURRENT = ("rx power", "tx power"), "bias"
_FALL: Final = 1.5
"""dB by which light is less: our choice; modules warn of 3 dB and more."""
_RISE: Final = 1.25
"""Times as much current, which an ageing laser takes for the same light: our choice."""
_ENDS: Final = 3
_KEPT: Final = 60
_NUMBER: Final = re.compile(r"-?\d+(?:\.\d+)?")

Day = Mapping[str, list[float]]
"""By card and kind, such as ``mlx5_0 rx power``, the value of each lane."""


def follow(node: Facts, folder: Path, now: datetime) -> Line:
    """Keep the values of a node on this day, and judge those of all days that are kept.

    Args:
        node: what it told.
        folder: has a file for each node.
        now: the day.

    Raises:
        FabricheckError: if the file is damaged, or can't be written.
    """
    today: Day = {
        f"{card} {kind}": [float(each) for each in _NUMBER.findall(facts[kind])]
        for card, facts in node.cards.items()
        for kind in (*_LIGHT, _CURRENT)
        if kind in facts
    }
    if not today:
        return Line(RULE, None, "no module is read: that needs root, and ethtool", (node.node,))
    path = folder / f"{node.node}.json"
    try:
        kept: dict[str, Day] = json.loads(path.read_text()) if path.exists() else {}
        kept[now.astimezone(UTC).date().isoformat()] = today
        kept = dict(sorted(kept.items())[-_KEPT:])
        part = path.with_suffix(".part")
        part.write_text(json.dumps(kept))
        part.replace(path)
        moved = list(_moved(list(kept.values())))
    except (OSError, ValueError, AttributeError, TypeError, IndexError) as error:
        raise FabricheckError(
            f"FC3111 expected the lanes of each day in {path}, found: {error}: make the directory "
            "and let this user write to it, or remove the file, and its days"
        ) from error
    level = Level.WARNING if moved else Level.GOOD if len(kept) >= FEWEST else None
    return Line(RULE, level, "; ".join(moved) or f"{len(kept)} days", (node.node,))


def _moved(days: list[Day]) -> Iterator[str]:
    for name, today in days[-1].items():
        # Another module has other lanes: its days begin with it.
        values = [day[name] for day in days if len(day.get(name, ())) == len(today)]
        for lane, ways in enumerate(zip(*values, strict=True), start=1):
            first, last = median(ways[:_ENDS]), median(ways[-_ENDS:])
            is_light = name.endswith(_LIGHT)
            is_worse = first - last >= _FALL if is_light else last >= _RISE * first > 0
            if is_worse and len(ways) >= FEWEST:
                unit = "dBm" if is_light else "mA"
                yield f"{name} of lane {lane} {last:g} {unit}, {len(ways)} days ago {first:g}"
