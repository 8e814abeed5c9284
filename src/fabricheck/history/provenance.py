"""Provenance: on what and with what each session measured, as the record tells it.

Two records are one here: ``provenance.jsonl`` beside the perflogs, and the columns of the perflogs
themselves, which say it of single values. docs/perflog.md has both.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from fabricheck.errors import FabricheckError
from fabricheck.history.series import SeriesKey
from fabricheck.record.appending import append_whole, locked

FILE: Final = "provenance.jsonl"
"""The file of a partition, beside its perflogs."""

UNTOLD: Final = "not available"
"""What stands for a fact that could not be read."""

NODES: Final = "nodes"
MACHINE: Final = (
    *("kernel", "kernel_options", "os", "bios", "microcode", "governor", "ofed", "rdma_core"),
    *("firmware", "link", "mtu"),
)
"""Facts of a node."""
SOFTWARE: Final = ("scheduler", "mpi", "ucx", "compiler", "spack", "program", "commit")
"""Facts of an environment on a partition."""
FIELDS: Final = (*MACHINE, *SOFTWARE[:-1], NODES, SOFTWARE[-1])
"""All facts, in the order in which an operator asks for them."""

CASE: Final = ("system", "partition", "environ", "check", "benchmark", "placement")
"""What the series of one case have in common: they are measured by the same jobs."""
Case = tuple[str, ...]

_TEXTS: Final = ("time", "session", "system", "partition", "environment")


@dataclass(frozen=True, slots=True)
class Origin:
    """Nodes that are alike, and what ran on them in a session: a line of ``provenance.jsonl``.

    Attributes:
        time: when it was written, RFC 3339.
        session: which run of ReFrame.
        system: ReFrame's system.
        partition: ReFrame's partition.
        environment: ReFrame's environment.
        nodes: their names.
        machine: their facts, one for each of ``MACHINE``.
        software: facts of the environment on them, one for each of ``SOFTWARE``.
    """

    time: str
    session: str
    system: str
    partition: str
    environment: str
    nodes: tuple[str, ...]
    machine: Mapping[str, str]
    software: Mapping[str, str]

    def line(self) -> str:
        """The record as one line of JSON, with its newline."""
        return json.dumps(asdict(self), ensure_ascii=False) + "\n"


def append(path: Path, origin: Origin) -> None:
    """Append a record to a file of provenance, whole or not at all.

    Raises:
        FabricheckError: if it can't be written; the file is then as it was.
    """
    try:
        with locked(path):
            append_whole(path, origin.line())
    except OSError as error:
        raise FabricheckError(
            f"expected to append to the provenance {path}, found: {error.strerror}; nothing was "
            "written: make room or give write permission, and run again"
        ) from error


def read_line(line: str) -> Origin:
    """The record of a line.

    Raises:
        ValueError: if it is none.
    """
    try:
        given: dict[str, Any] = json.loads(line)
        datetime.fromisoformat(given["time"])
        texts = {name: given[name] for name in _TEXTS}
        groups = {name: given[name] for name in ("machine", "software")}
        nodes = given["nodes"]
        known = [
            *nodes,
            *texts.values(),
            *(text for each in groups.values() for text in each.values()),
        ]
    except KeyError as error:
        raise ValueError(f"expected {error} in a record of provenance, found none") from None
    except (TypeError, AttributeError):
        raise ValueError("expected a record of provenance in JSON, found another form") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"expected a record of provenance in JSON, found: {error}") from None
    if not (isinstance(nodes, list) and all(isinstance(each, str) for each in known)):
        raise ValueError("expected texts in a record of provenance, found something else")
    origin = Origin(**texts, nodes=tuple(nodes), **groups)
    # Half a surrogate pair is JSON, but no text.
    origin.line().encode()
    return origin


@dataclass(frozen=True, slots=True)
class Run:
    """What the perflog says of the values of a case in a session.

    Attributes:
        nodes: the nodes that it ran on; empty where the record does not say.
        software: facts of ``SOFTWARE``, those that are known.
    """

    nodes: tuple[str, ...]
    software: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """On what and with what a series was measured in a session; only what is known.

    Attributes:
        nodes: names of the nodes.
        machines: for each node that told some, its facts.
        software: facts of the software.
    """

    nodes: frozenset[str]
    machines: Mapping[str, Mapping[str, str]]
    software: Mapping[str, str]


def case_of(key: SeriesKey) -> Case:
    """The case of a series."""
    return tuple(getattr(key, name) for name in CASE)


def runs_of(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, Case], Run]:
    """What the perflogs say of each case in each session.

    Args:
        rows: with the fields of ``CASE``, ``session``, and the columns that say with what a value
            was measured (``fabricheck.history.frame.PROVENANCE``).
    """
    found: dict[tuple[str, Case], Run] = {}
    for row in rows:
        place = row["session"], tuple(row[name] for name in CASE)
        software = {
            "mpi": row["mpi_version"],
            "ucx": row["ucx_version"],
            "program": f"{row['program']} {row['program_version']}".strip(),
            "commit": row["commit"],
        }
        nodes = {name.partition(".")[0] for name in row["node_list"].split(",") if name}
        before = found.get(place, Run((), {}))
        found[place] = Run(
            tuple(sorted(nodes.union(before.nodes))), {**before.software, **_told(software)}
        )
    return found


class Provenance:
    """What is known of some sessions.

    Args:
        origins: lines of ``provenance.jsonl``, oldest first.
        runs: what the perflogs say, for session and case.
    """

    def __init__(
        self, origins: Iterable[Origin] = (), runs: Mapping[tuple[str, Case], Run] | None = None
    ) -> None:
        self._runs = runs or {}
        self._machines: dict[tuple[str, ...], dict[str, dict[str, str]]] = defaultdict(dict)
        self._software: dict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
        for each in origins:
            place = (each.session, each.system, each.partition)
            for node in (name.partition(".")[0] for name in each.nodes):
                self._machines[place].setdefault(node, {}).update(_told(each.machine))
            self._software[(*place, each.environment)].update(_told(each.software))

    def of(self, key: SeriesKey, session: str) -> Circumstances:
        """What is known of a series in a session; empty where it is nothing."""
        place = (session, key.system, key.partition)
        run = self._runs.get((session, case_of(key)))
        machines = self._machines.get(place, {})
        # Without a word on where it ran, it may have been any node of the partition.
        nodes = frozenset(run.nodes if run and run.nodes else machines)
        return Circumstances(
            nodes,
            {node: machines[node] for node in nodes if node in machines},
            {**self._software.get((*place, key.environ), {}), **(run.software if run else {})},
        )


def _told(facts: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in facts.items() if value and value != UNTOLD}
