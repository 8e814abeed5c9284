"""Which references and tolerance of a file hold for a case."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fabricheck.benchmarks.curve import split_variable
from fabricheck.benchmarks.model import Benchmark
from fabricheck.benchmarks.registry import find
from fabricheck.errors import FabricheckError
from fabricheck.judge.model import CHECKS, CaseKey, Fractions, Reference, Tolerance
from fabricheck.judge.reference_file import Entry, Levels, Located, Section, load

__all__ = [
    "CHECKS",
    "CaseKey",
    "Fractions",
    "Reference",
    "Tolerance",
    "entry_of",
    "levels_of",
    "resolve",
]


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


def levels_of(path: Path, check: str, key: CaseKey) -> Levels | None:
    """The tolerance of a case and where it stands, ``None`` if it has none.

    Raises:
        FabricheckError: if the file cannot be read or is wrong anywhere.
    """
    found: Levels | None = _look_up(load(path).levels.get(check), key)
    return found


def entry_of(path: Path, check: str, key: CaseKey) -> Entry | None:
    """The references of a case and where they stand, ``None`` if it has none.

    Raises:
        FabricheckError: if the file cannot be read or is wrong anywhere.
    """
    found: Entry | None = _look_up(load(path).references.get(check), key)
    return found


def _look_up(section: Section | None, key: CaseKey) -> Any:
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


def _check_variables(entry: Entry, benchmark: Benchmark) -> None:
    for name, located in entry.variables.items():
        metric, statistic, size = split_variable(name)
        if (metric, statistic) not in benchmark.recorded:
            recorded = ", ".join(f"{m}_{s}" for m, s in benchmark.recorded)
            raise located.place.error(
                f"unknown variable: the benchmark {benchmark.name} records {recorded}"
            )
        if (size is None) != (benchmark.min_size is None):
            raise located.place.error(
                f"unknown variable: the benchmark {benchmark.name} "
                + ("has no message size" if size is not None else "records one for each size")
            )


def _check_warning(entry: Entry, levels: Levels) -> None:
    edges = {**levels.tolerance.good, **levels.tolerance.target}
    if unknown := [name for name in edges if name not in entry.variables]:
        raise levels.place.error(
            f"a good band or a target for {', '.join(unknown)}, which has no reference at "
            f"{entry.place}: give it one, or correct the name"
        )
    for name, located in entry.variables.items():
        reference = located.reference
        lower, upper = levels.tolerance.warning_of(reference)
        too_low = None not in (lower, reference.lower) and lower < reference.lower  # type: ignore[operator]
        too_high = None not in (upper, reference.upper) and upper > reference.upper  # type: ignore[operator]
        if name in levels.tolerance.good:
            _check_good(name, located, levels)
        elif too_low or too_high:
            raise levels.place.error(
                f"the warning bounds [{_yaml(lower)}, {_yaml(upper)}] are wider than the critical "
                f"bounds [{_yaml(reference.lower)}, {_yaml(reference.upper)}] of "
                f"{located.place}: a warning must come before critical"
            )


def _check_good(name: str, located: Located, levels: Levels) -> None:
    edge = levels.tolerance.good[name]
    lower, upper = located.reference.bounds()
    if (lower is not None and edge < lower) or (upper is not None and edge > upper):
        raise levels.place.error(
            f"the good band of {name} ends at {edge:g}, outside of the critical bounds of "
            f"{located.place}: a warning must come before critical"
        )


def _yaml(fraction: float | None) -> str:
    return "null" if fraction is None else f"{fraction:g}"
