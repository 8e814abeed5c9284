"""The faults that the cases of a night can see, by rules and by what was seen before."""

import functools
from collections.abc import Collection, Iterator, Sequence
from importlib import resources
from typing import Any, Final

import numpy as np
import yaml

from fabricheck.benchmarks.registry import FAMILIES, REGISTRY
from fabricheck.planning.night_model import Array, Faults
from fabricheck.record.costs import Key
from fabricheck.reframe_ext.matrix import Case
from fabricheck.transports.placement import parts
from fabricheck.transports.table import TRANSPORTS

NIGHTS_OF_A_YEAR: Final = 365
_AGAIN: Final = 0.4
"""The chance that a case sees again, in one night, what it saw before."""

Words = frozenset[str]


def key_of(case: Case) -> Key:
    """The key of a case in the record."""
    return Key(case.partition, case.environ, case.check, case.benchmark, case.placement)


def words_of(case: Case) -> Words:
    """What a case is called by: in a site file's section ``night``, and in the rules of faults."""
    words = {case.check, case.benchmark, case.placement, case.partition, case.environ, *case.tags}
    if case.benchmark in REGISTRY:
        entry = REGISTRY[case.benchmark]
        words |= {str(entry.metrics[0]), FAMILIES[entry.family].layer}
    if case.placement:
        transport = parts(case.placement)[0]
        words.add(transport)
        if transport in TRANSPORTS:
            words |= {TRANSPORTS[transport].base, TRANSPORTS[transport].feature}
    return frozenset(words - {""})


def faults_of(
    cases: Sequence[Case], events: Sequence[Collection[Key]] = (), nights: int = 1
) -> Faults:
    """The faults that some of the cases can see.

    Args:
        cases: the cases.
        events: for each event of the history the cases that moved together: it may come again.
        nights: in how many nights they came.
    """
    rows = [
        *(row for rule in rules() for row in _rows(rule, cases)),
        *(_row_of_event(event, cases, nights) for event in events),
    ]
    found = [row for row in rows if row[1].any()]
    return Faults(
        tuple(name for name, _, _ in found),
        np.array([sees for _, sees, _ in found]).reshape(len(found), len(cases)),
        np.array([rate for _, _, rate in found]),
        np.ones(len(found)),
    )


@functools.cache
def rules() -> tuple[dict[str, Any], ...]:
    """The rules of the suite."""
    text = resources.files(__package__).joinpath("night_faults.yaml").read_text()
    return tuple(yaml.safe_load(text)["faults"])


def _rows(rule: dict[str, Any], cases: Sequence[Case]) -> Iterator[tuple[str, Array, float]]:
    groups: dict[tuple[str, ...], Array] = {}
    for place, case in enumerate(cases):
        if any(words_of(case) >= set(words) for words in rule["seen"]):
            group = tuple(_field(case, name) for name in rule["each"])
            groups.setdefault(group, np.zeros(len(cases)))[place] = rule["chance"]
    for group, sees in groups.items():
        yield f"{rule['name']} {' '.join(group)}", sees, rule["a_year"] / NIGHTS_OF_A_YEAR


def _row_of_event(
    event: Collection[Key], cases: Sequence[Case], nights: int
) -> tuple[str, Array, float]:
    sees = np.array([_AGAIN * (key_of(case) in event) for case in cases])
    return "seen before", sees, 1 / max(nights, 1)


def _field(case: Case, name: str) -> str:
    if name == "transport":
        return case.placement.partition("-")[0]
    return str(getattr(case, name))
