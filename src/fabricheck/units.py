"""Figures with their units as people read them: values, shares, times, sizes; and back."""

import math
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
            f"FC0114 expected a message size such as 8B or 1MiB, found {label!r}: write a whole "
            "number followed by B, KiB, MiB or GiB"
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
        raise FabricheckError(f"FC0115 expected a time such as 90s, 30m or 1h30m, found {text!r}")
    return float(total)


DIMENSIONLESS = "1"
_WHOLE_FROM = 10_000
_RATIO_WHOLE_FROM = 100
_LARGE_SHARE = 0.1
_WHOLE_SECONDS_FROM = 100

TABLE_UNITS = {"us": "µs", "MB/s": "MB/s", "messages/s": "M/s"}
"""Units of tables, fixed so that a row can be compared at a glance (M/s: million messages/s)."""

_TABLE_FACTORS = {"messages/s": 1e-6}

# A figure this close below a power of ten is rounded up to it.
_HALF_DIGIT = 0.0005
_MOST_DECIMALS = 5

# Figures from here on need more than five characters, or two decimals would lose their digits.
_LONGEST = 99999.5
_SMALL = 0.095

LADDERS = {
    "us": ((1e-3, "ns"), (1.0, "µs"), (1e3, "ms"), (1e6, "s")),
    "MB/s": ((1e-3, "kB/s"), (1.0, "MB/s"), (1e3, "GB/s"), (1e6, "TB/s")),
    "messages/s": ((1.0, "msg/s"), (1e3, "k msg/s"), (1e6, "M msg/s"), (1e9, "G msg/s")),
}
"""Factors of a recorded unit and the names of the units that they make, rising."""


def amount(value: float, unit: str) -> str:
    """The figure in the unit in which it was recorded, four significant digits.

    >>> amount(131072.4, "us"), amount(2.4041, "MB/s"), amount(0.5, "1")
    ('131072 us', '2.404 MB/s', '0.5')
    """
    digits = f"{value:.0f}" if abs(value) >= _WHOLE_FROM else f"{value:.4g}"
    return digits if unit == DIMENSIONLESS else f"{digits} {unit}"


def times(ratio: float) -> str:
    """A ratio such as ``3.2x``, three significant digits."""
    return f"{ratio:.0f}x" if ratio >= _RATIO_WHOLE_FROM else f"{ratio:.3g}x"


def percent(change: float) -> str:
    """A relative change with its sign.

    >>> percent(0.0123), percent(-0.25)
    ('+1.2 %', '-25 %')
    """
    digits = 0 if abs(change) >= _LARGE_SHARE else 1
    return f"{100 * change:+.{digits}f} %"


def share(part: float) -> str:
    """A part of a whole: two significant digits, and all digits before the point.

    >>> share(0.00123), share(0.25), share(0.9999), share(0.0)
    ('0.12 %', '25 %', '100 %', '0 %')
    """
    digits = ".0f" if abs(part) >= _LARGE_SHARE else ".2g"
    return f"{100 * part:{digits}} %"


def seconds(time: float) -> str:
    """A time in seconds, three significant digits; short ones in milliseconds.

    >>> seconds(0.0213), seconds(2.5), seconds(1200.4), seconds(0)
    ('21.3 ms', '2.5 s', '1200 s', '0 s')
    """
    if 0 < abs(time) < 1:
        return f"{1e3 * time:.3g} ms"
    return f"{time:.0f} s" if abs(time) >= _WHOLE_SECONDS_FROM else f"{time:.3g} s"


def in_table(value: float, unit: str) -> str:
    """The figure in the table unit of its recorded unit, without the unit.

    >>> in_table(7.3149, "us"), in_table(149968.0, "us"), in_table(12530052.55, "messages/s")
    ('7.31', '149968', '12.5')
    """
    return significant(value * _TABLE_FACTORS.get(unit, 1.0))


def in_cell(value: float, unit: str) -> str:
    """The figure as ``in_table`` gives it, in at most five characters for a narrow column.

    >>> in_cell(0.194, "us"), in_cell(1903.2, "MB/s"), in_cell(149968.0, "us")
    ('0.19', '1903', '150k')
    """
    value *= _TABLE_FACTORS.get(unit, 1.0)
    if abs(value) >= _LONGEST:
        return f"{value / 1000:.0f}k"
    return f"{value:.2f}" if _SMALL <= abs(value) < 1 else significant(value)


def with_unit(value: float, unit: str, *, digits: int = 3) -> str:
    """The figure with the unit of the SI ladder that leaves one to three digits before the point.

    >>> with_unit(1234.5, "us"), with_unit(0.21, "us"), with_unit(2000, "us", digits=1)
    ('1.23 ms', '210 ns', '2 ms')
    >>> with_unit(12.34, "1")
    '12.3'
    """
    ladder = LADDERS.get(unit)
    if ladder is None:
        figure = significant(value, digits)
        return figure if unit == DIMENSIONLESS else f"{figure} {unit}".rstrip()
    factor, name = ladder[0]
    for step, label in ladder:
        if abs(value) >= step * (1 - _HALF_DIGIT):
            factor, name = step, label
    return f"{significant(value / factor, digits)} {name}"


def significant(value: float, digits: int = 3) -> str:
    """That many significant digits, and all digits before the point.

    >>> significant(0.2104), significant(12.34), significant(99.96), significant(123456.0)
    ('0.210', '12.3', '100', '123456')
    """
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value) * (1 + _HALF_DIGIT)))
    decimals = max(0, digits - 1 - exponent)
    return f"{value:.{decimals}f}" if decimals <= _MOST_DECIMALS else f"{value:.2g}"
