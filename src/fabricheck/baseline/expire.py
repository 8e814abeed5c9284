"""References from the history that hold no longer: too old, or measured with other software."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabricheck.baseline.proposal import Case
from fabricheck.baseline.software import Used
from fabricheck.judge.reference_file import exists, fields_of, load

DAYS = 180
"""Age from which on references are too old."""


@dataclass(frozen=True, slots=True)
class Expired:
    """Measured references that hold no longer.

    Attributes:
        number: number of their entry in the file, from 0.
        case: fields of their case.
        place: file and line where they stand.
        reason: why.
        marked: whether the file says so already.
    """

    number: int
    case: Mapping[str, str]
    place: str
    reason: str
    marked: bool


def expired(
    path: Path, used: Mapping[Case, Sequence[Used]], today: datetime.date, days: int = DAYS
) -> tuple[list[Expired], int]:
    """The measured references of a system that hold no longer, and how many there are in all.

    Args:
        path: the file of its rules.
        used: by case, with what each session measured, oldest first.
        today: the day on which it is asked.
        days: oldest age that is not too old.

    Raises:
        FabricheckError: if the files cannot be read or are wrong anywhere.
    """
    measured = load(path).measured if exists(path) else ()
    listed = []
    for number, rule in enumerate(measured):
        says, reasons = rule.says, []
        if (today - says["date"]).days > days:
            reasons.append(f"measured on {says['date']}, over {days} days ago")
        then = says.get("software", "")
        for case, sessions in used.items():
            now = sessions[-1].software
            if then and now and then != now and rule.is_for(fields_of(case.check, case.key)):
                reasons.append(f"measured with {then}, now it is {now}")
        mark = says.get("expired", "")
        if mark or reasons:
            reason = mark or "; ".join(reasons)
            listed.append(Expired(number, dict(rule.fits), rule.place(), reason, bool(mark)))
    return listed, len(measured)
