"""A block as a measurement: a collective at the sizes and with the count that a mix gives it."""

from dataclasses import replace
from typing import Self

from fabricheck.benchmarks.osu import options as osu_options
from fabricheck.benchmarks.osu.launch import Osu
from fabricheck.launch.cases import Case
from fabricheck.launch.model import Evidence, Job, Setting
from fabricheck.stress.mix import Block
from fabricheck.transports import Placement


class BlockCase(Case):
    """A case that knows the block of a mix that it is, and its number."""

    __slots__ = ("block", "number")
    block: Block
    number: int

    def __new__(cls, block: Block, placement: Placement | str, number: int) -> Self:
        """The case of a block on a placement."""
        made = super().__new__(cls, block.benchmark, placement)
        made.block, made.number = block, number
        return made

    def __getnewargs__(self) -> tuple[Block, Placement, int]:  # type: ignore[override]
        """What a copy is made of."""
        return self.block, self.placement, self.number

    @property
    def shown(self) -> str:
        """Its number in the iteration."""
        return f"{super().shown} %block={self.number}"


class BlockMeasurement(Osu):
    """One block on one placement with one MPI, by OSU's program or ``mpi_probe``."""

    def __init__(self, case: BlockCase) -> None:
        super().__init__(case)
        self._block = case.block

    def sizes(self, setting: Setting) -> tuple[int, ...]:
        """Those of the block, whatever the site measures at most."""
        del setting
        return self._block.sizes

    def job(self, setting: Setting) -> Job:
        """As of every benchmark of OSU, as often as the block says."""
        return super().job(self._counted(setting))

    def examine(self, setting: Setting) -> Evidence:
        """As of every benchmark of OSU."""
        return super().examine(self._counted(setting))

    def _options(self, setting: Setting) -> list[str]:
        plain = super()._options(setting)
        if setting.programs.provider == "osu":
            return plain
        counts = osu_options.counts(self._entry, self._block.iterations)
        return [*plain, "-i", str(counts.iterations), "-x", str(counts.warmup)]

    def _counted(self, setting: Setting) -> Setting:
        """The site's choices for a night, which are not those of a block, replaced."""
        extras = {name: each for name, each in setting.extras.items() if name != "time_budget"}
        return replace(setting, extras={**extras, "osu_iterations": self._block.iterations})
