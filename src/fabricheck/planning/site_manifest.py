"""The manifest of a new site: what the cards of one node of each partition are now."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fabricheck.node_health.alike import ROWS
from fabricheck.nodes.cards import Cards, read_cards
from fabricheck.nodes.told import SCRIPT, parse

COMMAND: Final = (str(SCRIPT), "init", "ports", "cards", "roce")
"""What tells the facts on a node, which has the suite where this machine has it."""

# Interrupts move, and what only root reads a job would miss.
_OWN: Final = {"IRQ affinity", "MaxPayload", "MaxReadReq", "relaxed ordering", "ACS redirect"}


def cards_of(said: str) -> Cards:
    """The facts that other nodes must have too, of what a node said; none where it has no card."""
    kept = {row.name for row in ROWS} - _OWN
    told = parse(said, SCRIPT.name)
    found = read_cards(told[-1]) if told else {}
    if len(found) <= 1:
        return {}
    return {
        card: {name: value for name, value in facts.items() if name in kept}
        for card, facts in found.items()
    }


def write_manifests(folder: Path, cards: Mapping[str, Cards]) -> None:
    """Write manifests by their names; one that is there already is left as it is.

    Raises:
        OSError: if the directory can't be written to.
    """
    for name, facts in cards.items():
        if not (folder / name).exists():
            (folder / name).write_text(f"{json.dumps({'facts': facts}, indent=1)}\n", "utf-8")
