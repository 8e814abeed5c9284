"""Series of another suite as series of this one: a file of rules says which are which.

    rules:
      - where: {test: "^Osu_(?P<name>bw|latency)$"}
        set: {benchmark: "{name}", transport: auto, num_nodes: 2, ranks_per_node: 1}
      - where: {variable: "^max_bandwidth$"}
        set: {metric: bandwidth, statistic: max}

A rule fits where each of its patterns is found; what it sets holds until a later one sets it again.
Values come into the unit of their metric. Nothing is judged: a mapping is no proof of a transport.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from fabricheck.documents import load, schema
from fabricheck.errors import FabricheckError
from fabricheck.measures.metrics import row_of
from fabricheck.measures.registry import find
from fabricheck.record.entries import CaseEntry, Sample

SHIPPED: Final = Path(__file__).with_name("mappings")
_OF_VALUES: Final = frozenset({"metric", "statistic", "size", "unit"})
_COUNTS: Final = frozenset({"num_nodes", "ranks", "ranks_per_node", "size"})
_SECONDS: Final = {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_BYTES: Final = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30}
_UNITS: Final[Mapping[str, tuple[str, float]]] = {
    **{unit: ("time", seconds) for unit, seconds in _SECONDS.items()},
    **dict.fromkeys(("usec", "t[usec]", "µs", "microseconds"), ("time", _SECONDS["us"])),
    **{f"{each}B/{per}": ("rate", _BYTES[each]) for each in _BYTES for per in ("s", "sec")},
    **dict.fromkeys(("Mbytes/sec", "MBytes/s", "MBps"), ("rate", _BYTES["M"])),
    **dict.fromkeys(("messages/s", "Messages/s", "msg/s", "Msg/s"), ("messages", 1.0)),
    **dict.fromkeys(("%", "percent"), ("share", 1.0)),
}
"""What a unit measures, and how much of it is one."""


@dataclass(frozen=True, slots=True)
class _Rule:
    where: Mapping[str, re.Pattern[str]]
    sets: Mapping[str, str | int]

    @property
    def is_of_values(self) -> bool:
        return not {"variable", "unit", *_OF_VALUES}.isdisjoint({*self.where, *self.sets})

    def read(self, texts: Mapping[str, str]) -> Iterator[tuple[str, str | int]]:
        """What it sets for a series that it fits."""
        found = [pattern.search(texts[name]) for name, pattern in self.where.items()]
        fitting = [match for match in found if match]
        if len(fitting) < len(self.where):
            return
        groups = {name: text or "" for match in fitting for name, text in match.groupdict().items()}
        for name, given in self.sets.items():
            text = given.format_map(groups) if isinstance(given, str) else given
            yield name, int(text) if name in _COUNTS else text


@dataclass(frozen=True, slots=True)
class Renaming:
    """Rules of mapping files, in their order.

    Attributes:
        rules: the rules.
        name: what the files are called.
    """

    rules: Sequence[_Rule]
    name: str

    def applied(self, case: CaseEntry) -> tuple[CaseEntry, int]:
        """A case in the words of this suite, and how many of its values have them now.

        Raises:
            FabricheckError: for a unit of which no value of the metric can be made, and for a
                benchmark that this suite has not.
            ValueError: for a count that is none.
        """
        texts = {
            "test": case.benchmark,
            "tags": " ".join(case.tags),
            **{name: getattr(case, name) for name in ("system", "partition", "environ")},
        }
        of_case = _found((each for each in self.rules if not each.is_of_values), texts)
        if not of_case.get("benchmark"):
            return replace(case, **of_case), 0
        of_case["benchmark"] = benchmark = str(of_case["benchmark"]).lower()
        find(benchmark)
        samples = [self._sample(each, texts) for each in case.samples]
        renamed = replace(case, **of_case, samples=tuple(samples))
        named = sum(row_of(each.metric) is not None and each.value is not None for each in samples)
        nodes, ranks = renamed.num_nodes, renamed.ranks
        if ranks and nodes:
            return replace(renamed, ranks_per_node=-(-ranks // nodes)), named
        return replace(renamed, ranks=ranks or nodes * renamed.ranks_per_node), named

    def _sample(self, sample: Sample, texts: Mapping[str, str]) -> Sample:
        texts = {**texts, "variable": sample.metric, "unit": sample.unit}
        sets: dict[str, Any] = _found((each for each in self.rules if each.is_of_values), texts)
        row = row_of(sets.get("metric", sample.metric))
        unit = sets.get("unit", sample.unit)
        if not row or not sets or unit == row.unit:
            return replace(sample, **sets)
        kind, factor = _UNITS.get(unit, ("", 0.0))
        wanted, own = _UNITS.get(row.unit, ("?", 1.0))
        if kind != wanted:
            raise FabricheckError(
                f"FC3603 expected {sample.metric} of {texts['test']} in a unit that becomes "
                f"{row.unit}, found {unit!r}: set 'unit' in the mapping {self.name}"
            )
        scaled = {
            name: value * factor / own
            for name in ("value", "reference", "lower", "upper")
            if (value := getattr(sample, name)) is not None
        }
        return replace(sample, **{**sets, **scaled, "unit": row.unit})


def _found(rules: Iterator[_Rule], texts: Mapping[str, str]) -> dict[str, Any]:
    return dict(pair for rule in rules for pair in rule.read(texts))


def read_mappings(given: Sequence[str]) -> Renaming | None:
    """The rules of mapping files, or of those that the suite has (``SHIPPED``), by their names.

    Raises:
        FabricheckError: for a file that is none.
    """
    rules: list[_Rule] = []
    for each in given:
        shipped = SHIPPED / f"{each}.yaml"
        document = load(
            shipped if shipped.is_file() else Path(each), "a mapping", "docs/how-to/history.md"
        )
        document.check(schema("fabricheck.record", "mapping.schema.json"))
        for number, rule in enumerate(document.value["rules"]):
            where = {name: re.compile(pattern) for name, pattern in rule["where"].items()}
            groups = {name: "1" for pattern in where.values() for name in pattern.groupindex}
            for name, text in rule["set"].items():
                try:
                    str(text).format_map(groups)
                except (KeyError, ValueError, IndexError, AttributeError) as error:
                    raise document.error(
                        ["rules", number, "set", name],
                        f"expected {{name}} of a group (?P<name>...) of the rule's patterns, found "
                        f"{text!r} ({error}): name a group",
                    ) from None
            rules.append(_Rule(where, rule["set"]))
    return Renaming(rules, ", ".join(given)) if rules else None
