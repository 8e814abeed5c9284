"""What steers ``pair_probe``: reads what a round measured, and says the pairs of the next one.

``python -m fabricheck.localise.steer`` is started by rank 0
(docs/reference/programs/pair_probe.md).
It gets a line with the hosts of the ranks, and one with the results of each round.
"""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

import numpy as np

from fabricheck.errors import FabricheckError
from fabricheck.localise.evidence import Round
from fabricheck.localise.fabric import Fabric, Routes
from fabricheck.localise.schedules import ROUNDS, Schedule

if TYPE_CHECKING:
    from fabricheck.measures.program_result import ProgramResult

_PROGRAM: Final = "pair_probe"
_FIELDS: Final = ("first", "second", "latencies", "there", "back")


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
    from fabricheck.localise.recorded import load

    return load(path)


def read_rounds(path: Path) -> tuple[tuple[str, ...], list[Round]]:
    """The nodes and the rounds of a whole run.

    Raises:
        FabricheckError: if the file can't be read, is damaged, of another program, or of ranks that
            were not each on a node of its own.
    """
    # What steers a job needs none of this, and every rank waits for its start.
    from fabricheck.measures.program_result import read

    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise FabricheckError(f"FC1710 expected the rounds in {path}, found: {error}") from error
    result = read(text, str(path))
    if result.program != _PROGRAM:
        result.refuse(f"expected rounds of {_PROGRAM}, found results of {result.program}")
    hosts = tuple(map(str, result.environment["hosts"]))
    if len(hosts) != result.environment["ranks"]:
        result.refuse(
            f"expected one rank on each node, found {result.environment['ranks']} ranks on "
            f"{len(hosts)}: start it with one"
        )
    return hosts, [_round(result, each, len(hosts)) for each in result.results]


def parse_line(line: str, nodes: int) -> Round:
    """The round of a line of ``pair_probe``: first, second, latency and both rates of each pair.

    Raises:
        FabricheckError: if it is none.
    """
    try:
        numbers = np.array(line.split(), dtype=np.float64).reshape(-1, len(_FIELDS))
    except ValueError as error:
        raise FabricheckError(
            f"FC1711 expected five numbers for each pair, found {line[:60]!r}: pair_probe and "
            "fabricheck are of different versions"
        ) from error
    return _checked(dict(zip(_FIELDS, numbers.T, strict=True)), nodes, "the line of a round")


def _round(result: "ProgramResult", each: Mapping[str, Any], nodes: int) -> Round:
    columns = {name: result.need(each, name, list) for name in _FIELDS}
    if len({len(column) for column in columns.values()}) != 1:
        result.refuse("expected as many numbers of each kind as pairs in a round, found others")
    return _checked(columns, nodes, result.source)


def _checked(columns: Mapping[str, Sequence[float]], nodes: int, source: str) -> Round:
    values = {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}
    pairs = np.column_stack([values["first"], values["second"]]).astype(np.int64)
    measured = np.concatenate([values[name] for name in _FIELDS[2:]])
    sound = len(pairs) and len(np.unique(pairs)) == pairs.size and pairs.min() >= 0
    if not sound or pairs.max() >= nodes or not (np.isfinite(measured) & (measured > 0)).all():
        raise FabricheckError(
            f"FC1712 {source}: expected disjoint pairs of {nodes} ranks with positive times and "
            "rates, found others: the file is damaged"
        )
    return Round(pairs, values["latencies"], values["there"], values["back"])


if __name__ == "__main__":
    main()
