"""An acceptance from the history's values, and what else is not the same on both sides."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import polars as pl

from fabricheck.acceptance import judging, questions
from fabricheck.acceptance.answers import Acceptance, Difference
from fabricheck.acceptance.pairs import CASE, IS_COMPARED, SIDES, compared
from fabricheck.acceptance.settings import Settings
from fabricheck.errors import FabricheckError
from fabricheck.history.frame import KEY
from fabricheck.history.provenance import Circumstances, Provenance
from fabricheck.history.series import SeriesKey
from fabricheck.record.facts import FIELDS, NODES


def accept(
    values: pl.DataFrame,
    settings: Settings,
    provenance: Provenance,
    spreads: pl.DataFrame,
    *,
    control: bool = False,
) -> Acceptance:
    """Compare the two sides.

    Args:
        values: as ``sides.read_sides`` gives them.
        settings: margins and error rate.
        provenance: what is known of their sessions.
        spreads: how the series scattered before, as ``sides.read_spreads`` gives it.
        control: nothing was changed between the sides, so that any difference is wrong.

    Raises:
        FabricheckError: if no value belongs to a run, or none can be compared.
    """
    named = values.filter(pl.col("session") != "")
    to_compare = compared(named, settings)
    if to_compare.is_empty():
        raise FabricheckError(
            "FC2001 expected values greater than 0 that name their run in both selections, found "
            "none: select runs with times, bandwidths or message rates"
        )
    asked = questions.questions(named, to_compare, spreads)
    if control:
        asked = [replace(each, two_sided=each.failed is None) for each in asked]
    answers = judging.judge(asked, settings)
    missing = questions.missing(named)
    verdict = judging.verdict(answers, complete=not missing)
    runs = named.group_by("side", "session").agg(pl.col("time").min()).sort("time", "session")
    return Acceptance(
        verdict,
        answers,
        missing,
        differences(named, provenance),
        {side: runs.filter(pl.col("side") == side)["session"].to_list() for side in SIDES},
        _interleaved(runs["side"].to_list()),
        len(values) - len(named),
        _not_compared(named),
        control,
    )


def _not_compared(values: pl.DataFrame) -> dict[str, int]:
    """How many values of each metric are judged by their levels alone."""
    left = values.filter(pl.col("value").is_not_null(), ~IS_COMPARED)
    return dict(left.group_by("metric").len().sort("metric").iter_rows())


def _interleaved(sides: list[str]) -> bool:
    """Whether the sides take turns at least every second run, as in A-B-B-A."""
    turns = sum(first != second for first, second in pairwise(sides))
    return turns >= len(sides) // 2


_Fact = tuple[str, str]


def differences(values: pl.DataFrame, provenance: Provenance) -> list[Difference]:
    """Facts of the nodes and the software that are others, and nodes that are others.

    A fact is compared where both sides tell it: on the same node, or in the same environment.

    Args:
        values: values of the history, with ``side``.
        provenance: what is known of their sessions.
    """
    runs = values.group_by(*CASE, "side", "session").agg(
        pl.col(name).first() for name in KEY if name not in CASE
    )
    found: dict[_Fact, dict[str, set[str]]] = defaultdict(lambda: {side: set() for side in SIDES})
    for row in runs.iter_rows(named=True):
        key = SeriesKey(**{name: row[name] for name in KEY})
        for name, place, value in _facts(key, provenance.of(key, row["session"])):
            found[name, place][row["side"]].add(value)
    return [each for name in FIELDS if (each := _difference(name, found))]


def _facts(key: SeriesKey, known: Circumstances) -> Iterator[tuple[str, str, str]]:
    """Name, place and value of each fact."""
    partition = f"{key.system}:{key.partition}"
    for node, facts in known.machines.items():
        yield from ((name, node, value) for name, value in facts.items())
    for name, value in known.software.items():
        yield name, f"{partition}+{key.environ}", value
    if known.nodes:
        yield NODES, partition, ",".join(sorted(known.nodes))


def _difference(name: str, found: dict[_Fact, dict[str, set[str]]]) -> Difference | None:
    differing = {
        place: sides
        for (fact, place), sides in found.items()
        if fact == name and all(sides.values()) and sides["before"] != sides["after"]
    }
    if not differing:
        return None
    before, after = (
        tuple(sorted(set[str]().union(*(sides[side] for sides in differing.values()))))
        for side in SIDES
    )
    return Difference(name, tuple(sorted(differing)), before, after)
