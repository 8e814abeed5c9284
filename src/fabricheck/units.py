"""Message sizes in IEC units, as in variable names, tables and references; times such as 1h30m."""

import re
from typing import Final

from fabricheck.errors import FabricheckError

KIB = 1 << 10
MIB = 1 << 20

_IEC = {"B": 1, "KiB": KIB, "MiB": MIB, "GiB": 1 << 30}
_DURATION: Final = re.compile(r"(?=\d)(?:(\d{1,4})d)?(?:(\d{1,5})h)?(?:(\d{1,6})m)?(?:(\d{1,7})s)?")
_LABEL = re.compile(r"([0-9]{1,18})(B|KiB|MiB|GiB)")


def format_size(size: int) -> str:
    """Label of a message size in bytes with the largest IEC unit that divides it.

    >>> format_size(1048576), format_size(1000)
    ('1MiB', '1000B')
    """
    for unit in ("GiB", "MiB", "KiB"):
        if size >= _IEC[unit] and size % _IEC[unit] == 0:
            return f"{size // _IEC[unit]}{unit}"
    return f"{size}B"


def parse_size(label: str) -> int:
    """Bytes of a label that ``format_size`` wrote.

    Raises:
        FabricheckError: if the label is not a whole number followed by B, KiB, MiB or GiB.
    """
    match = _LABEL.fullmatch(label)
    if not match:
        raise FabricheckError(
            f"expected a message size such as 8B or 1MiB, found {label!r}: "
            "write a whole number followed by B, KiB, MiB or GiB"
        )
    return int(match[1]) * _IEC[match[2]]


def seconds_of(text: str) -> float:
    """The seconds of a time such as ``1h30m``.

    Raises:
        FabricheckError: if it is none.
    """
    match = _DURATION.fullmatch(text)
    total = sum(
        int(number or 0) * unit
        for number, unit in zip(match.groups(), (86400, 3600, 60, 1), strict=True)
    ) if match else 0  # fmt: skip
    if not total:
        raise FabricheckError(f"expected a time such as 90s, 30m or 1h30m, found {text!r}")
    return float(total)
