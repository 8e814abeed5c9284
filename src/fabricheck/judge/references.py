"""References and tolerances: what they mean, and which of a file's hold for a case."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

from fabricheck.benchmarks.curve import split_variable
from fabricheck.benchmarks.registry import Benchmark, find
from fabricheck.errors import FabricheckError

if TYPE_CHECKING:
    from fabricheck.judge.reference_file import Entry, Levels, Section

Kind = Literal["bound", "ratio", "measured", "vendor", "paper"]
Fractions = tuple[float | None, float | None]

CHECKS: Mapping[str, Literal["pt2pt", "collective"] | None] = {
    "MpiPointToPoint": "pt2pt",
    "MpiCollective": "collective",
    "TransportOrder": None,
}
"""Classes that may have references, each with the family of benchmarks whose curves it judges;
``None`` where the variables are not those of a curve."""

_PLACEMENT = re.compile(r"(?P<transport>[a-z][a-z0-9_]*)-(?P<num_nodes>[1-9]\d{0,6})n", re.ASCII)


@dataclass(frozen=True, slots=True)
class Reference:
    """What a performance variable is compared with.

    Attributes:
        value: the expected value, in ``unit``.
        lower: critical below; a fraction of ``value`` (-0.1 is 10 % less) as in ReFrame's
            reference tuples, an absolute offset if ``value`` is 0; ``None`` for no limit.
        upper: critical above, in the same way.
        unit: unit of the value.
        expected_failure: why the reference is known not to be met (ReFrame's ``$xfail``), empty
            if it is to be met.
    """

    value: float
    lower: float | None
    upper: float | None
    unit: str
    expected_failure: str = ""

    def bounds(self, fractions: Fractions | None = None) -> Fractions:
        """Absolute lower and upper limit, for the critical fractions or the given ones.

        The formula is that of ``reframe.utility.sanity.reference_bounds``, and a value on a
        limit is inside, as there.
        """
        lower, upper = (self.lower, self.upper) if fractions is None else fractions
        return self._limit(lower), self._limit(upper)

    def _limit(self, fraction: float | None) -> float | None:
        if fraction is None:
            return None
        return self.value * (1 + fraction) if self.value else fraction


@dataclass(frozen=True, slots=True)
class Tolerance:
    """When to warn, and where the references of a case come from.

    Attributes:
        warning: fractions as in ``Reference``, not wider than the critical ones.
        kind: what the references are.
        source: from which runs, paper or document they come.
        date: ISO date of the source.
        monotone: noise up to which a latency may fall with the size, as a fraction; ``None`` if
            that is not checked.
    """

    warning: Fractions
    kind: Kind
    source: str
    date: str
    monotone: float | None


@dataclass(frozen=True, slots=True)
class CaseKey:
    """What references are looked up by.

    Attributes:
        system: ReFrame's system name.
        partition: full name of the partition, ``system:partition``.
        environ: ReFrame's environment name.
        benchmark: name in the registry.
        placement: ``<transport>-<nodes>n`` such as ``tcp-2n``.

    Raises:
        FabricheckError: if the placement has another form.
    """

    system: str
    partition: str
    environ: str
    benchmark: str
    placement: str

    def __post_init__(self) -> None:
        self._read_placement()

    @property
    def transport(self) -> str:
        """The transport of the placement."""
        return self._read_placement()["transport"]

    @property
    def num_nodes(self) -> int:
        """The number of nodes of the placement."""
        return int(self._read_placement()["num_nodes"])

    def _read_placement(self) -> re.Match[str]:
        match = _PLACEMENT.fullmatch(self.placement)
        if not match:
            raise FabricheckError(
                f"expected a placement such as tcp-2n or shm-1n, found {self.placement!r}: "
                "write <transport>-<nodes>n"
            )
        return match

    def __str__(self) -> str:
        return (
            f"{self.benchmark} {self.placement} with {self.environ} on "
            f"{self.partition or self.system}"
        )


def resolve(path: Path, check: str, key: CaseKey) -> tuple[dict[str, Reference], Tolerance | None]:
    """The references of a case by variable, and its tolerance.

    The keys are looked up by ReFrame's own ``RegressionTestDict``, so that a case gets here the
    same references as in a run. Without a matching entry there are none, which is judged as
    ``no-reference``.

    Args:
        path: reference file of the system.
        check: name of the check class.
        key: the case.

    Raises:
        FabricheckError: if the file cannot be read or is wrong anywhere, if its references are
            not those of the benchmark, lack an entry of their levels, or warn later than they
            are critical.
    """
    from fabricheck.judge.reference_file import load  # noqa: PLC0415 (only here is YAML needed)

    sections = load(path)
    if check not in CHECKS:
        raise FabricheckError(f"unknown check {check!r}: known are {', '.join(CHECKS)}")
    benchmark = find(key.benchmark) if CHECKS[check] else None
    if benchmark and benchmark.family != CHECKS[check]:
        raise FabricheckError(
            f"{check} judges {CHECKS[check]} benchmarks, found {key.benchmark}, which is "
            f"{benchmark.family}"
        )
    entry: Entry | None = _look_up(sections.references.get(check), key)
    levels: Levels | None = _look_up(sections.levels.get(check), key)
    if entry is None:
        return {}, levels.tolerance if levels else None
    if levels is None:
        raise entry.place.error(
            f"expected an entry of {check}.levels for {key}, found none: add one with warning, "
            "kind, source and date"
        )
    if benchmark:
        _check_variables(entry, benchmark)
    _check_warning(entry, levels)
    references = {name: located.reference for name, located in entry.variables.items()}
    return references, levels.tolerance


def _look_up(section: "Section | None", key: CaseKey) -> Any:
    # ReFrame takes a quarter of a second to import, which readers of the dataclasses need not pay.
    from reframe.core.pipeline import (  # noqa: PLC0415
        RegressionTestDict,
        RegressionTestPlugin,
    )

    if section is None:
        return None
    test = RegressionTestPlugin()
    test.current_system = SimpleNamespace(name=key.system)
    test.current_partition = SimpleNamespace(fullname=key.partition)
    test.current_environ = SimpleNamespace(name=key.environ)
    for attribute in ("benchmark", "placement", "transport", "num_nodes"):
        setattr(test, attribute, getattr(key, attribute))
    try:
        return RegressionTestDict({"$index": section.index, **section.tree})[test]
    except KeyError:
        return None


def _check_variables(entry: "Entry", benchmark: Benchmark) -> None:
    for name, located in entry.variables.items():
        metric, statistic, size = split_variable(name)
        if metric not in benchmark.metrics or statistic not in benchmark.statistics:
            recorded = ", ".join(
                f"{m}_{s}" for m in benchmark.metrics for s in benchmark.statistics
            )
            raise located.place.error(
                f"unknown variable: the benchmark {benchmark.name} records {recorded}"
            )
        if (size is None) != (benchmark.min_size is None):
            raise located.place.error(
                f"unknown variable: the benchmark {benchmark.name} "
                + ("has no message size" if size is not None else "records one for each size")
            )


def _check_warning(entry: "Entry", levels: "Levels") -> None:
    lower, upper = levels.tolerance.warning
    for located in entry.variables.values():
        reference = located.reference
        too_low = None not in (lower, reference.lower) and lower < reference.lower  # type: ignore[operator]
        too_high = None not in (upper, reference.upper) and upper > reference.upper  # type: ignore[operator]
        if too_low or too_high:
            raise levels.place.error(
                f"the warning bounds [{_yaml(lower)}, {_yaml(upper)}] are wider than the critical "
                f"bounds [{_yaml(reference.lower)}, {_yaml(reference.upper)}] of "
                f"{located.place}: a warning must come before critical"
            )


def _yaml(fraction: float | None) -> str:
    return "null" if fraction is None else f"{fraction:g}"
