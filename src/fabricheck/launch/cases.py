"""The cases of a check: its benchmarks on the placements that sites offer."""

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from fabricheck.errors import FabricheckError
from fabricheck.launch.measurement import Measurement
from fabricheck.measures import registry
from fabricheck.measures.part import Offer, Part
from fabricheck.sites.files import offered_ports, offers
from fabricheck.transports.placement import Placement, placements
from fabricheck.transports.table import Memory, find

_NODES = re.compile(r"nodes_(?P<count>[1-9]\d*)", re.ASCII)


def node_counts() -> set[int]:
    """The numbers of nodes that a partition of some site offers (``nodes_N``)."""
    matches = (match for features in offers() for match in map(_NODES.fullmatch, features))
    return {int(match["count"]) for match in matches if match}


def available_placements(
    *,
    min_nodes: int = 1,
    max_nodes: int | None = None,
    layout: str = "",
    memory: Memory | None = None,
    needs: Sequence[str] = (),
) -> list[str]:
    """Every placement of MPI that a partition of some site offers.

    What a site writes down as features is the whole choice: transports, node counts (``nodes_N``)
    and ``full_nodes``. A case that no site could run is not made, except for one where there would
    be none at all: a check must have a case.

    Args:
        min_nodes: the fewest nodes.
        max_nodes: the most nodes; ``None`` for as many as a partition has.
        layout: those of this layout, such as ``full`` with a rank on every core.
        memory: those for messages from this memory; ``None`` for those of every program.
        needs: features that such a partition must have beside those of the placement.

    Raises:
        FabricheckError: for a site file with anything wrong.
    """
    wanted = sorted(count for count in node_counts() if min_nodes <= count <= (max_nodes or count))
    possible = placements(wanted or [max(min_nodes, 2)], layout=layout, memory=memory)
    found = [
        name
        for name in possible
        if any({*Placement.read(name).features, *needs} <= features for features in offers())
    ]
    return found or possible[:1]


@dataclass(frozen=True, init=False)
class Case:
    """A benchmark on a placement.

    As a parameter of a check it is shown by its fields, as ReFrame shows parameters of their own:
    ``%benchmark=latency %transport=rc %num_nodes=2``. So only the combinations exist that can run.

    Attributes:
        benchmark: its name.
        placement: transport and nodes.
        sizes: of a block of a stress: message sizes in bytes, in place of the whole curve.
        iterations: of a block: how often at each.
        number: of a block, from 1, unlike that of others of the same benchmark.
    """

    benchmark: str
    placement: Placement
    sizes: tuple[int, ...] = ()
    iterations: int = 0
    number: int = 0

    def __init__(self, benchmark: str, placement: Placement | str, **block: Any) -> None:
        place = Placement.read(placement) if isinstance(placement, str) else placement
        self.__dict__.update(benchmark=benchmark, placement=place, **block)

    def __str__(self) -> str:
        return self.benchmark

    @property
    def shown(self) -> str:
        """The name and the fields of the placement, and the number of a block."""
        place = self.placement
        more = f" %layout={place.layout}" * bool(place.layout)
        more += f" %port={place.port}" * bool(place.port)
        more += f" %block={self.number}" * bool(self.number)
        return f"{self} %transport={place.transport.name} %num_nodes={place.num_nodes}{more}"


def cases(benchmarks: Iterable[str], placements: Iterable[str]) -> list[Case]:
    """Each benchmark on each placement."""
    return [Case(*each) for each in itertools.product(benchmarks, list(placements))]


def cases_of_ports(benchmarks: Iterable[str], transport: str) -> list[Case]:
    """Each benchmark over each port of the sites that name several, between two nodes."""
    place = Placement(find(transport), 2)
    return [
        Case(benchmark, replace(place, port=port))
        for benchmark in benchmarks
        for port in offered_ports()
    ]


class Places(Protocol):
    """What ``launch.py`` offers beside ``measurement`` where the folder chooses its placements."""

    def cases(self, family: str) -> list[Case]:
        """Every case of a family."""


class Launch(Protocol):
    """What ``launch.py`` of a program's folder offers."""

    def measurement(self, case: Case) -> Measurement:
        """How a case is measured."""


PLACES = Part("launch", Places, instead=("measurement",))
LAUNCH = Part("launch", Launch)


def cases_of(family: str) -> list[Case]:
    """Every case of a family whose folder chooses the placements of its benchmarks.

    Raises:
        FabricheckError: if the folder has no ``launch.py``, or one without ``cases``.
    """
    return _needed(registry.names(family)[0], PLACES).cases(family)


def measurement_of(case: Case) -> Measurement:
    """How a case is measured.

    Raises:
        FabricheckError: if the folder of its benchmark has no ``launch.py``, or one without
            ``measurement``.
    """
    return _needed(case.benchmark, LAUNCH).measurement(case)


def _needed(benchmark: str, part: Part[Offer]) -> Offer:
    offer = registry.part_of(benchmark, part)
    if offer is None:
        raise FabricheckError(
            f"FC0901 {registry.folder_of(benchmark)}: expected {part.module}.py with "
            f"{' and '.join(part.members)}, found none: write it (docs/how-to/own-benchmark.md)"
        )
    return offer
