"""Which references hold for a case: rules and measured values become bounds here, nowhere else."""

import functools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fabricheck.errors import FabricheckError
from fabricheck.judge.reference import CaseKey, Fractions, Reference, Tolerance
from fabricheck.judge.reference_file import ReferenceRule, References, exists, fields_of, load
from fabricheck.measures.benchmark import Benchmark
from fabricheck.measures.curve import Variable
from fabricheck.measures.metrics import Direction, Metric
from fabricheck.measures.registry import CHECKS, find

__all__ = ["CHECKS", "CaseKey", "Fractions", "Reference", "Tolerance", "exists", "resolve"]


def resolve(
    path: Path, check: str, key: CaseKey
) -> tuple[dict[Variable, Reference], Tolerance | None]:
    """The references of a case by variable, and what they rest on.

    Without any there is ``None`` beside them, which is judged as ``no-reference``.

    Args:
        path: file of the rules of the system.
        check: name of the check class.
        key: the case.

    Raises:
        FabricheckError: if the files cannot be read or are wrong anywhere, if the references are
            not those of the benchmark, if one lacks bounds or its origin, or warns later than it
            is critical.
    """
    references = load(path)
    if check not in CHECKS:
        raise FabricheckError(f"FC0805 unknown check {check!r}: known are {', '.join(CHECKS)}")
    benchmark = find(key.benchmark) if CHECKS[check] else None
    if benchmark and benchmark.family != CHECKS[check]:
        raise FabricheckError(
            f"FC0806 {check} judges {CHECKS[check]} benchmarks, found {key.benchmark}, which is "
            f"{benchmark.family}"
        )
    return _Case(references, check, key, benchmark).resolve()


def givers(path: Path, check: str, key: CaseKey) -> dict[Variable, ReferenceRule]:
    """The rule, measured ones too, that each variable of a case has its value from."""
    benchmark = find(key.benchmark) if CHECKS[check] else None
    found = _Case(load(path), check, key, benchmark).values()
    return {name: value.rule for name, value in found.items()}


@dataclass(frozen=True, slots=True)
class _Value:
    """What is expected of a variable, and who says so."""

    value: float
    rule: ReferenceRule
    keys: tuple[str, ...]

    def error(self, message: str) -> FabricheckError:
        return self.rule.error(message, *self.keys)

    def variable(self, name: str) -> Variable:
        try:
            return Variable.read(name)
        except FabricheckError as error:
            raise self.error(f"unknown variable: {error}") from error


class _Case:
    """What holds for one case."""

    def __init__(
        self, references: References, check: str, key: CaseKey, benchmark: Benchmark | None
    ) -> None:
        fields = fields_of(check, key)
        self._key = key
        self._benchmark = benchmark
        self._measured = [rule for rule in references.measured if rule.is_for(fields)]
        self._rules = [rule for rule in references.rules if rule.is_for(fields)]
        self._best = [rule for rule in references.best if rule.is_for(fields)]

    def resolve(self) -> tuple[dict[Variable, Reference], Tolerance | None]:
        values = self.values()
        if not values:
            return {}, None
        found = {name: self._reference(name, value) for name, value in values.items()}
        self._require_known(found)
        return found, self._tolerance(next(iter(values.values())))

    def values(self) -> dict[Variable, _Value]:
        """The value of each variable: measured, or of the first rule, or the best one."""
        found: dict[Variable, _Value] = {}
        for rule in self._measured:
            for name, (value, _, _) in rule.says["values"].items():
                expected = _Value(value, rule, ("values", name))
                found.setdefault(expected.variable(name), expected)
        for rule in (*self._rules, *self._best):
            for expected, name in self._expanded(rule):
                found.setdefault(expected.variable(name), expected)
        return found

    def _expanded(self, rule: ReferenceRule) -> Iterator[tuple[_Value, str]]:
        for name, given in rule.says.get("value", {}).items():
            for stem in self._stems(rule, name):
                if isinstance(given, dict):
                    for size, value in given.items():
                        yield _Value(value, rule, ("value", name, size)), f"{stem}_{size}"
                else:
                    yield _Value(given, rule, ("value", name)), stem

    def _stems(self, rule: ReferenceRule, name: str) -> list[str]:
        """A metric alone stands for all its statistics."""
        if self._benchmark is None or name not in list(Metric):
            return [name]
        found = [f"{metric}_{each}" for metric, each in self._benchmark.recorded if metric == name]
        if not found:
            raise rule.error(f"unknown variable: {self._recorded()}", "value", name)
        return found

    def _recorded(self) -> str:
        assert self._benchmark, "asked for curves only"
        names = ", ".join(f"{metric}_{each}" for metric, each in self._benchmark.recorded)
        return f"the benchmark {self._benchmark.name} records {names}"

    def _reference(self, name: Variable, value: _Value) -> Reference:
        unit, direction = self._metric(name, value)
        failure, target = self._said("known_failure", name=name), self._said("target", name=name)
        reference = Reference(
            value.value, None, None, unit, failure[1] if failure else "",
            target=target[1] if target else None,
        )  # fmt: skip
        if value.rule in self._measured:
            _, lower, upper = value.rule.says["values"][str(name)]
            reference = replace(reference, lower=lower, upper=upper)
            _check(name, reference, direction, value.rule, value.keys)
            return replace(reference, warning=_shared(value.rule.says["warning"], reference))
        says = self._said("band", "bound", name=name)
        if says is None:
            raise value.error(f"expected a rule with the bound of {name}, found none: add one")
        rule, given, keys = says
        good = None
        if "band" in keys:
            good, critical = given
            lower, upper = _fractions(value, critical, direction)
        else:
            lower, upper = given
        reference = replace(reference, lower=lower, upper=upper, good=good)
        _check(name, reference, direction, rule, keys)
        if good is not None:
            _check_good(name, reference, rule, keys)
            return reference
        return self._warned(name, reference, rule, keys)

    def _warned(
        self, name: Variable, reference: Reference, bound: ReferenceRule, keys: tuple[str, ...]
    ) -> Reference:
        says = self._said("warning", name=name)
        if says is None:
            raise bound.error(
                f"expected a rule with the warning of {name}, found none: add one", *keys
            )
        rule, given, own = says
        warning = _shared(given, reference) if isinstance(given, int | float) else tuple(given)
        lower, upper = warning
        too_low = None not in (lower, reference.lower) and lower < reference.lower
        too_high = None not in (upper, reference.upper) and upper > reference.upper
        if too_low or too_high:
            raise rule.error(
                f"the warning bounds {_yaml(*warning)} are wider than the critical bounds "
                f"{_yaml(reference.lower, reference.upper)} of {name} ({bound.place(*keys)}): a "
                "warning must come before critical",
                *own,
            )
        return replace(reference, warning=warning)

    def _said(
        self, *keys: str, name: Variable
    ) -> tuple[ReferenceRule, Any, tuple[str, ...]] | None:
        """What the first rule says of a variable under one of these keys, and where."""
        for rule in self._rules:
            for key in keys:
                given = rule.says.get(key)
                if isinstance(given, dict):
                    for pattern, value in given.items():
                        if _names(pattern, name, exactly=key in ("band", "target")):
                            return rule, value, (key, pattern)
                elif given is not None:
                    return rule, given, (key,)
        return None

    def _require_known(self, found: Mapping[Variable, Reference]) -> None:
        """Refuse bands and targets of variables that have no value, which would judge nothing."""
        known = set(map(str, found))
        for rule in self._rules:
            for key in ("band", "target"):
                for name in rule.says.get(key, {}):
                    if name not in known:
                        raise rule.error(
                            f"expected a variable of {self._key} with a value, found {name}: give "
                            "it one, or correct the name",
                            key,
                            name,
                        )

    def _metric(self, name: Variable, value: _Value) -> tuple[str, Direction | None]:
        """Unit of a variable, and which values are better."""
        if self._benchmark is None:
            units = (rule.says["unit"] for rule in self._rules if "unit" in rule.says)
            unit = next(units, None)
            if unit is None:
                raise value.error(f"expected a rule with the unit of {name}, found none: add one")
            return unit, None
        metric, statistic, size = name
        if (metric, statistic) not in self._benchmark.recorded:
            raise value.error(f"unknown variable: {self._recorded()}")
        if (size is None) != (self._benchmark.min_size is None):
            raise value.error(
                f"unknown variable: the benchmark {self._benchmark.name} "
                + ("has no message size" if size is not None else "records one for each size")
            )
        return metric.row.unit, metric.row.direction

    def _tolerance(self, first: _Value) -> Tolerance:
        shape: dict[str, Any] = {}
        for rule in self._rules:
            shape = {**rule.says.get("shape", {}), **shape}
        for rule in (*self._measured, *self._rules):
            says = rule.says
            if rule in self._measured or "kind" in says:
                return Tolerance(
                    kind=says.get("kind", "measured"),
                    source=says["source"],
                    date=says["date"].isoformat(),
                    samples=says.get("samples"),
                    **{key: says[key] for key in ("commit", "software", "expired") if key in says},
                    **shape,
                )
        raise first.error(
            f"expected a rule with kind, source and date of {self._key}, found none: add one"
        )


@functools.cache
def _names(pattern: str, variable: Variable, *, exactly: bool) -> bool:
    """Whether a variable, its metric and statistic, or its metric alone has a pattern."""
    if exactly:
        return pattern == str(variable)
    names = variable, variable.series, variable.metric
    return any(re.fullmatch(pattern, str(name)) for name in names)


def _shared(share: float, reference: Reference) -> Fractions:
    lower, upper = reference.lower, reference.upper
    return (
        None if lower is None else lower * share,
        None if upper is None else upper * share,
    )


def _fractions(value: _Value, critical: float, direction: Direction | None) -> Fractions:
    """The edge of critical as a fraction; rounding never makes it stricter than it is."""
    if not value.value:
        raise value.error("expected a value above 0 beside a band, found 0: correct it")
    fraction = critical / value.value - 1
    outwards = -math.inf if direction is Direction.HIGHER else math.inf
    while (value.value * (1 + fraction) - critical) * math.copysign(1, outwards) < 0:
        fraction = math.nextafter(fraction, outwards)
    return (fraction, None) if direction is Direction.HIGHER else (None, fraction)


def _check(
    name: Variable,
    reference: Reference,
    direction: Direction | None,
    rule: ReferenceRule,
    keys: tuple[str, ...],
) -> None:
    lower, upper = reference.lower, reference.upper
    if lower is None and upper is None:
        raise rule.error(f"expected a lower or an upper bound of {name}, found neither", *keys)
    if reference.value and lower is not None and lower < -1:
        raise rule.error(
            f"expected a lower bound of {name} from -1 to 0, a fraction, found {lower:g}", *keys
        )
    if direction is Direction.LOWER and upper is None:
        raise rule.error(f"expected an upper bound, found none: lower {name} is better", *keys)
    if direction is Direction.HIGHER and lower is None:
        raise rule.error(f"expected a lower bound, found none: higher {name} is better", *keys)
    if direction is Direction.HIGHER and reference.value and lower == -1:
        raise rule.error(
            f"expected a lower bound of {name} greater than -1, which accepts any value", *keys
        )


def _check_good(
    name: Variable, reference: Reference, rule: ReferenceRule, keys: tuple[str, ...]
) -> None:
    lower, upper = reference.bounds()
    edge = reference.good or 0.0
    if (lower is not None and edge < lower) or (upper is not None and edge > upper):
        raise rule.error(
            f"the good band of {name} ends at {edge:g}, outside of the critical bounds: a warning "
            "must come before critical",
            *keys,
        )


def _yaml(lower: float | None, upper: float | None) -> str:
    return f"[{', '.join('null' if each is None else f'{each:g}' for each in (lower, upper))}]"
