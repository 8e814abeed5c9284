"""The leaves of a reference file: one reference, or one tolerance."""

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

from fabricheck.benchmarks.curve import split_variable
from fabricheck.benchmarks.metrics import Direction
from fabricheck.errors import FabricheckError
from fabricheck.judge.model import Fractions, Kind, Reference, Tolerance

_XFAIL = "$xfail"
_XFAIL_LENGTH = 3
_REFERENCE_LENGTH = 4
_SHAPE = "[value, lower, upper, unit]"
_REQUIRED_LEVEL_KEYS = ("warning", "kind", "source", "date")
_TEXT_KEYS = ("commit", "software", "expired")
LEVEL_KEYS = (*_REQUIRED_LEVEL_KEYS, "monotone", "best", "good", "target", "samples", *_TEXT_KEYS)


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands in a reference file."""

    path: Path
    keys: tuple[str, ...]
    line: int

    def under(self, key: object, line: int) -> "Place":
        """The place of a key below this one."""
        return Place(self.path, (*self.keys, str(key)), line)

    def error(self, message: str) -> FabricheckError:
        """An error that names the place."""
        return FabricheckError(f"{self}: {message}")

    def __str__(self) -> str:
        words = (key if key.isprintable() else ascii(key) for key in self.keys)
        keys = f": {' > '.join(words)}" if self.keys else ""
        return f"{self.path}: line {self.line}{keys}"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value of the file and its place."""

    value: Any
    place: Place

    def error(self, message: str) -> FabricheckError:
        """An error that names the place."""
        return self.place.error(message)

    def number(self, value: object, what: str) -> float:
        """The value as a finite number."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            hint = ": write it as 1.0e+3, YAML takes 1e3 as text" if _is_exponent(value) else ""
            raise self.error(f"expected a number as {what}, found {value!r}{hint}")
        if not math.isfinite(value):
            raise self.error(f"expected a finite number as {what}, found {value}")
        return float(value)

    def fractions(self, lower: object, upper: object) -> Fractions:
        """A pair of bounds in the right order, each a number or ``None``."""
        low = None if lower is None else self.number(lower, "lower bound")
        high = None if upper is None else self.number(upper, "upper bound")
        if low is not None and high is not None and low > high:
            raise self.error(f"the bounds are inverted: lower {low:g} is greater than {high:g}")
        if low is not None and low > 0:
            raise self.error(f"expected a lower bound of 0 or less, found {low:g}")
        if high is not None and high < 0:
            raise self.error(f"expected an upper bound of 0 or more, found {high:g}")
        return low, high


def read_reference(leaf: Leaf, variable: str, *, is_curve: bool) -> Reference:
    """A reference from ``[value, lower, upper, unit]``, or from ReFrame's ``$xfail`` around it.

    Raises:
        FabricheckError: if the form, a number, the bounds or the unit are wrong.
    """
    value, expected_failure = leaf.value, ""
    if isinstance(value, list) and value and value[0] == _XFAIL:
        value, expected_failure = _unwrap_xfail(leaf)
    if not isinstance(value, list) or len(value) != _REFERENCE_LENGTH:
        raise leaf.error(f"expected {_SHAPE}, found {value!r}")
    expected = leaf.number(value[0], "value")
    if expected < 0:
        raise leaf.error(f"expected a value of 0 or more, found {expected:g}")
    lower, upper = leaf.fractions(value[1], value[2])
    if expected and lower is not None and lower < -1:
        raise leaf.error(f"expected a lower bound from -1 to 0, a fraction, found {lower:g}")
    unit = value[3]
    if not isinstance(unit, str) or not unit:
        raise leaf.error(f"expected a unit as text, found {unit!r}")
    reference = Reference(expected, lower, upper, unit, expected_failure)
    if is_curve:
        _check_metric(leaf, variable, reference)
    elif lower is None and upper is None:
        raise leaf.error("expected a lower or an upper bound, found neither")
    return reference


def _unwrap_xfail(leaf: Leaf) -> tuple[Any, str]:
    value = leaf.value
    if len(value) != _XFAIL_LENGTH or not isinstance(value[1], str) or not value[1]:
        raise leaf.error(f"expected [{_XFAIL}, reason, {_SHAPE}], found {value!r}")
    return value[2], value[1]


def _check_metric(leaf: Leaf, variable: str, reference: Reference) -> None:
    try:
        metric, _, _ = split_variable(variable)
    except FabricheckError as error:
        raise leaf.error(f"unknown variable: {error}") from error
    if reference.unit != metric.row.unit:
        raise leaf.error(f"expected the unit {metric.row.unit}, found {reference.unit}")
    if metric.row.direction is Direction.LOWER and reference.upper is None:
        raise leaf.error(f"expected an upper bound, found none: lower {metric} is better")
    if metric.row.direction is Direction.HIGHER:
        if reference.lower is None:
            raise leaf.error(f"expected a lower bound, found none: higher {metric} is better")
        if reference.value and reference.lower == -1:
            raise leaf.error("expected a lower bound greater than -1, which accepts any value")


def read_tolerance(leaves: Mapping[str, Leaf], place: Place) -> Tolerance:
    """A tolerance from its mapping.

    Raises:
        FabricheckError: if a key is missing or unknown, or a value has the wrong form.
    """
    for key, leaf in leaves.items():
        if key not in LEVEL_KEYS:
            raise leaf.error(f"unknown key: known are {', '.join(LEVEL_KEYS)}")
    if missing := [key for key in _REQUIRED_LEVEL_KEYS if key not in leaves]:
        raise place.error(f"expected {', '.join(missing)}, found only {', '.join(leaves)}")
    return Tolerance(
        warning=_read_warning(leaves["warning"]),
        kind=_read_kind(leaves["kind"]),
        source=_read_text(leaves["source"], "the runs, paper or document it comes from"),
        date=_read_date(leaves["date"]),
        monotone=_read_monotone(leaves.get("monotone")),
        best=_read_best(leaves.get("best")),
        good=_read_edges(leaves.get("good"), "edge of the good band"),
        target=_read_edges(leaves.get("target"), "target"),
        samples=_read_samples(leaves.get("samples")),
        **{key: _read_text(leaves[key], f"text as {key}") for key in _TEXT_KEYS if key in leaves},
    )


def _read_warning(leaf: Leaf) -> Fractions | float:
    match leaf.value:
        case [lower, upper]:
            return leaf.fractions(lower, upper)
        case int() | float():
            share = leaf.number(leaf.value, "share of the critical bounds")
            if not 0 < share <= 1:
                raise leaf.error(
                    f"expected a share of the critical bounds from 0 to 1, found {share:g}"
                )
            return share
        case other:
            raise leaf.error(
                f"expected [lower, upper] or a share of the critical bounds, found {other!r}"
            )


def _read_kind(leaf: Leaf) -> Kind:
    if leaf.value not in get_args(Kind):
        raise leaf.error(f"expected one of {', '.join(get_args(Kind))}, found {leaf.value!r}")
    return cast("Kind", leaf.value)


def _read_text(leaf: Leaf, what: str) -> str:
    if not isinstance(leaf.value, str) or not leaf.value.strip():
        raise leaf.error(f"expected {what}, found {leaf.value!r}")
    return leaf.value


def _read_samples(leaf: Leaf | None) -> int | None:
    if leaf is None:
        return None
    if type(leaf.value) is not int or leaf.value < 1:
        raise leaf.error(f"expected a number of nights, found {leaf.value!r}")
    return leaf.value


def _read_date(leaf: Leaf) -> str:
    try:
        return datetime.date.fromisoformat(str(leaf.value)).isoformat()
    except ValueError:
        raise leaf.error(f"expected a date such as 2026-11-21, found {leaf.value!r}") from None


def _read_monotone(leaf: Leaf | None) -> float | None:
    if leaf is None:
        return None
    noise = leaf.number(leaf.value, "noise")
    if noise < 0:
        raise leaf.error(f"expected a noise of 0 or more, found {noise:g}")
    return noise


def _read_best(leaf: Leaf | None) -> float | None:
    if leaf is None:
        return None
    best = leaf.number(leaf.value, "value that the best size must reach")
    if best <= 0:
        raise leaf.error(f"expected a value above 0 that the best size must reach, found {best:g}")
    return best


def _read_edges(leaf: Leaf | None, what: str) -> dict[str, float]:
    if leaf is None:
        return {}
    if not isinstance(leaf.value, dict) or not leaf.value:
        raise leaf.error(f"expected variables with the {what} of each, found {leaf.value}")
    edges = {}
    for variable, value in leaf.value.items():
        edges[str(variable)] = leaf.number(value, f"{what} of {variable}")
        try:
            split_variable(str(variable))
        except FabricheckError as error:
            raise leaf.error(f"unknown variable: {error}") from error
    return edges


def _is_exponent(value: object) -> bool:
    try:
        float(str(value))
    except ValueError:
        return False
    return isinstance(value, str) and "e" in value.lower()
