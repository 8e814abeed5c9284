"""How mpi_under_load is run: two ranks on each node, and what the ports saw meanwhile."""

from dataclasses import replace

from fabricheck.errors import FabricheckError
from fabricheck.fabric.job import read_nodes, readings, worst_readings
from fabricheck.fabric.limits import read_limits
from fabricheck.launch import mpi
from fabricheck.launch.cases import Case, available_placements
from fabricheck.launch.cases import cases as each_on_each
from fabricheck.launch.evidence import RESULT_JSON
from fabricheck.launch.measurement import Evidence, Job, Measurement, Ranks, Setting
from fabricheck.launch.verbs import flat
from fabricheck.programs.mpi_under_load.entries import BENCHMARKS, PROGRAM, SIZES
from fabricheck.transports.placement import FULL

_FEWEST_NODES = 4
_RANKS = 2
"""Ranks of a node: one measures, one loads."""


def cases(family: str) -> list[Case]:
    """The benchmark on each placement with enough nodes for an incast."""
    return each_on_each(BENCHMARKS, available_placements(min_nodes=_FEWEST_NODES))


class UnderLoad(Measurement):
    """Allreduce beside an incast, on one placement with one MPI.

    Partition feature that it needs: ``node_ranks_2``. Partition extras that are read beside those
    of every program with MPI: ``max_message_size`` and ``time_budget``.
    """

    def __init__(self, case: Case) -> None:
        place = case.placement
        system = " ".join(f"+{each}" for each in (*place.features, f"node_ranks_{_RANKS}"))
        environs = mpi.with_family(place.transport.name)
        super().__init__(BENCHMARKS[case.benchmark], place, environs, [system])
        # The two ranks of a node talk to each other too.
        self._path = replace(self.placement, layout=FULL)

    def ranks(self, setting: Setting) -> Ranks:
        """One that measures and one that loads, on each node."""
        return Ranks(_RANKS * self.placement.num_nodes, _RANKS)

    def sizes(self, setting: Setting) -> tuple[int, ...]:
        """Those of the benchmark that the site takes."""
        most = setting.extras.max_message_size or SIZES[-1]
        return tuple(size for size in SIZES if size <= most)

    def job(self, setting: Setting) -> Job:
        """The program."""
        sizes = ",".join(map(str, self.sizes(setting)))
        options = ["-m", sizes, "--validate", "--json", RESULT_JSON]
        options += flat({"--time-budget": setting.extras.time_budget})
        return mpi.start(self._path, setting, [setting.programs.program(PROGRAM), *options])

    def examine(self, setting: Setting) -> Evidence:
        """As of every program with MPI, with marks and pauses beside it."""
        found = mpi.examine(self, self._path, setting, result=RESULT_JSON)
        return replace(found, proof="; ".join(filter(None, (found.proof, _seen(setting)))))


measurement = UnderLoad


def _seen(setting: Setting) -> str:
    """What the ports that saw most told of the seconds of the job."""
    limits = read_limits(setting.extras)
    try:
        worst = worst_readings(readings(read_nodes(setting.stage), limits), limits)
    except FabricheckError:
        # A damaged snapshot is a finding of the fabric's health.
        return ""
    return ", ".join(
        f"at most {worst[name][0]:.3g} {words} a second on a port"
        for name, words in (("ecn_rate", "ECN marks"), ("pause_rate", "pauses"))
        if name in worst
    )
