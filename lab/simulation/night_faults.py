"""Faults that a simulated system may have, and which cases of a night see them."""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import yaml

from fabricheck.planning.night_past import transport_of, words_of
from fabricheck.planning.night_rota import Array
from fabricheck.reframe_ext.matrix import CheckCase

NIGHTS_OF_A_YEAR: Final = 365


@dataclass(frozen=True, slots=True)
class Faults:
    """Faults that a system may have.

    Attributes:
        names: what each is.
        sees: faults × cases: the chance that a case which runs sees the fault that is there.
        rate: how often each begins, a night.
    """

    names: tuple[str, ...]
    sees: Array
    rate: Array


def faults_of(cases: Sequence[CheckCase]) -> Faults:
    """The faults that some of the cases can see."""
    rows = [row for rule in rules() for row in _rows(rule, cases)]
    return Faults(
        tuple(name for name, _, _ in rows),
        np.array([sees for _, sees, _ in rows]).reshape(len(rows), len(cases)),
        np.array([rate for _, _, rate in rows]),
    )


@functools.cache
def rules() -> tuple[dict[str, Any], ...]:
    """The rules, each a fault for every combination of the fields under ``each``."""
    text = Path(__file__).with_name("night_faults.yaml").read_text()
    return tuple(yaml.safe_load(text)["faults"])


def _rows(rule: dict[str, Any], cases: Sequence[CheckCase]) -> Iterator[tuple[str, Array, float]]:
    groups: dict[tuple[str, ...], Array] = {}
    for place, case in enumerate(cases):
        if any(words_of(case) >= set(words) for words in rule["seen"]):
            group = tuple(_field(case, name) for name in rule["each"])
            groups.setdefault(group, np.zeros(len(cases)))[place] = rule["chance"]
    for group, sees in groups.items():
        yield f"{rule['name']} {' '.join(group)}", sees, rule["a_year"] / NIGHTS_OF_A_YEAR


def _field(case: CheckCase, name: str) -> str:
    return transport_of(case) if name == "transport" else str(getattr(case, name))
