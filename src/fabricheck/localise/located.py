"""What a run of ``pair_probe`` left in a directory, judged."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fabricheck.errors import FabricheckError
from fabricheck.launch.evidence import RESULT_JSON
from fabricheck.localise.fabric import Fabric
from fabricheck.localise.judging import judge
from fabricheck.localise.recorded import of_partition
from fabricheck.localise.rounds import read_rounds
from fabricheck.localise.steer import read_routes
from fabricheck.localise.verdict_text import Located
from fabricheck.provenance import SUITE

FEWEST_NODES: Final = 3
"""Of two nobody can tell which is slow."""
ROUND_SECONDS: Final = 2.0
"""Of a round: long enough for a hundred windows of a fast link."""
KEPT: Final = "located.json"
"""What the rounds don't say: topology, states of all nodes, what ports counted, dead ports."""


def topology_of(name: str) -> Path | None:
    """The file of that name with what is known of a fabric; ``None`` if nothing is.

    Raises:
        FabricheckError: if there is no such file.
    """
    path = of_partition(SUITE, name)
    if path and not path.is_file():
        raise FabricheckError(
            f"expected what is known of the fabric in {path}, found no such file: name another, or "
            "leave the topology out"
        )
    return path


def dead_ports(stage: Path) -> dict[str, str]:
    """The nodes of a job of which a port is down, and which; they left it there before it began."""
    told = {
        path.name.removeprefix("port."): path.read_text().split() for path in stage.glob("port.*")
    }
    return {node: " and ".join(words[1:]) for node, words in sorted(told.items())
            if words[:1] == ["down"]}  # fmt: skip


def write_told(
    directory: Path,
    topology: Path | None,
    states: Mapping[str, str],
    counters: Mapping[str, str],
    dead: Mapping[str, str],
) -> None:
    """Leave what the rounds don't say beside them."""
    told = {"topology": str(topology or ""), "states": dict(states), "counters": dict(counters)}
    told["dead"] = dict(dead)
    (directory / KEPT).write_text(json.dumps(told))


def locate(directory: Path) -> Located:
    """The verdict on the rounds in a directory.

    Raises:
        FabricheckError: if there are none, or they can't be read.
    """
    try:
        told = json.loads((directory / KEPT).read_text())
        topology, states, counters = told["topology"], told["states"], told["counters"]
        dead = told["dead"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FabricheckError(
            f"expected what PairHealth leaves in {directory}, found: {error!r}: run it again"
        ) from error
    nodes, rounds = read_rounds(directory / RESULT_JSON)
    fabric = Fabric(nodes, read_routes(Path(topology) if topology else None))
    absent = {name: state for name, state in states.items() if name not in {*nodes, *dead}}
    return Located(fabric, judge(rounds, fabric), len(rounds), absent, counters, dead)
