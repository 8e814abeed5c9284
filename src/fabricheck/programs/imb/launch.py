"""How IMB is run: with the sizes of the sweep alone, and all ranks in one group."""

from dataclasses import replace

from fabricheck.launch import mpi
from fabricheck.launch.cases import Case, available_placements
from fabricheck.launch.measurement import Evidence, Job, Measurement, Ranks, Setting
from fabricheck.measures.benchmark import RanksRule
from fabricheck.programs.imb.entries import BENCHMARKS

_LENGTHS = "lengths"
_ITERATIONS = 1000


def cases(family: str) -> list[Case]:
    """Each benchmark that is measured, with each placement; between pairs on two nodes at most."""
    pairs, every = available_placements(max_nodes=2), available_placements()
    return [
        Case(each.name, place)
        for each in BENCHMARKS.values()
        if each.family == family and each.runs
        for place in (every if each.ranks.all_at_once else pairs)
    ]


class Imb(Measurement):
    """One benchmark on one placement, where an environment has the feature ``imb``.

    The output has one table, or with RMA one of puts that are waited for each and one of those in
    bulk: the first counts. Partition extras that are read beside those of every program with MPI:
    ``max_message_size`` and ``osu_iterations``, the most repetitions of a size; IMB does large ones
    less often.
    """

    def __init__(self, case: Case) -> None:
        self._entry = BENCHMARKS[case.benchmark]
        environs = mpi.with_family(case.placement.transport.name, needs=["imb"])
        super().__init__(self._entry, case.placement, environs)

    def ranks(self, setting: Setting) -> Ranks:
        """Each node has one rank, a single one two."""
        nodes = self.placement.num_nodes
        total = max(self._entry.ranks.least, nodes)
        total += total % 2 if self._entry.ranks is RanksRule.EVEN else 0
        return Ranks(total, -(-total // nodes))

    def job(self, setting: Setting) -> Job:
        """The program of the benchmark's component; its sizes lie in a file."""
        count = setting.extras.osu_iterations or _ITERATIONS
        words = [f"IMB-{self._entry.component}", self._entry.printed, "-iter", str(count)]
        words += ["-msglen", _LENGTHS] if self.sizes(setting) else []
        if self._entry.component != "P2P":
            words += ["-npmin", str(self.ranks(setting).total)]
        job = mpi.start(self.placement, setting, words)
        lengths = "".join(f"{size}\n" for size in self.sizes(setting))
        return replace(job, files={_LENGTHS: lengths})

    def examine(self, setting: Setting) -> Evidence:
        """As of every program with MPI; each row says how often it was repeated."""
        return mpi.examine(self, self.placement, setting)


measurement = Imb
