"""What besides the measured values is not the same before and after a change."""

from collections import defaultdict
from collections.abc import Iterator

import polars as pl

from fabricheck.acceptance.model import Difference
from fabricheck.acceptance.pairs import CASE, SIDES
from fabricheck.history.frame import KEY
from fabricheck.history.provenance import FIELDS, NODES, Circumstances, Provenance
from fabricheck.history.series import SeriesKey

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
