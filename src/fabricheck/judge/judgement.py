"""Judging one value against its reference."""

import math
from dataclasses import dataclass

from fabricheck.errors import FabricheckError
from fabricheck.judge.levels import Level
from fabricheck.judge.reference import Fractions, Reference, is_lower_better
from fabricheck.measures.curve import Variable
from fabricheck.units import amount, times


@dataclass(frozen=True, slots=True)
class Judgement:
    """Verdict on one performance variable.

    Attributes:
        variable: what was measured.
        level: the verdict.
        value: the measured value, in ``unit``.
        unit: unit of the value.
        reference: what it was compared with, if there was something.
        message: one sentence on what was found, what was expected, and the bound.
        limit: the bound that decided, such as ``critical above 24 us``.
        note: what an expected failure changes about the level.
        good: the limits between which the value would be good; the edge of a band is not.
    """

    variable: Variable
    level: Level
    value: float
    unit: str
    reference: Reference | None
    message: str
    limit: str = ""
    note: str = ""
    good: Fractions = (None, None)


def judge_value(
    variable: Variable,
    value: float,
    unit: str,
    reference: Reference | None,
    warning: Fractions = (None, None),
    *,
    good: float | None = None,
) -> Judgement:
    """Judge one value: critical outside of the reference's bounds, warning outside ``warning``.

    With ``good``, only what is better than this value is good: the edge of a band belongs to the
    warnings, while the edge towards critical is a warning still.

    A reference that is marked as expected failure  is never good: outside its bounds
    the value is a known problem, inside them the mark is out of date; both are warnings. ReFrame
    itself passes the first and fails the second.

    Raises:
        FabricheckError: if the unit of the reference is not that of the value.
    """
    found = f"{variable} is {amount(value, unit)}"
    if not math.isfinite(value):
        return Judgement(
            variable, Level.UNTRUSTED, value, unit, reference, f"{found}: no finite number"
        )
    if reference is None:
        message = f"{found} and has no reference: nothing judges it"
        return Judgement(variable, Level.NO_REFERENCE, value, unit, None, message)
    if reference.unit != unit:
        raise FabricheckError(
            f"FC0801 expected the reference of {variable} in {unit}, found {reference.unit}"
        )
    lower, upper = reference.bounds(warning)
    level, limits = Level.GOOD, reference.bounds()
    if _exceeded(value, limits):
        level = Level.CRITICAL
    elif _exceeded(value, (lower, upper)):
        level, limits = Level.WARNING, (lower, upper)
    limit = _limit(level, value, limits, unit)
    if good is not None:
        is_lower = is_lower_better(variable)
        lower, upper = (lower, good) if is_lower else (good, upper)
        if level is Level.GOOD and (value >= good if is_lower else value <= good):
            side = "below" if is_lower else "above"
            level, limit = Level.WARNING, f"good only {side} {amount(good, unit)}"
    message = f"{found}, {_compared(value, reference)}: {limit}"
    note = ""
    if reference.expected_failure:
        note = _expected_failure_note(level, reference.expected_failure)
        level, message = Level.WARNING, f"{message}; {note}"
    return Judgement(variable, level, value, unit, reference, message, limit, note, (lower, upper))


def _exceeded(value: float, limits: Fractions) -> bool:
    lower, upper = limits
    return (lower is not None and value < lower) or (upper is not None and value > upper)


def _compared(value: float, reference: Reference) -> str:
    """The value in relation to its reference, in words."""
    expected = amount(reference.value, reference.unit)
    if not reference.value:
        return f"the reference is {expected}"
    return f"{times(value / reference.value)} the reference of {expected}"


def _limit(level: Level, value: float, limits: Fractions, unit: str) -> str:
    """The limit that a value exceeds, or both that it keeps."""
    lower, upper = limits
    if level is not Level.GOOD:
        if lower is not None and value < lower:
            return f"{level} below {amount(lower, unit)}"
        return f"{level} above {amount(upper or 0.0, unit)}"
    bounds = [f"from {amount(lower, unit)}"] if lower is not None else []
    bounds += [f"up to {amount(upper, unit)}"] if upper is not None else []
    return f"allowed {' '.join(bounds)}" if bounds else "any value is allowed"


def _expected_failure_note(level: Level, reason: str) -> str:
    if level is Level.CRITICAL:
        return f"known failure: {reason}"
    return f"meets a reference that is marked as known failure ({reason}): remove the mark"
