"""Which measured references hold no longer: too old, or measured with other software."""

import datetime
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabricheck.baseline.proposal import Case
from fabricheck.baseline.software import Used
from fabricheck.judge.reference_file import Levels, load
from fabricheck.judge.references import levels_of

DAYS = 180


@dataclass(frozen=True, slots=True)
class Expired:
    """A level of a reference file that holds no longer.

    Attributes:
        keys: its keys, from the top of the file.
        line: where it stands.
        reason: why.
        marked: whether the file says so already.
    """

    keys: tuple[str, ...]
    line: int
    reason: str
    marked: bool


def expired(
    path: Path, used: Mapping[Case, Sequence[Used]], today: datetime.date, days: int = DAYS
) -> tuple[list[Expired], int]:
    """The measured references of a file that hold no longer, and how many measured ones there are.

    Args:
        path: the reference file.
        used: by case, with what each session measured, oldest first.
        today: the day on which it is asked.
        days: oldest age that is not too old.

    Raises:
        FabricheckError: if the file cannot be read or is wrong anywhere.
    """
    reasons: dict[tuple[str, ...], list[str]] = defaultdict(list)
    measured = {levels.place.keys: levels for levels in measured_levels(path)}
    for keys, levels in measured.items():
        age = (today - datetime.date.fromisoformat(levels.tolerance.date)).days
        if age > days:
            reasons[keys].append(f"measured on {levels.tolerance.date}, over {days} days ago")
    for case, sessions in sorted(used.items(), key=lambda pair: str(pair[0])):
        found = levels_of(path, case.check, case.key)
        if not found or found.place.keys not in measured or not sessions[-1].software:
            continue
        then, now = found.tolerance.software, sessions[-1].software
        reason = f"measured with {then}, now it is {now}"
        if then and then != now and reason not in reasons[found.place.keys]:
            reasons[found.place.keys].append(reason)
    listed = []
    for keys, levels in measured.items():
        mark = levels.tolerance.expired
        if mark or reasons[keys]:
            reason = mark or "; ".join(reasons[keys])
            listed.append(Expired(keys, levels.place.line, reason, bool(mark)))
    return listed, len(measured)


def measured_levels(path: Path) -> Iterator[Levels]:
    """The levels of a reference file that are of kind ``measured``.

    Raises:
        FabricheckError: if the file cannot be read or is wrong anywhere.
    """

    def leaves(tree: Any) -> Iterator[Levels]:
        if isinstance(tree, Levels):
            yield tree
            return
        for each in tree.values():
            yield from leaves(each)

    for section in load(path).levels.values():
        yield from (each for each in leaves(section.tree) if each.tolerance.kind == "measured")
