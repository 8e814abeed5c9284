"""The cases of a night within the site's budget, and why and for how long each other one rests."""

import difflib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np

from fabricheck.errors import FabricheckError
from fabricheck.planning.night_past import (
    Changed,
    PastNights,
    Words,
    key_of,
    nodes_of_nights,
    read_past_nights,
    transport_of,
    words_of,
)
from fabricheck.planning.night_rota import Array, Mask, Rota, waited
from fabricheck.planning.plan import LeftOut, Plan, make
from fabricheck.provenance import folders, home
from fabricheck.record.costs import Cost
from fabricheck.record.resting import NOT_DUE
from fabricheck.reframe_ext.config import find_system
from fabricheck.reframe_ext.matrix import CheckCase
from fabricheck.sites.night import KEY, LONGEST_REST, NightSettings
from fabricheck.transports.placement import SWITCH_GROUPS, parts
from fabricheck.trend.settings import read_section
from fabricheck.units import seconds_of

_GUESS: Final = 60.0
"""Seconds of a case where none was ever measured."""
_HOUR: Final = 3600
_NAMES: Final = ("partition", "environ", "check", "benchmark", "placement")
"""Fields of a case that rests, in the record."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A case of a night, or one that rests.

    Attributes:
        case: the case.
        why: in words.
        due: nights until it must run; 0 tonight, less for one that should have run before.
        rests: nights since it ran, 1 for the last one; ``None`` for one that never did.
        cost: what it usually takes.
    """

    case: CheckCase
    why: str
    due: int
    rests: int | None
    cost: Cost


@dataclass(frozen=True, slots=True)
class NightPlan:
    """A night within a budget.

    Attributes:
        system: name of the system.
        chosen: the cases that run.
        resting: the cases that don't, the next due first.
        paths: of how many combinations of partition, MPI and transport a case runs, of how many.
        remarks: what an operator must know, in sentences.
    """

    system: str
    chosen: tuple[Weighed, ...]
    resting: tuple[Weighed, ...]
    paths: tuple[int, int]
    remarks: tuple[str, ...]


def plan_night(made: Plan, settings: NightSettings, past: PastNights) -> NightPlan:
    """Choose the cases of a night.

    What is under ``always`` runs whatever it costs, and what is due as long as there is room, the
    longest overdue first; what was red last time is due, so that no fault is hidden by a rest. Then
    each combination of partition, MPI and transport gets a case; the rest of the budget goes to
    the cases that waited longest for their price.

    Args:
        made: the cases that the system's nights have.
        settings: the section ``night`` of its site file.
        past: its last nights.

    Raises:
        FabricheckError: for a word under ``night`` that no case is called by.
    """
    _check_words(made, settings)
    if not made.cases:
        return NightPlan(made.system, (), (), (0, 0), ())
    return _Night(made, settings, past).plan()


class _Night:
    """One choice.

    A unit is what runs together: cases that differ in their partition alone, since ReFrame selects
    environments of a test.
    """

    def __init__(self, made: Plan, settings: NightSettings, past: PastNights) -> None:
        self._made, self._settings, self._past = made, settings, past
        self._cases = cases = made.cases
        self._words = [words_of(case) for case in cases]
        self._costs = _costs(cases, past)
        self._rests = [_nights_since(case, past) for case in cases]
        self._always = [bool(words & {*settings.always}) for words in self._words]
        self._due = [
            _longest(settings, words) - (len(past.days) + 1 if rests is None else rests)
            for words, rests in zip(self._words, self._rests, strict=True)
        ]
        self._red = [key_of(case) in past.red for case in cases]
        for at in itertools.compress(range(len(cases)), self._red):
            self._due[at] = min(self._due[at], 0)
        places = {(case.name, case.partition, case.environ): at for at, case in enumerate(cases)}
        self._needs = [
            [places[name, case.partition, case.environ] for name in case.needs] for case in cases
        ]
        units: dict[tuple[str, str], list[int]] = {}
        for at, case in enumerate(cases):
            units.setdefault((case.name, case.environ), []).append(at)
            for each in self._needs[at]:
                self._always[each] |= self._always[at]
                self._due[each] = min(self._due[each], self._due[at])
        self._units = list(units.values())
        self._unit_of = {at: unit for unit, members in enumerate(self._units) for at in members}

    def plan(self) -> NightPlan:
        rota = Rota(self._value(), self._shares())
        rota.take(self._in_units(self._always))
        remarks = []
        if (rota.left < 0).any():
            remarks.append(
                "what runs always costs more than the budget: raise the one or the other"
            )
        alone = ~self._in_units(self._needs)
        for late in sorted({due for due in self._due if due <= 0}):
            rota.fill(alone & self._in_units(due == late for due in self._due))
        paths = [_path(self._cases[members[0]]) for members in self._units]
        rota.reach(alone, paths)
        rota.fill(alone)
        rota.take(~alone & self._has_needs(rota.taken))
        runs = [bool(rota.taken[self._unit_of[at]]) for at in range(len(self._cases))]
        chosen = tuple(self._weighed(at, taken=True) for at, run in enumerate(runs) if run)
        rests = (self._weighed(at, taken=False) for at, run in enumerate(runs) if not run)
        resting = tuple(sorted(rests, key=lambda each: each.due))
        if late := sum(each.due <= 0 for each in resting):
            remarks.append(
                f"{late} cases are due and find no room: raise the budget, or at_least_every"
            )
        reached = {_path(each.case) for each in chosen}
        counts = len(reached), len({*map(_path, self._cases)})
        return NightPlan(self._made.system, chosen, resting, counts, tuple(remarks))

    def _value(self) -> Array:
        """What it is worth to run each unit: as much as its case that waited longest."""
        nights = [len(self._past.days) + 1 if each is None else each for each in self._rests]
        looks = [self._looks(*each) for each in zip(self._cases, self._words, strict=True)]
        weights = [
            np.prod([value for word, value in self._settings.weight.items() if word in words])
            for words in self._words
        ]
        value = waited(np.array(nights, dtype=float), np.array(looks)) * weights
        return np.array([value[members].max() for members in self._units])

    def _looks(self, case: CheckCase, words: Words) -> float:
        """How often a case ran with what changed last; infinite where nothing did."""
        changes = self._past.changes
        days = [each.day for each in changes if _concerns(each, case, words, self._settings)]
        ran = self._past.ran.get(key_of(case), ())
        return sum(day >= max(days) for day in ran) if days else np.inf

    def _shares(self) -> Array:
        """What each unit takes of each budget, as a share of it."""
        costs = [[self._costs[at] for at in members] for members in self._units]
        seconds = [sum(each.seconds for each in unit) for unit in costs]
        held = [sum(each.seconds * each.nodes for each in unit) for unit in costs]
        budget, shares = self._settings.budget, []
        if "node_hours" in budget:
            shares.append(np.array(held) / (float(budget["node_hours"]) * _HOUR))
        if "wall" in budget:
            shares.append(np.array(seconds) / seconds_of(str(budget["wall"])))
        return np.array(shares).T

    def _in_units(self, marks: Iterable[object]) -> Mask:
        """The units that have a marked case."""
        marked = list(map(bool, marks))
        return np.array([any(marked[at] for at in members) for members in self._units])

    def _has_needs(self, taken: Mask) -> Mask:
        needed = [
            {self._unit_of[each] for at in members for each in self._needs[at]}
            for members in self._units
        ]
        return np.array([all(taken[unit] for unit in units) for units in needed])

    def _weighed(self, at: int, *, taken: bool) -> Weighed:
        due, rests, cost = self._due[at], self._rests[at], self._costs[at]
        why = f"waits, for {cost.seconds * cost.nodes:.0f} node-seconds"
        if taken:
            why = "due" if due <= 0 else "its turn"
            why = "always" if self._always[at] else "red last time" if self._red[at] else why
        elif due <= 0:
            why = "due, but there is no room"
        elif self._needs[at]:
            why = "waits for " + " and ".join(self._cases[each].name for each in self._needs[at])
        return Weighed(self._cases[at], why, due, rests, cost)


def _check_words(made: Plan, settings: NightSettings) -> None:
    selectors: Words = frozenset().union(
        *(words_of(each) for each in (*made.cases, *(out.case for out in made.left_out)))
    )
    sections: dict[str, Iterable[str]] = {
        "always": settings.always,
        "at_least_every": settings.at_least_every,
        "after_change": [word for words in settings.after_change.values() for word in words],
        "weight": settings.weight,
    }
    for key, words in sections.items():
        for word in words:
            if word not in selectors:
                near = difflib.get_close_matches(word, sorted(selectors), 1)
                meant = f", did you mean {near[0]!r}" if near else ""
                raise FabricheckError(
                    f"FC0301 expected selectors of cases of system {made.system} under night > "
                    f"{key} of its site file, found {word!r}{meant}: name a run, a family, "
                    "a transport, an environment, a partition, a benchmark or a check"
                )


def _costs(cases: Sequence[CheckCase], past: PastNights) -> list[Cost]:
    """What each case usually takes; one that never ran, what others of its check do, or all."""
    known = {case: past.costs[key_of(case)] for case in cases if key_of(case) in past.costs}
    checks: dict[str, list[float]] = {}
    for case, cost in known.items():
        checks.setdefault(case.check, []).append(cost.seconds)
    usual = median(each.seconds for each in known.values()) if known else _GUESS

    def guess(case: CheckCase) -> Cost:
        nodes = parts(case.placement)[1] if case.placement else 1
        return Cost(median(checks.get(case.check, [usual])), nodes)

    return [known.get(case) or guess(case) for case in cases]


def _nights_since(case: CheckCase, past: PastNights) -> int | None:
    last = max(past.ran.get(key_of(case), ()), default=None)
    return None if last is None else sum(day > last for day in past.days) + 1


def _longest(settings: NightSettings, words: Words) -> int:
    """Nights after which a case runs again."""
    asked = [nights for word, nights in settings.at_least_every.items() if word in words]
    return min(asked, default=LONGEST_REST)


def _path(case: CheckCase) -> tuple[str, str, str]:
    """What a fault of software or of a link concerns as a whole."""
    return case.partition, case.environ, transport_of(case)


def _concerns(change: Changed, case: CheckCase, words: Words, settings: NightSettings) -> bool:
    asked = settings.after_change.get(change.fact)
    if asked is not None and not words & {*asked}:
        return False
    return change.partition == case.partition and change.environ in ("", case.environ)


def rest_words(each: Weighed) -> str:
    """When a case ran, and when it will."""
    before = "never measured" if each.rests is None else f"measured {_nights(each.rests)} ago"
    if each.due <= 0:
        return f"{before}, due tonight, and the budget has no room"
    return f"{before}, runs within {_nights(each.due)}"


def _nights(number: int) -> str:
    return f"{number} night{'s' if number > 1 else ''}"


def resting_of(plan: NightPlan) -> Iterator[dict[str, str]]:
    """The cases that rest, as the record has them."""
    for each in plan.resting:
        yield {
            "system": plan.system,
            **{name: getattr(each.case, name) for name in _NAMES},
            "state": NOT_DUE if each.due > 0 else "overdue",
            "why": rest_words(each),
        }


def selected(plan: NightPlan) -> dict[str, dict[str, list[str]]]:
    """For each test that runs, by its name, its partitions and environments."""
    found: dict[str, dict[str, list[str]]] = {}
    for each in plan.chosen:
        test = found.setdefault(each.case.name, {"systems": [], "environs": []})
        partition = f"{plan.system}:{each.case.partition}"
        for values, value in zip(test.values(), (partition, each.case.environ), strict=True):
            if value not in values:
                values.append(value)
    return found


NIGHTLY = "nightly"


def choose(
    suite: Path, system: str, benchmarks: tuple[str, ...] = (), transports: tuple[str, ...] = ()
) -> NightPlan | None:
    """The cases of tonight; ``None`` where the site's nights have no budget.

    Args:
        suite: root of the suite.
        system: name of the system.
        benchmarks: only these; empty for all.
        transports: only these; empty for all.

    Raises:
        FabricheckError: for an unknown system, a bad site file, a check that can't be loaded, or a
            record that can't be read.
    """
    sites = folders("sites", suite)
    settings = read_section(sites, [system], KEY, NightSettings)[system]
    if not settings.budget:
        return None
    whole = make(suite, system, [NIGHTLY])
    named = [
        each
        for each in whole.cases
        if not benchmarks or each.benchmark in benchmarks
        if not transports or transport_of(each) in transports
    ]
    wanted = _with_needs(whole, named)
    others = [LeftOut(each, "not asked for") for each in whole.cases if each not in wanted]
    past = read_past_nights(home(suite) / "perflogs", system)
    tonight: Plan = replace(whole, cases=tuple(wanted), left_out=(*whole.left_out, *others))
    return plan_night(tonight, settings, past)


def turns(suite: Path, system: str) -> dict[str, Any] | None:
    """What decides whose turn tonight is (``reframe_ext.rota``); ``None`` where nothing asks.

    Returns:
        ``every``: nights after which the site wants each node again, ``None`` where it doesn't say;
        ``last``: when each node was tried last. Nodes of switch groups take turns in any case.

    Raises:
        FabricheckError: for an unknown system, a bad site file, or a record that can't be read.
    """
    settings = read_section(folders("sites", suite), [system], KEY, NightSettings)[system]
    partitions = find_system(suite, system)[1]["partitions"]
    if not settings.nodes_every and not any(
        SWITCH_GROUPS in each["features"] for each in partitions
    ):
        return None
    last = nodes_of_nights(home(suite) / "perflogs", system)
    return {"every": settings.nodes_every, "last": last}


def _with_needs(made: Plan, wanted: list[CheckCase]) -> list[CheckCase]:
    """The cases, and those that they wait for, which ReFrame runs whatever else was asked for."""
    others = (each.case for each in made.left_out if not each.case.lacking)
    known = {(each.name, each.partition, each.environ): each for each in (*made.cases, *others)}
    needed = [known[name, each.partition, each.environ] for each in wanted for name in each.needs]
    return list(dict.fromkeys([*wanted, *needed]))
