"""What judges a system: every reference of its file, and whether references and cases meet."""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabricheck.benchmarks.registry import REGISTRY
from fabricheck.errors import FabricheckError
from fabricheck.judge.judgement import judge_value
from fabricheck.judge.model import CHECKS, CaseKey, Fractions, Tolerance
from fabricheck.judge.reference_file import Entry, load
from fabricheck.judge.references import entry_of, levels_of, resolve
from fabricheck.planning.plan import Plan
from fabricheck.reframe_ext.matrix import Case
from fabricheck.sites.document import read
from fabricheck.transports import TRANSPORTS


@dataclass(frozen=True, slots=True)
class Row:
    """One reference of a file.

    Attributes:
        check: class of the checks that it is for.
        keys: names of the index with the keys of the file, such as ``placement: rc-2n``.
        variable: what it is for.
        value: the expected value.
        unit: its unit.
        good: limits of the good values; ``None`` for none.
        target: the target that its source names; ``None`` for none. It judges nothing.
        critical: limits beyond which a value is critical.
        kind: what it is, such as ``measured``.
        source: where it comes from.
        date: date of the source.
        note: that it is known not to be met, or has expired.
    """

    check: str
    keys: Mapping[str, str | int]
    variable: str
    value: float
    unit: str
    good: Fractions
    target: float | None
    critical: Fractions
    kind: str
    source: str
    date: str
    note: str


@dataclass(frozen=True, slots=True)
class Check:
    """Where references and cases don't meet.

    Attributes:
        system: name of the system.
        path: its reference file.
        cases: how many cases need references.
        without_reference: cases that nothing judges.
        partly: cases of which some values have no reference, with these.
        without_case: a sentence on each reference that no case of the system has.
    """

    system: str
    path: str
    cases: int
    without_reference: tuple[Case, ...]
    partly: tuple[tuple[Case, tuple[str, ...]], ...]
    without_case: tuple[str, ...]


def rows(suite: Path, system: str) -> list[Row]:
    """Every reference of a system, in the order of its file.

    Raises:
        FabricheckError: for a system without a reference file, and for a file with anything wrong.
    """
    path = file_of(suite, system)
    known = _Known(suite, system)
    found = []
    for check, section in load(path).references.items():
        for keys, entry in _entries(section.index, section.tree):
            tolerance = _tolerance(path, check, known.case(check, keys))
            found += [_row(check, keys, name, entry, tolerance) for name in entry.variables]
    return found


def check(suite: Path, plan: Plan) -> Check:
    """Cases without a reference, and references without a case.

    Raises:
        FabricheckError: as ``rows``, and for references that the benchmark of a case refuses.
    """
    path = suite / "references" / f"{plan.system}.yaml"
    judged = [case for case in plan.cases if case.check in CHECKS]
    if not path.exists():
        return Check(plan.system, str(path), len(judged), tuple(judged), (), ())
    without, partly = [], []
    measured: dict[Any, set[str]] = {}
    for case in judged:
        key = CaseKey(
            plan.system,
            f"{plan.system}:{case.partition}",
            case.environ,
            case.benchmark,
            case.placement,
        )
        references, _ = resolve(path, case.check, key)
        if (entry := entry_of(path, case.check, key)) is None:
            without.append(case)
            continue
        measured.setdefault(entry.place, set()).update(case.variables)
        if lacking := tuple(name for name in case.variables if name not in references):
            partly.append((case, lacking))
    return Check(
        plan.system,
        str(path),
        len(judged),
        tuple(without),
        tuple(partly),
        tuple(_unused(path, measured)),
    )


def file_of(suite: Path, system: str) -> Path:
    """The reference file of a system.

    Raises:
        FabricheckError: if there is none.
    """
    path = suite / "references" / f"{system}.yaml"
    if not path.exists():
        known = ", ".join(
            sorted(
                each.stem
                for each in path.parent.glob("*.yaml")
                if not each.stem.endswith(".accepted")
            )
        )
        raise FabricheckError(
            f"expected a reference file of system {system} at {path}, found none; there are some "
            f"of {known}: use one of these systems, or write the file (docs/references.md)"
        )
    return path


def _unused(path: Path, measured: Mapping[Any, set[str]]) -> Iterator[str]:
    for check, section in load(path).references.items():
        for _, entry in _entries(section.index, section.tree):
            if entry.place not in measured:
                yield (
                    f"{entry.place}: no case of this system has these {len(entry.variables)} "
                    f"references of {check}"
                )
            elif unmeasured := [n for n in entry.variables if n not in measured[entry.place]]:
                yield (
                    f"{entry.place}: no case of this system measures {', '.join(unmeasured)}, "
                    "which is then critical"
                )


def _entries(
    index: Sequence[str], tree: Mapping[str | int, Any]
) -> Iterator[tuple[dict[str, str | int], Entry]]:
    for key, below in tree.items():
        if isinstance(below, Entry):
            yield {index[0]: key}, below
        else:
            for keys, entry in _entries(index[1:], below):
                yield {index[0]: key, **keys}, entry


def _tolerance(path: Path, check: str, key: CaseKey) -> Tolerance:
    levels = levels_of(path, check, key)
    if levels is None:
        raise FabricheckError(
            f"{path}: expected an entry of {check}.levels for {key}, found none: add one with "
            "warning, kind, source and date"
        )
    return levels.tolerance


def _row(
    check: str, keys: Mapping[str, str | int], name: str, entry: Entry, tolerance: Tolerance
) -> Row:
    reference = entry.variables[name].reference
    judged = judge_value(
        name,
        reference.value,
        reference.unit,
        reference,
        tolerance.warning_of(reference),
        good=tolerance.good.get(name),
    )
    notes = (reference.expected_failure and f"known failure: {reference.expected_failure}",
             tolerance.expired and f"expired: {tolerance.expired}")  # fmt: skip
    return Row(
        check=check,
        keys=keys,
        variable=name,
        value=reference.value,
        unit=reference.unit,
        good=judged.good,
        target=tolerance.target.get(name),
        critical=reference.bounds(),
        kind=tolerance.kind,
        source=tolerance.source,
        date=tolerance.date,
        note="; ".join(filter(None, notes)),
    )


class _Known:
    """Names that exist on a system, for finding a case that a pattern of its file fits."""

    def __init__(self, suite: Path, system: str) -> None:
        site = read(suite / "sites" / f"{system}.yaml")
        partitions = site["systems"][0]["partitions"]
        counts = {
            int(feature.removeprefix("nodes-"))
            for partition in partitions
            for feature in partition.get("features", ())
            if re.fullmatch(r"nodes-\d+", feature)
        }
        self._names: dict[str, list[str]] = {
            "$system": [system],
            "$partition": [f"{system}:{each['name']}" for each in partitions],
            "$environ": [each["name"] for each in site["environments"]],
            "benchmark": list(REGISTRY),
            "placement": [
                f"{name}-{count}n{full}"
                for name, count, full in itertools.product(
                    TRANSPORTS, sorted(counts), ("", "-full")
                )
            ],
        }

    def case(self, check: str, keys: Mapping[str, str | int]) -> CaseKey:
        """A case that the keys fit, of those that exist where there is one."""
        found = {
            name: self._first(name, keys.get(name), check)
            for name in ("$system", "$partition", "$environ", "benchmark")
        }
        return CaseKey(
            found["$system"],
            found["$partition"],
            found["$environ"],
            found["benchmark"],
            self._placement(keys),
        )

    def _first(self, name: str, key: str | int | None, check: str) -> str:
        names = self._names[name]
        if name == "benchmark" and (family := CHECKS[check]):
            names = [each for each in names if REGISTRY[each].family == family]
        if key is None:
            return names[0]
        return next((each for each in names if re.fullmatch(str(key), each)), str(key))

    def _placement(self, keys: Mapping[str, str | int]) -> str:
        if "placement" in keys:
            pattern = str(keys["placement"])
        else:
            transport, nodes = keys.get("transport", r"\w+"), keys.get("num_nodes", r"\d+")
            pattern = f"(?:{transport})-{nodes}n"
        every = self._names["placement"]
        return next((each for each in every if re.fullmatch(pattern, each)), pattern)
