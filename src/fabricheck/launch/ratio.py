"""Ratios between two cases that one run has measured."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from fabricheck.launch.cases import Case
from fabricheck.measures.curve import Curve, Variable
from fabricheck.measures.metrics import Metric


@dataclass(frozen=True, slots=True)
class Ratio(ABC):
    """One case over another, with the same MPI in the same run.

    On a shared machine such a ratio means something where times don't.

    Attributes:
        upper: the numerator.
        lower: the denominator.
    """

    upper: Case
    lower: Case

    @abstractmethod
    def divide(self, upper: Curve, lower: Curve) -> dict[int, float]:
        """The ratio at each size.

        Raises:
            FabricheckError: if a side lacks a figure or is 0.
        """

    def values(self, ratios: Mapping[int, float]) -> dict[Variable, float | None]:
        """What is recorded, by variable: dimensionless; ``None`` for all without ratios.

        It is the smallest, unless a folder records others.
        """
        return {Variable(Metric.RATIO, "min"): min(ratios.values(), default=None)}

    def remark(self, ratios: Mapping[int, float]) -> tuple[str, ...]:
        """What to say where a value is not good."""
        del ratios
        return ()
