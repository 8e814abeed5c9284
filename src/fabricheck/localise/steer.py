"""What steers ``pair_probe``: reads what a round measured, and says the pairs of the next one.

``python -m fabricheck.localise.steer`` is started by rank 0
(docs/reference/programs/pair_probe.md).
It gets a line with the hosts of the ranks, and one with the results of each round.
"""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from fabricheck.errors import FabricheckError
from fabricheck.localise.evidence import Round
from fabricheck.localise.fabric import Fabric, Routes
from fabricheck.localise.rounds import parse_line
from fabricheck.localise.schedules import ROUNDS, Schedule


def steer(
    lines: Iterable[str],
    out: TextIO,
    routes: Routes | None,
    *,
    full: bool = False,
    most: int = ROUNDS,
    seed: int = 1,
) -> None:
    """Answer each line of ``pair_probe`` with pairs, the last one with ``end``.

    Raises:
        FabricheckError: if the lines are none of its.
    """
    given = iter(lines)
    nodes = next(given, "").split()
    schedule = Schedule(Fabric(nodes, routes), seed, full=full, most=most)
    rounds: list[Round] = []
    while (pairs := schedule.next(rounds)) is not None:
        print(*pairs.ravel().tolist(), file=out, flush=True)
        line = next(given, "")
        if not line:
            return
        rounds.append(parse_line(line, len(nodes)))
    print("end", file=out, flush=True)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topology", type=Path)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    try:
        steer(
            sys.stdin, sys.stdout, read_routes(given.topology), full=given.full, most=given.rounds
        )
    except FabricheckError as error:
        sys.exit(f"fabricheck locate: {error}")


def read_routes(path: Path | None) -> Routes | None:
    """The topology of a file; ``None`` without one.

    Raises:
        FabricheckError: if it can't be read.
    """
    if path is None:
        return None
    from fabricheck.localise.recorded import load  # noqa: PLC0415 - few runs have one

    return load(path)


if __name__ == "__main__":
    main()
