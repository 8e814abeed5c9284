"""How much longer an iteration takes where the network's tail is longer."""

from collections.abc import Mapping

from fabricheck.launch.cases import Case
from fabricheck.launch.ratio import Ratio
from fabricheck.measures.curve import Curve
from fabricheck.programs.allreduce_lab.entries import BENCHMARKS, SCHEMES, TAILS
from fabricheck.programs.allreduce_lab.judge import averages
from fabricheck.programs.allreduce_lab.launch import iterations

_LOW, _HIGH = (f"_{place}" for place in TAILS)


class Growth(Ratio):
    """The environment of 3 over that of 1.5, scheme by scheme: in the guide 1.01 and more."""

    def divide(self, upper: Curve, lower: Curve) -> dict[int, float]:
        """The ratio of each scheme, by its place in the guide's table."""
        high, low = averages(upper), averages(lower)
        return {place: high[each] / low[each] for place, each in enumerate(SCHEMES)}

    def remark(self, ratios: Mapping[int, float]) -> tuple[str, ...]:
        """Which scheme it is."""
        scheme = SCHEMES[min(ratios, key=ratios.__getitem__)]
        return (f"an iteration with {scheme} takes no longer in the longer tail",)


def growths() -> list[Case]:
    """Each model on each number of nodes."""
    return [
        Case(f"{BENCHMARKS[case.benchmark].model}_growth", case.placement)
        for case in iterations()
        if case.benchmark.endswith(_HIGH)
    ]


def growth_of(case: Case) -> Growth:
    """What is divided."""
    model = case.benchmark.removesuffix("_growth")
    return Growth(Case(model + _HIGH, case.placement), Case(model + _LOW, case.placement))
