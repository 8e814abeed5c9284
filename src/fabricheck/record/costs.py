"""What cases have cost so far: seconds from the record, and what a run will cost."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from fabricheck.record.entries import CaseEntry, Entry
from fabricheck.record.read import entries, record_files
from fabricheck.transports.placement import written

_LAST: Final = 7
"""Of each case so many of the last measurements count."""
_FIELD: Final = re.compile(r"%(benchmark|transport|num_nodes|layout|port)=(\S+)")


class Key(NamedTuple):
    """What makes two cases cost the same."""

    partition: str
    environ: str
    check: str
    benchmark: str
    placement: str


@dataclass(frozen=True, slots=True)
class Cost:
    """What one case usually takes.

    Attributes:
        seconds: from the beginning of its script until it is judged.
        nodes: how many nodes it holds meanwhile.
    """

    seconds: float
    nodes: int


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """What a run will cost, as far as its cases were measured before.

    Attributes:
        wall_seconds: one case after the other, without waiting for nodes.
        node_seconds: the same, times the nodes of each case.
        known: cases whose cost is known.
        unknown: cases that were never measured; they are not counted.
    """

    wall_seconds: float
    node_seconds: float
    known: int
    unknown: int


def key_of(case: CaseEntry) -> Key:
    """The key of a recorded case."""
    return Key(case.partition, case.environ, case.check, case.benchmark, case.placement)


def key_of_name(name: str, partition: str, environ: str) -> Key:
    """The key of a case as ReFrame shows it while it runs."""
    fields = dict(_FIELD.findall(name))
    count, layout = int(fields.get("num_nodes", 0)), fields.get("layout", "")
    place = written(fields.get("transport", ""), count, layout, fields.get("port", ""))
    return Key(partition, environ, name.split(maxsplit=1)[0], fields.get("benchmark", ""), place)


def costs(perflogs: Path, system: str) -> dict[Key, Cost]:
    """The median cost of each case of a system; none where there is no record.

    Args:
        perflogs: where the record is.
        system: name of the system.
    """
    return costs_of(recent(perflogs, system))


def recent(perflogs: Path, system: str) -> Iterator[Entry]:
    """What the record holds of a system of this month and the one before; nothing without one.

    Args:
        perflogs: where the record is.
        system: name of the system.
    """
    place = perflogs / system
    for path in _newest(place) if place.is_dir() else ():
        yield from entries(path)[0]


def costs_of(recorded: Iterable[Entry]) -> dict[Key, Cost]:
    """The median cost of each case among some entries of the record."""
    taken: dict[Key, list[Cost]] = {}
    for entry in recorded:
        if isinstance(entry, CaseEntry) and entry.measuring is not None:
            parts = (entry.launch, entry.measuring, entry.judging)
            nodes = len(entry.nodes) or entry.num_nodes or 1
            taken.setdefault(key_of(entry), []).append(Cost(sum(filter(None, parts)), nodes))
    return {
        key: Cost(median(each.seconds for each in found[-_LAST:]), found[-1].nodes)
        for key, found in taken.items()
    }


def _newest(place: Path) -> list[Path]:
    """The files of this month and the one before, of each directory."""
    files: dict[Path, list[Path]] = {}
    for path in record_files(place):
        files.setdefault(path.parent, []).append(path)
    return [path for found in files.values() for path in sorted(found)[-2:]]


def estimate(keys: Iterable[Key], known: Mapping[Key, Cost]) -> CostEstimate:
    """What a run of these cases will cost."""
    wanted = list(keys)
    found = [known[key] for key in wanted if key in known]
    return CostEstimate(
        sum(each.seconds for each in found),
        sum(each.seconds * each.nodes for each in found),
        len(found),
        len(wanted) - len(found),
    )
