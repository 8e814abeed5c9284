"""What judges a system: every reference of its file, and whether references and cases meet."""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabricheck.errors import FabricheckError
from fabricheck.judge.judgement import judge_value
from fabricheck.judge.reference import CaseKey, Fractions, Reference, Tolerance
from fabricheck.judge.reference_file import ReferenceRule, exists, load, path_of
from fabricheck.judge.references import givers, resolve
from fabricheck.launch.judging import files_of_folder
from fabricheck.measures.benchmark import Benchmark
from fabricheck.measures.curve import Variable
from fabricheck.measures.registry import CHECKS, FAMILIES, REGISTRY
from fabricheck.planning.plan import Plan
from fabricheck.provenance import folders
from fabricheck.reframe_ext.config import lacking_environments
from fabricheck.reframe_ext.matrix import CheckCase
from fabricheck.sites.extras import EnvironmentExtras, PartitionExtras
from fabricheck.sites.files import nearest, read
from fabricheck.transports.families import families
from fabricheck.transports.placement import parts, written
from fabricheck.transports.table import TRANSPORTS


@dataclass(frozen=True, slots=True)
class ReferenceRow:
    """One reference of a file.

    Attributes:
        check: class of the checks that it is for, or a pattern of them.
        keys: fields of the cases with the patterns of the file, such as ``placement: rc-2n``.
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
    without_reference: tuple[CheckCase, ...]
    partly: tuple[tuple[CheckCase, tuple[str, ...]], ...]
    without_case: tuple[str, ...]


def rows(suite: Path, system: str) -> list[ReferenceRow]:
    """Every reference of a system, in the order of its files.

    Raises:
        FabricheckError: for a system without references, and for files with anything wrong.
    """
    path = file_of(suite, system)
    known = _Known(suite, system)
    found = []
    for rule in load(path).givers():
        check, key = known.case(rule)
        references, tolerance = resolve(path, check, key)
        own = givers(path, check, key)
        found += [
            _row(rule, name, reference, tolerance)
            for name, reference in references.items()
            if tolerance and own[name] is rule
        ]
    return found


def check(suite: Path, plan: Plan) -> Check:
    """Cases without a reference, and references without a case.

    Raises:
        FabricheckError: as ``rows``, and for references that the benchmark of a case refuses.
    """
    path = path_of(folders("references", suite), plan.system)
    judged = [case for case in plan.cases if _needs_references(case)]
    if not exists(path):
        return Check(plan.system, str(path), len(judged), tuple(judged), (), ())
    without, partly = [], []
    given, measured = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for case in judged:
        partition = f"{plan.system}:{case.partition}"
        key = CaseKey(plan.system, partition, case.environ, case.benchmark, case.placement)
        references, _ = resolve(path, case.check, key)
        for own in files_of_folder(case.benchmark) if not references else ():
            references, _ = resolve(own, case.check, key)
        for name, rule in givers(path, case.check, key).items():
            given[rule.place()].add(str(name))
            measured[rule.place()] |= {str(name)} & set(case.variables)
        known = set(map(str, references))
        lacking = tuple(name for name in case.variables if name not in known)
        if not references:
            without.append(case)
        elif lacking:
            partly.append((case, lacking))
    elsewhere = _of_absent_environments(suite, plan)
    unused = tuple(_unused(path, given, measured, elsewhere))
    return Check(plan.system, str(path), len(judged), tuple(without), tuple(partly), unused)


def _needs_references(case: CheckCase) -> bool:
    family = CHECKS.get(case.check)
    return case.check in CHECKS and (family is None or FAMILIES[family].has_references)


def file_of(suite: Path, system: str) -> Path:
    """The reference file of a system.

    Raises:
        FabricheckError: if there is none.
    """
    path = path_of(folders("references", suite), system)
    if not exists(path):
        known = ", ".join(sorted({each.name.split(".")[0] for each in path.parent.glob("*.yaml")}))
        raise FabricheckError(
            f"FC0303 expected a reference file of system {system} at {path}, found none; there are "
            f"some of {known}: use one of these systems, or write the file "
            "(docs/how-to/references.md)"
        )
    return path


def _of_absent_environments(suite: Path, plan: Plan) -> list[dict[str, str]]:
    """Fields of cases that only an environment would have that is not installed here."""
    here = {parts(case.placement)[0] for case in plan.cases if case.placement}
    checks: list[Mapping[str, str]] = [
        {"check": name} for name in CHECKS.keys() - {case.check for case in plan.cases}
    ]
    absent = {
        each["name"]: EnvironmentExtras.of(each.get("extras")).mpi_family
        for each in lacking_environments(suite, plan.system)
    }
    return [
        {"environ": name, "placement": written(transport, nodes, ""), **its}
        for name, family in absent.items()
        for transport in TRANSPORTS
        if family in families(transport)
        for nodes in {parts(case.placement)[1] for case in plan.cases if case.placement}
        for its in (checks if transport in here else [{}])
    ]


def _unused(
    path: Path,
    given: Mapping[str, set[str]],
    measured: Mapping[str, set[str]],
    elsewhere: Sequence[Mapping[str, str]],
) -> Iterator[str]:
    for rule in load(path).givers():
        place = rule.place()
        if place not in given:
            if any(rule.is_for(fields) for fields in elsewhere):
                continue
            words = " ".join(map(str, rule.fits.values()))
            yield f"{place}: no case of this system has these references ({words})"
        elif unmeasured := sorted(given[place] - measured[place]):
            yield (
                f"{place}: no case of this system measures {', '.join(unmeasured)}, which is then "
                "critical"
            )


def _row(
    rule: ReferenceRule, name: Variable, reference: Reference, tolerance: Tolerance
) -> ReferenceRow:
    judged = judge_value(
        name, reference.value, reference.unit, reference, reference.warning, good=reference.good
    )
    notes = (reference.expected_failure and f"known failure: {reference.expected_failure}",
             tolerance.expired and f"expired: {tolerance.expired}")  # fmt: skip
    return ReferenceRow(
        check=str(rule.fits.get("check", ".*")),
        keys={field: value for field, value in rule.fits.items() if field != "check"},
        variable=str(name),
        value=reference.value,
        unit=reference.unit,
        good=judged.good,
        target=reference.target,
        critical=reference.bounds(),
        kind=tolerance.kind,
        source=tolerance.source,
        date=tolerance.date,
        note="; ".join(filter(None, notes)),
    )


class _Known:
    """Cases that exist on a system, for finding one that a rule fits."""

    def __init__(self, suite: Path, system: str) -> None:
        site = read(nearest(folders("sites", suite), f"{system}.yaml"))
        partitions = site["systems"][0]["partitions"]
        counts = {
            int(feature.removeprefix("nodes_"))
            for partition in partitions
            for feature in partition.get("features", ())
            if re.fullmatch(r"nodes_\d+", feature)
        }
        extras = [PartitionExtras.of(partition.get("extras")) for partition in partitions]
        ports = dict.fromkeys(port for each in extras for port in each.ports)
        self._system = system
        self._partitions = [each["name"] for each in partitions]
        self._environs = [each["name"] for each in site["environments"]]
        self._placements = [
            written(*each)
            for each in itertools.product(TRANSPORTS, sorted(counts), ("", "full"), ("", *ports))
        ]

    def case(self, rule: ReferenceRule) -> tuple[str, CaseKey]:
        """A check and a case that a rule is for.

        Raises:
            FabricheckError: if there can be none.
        """
        for check, family in CHECKS.items():
            if not rule.is_for({"check": check}):
                continue
            names = [
                each.name
                for each in REGISTRY.values()
                if family is None or (each.family == family and _records(each, rule))
            ]
            choices = {
                "partition": self._partitions,
                "environ": self._environs,
                "benchmark": names,
                "placement": self._placements,
            }
            fitting = [
                [each for each in values if rule.is_for(_fields(part, each))]
                for part, values in choices.items()
            ]
            if all(fitting):
                partition, environ, benchmark, placement = (each[0] for each in fitting)
                partition = f"{self._system}:{partition}"
                return check, CaseKey(self._system, partition, environ, benchmark, placement)
        raise rule.error("no case of this system can have these references: correct the patterns")


def _fields(part: str, value: str) -> dict[str, str]:
    """The fields of a case that one part of its key decides: each part is then chosen by itself."""
    if part == "benchmark":
        return {part: value, "metric": REGISTRY[value].metrics[0]}
    if part == "placement":
        transport, nodes, _, port = parts(value)
        return {part: value, "transport": transport, "nodes": str(nodes), "port": port}
    return {part: value}


def _records(benchmark: Benchmark, rule: ReferenceRule) -> bool:
    """Whether a benchmark has the metrics of a rule's values; a family has many sorts of them."""
    names = [*rule.says.get("value", ()), *rule.says.get("values", ())]
    return all(
        any(name == metric or name.startswith(f"{metric}_") for metric in benchmark.metrics)
        for name in names
    )
