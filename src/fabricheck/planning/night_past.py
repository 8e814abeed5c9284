"""What the record says of a system's last nights, and what it calls their cases."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fabricheck.history.coverage import TURNS_OF
from fabricheck.measures.registry import FAMILIES, REGISTRY
from fabricheck.record import costs
from fabricheck.record.costs import Cost, Key
from fabricheck.record.entries import CaseEntry, Entry, Nodes
from fabricheck.record.facts import UNTOLD
from fabricheck.reframe_ext.matrix import CheckCase
from fabricheck.transports.placement import parts
from fabricheck.transports.table import TRANSPORTS

Words = frozenset[str]

_SAYS_NOTHING: Final = ("", "disturbed")
"""Levels of a case that has not looked."""
_RED: Final = ("critical", "untrusted")


@dataclass(frozen=True, slots=True)
class Changed:
    """A fact of provenance that is another than before.

    Attributes:
        day: when it was first recorded.
        partition: where.
        environ: of which environment; empty for a fact of nodes.
        fact: its name.
    """

    day: str
    partition: str
    environ: str
    fact: str


@dataclass(frozen=True, slots=True)
class PastNights:
    """The last nights of a system; a night is a day on which something of it was recorded.

    Attributes:
        days: the nights, oldest first.
        ran: for each case the nights in which it looked.
        red: the cases that were critical or untrusted when they looked last.
        changes: what changed, oldest first.
        costs: what each case usually costs.
    """

    days: tuple[str, ...] = ()
    ran: Mapping[Key, Collection[str]] = field(default_factory=dict)
    red: Collection[Key] = ()
    changes: tuple[Changed, ...] = ()
    costs: Mapping[Key, Cost] = field(default_factory=dict)


def read_past_nights(perflogs: Path, system: str) -> PastNights:
    """The last two months of a system in a record.

    Raises:
        FabricheckError: if the record can't be read.
    """
    recorded = list(costs.recent(perflogs, system))
    ran: dict[Key, set[str]] = defaultdict(set)
    levels: dict[Key, str] = {}
    for entry in recorded:
        if isinstance(entry, CaseEntry) and not entry.fixture and entry.level not in _SAYS_NOTHING:
            key = costs.key_of(entry)
            ran[key].add(_day(entry))
            levels[key] = entry.level
    return PastNights(
        tuple(sorted({day for days in ran.values() for day in days})),
        ran,
        {key for key, level in levels.items() if level in _RED},
        tuple(_changes(recorded)),
        costs.costs_of(recorded),
    )


def nodes_of_nights(perflogs: Path, system: str) -> dict[str, str]:
    """The last night in which a case of a benchmark ran on each node, whatever came of it.

    What runs wherever it can says nothing of turns.

    Raises:
        FabricheckError: if the record can't be read.
    """
    found: dict[str, str] = {}
    for entry in costs.recent(perflogs, system):
        if isinstance(entry, CaseEntry) and entry.check in TURNS_OF and not entry.fixture:
            found.update({node: max(_day(entry), found.get(node, "")) for node in entry.nodes})
    return found


def _day(entry: Entry) -> str:
    return entry.time[: len("2026-11-22")]


def _changes(recorded: Iterable[Entry]) -> Iterator[Changed]:
    latest: dict[tuple[str, str, str, str], str] = {}
    lines = sorted((each for each in recorded if isinstance(each, Nodes)), key=lambda e: e.time)
    for entry in lines:
        facts = [
            (entry.partition, "", node, fact, value)
            for node in entry.nodes
            for fact, value in entry.machine.items()
        ] + [
            (entry.partition, entry.environ, "", fact, value)
            for fact, value in entry.software.items()
            # Each program has its own.
            if fact != "program"
        ]
        for partition, environ, node, fact, value in facts:
            before = latest.get((partition, environ, node, fact), value)
            if value and value != UNTOLD:
                latest[partition, environ, node, fact] = value
                if value != before:
                    yield Changed(_day(entry), partition, environ, fact)


def key_of(case: CheckCase) -> Key:
    """The key of a case in the record."""
    return Key(case.partition, case.environ, case.check, case.benchmark, case.placement)


def words_of(case: CheckCase) -> Words:
    """What a case is called by in a site file's section ``night``."""
    words = {case.check, case.benchmark, case.placement, case.partition, case.environ, *case.tags}
    words |= {*case.placement.split("@")}
    if case.benchmark in REGISTRY:
        entry = REGISTRY[case.benchmark]
        words |= {str(entry.metrics[0]), FAMILIES[entry.family].layer}
    if transport := transport_of(case):
        words.add(transport)
        if transport in TRANSPORTS:
            words |= {TRANSPORTS[transport].base, TRANSPORTS[transport].feature}
    return frozenset(words - {""})


def transport_of(case: CheckCase) -> str:
    """The transport of a case; empty where it has none."""
    return parts(case.placement)[0] if case.placement else ""
