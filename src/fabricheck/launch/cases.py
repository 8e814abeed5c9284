"""The cases of a check: its benchmarks on the placements that sites offer."""

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any, Self

from fabricheck.benchmarks import registry
from fabricheck.sites.files import offers
from fabricheck.transports import Placement, placements
from fabricheck.transports.table import Memory

_NODES = re.compile(r"nodes-(?P<count>[1-9]\d*)", re.ASCII)


def available_placements(
    *,
    min_nodes: int = 1,
    max_nodes: int | None = None,
    full: bool = False,
    memory: Memory | None = None,
    needs: Sequence[str] = (),
) -> list[str]:
    """Every placement of MPI that a partition of some site offers.

    What a site writes down as features is the whole choice: transports, node counts (``nodes-N``)
    and ``full_nodes``. A case that no site could run is not made, except for one where there would
    be none at all: a check must have a case.

    Args:
        min_nodes: the fewest nodes.
        max_nodes: the most nodes; ``None`` for as many as a partition has.
        full: those with a rank on every core, not on one core of each node.
        memory: those for messages from this memory; ``None`` for those of every program.
        needs: features that such a partition must have beside those of the placement.

    Raises:
        FabricheckError: for a site file with anything wrong.
    """
    counts = {
        int(match["count"])
        for features in offers()
        for match in map(_NODES.fullmatch, features)
        if match
    }
    wanted = sorted(count for count in counts if min_nodes <= count <= (max_nodes or count))
    possible = placements(wanted or [max(min_nodes, 2)], full=full, memory=memory)
    found = [
        name
        for name in possible
        if any({*Placement.read(name).features, *needs} <= features for features in offers())
    ]
    return found or possible[:1]


class Case(str):
    """The name of a benchmark, which knows on which placement it is to be measured.

    As a parameter of a check it is shown by its fields, as ReFrame shows parameters of their own:
    ``%benchmark=latency %transport=rc %num_nodes=2``. So only the combinations exist that can run.
    """

    __slots__ = ("placement",)
    placement: Placement

    def __new__(cls, benchmark: str, placement: Placement | str) -> Self:
        """The case of a benchmark on a placement."""
        made = super().__new__(cls, benchmark)
        made.placement = Placement.read(placement) if isinstance(placement, str) else placement
        return made

    def __getnewargs__(self) -> tuple[str, Placement]:  # type: ignore[override]
        """What a copy is made of: ReFrame copies the parameters of each test."""
        return str(self), self.placement

    @property
    def shown(self) -> str:
        """The name and the fields of the placement."""
        place = self.placement
        layout = " %layout=full" if place.full else ""
        return f"{self} %transport={place.transport.name} %num_nodes={place.num_nodes}{layout}"


class CountedCase(Case):
    """A case at sizes and with a count of its own, such as a block of a stress.

    Args:
        benchmark: its name.
        placement: transport and nodes.
        sizes: message sizes in bytes, in place of the whole curve.
        iterations: how often at each.
        number: tells it from others of the same benchmark.
    """

    __slots__ = ("iterations", "number", "sizes")
    sizes: tuple[int, ...]
    iterations: int
    number: int

    def __new__(
        cls,
        benchmark: str,
        placement: Placement | str,
        sizes: tuple[int, ...] = (),
        iterations: int = 1,
        number: int = 1,
    ) -> Self:
        """The case."""
        made = super().__new__(cls, benchmark, placement)
        made.sizes, made.iterations, made.number = sizes, iterations, number
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        """What a copy is made of."""
        return str(self), self.placement, self.sizes, self.iterations, self.number

    @property
    def shown(self) -> str:
        """As of every case, with its number."""
        return f"{super().shown} %block={self.number}"


def cases(benchmarks: Iterable[str], placements: Iterable[str]) -> list[Case]:
    """Each benchmark on each placement."""
    return [Case(*each) for each in itertools.product(benchmarks, list(placements))]


def cases_of(family: str) -> list[Case]:
    """Every case of a family whose folder says itself where its benchmarks run."""
    launch = registry.part_of(registry.names(family)[0], "launch")
    assert launch is not None, f"family {family} has no module launch"
    found: list[Case] = launch.cases(family)
    return found
