"""What a fault is, and what must be seen of it; read strictly from the list of faults."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from fabricheck.benchmarks import registry
from fabricheck.documents import Document, load, schema
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
    document = load(path, "a list of faults", "docs/faults.md")
    document.check(schema("fabricheck.drill", "faults.schema.json"))
    entries = document.value["faults"]
    names = [entry["name"] for entry in entries]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise document.error(["faults", number], "expected each name once: rename this one")
    return tuple(_Reader(document, number).read() for number in range(len(entries)))


class _Reader:
    """Turns one entry of the list into a fault."""

    def __init__(self, document: Document, number: int) -> None:
        self._document = document
        self._number = number
        self._entry = document.value["faults"][number]
        self._cases = tuple(map(self._key, self._selected()))

    def read(self) -> Fault:
        entry = self._entry
        steps = [step.partition(" ") for step in entry.get("steps", ())]
        return Fault(
            name=entry["name"],
            title=entry["title"],
            partition=entry["partition"],
            steps=tuple((node, words) for node, _, words in steps),
            in_mid_job=entry.get("in_mid_job", False),
            site=entry.get("site", {}),
            cases=self._cases,
            expected=tuple(
                Expectation(self._known(each["case"]), Seen(each["level"]), each.get("words", ""))
                for each in entry["seen"]
            ),
            explained={
                self._known(case): tuple(map(Place, places))
                for case, places in entry.get("explain", {}).items()
            },
            remark=entry.get("remark", ""),
        )

    def _selected(self) -> Sequence[str]:
        cases = self._entry["cases"]
        if not isinstance(cases, str):
            return cases  # type: ignore[no-any-return]
        selections: Mapping[str, Sequence[str]] = self._document.value.get("cases", {})
        if cases not in selections:
            raise self._error(f"expected cases of {', '.join(selections)}, found {cases!r}")
        return selections[cases]

    def _key(self, text: str) -> Key:
        words = text.split()
        if words[0] not in _CHECKS_OF_NODES and words[0] not in registry.REGISTRY:
            raise self._error(f"unknown benchmark {words[0]!r}")
        return Key(*words)

    def _known(self, text: str) -> Key:
        case = Key(*text.split())
        if case not in self._cases:
            raise self._error(f"expected a case that runs, found {text}")
        return case

    def _error(self, message: str) -> FabricheckError:
        return self._document.error(["faults", self._number], f"{message}: correct the list")
