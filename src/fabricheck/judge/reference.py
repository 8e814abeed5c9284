"""References, tolerances and cases: what is compared with what."""

from dataclasses import dataclass
from typing import Literal

from fabricheck.measures.curve import Variable
from fabricheck.measures.metrics import Direction
from fabricheck.transports.placement import parts

Kind = Literal["bound", "ratio", "measured", "vendor", "paper"]
Fractions = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Reference:
    """What a performance variable is compared with.

    Attributes:
        value: the expected value, in ``unit``.
        lower: critical below; a fraction of ``value`` (-0.1 is 10 % less) as in ReFrame's
            reference tuples, an absolute offset if ``value`` is 0; ``None`` for no limit.
        upper: critical above, in the same way.
        unit: unit of the value.
        expected_failure: why the reference is known not to be met, empty if it is to be met.
        warning: when to warn, fractions as above and not wider.
        good: where the source gives bands, the edge of the good one in ``unit``: only what is
            better is good, a value on it is a warning. It holds instead of ``warning`` on its side.
        target: the target that the source names, in ``unit``; it judges nothing.
    """

    value: float
    lower: float | None
    upper: float | None
    unit: str
    expected_failure: str = ""
    warning: Fractions = (None, None)
    good: float | None = None
    target: float | None = None

    def bounds(self, fractions: Fractions | None = None) -> Fractions:
        """Absolute lower and upper limit, for the critical fractions or the given ones.

        The formula is that of ``reframe.utility.sanity.reference_bounds``, and a value on a
        limit is inside, as there.
        """
        lower, upper = (self.lower, self.upper) if fractions is None else fractions
        return self._limit(lower), self._limit(upper)

    def _limit(self, fraction: float | None) -> float | None:
        if fraction is None:
            return None
        if not self.value:
            return fraction
        # Of a value below 0, as other suites may have, less is further from it.
        return self.value * (1 + fraction if self.value > 0 else 1 - fraction)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What the references of a case rest on, and which form its curve must have.

    Attributes:
        kind: what the references are.
        source: from which runs, paper or document they come.
        date: ISO date of the source.
        monotone: noise up to which a latency may fall with the size, as a fraction; ``None`` if
            that is not checked.
        best: what the best size of a curve must reach, in the unit of its metric; ``None`` if that
            is not checked.
        samples: of measured references, the nights that they were measured in.
        commit: of measured references, the suite's git commit on the last of these nights.
        software: of measured references, with what they were measured.
        expired: why the references hold no longer, empty where they hold.
    """

    kind: Kind
    source: str
    date: str
    monotone: float | None = None
    best: float | None = None
    samples: int | None = None
    commit: str = ""
    software: str = ""
    expired: str = ""


def is_lower_better(variable: Variable) -> bool:
    """Whether lower values of a variable are the better ones."""
    return variable.metric.row.direction is Direction.LOWER


@dataclass(frozen=True, slots=True)
class CaseKey:
    """What references are looked up by.

    Attributes:
        system: ReFrame's system name.
        partition: full name of the partition, ``system:partition``.
        environ: ReFrame's environment name.
        benchmark: name in the registry.
        placement: ``<transport>-<nodes>n`` such as ``tcp-2n``.

    Raises:
        FabricheckError: if the placement has another form.
    """

    system: str
    partition: str
    environ: str
    benchmark: str
    placement: str

    def __post_init__(self) -> None:
        parts(self.placement)

    @property
    def transport(self) -> str:
        """The transport of the placement."""
        return parts(self.placement)[0]

    @property
    def num_nodes(self) -> int:
        """The number of nodes of the placement."""
        return parts(self.placement)[1]

    def __str__(self) -> str:
        return (
            f"{self.benchmark} {self.placement} with {self.environ} on "
            f"{self.partition or self.system}"
        )
