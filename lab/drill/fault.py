"""What a fault is, and what must be seen of it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml

from fabricheck.errors import FabricheckError
from fabricheck.judge.layers import FaultPlace
from fabricheck.measures import registry
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
    cases: tuple[Key, ...]
    expected: tuple[Expectation, ...]
    explained: Mapping[Key, tuple[FaultPlace, ...]]
    in_mid_job: bool = False
    site: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""

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
        """How it is injected: the words of ``fabricheck testbed fault``, and what else is done."""
        words = [
            f"`kill -9` of {node}'s first process" if what == DIES else f"`{node} {what}`"
            for node, what in self.steps
        ]
        words += [f"`{new}` instead of `{old}` in the site file" for old, new in self.site.items()]
        return ", ".join(words) + (" in mid-job" if self.in_mid_job else "")


def read_faults(path: Path) -> tuple[Fault, ...]:
    """The faults of a list.

    Raises:
        FabricheckError: for a file that is no list of faults.
    """
    try:
        document = yaml.safe_load(path.read_text())
        return tuple(_read(entry, document["cases"]) for entry in document["faults"])
    except (yaml.YAMLError, LookupError, TypeError, ValueError, re.error) as error:
        raise FabricheckError(f"expected a list of faults in {path}, found: {error!r}") from error


def _read(entry: Mapping[str, Any], selections: Mapping[str, Sequence[str]]) -> Fault:
    given = dict(entry)
    name, chosen = given.pop("name"), given.pop("cases")
    cases = [_key(text) for text in (selections[chosen] if isinstance(chosen, str) else chosen)]
    expected = [
        Expectation(_key(each["case"]), Seen(each["level"]), each.get("words", ""))
        for each in given.pop("seen")
    ]
    explained = {
        _key(case): tuple(map(FaultPlace, places))
        for case, places in given.pop("explain", {}).items()
    }
    for each in expected:
        re.compile(each.words)
    if strange := {*(each.case for each in expected), *explained} - set(cases):
        raise ValueError(f"{name} expects something of cases that do not run: {strange}")
    steps = tuple(
        (node, words) for node, words in (each.split(" ", 1) for each in given.pop("steps", ()))
    )
    return Fault(
        name=name,
        title=given.pop("title"),
        partition=given.pop("partition"),
        steps=steps,
        cases=tuple(cases),
        expected=tuple(expected),
        explained=explained,
        **given,
    )


def _key(text: str) -> Key:
    key = Key(*text.split())
    if key.benchmark not in (*_CHECKS_OF_NODES, *registry.REGISTRY):
        raise ValueError(f"no benchmark is called {key.benchmark!r}")
    return key
