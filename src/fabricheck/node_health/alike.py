"""Whether the cards of a node are what the site's manifest says, or else what their peers are."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fabricheck.errors import FabricheckError
from fabricheck.node_health.facts import Facts
from fabricheck.nodes.cards import Cards, board
from fabricheck.nodes.optics import OWN
from fabricheck.nodes.pcie import LOSS
from fabricheck.tables import TEXT, Cell, one_of, rows

_PREREQUISITES: Final = {
    line.partition(",")[0] for line in Path(__file__).with_name("rules.csv").open(encoding="utf-8")
}


def _fact(cell: str) -> str:
    # The page and a manifest show both.
    if cell in _PREREQUISITES:
        raise ValueError
    return str(TEXT.read(cell))


_COLUMNS: Final = {
    "name": Cell("text, and no name of rules.csv", _fact),
    "rule": one_of(("ports", "cards")),
    "peers": one_of(("board", "place")),
    "advice": TEXT,
}


@dataclass(frozen=True, slots=True)
class AlikeRow:
    """A fact: the rule that judges it, its peers, and what to do where it is odd."""

    name: str
    rule: str
    peers: str
    advice: str


ROWS: Final = tuple(
    AlikeRow(**row) for row in rows(Path(__file__).with_name("card_facts.csv"), _COLUMNS)
)

_ACTIVE: Final = "ACTIVE"
Group = tuple[Any, ...]
Census = Mapping[Group, Counter[str]]
"""How often each value was told, by group of peers: the fact, and their board or their name."""


def read_manifest(path: Path) -> Cards:
    """The facts that a site expects: what ``fabricheck node --json`` wrote on a sound node.

    Raises:
        FabricheckError: if the file is missing, or is no such document.
    """
    known = {"PCI ID", LOSS, *OWN, *(row.name for row in ROWS)}
    try:
        cards = json.loads(path.read_text("utf-8"))["facts"]
        facts = [pair for each in cards.values() for pair in each.items()]
    except OSError as error:
        raise FabricheckError(
            f"FC1508 expected to read the manifest {path}, found: {error.strerror}: write it with "
            "fabricheck node --json on a sound node"
        ) from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise FabricheckError(
            f"FC1509 expected {{facts: {{CARD: {{FACT: VALUE}}}}}} in the manifest {path}, found "
            "something else: write it with fabricheck node --json on a sound node"
        ) from error
    for fact, value in facts:
        if fact not in known or not isinstance(value, str):
            raise FabricheckError(
                f"FC1510 expected facts ({', '.join(sorted(known))}), each with a text, in the "
                f"manifest {path}, found {fact!r} with {value!r}: correct it"
            )
    return {name: dict(each) for name, each in cards.items()}


def census(nodes: tuple[Facts, ...]) -> Census:
    """The values of all cards and ports of some nodes."""
    counts: dict[Group, Counter[str]] = {}
    for node in nodes:
        for subject, facts in node.cards.items():
            for row in ROWS:
                if value := facts.get(row.name):
                    for group in _groups(row, node.cards, subject):
                        counts.setdefault(group, Counter())[value] += 1
    return counts


def _groups(row: AlikeRow, cards: Cards, subject: str) -> tuple[Group, ...]:
    """The peers that settle a fact, the larger group first."""
    place = (row.name, "place", subject)
    own = board(cards, subject)
    is_port = ":" in subject
    return ((row.name, is_port, *own), place) if row.peers == "board" and own else (place,)


def odd(
    rule: str, node: Facts, counts: Census, manifest: Cards, used: tuple[str, ...], *, alone: bool
) -> Iterator[tuple[bool, str]]:
    """What of a node's cards is not as it should be, each with whether that was told at all.

    Args:
        rule: only the facts of this rule.
        node: the node.
        counts: the values of it and its peers.
        manifest: what the site expects; it goes before all peers.
        used: the ports that the site names; empty for all.
        alone: whether there are no other nodes: two cards of one node that differ are no fault.
    """
    if rule == "ports":
        for subject in sorted(manifest.keys() - node.cards.keys()):
            yield True, f"{subject} is missing, the manifest has it"
    names = {*used, *(port.partition(":")[0] for port in used), ""}
    for subject, facts in node.cards.items():
        if used and subject not in names:
            continue
        for row in (each for each in ROWS if each.rule == rule):
            found = facts.get(row.name, "")
            if not found and facts.get("state", _ACTIVE) != _ACTIVE:
                continue  # a port without a link has no rate
            wanted = manifest.get(subject, {}).get(row.name)
            if wanted is None:
                wrong = _unlike(row, node.cards, subject, found, counts, alone=alone)
            else:
                wrong = "" if found == wanted else f"the manifest has {wanted}"
            if wrong:
                name = f"{subject} " if subject else ""
                what = f"{name}{row.name} {found or 'is not reported'}, {wrong}"
                yield bool(found), f"{what}: {row.advice}"


def _unlike(
    row: AlikeRow, cards: Cards, subject: str, found: str, counts: Census, *, alone: bool
) -> str:
    """What most peers have, where that is something else; empty where it is not."""
    tie = ""
    for group in _groups(row, cards, subject):
        told = counts.get(group, Counter()).most_common(2)
        if not told:
            continue
        total = sum(counts[group].values())
        value, count = told[0]
        if 2 * count > total:
            what = "ports" if ":" in subject else "cards" if subject else "nodes"
            return f"{count} of {total} {what} have {value}" if value != found else ""
        tie = f"{told[1][0] if value == found else value} elsewhere"
    return "" if alone else tie
