"""What a fault is, and what must be seen of it; read strictly from the list of faults."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from fabricheck.benchmarks import registry
from fabricheck.documents import load
from fabricheck.errors import FabricheckError
from fabricheck.judge.layers import Place
from fabricheck.report.status import Status

DIES = "dies"
"""What a step says of a node instead of a fault of its link."""

_CHECKS_OF_NODES = ("fabric_health", "node_health")


class Seen(StrEnum):
    """How a case looks while the fault is there."""

    RED = "red"
    WARNING = "warning"
    GOOD = "good"

    def fits(self, status: Status) -> bool:
        """Whether a status looks so."""
        if self is Seen.RED:
            return status in (Status.CRITICAL, Status.UNTRUSTED)
        return status == self.value


@dataclass(frozen=True, slots=True)
class Key:
    """A case: a benchmark in an environment, on a placement unless it looks at nodes."""

    benchmark: str
    environ: str
    placement: str = ""

    def __str__(self) -> str:
        return f"{self.benchmark} {self.environ} {self.placement}".rstrip()


@dataclass(frozen=True, slots=True)
class Expectation:
    """What must be seen of one case.

    Attributes:
        case: the case.
        seen: how it looks.
        words: a regular expression that one of its causes must match; empty for none.
    """

    case: Key
    seen: Seen
    words: str


@dataclass(frozen=True, slots=True)
class Fault:
    """One entry of the list.

    Attributes:
        name: what ``--only`` takes.
        title: what is wrong, in words.
        partition: the partition of the testbed whose cases run.
        steps: node and words of ``fabricheck testbed fault``, or a node and ``dies``.
        in_mid_job: whether it happens once the first case has begun, and not before.
        site: texts of the site file, each with what stands there instead during the run.
        cases: what runs.
        expected: what must be seen.
        explained: the places that ``fabricheck explain`` must name for a case, if for any; one
            where it can be known.
        remark: what the reader of the table should know beside it.
    """

    name: str
    title: str
    partition: str
    steps: tuple[tuple[str, str], ...]
    in_mid_job: bool
    site: Mapping[str, str]
    cases: tuple[Key, ...]
    expected: tuple[Expectation, ...]
    explained: Mapping[Key, tuple[Place, ...]]
    remark: str

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes that the steps touch."""
        return tuple(dict.fromkeys(node for node, _ in self.steps))

    def quick(self) -> "Fault":
        """The same with no more cases than those of which something is expected."""
        wanted = {*(expected.case for expected in self.expected), *self.explained}
        return replace(self, cases=tuple(case for case in self.cases if case in wanted))

    @property
    def injected(self) -> str:
        """How it is injected, for people."""
        words = [
            f"`kill -9` of {node}'s first process"
            if what == DIES
            else f"`fabricheck testbed fault {node} {what}`"
            for node, what in self.steps
        ]
        words += [f"`{new}` instead of `{old}` in the site file" for old, new in self.site.items()]
        return ", ".join(words) + (" in mid-job" if self.in_mid_job else "")


def read_faults(path: Path) -> tuple[Fault, ...]:
    """The faults of a list.

    Raises:
        FabricheckError: for a file that is no list of faults; the message names the entry.
    """
    document = load(path, "a list of faults", "docs/faults.md").value
    if not isinstance(document, dict) or not isinstance(document.get("faults"), list):
        raise _refusal(path, "a list 'faults'", "none")
    selections = document.get("cases", {})
    faults = tuple(_read(path, entry, selections) for entry in document["faults"])
    names = [fault.name for fault in faults]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise _refusal(path, "each name once", f"{', '.join(twice)} more often")
    return faults


_KEYS: dict[str, type | tuple[type, ...]] = {
    "name": str, "title": str, "partition": str, "steps": list, "in_mid_job": bool, "site": dict,
    "cases": (str, list), "seen": list, "explain": dict, "remark": str,
}  # fmt: skip
_REQUIRED = ("name", "title", "partition", "cases", "seen")


def _read(path: Path, entry: Any, selections: Mapping[str, Sequence[str]]) -> Fault:
    name = entry.get("name", entry) if isinstance(entry, dict) else entry
    where = f"{path}, fault {name}"
    if not isinstance(entry, dict) or not entry.keys() <= _KEYS.keys():
        raise _refusal(where, f"only the keys {', '.join(_KEYS)}", repr(entry))
    if lacking := [key for key in _REQUIRED if key not in entry]:
        raise _refusal(where, f"the keys {', '.join(_REQUIRED)}", f"no {', '.join(lacking)}")
    for key, value in entry.items():
        if not isinstance(value, _KEYS[key]):
            raise _refusal(where, f"another type of {key}", repr(value))
    cases = entry["cases"]
    if isinstance(cases, str):
        if cases not in selections:
            raise _refusal(where, f"cases of {', '.join(selections) or 'a list'}", repr(cases))
        cases = selections[cases]
    keys = tuple(_read_key(where, case) for case in cases)
    return Fault(
        name=entry["name"],
        title=entry["title"],
        partition=entry["partition"],
        steps=tuple(_read_step(where, step) for step in entry.get("steps", ())),
        in_mid_job=entry.get("in_mid_job", False),
        site=entry.get("site", {}),
        cases=keys,
        expected=tuple(_read_expectation(where, each, keys) for each in entry["seen"]),
        explained={
            _known(where, _read_key(where, case), keys): _read_places(where, places)
            for case, places in entry.get("explain", {}).items()
        },
        remark=entry.get("remark", ""),
    )


def _read_step(where: str, text: str) -> tuple[str, str]:
    node, _, words = text.partition(" ")
    if not words:
        raise _refusal(where, f"a node and its fault, or {DIES!r}", repr(text))
    return node, words


def _read_key(where: str, text: str) -> Key:
    words = text.split()
    if len(words) not in (2, 3) or (len(words) == 3) == (words[0] in _CHECKS_OF_NODES):  # noqa: PLR2004
        raise _refusal(where, "BENCHMARK ENVIRONMENT PLACEMENT", repr(text))
    if words[0] not in _CHECKS_OF_NODES:
        registry.find(words[0])
    return Key(*words)


def _read_expectation(where: str, entry: Any, cases: Sequence[Key]) -> Expectation:
    if not isinstance(entry, dict) or not {"case", "level"} <= entry.keys() <= {
        "case",
        "level",
        "words",
    }:
        raise _refusal(where, "seen: a list of case, level, words", repr(entry))
    if entry["level"] not in list(Seen):
        raise _refusal(where, f"a level of {', '.join(Seen)}", repr(entry["level"]))
    words = entry.get("words", "")
    try:
        re.compile(words)
    except re.error as error:
        raise _refusal(where, f"a regular expression ({error})", repr(words)) from error
    case = _known(where, _read_key(where, entry["case"]), cases)
    return Expectation(case, Seen(entry["level"]), words)


def _read_places(where: str, words: Any) -> tuple[Place, ...]:
    known = list(Place)
    if not isinstance(words, list) or not words or not set(words) <= set(known):
        raise _refusal(where, f"explain: for a case a list of {', '.join(known)}", repr(words))
    return tuple(map(Place, words))


def _known(where: str, case: Key, cases: Sequence[Key]) -> Key:
    if case not in cases:
        raise _refusal(where, "a case that runs", str(case))
    return case


def _refusal(where: object, expected: str, found: str) -> FabricheckError:
    return FabricheckError(f"{where}: expected {expected}, found {found}: correct the list")
