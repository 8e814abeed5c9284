"""The two sides of a comparison: what of the record is A, and what is B.

A side is an environment, a transport, a partition or a system, by its name; several of them joined
by ``+``, as ``openmpi5+ofi_tcp``; or runs: a session by its name, or what ``sides.selected`` takes.
"""

import difflib
from collections.abc import Mapping
from typing import Final

import polars as pl

from fabricheck.acceptance.pairs import SIDES
from fabricheck.acceptance.sides import selected
from fabricheck.errors import FabricheckError
from fabricheck.history.selection import Selection
from fabricheck.history.store import History

FIELDS: Final = ("environ", "transport", "partition", "system")
"""Fields of a series that may tell the sides apart."""

_Known = Mapping[str, set[str]]


def read_named_sides(
    history: History, names: tuple[str, str], series: Selection
) -> tuple[pl.DataFrame, dict[str, str]]:
    """The values of both sides, with ``side``, and the fields that tell them apart, as ``A|B``.

    Args:
        history: where they are.
        names: the two sides, as the user wrote them.
        series: which series, and since when.

    Raises:
        FabricheckError: for a name that the record does not know, or knows as two things, for
            sides of two kinds, and for two that share a run.
    """
    every = history.values(series, named=True)
    there = every.select(pl.col(name).unique().implode() for name in FIELDS).collect().row(0)
    known = {name: set(found) - {""} for name, found in zip(FIELDS, there, strict=True)}
    first, second = (_fields(text, known) for text in names)
    if first.keys() != second.keys() or names[0] == names[1]:
        raise _unknown(" ".join(names), known)
    frames = [
        _of_side(history, *each, series, known) for each in zip(names, (first, second), strict=True)
    ]
    values = pl.concat(
        frame.with_columns(pl.lit(side).alias("side"))
        for frame, side in zip(frames, SIDES, strict=True)
    )
    if first:
        return values, {name: f"{first[name]}|{second[name]}" for name in first}
    if shared := set(frames[0]["session"]) & set(frames[1]["session"]):
        raise FabricheckError(
            f"FC2022 expected runs that are A or B, found {min(shared)} on both sides: name others"
        )
    return values, {}


def _fields(text: str, known: _Known) -> dict[str, str]:
    """The fields that a side names; none if it names runs."""
    found: dict[str, str] = {}
    for part in (parts := text.split("+")):
        name, _, value = part.rpartition("=")
        places = [each for each in FIELDS if value in known[each] and name in ("", each)]
        if len(places) > 1:
            raise FabricheckError(
                f"FC2021 expected one thing of the name {value}, found it as "
                f"{' and '.join(places)}: write {' or '.join(f'{each}={value}' for each in places)}"
            )
        if not places and name in FIELDS:
            raise _unknown(text, known)
        found |= dict.fromkeys(places, value)
    if found and len(found) < len(parts):
        raise _unknown(text, known)
    return found


def _unknown(text: str, known: _Known) -> FabricheckError:
    names = (f"{name} {', '.join(sorted(found))}" for name, found in known.items() if found)
    every = sorted(set().union(*known.values()))
    parts = [part.rpartition("=")[2] for part in text.replace("+", " ").split()]
    near = (difflib.get_close_matches(part, every, 1) for part in parts if part not in every)
    meant = " and ".join(repr(each) for found in near for each in found)
    meant = f", did you mean {meant}" if meant else ""
    return FabricheckError(
        "FC2020 expected two sides that differ in the same fields, of names that the record has, "
        f"or runs of it, found {text!r}{meant}, and in the record, as far as it is selected, "
        f"{'; '.join(names) or 'nothing'}: name them as in openmpi+tcp openmpi5+ofi_tcp, or read "
        "the record first with fabricheck history refresh"
    )


def _of_side(
    history: History, text: str, fields: Mapping[str, str], series: Selection, known: _Known
) -> pl.DataFrame:
    every = history.values(series, named=True)
    wanted = fields or {"session": text}
    found = every.filter(pl.col(name) == value for name, value in wanted.items()).collect()
    if found.is_empty():
        found = selected(history, text, series, named=True)
    if found.is_empty():
        raise _unknown(text, known)
    return found
