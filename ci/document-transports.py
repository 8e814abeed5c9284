#!/usr/bin/env python3
"""Write the tables in docs/reference/transports.md from the code.

With --check nothing is written: the exit code is 1 when the document is out of date.

example:
    ci/document-transports.py
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from fabricheck.sites.extras import PartitionExtras
from fabricheck.transports.families import MPIS, Choice, families
from fabricheck.transports.settings import settings
from fabricheck.transports.table import TRANSPORTS, Counter, Transport
from generated import write_or_check

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "reference" / "transports.md"
MUST_MOVE = {
    Counter.RDMA: "packets",
    Counter.NETDEV: "bytes",
    Counter.NONE: "nothing",
    Counter.ANY: "either",
}
ON_UCX = families("auto")
NO_MPI = "programs of their own"
EXAMPLE = {
    "ucx_net_devices": {"rdma": "mlx5_0:1", "tcp": "ens1", "ipoib": "ib0"},
    "fabric": "roce",
    "gid_index": 3,
    "service_level": 4,
    "traffic_class": 106,
    "pkey": 0x8012,
}
READERS = {
    "UCX": (("mpich", "rc"), ("mpich", "tcp")),
    "MVAPICH2": (("mvapich2", "rc"),),
    "MVAPICH2 nemesis": (("mvapich2_nemesis", "tcp"),),
    "Open MPI's ob1": (("openmpi", "ob1_tcp"),),
}


def transports() -> Iterator[str]:
    """What each transport is."""
    yield "| transport | carries data by | data lanes | must move | MPI |"
    yield "|---|---|---|---|---|"
    for each in TRANSPORTS.values():
        cells = (
            f"`{each.name}`",
            each.meaning + (f" (feature `{each.feature}`)" if each.feature != each.name else ""),
            lanes(each),
            MUST_MOVE[each.counter],
            "UCX's" if (own := families(each.name)) == ON_UCX else ", ".join(own) or NO_MPI,
        )
        yield f"| {' | '.join(cells)} |"


def lanes(transport: Transport) -> str:
    """The lanes that prove a transport."""
    return "any" if transport.counter is Counter.ANY else code(sorted(transport.lanes))


def code(words: Iterable[str]) -> str:
    """Words in the document's type for what is typed; a dash for none."""
    return ", ".join(f"`{word}`" for word in words) or "-"


def variables() -> Iterator[str]:
    """What makes each MPI use each transport: what all have in common, then what differs."""
    yield "| MPI | reports its choice in | always | transports, with what each adds |"
    yield "|---|---|---|---|"
    first: dict[object, tuple[str, Mapping[str, Choice]]] = {}
    shown_of: dict[object, list[str]] = {}
    for family, choices in ((name, mpi.choices) for name, mpi in MPIS.items()):
        for statement in dict.fromkeys(each.statement for each in choices.values()):
            alike = {name: c for name, c in choices.items() if c.statement is statement}
            common = shared(alike.values())
            added = [own(name, chosen, common) for name, chosen in alike.items()]
            other, known = first.setdefault(statement, (family, alike))
            if other != family and known.keys() == alike.keys():
                added = [
                    f"as {other}",
                    *(each for each in added if each not in shown_of[statement]),
                ]
            shown_of.setdefault(statement, added)
            yield f"| {family} | {statement} | {assignments(common)} | {'<br>'.join(added)} |"


def own(name: str, chosen: Choice, common: Mapping[str, str]) -> str:
    """A transport and the variables that it alone has."""
    values = {key: value for key, value in chosen.variables.items() if key not in common}
    return f"{name}: {assignments(values)}"


def shared(choices: Iterable[Choice]) -> dict[str, str]:
    """The variables that all choices set alike."""
    sets = [set(each.variables.items()) for each in choices]
    return dict(sorted(set.intersection(*sets)))


def assignments(values: Mapping[str, str]) -> str:
    """Variables as a shell writes them."""
    return code(f"{name}={value}" for name, value in values.items())


def ports() -> Iterator[str]:
    """What each of a site's settings becomes."""
    yield f"| extra of the partition | example | {' | '.join(READERS)} |"
    yield "|---|---|" + "---|" * len(READERS)
    for key, value in EXAMPLE.items():
        cells = (assignments(from_site(cases, {key: value})) for cases in READERS.values())
        yield f"| `{key}` | `{shown(key, value)}` | {' | '.join(cells)} |"


def shown(key: str, value: object) -> str:
    """A value as a site file writes it."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {text!r}" for name, text in value.items()) + "}"
    return hex(value) if key == "pkey" and isinstance(value, int) else str(value)


def from_site(cases: Iterable[tuple[str, str]], given: Mapping[str, object]) -> dict[str, str]:
    """The variables that come with some extras, out of several cases."""
    found: dict[str, str] = {}
    for case in cases:
        plain = settings(*case, PartitionExtras().given_ports)
        chosen = settings(*case, PartitionExtras.of(given).given_ports).items()
        for name, value in chosen - plain.items():
            found[name] = f"{found[name]} or {value}" if name in found else value
    return dict(sorted(found.items()))


def main() -> int:
    """Write or check."""
    tables = ["\n".join(table()) for table in (transports, variables, ports)]
    return write_or_check(__doc__, DOCUMENT, "ci/document-transports.py", tables)


if __name__ == "__main__":
    sys.exit(main())
