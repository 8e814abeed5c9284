"""How the benchmarks of OSU are run, by OSU's programs or by ``mpi_probe``.

Which options a program of OSU has depends on its family (``osu_util_options.h`` and ``osu_util.c``
of OSU 7.4); one that gets an option of another family prints its usage and measures nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fabricheck.errors import FabricheckError
from fabricheck.launch import mpi
from fabricheck.launch.cases import Case
from fabricheck.launch.evidence import RESULT_JSON
from fabricheck.launch.measurement import (
    Evidence,
    Job,
    Measurement,
    Ranks,
    Setting,
    cores_of_a_node,
)
from fabricheck.launch.verbs import flat
from fabricheck.measures.benchmark import MpiBenchmark, RanksRule
from fabricheck.measures.curve import Curve
from fabricheck.measures.metrics import Metric
from fabricheck.programs.osu.entries import BENCHMARKS
from fabricheck.transports.families import choice

_BEGIN, _END = "launch.begin", "launch.end"
_NS_OF_MS = 1_000_000

PERCENTILES = (50, 99, 100)
"""What is asked for of a latency: its middle, its tail and its worst. OSU takes whole numbers only,
and of the values in rising order the one at ``round(iterations * P / 100)``."""

WINDOW = 64
"""Messages in flight in each iteration of a bandwidth, OSU's default."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How often OSU repeats an operation, at every size.

    Without them it repeats large messages less often, a collective above 8 KiB only 100 times: then
    its 99th percentile is one value.

    Attributes:
        iterations: how often the operation is timed (``-i``).
        warmup: how often it is done before (``-x``).
    """

    iterations: int
    warmup: int


_MESSAGES = Counts(1000, 100)
_WINDOWS = Counts(50, 5)
_COLLECTIVES = Counts(200, 20)
_WARMUP = 10

_OF_ALL_RANKS: Mapping[str, bool] = {
    "pt2pt": False,
    "one_sided": False,
    "congestion": False,
    "collective": True,
    "nonblocking": True,
    "neighborhood": True,
    "persistent": True,
}
"""Families with options, and whether they have ``-f``: averages of the fastest and slowest rank."""


def counts(benchmark: MpiBenchmark, iterations: int | None = None) -> Counts:
    """How often to repeat a benchmark.

    Args:
        benchmark: what to measure.
        iterations: what the site says instead, where OSU's programs take too long.
    """
    if iterations is not None:
        return Counts(iterations, max(1, iterations // _WARMUP))
    if Metric.BANDWIDTH in benchmark.metrics:
        return _WINDOWS
    return _COLLECTIVES if _OF_ALL_RANKS[benchmark.family] else _MESSAGES


def options(
    benchmark: MpiBenchmark, sizes: Sequence[int], iterations: int | None = None
) -> list[str]:
    """The arguments of a benchmark's OSU program.

    Args:
        benchmark: what to measure.
        sizes: message sizes in bytes, as ``sweep`` gives them; empty without payload.
        iterations: as for ``counts``.
    """
    if benchmark.family not in _OF_ALL_RANKS:
        return []
    repeated = counts(benchmark, iterations)
    words = ["-i", str(repeated.iterations), "-x", str(repeated.warmup)]
    if sizes:
        words += ["-m", f"{sizes[0]}:{sizes[-1]}"]
    if _OF_ALL_RANKS[benchmark.family]:
        words.append("-f")
    if "p50" in benchmark.statistics:
        # Its list must be attached: the argument is optional.
        words.append(f"-z{','.join(map(str, PERCENTILES))}")
    if benchmark.validates:
        words.append("-c")
    if benchmark.datatype:
        words += ["-T", benchmark.datatype]
    return words


def exchanges(
    benchmark: MpiBenchmark, sizes: Sequence[int], iterations: int | None = None
) -> dict[int | None, int]:
    """The least number of messages of each size that a rank sends or receives.

    OSU doesn't print the number of its iterations between pairs, which is as it was asked to.
    """
    repeated = 1
    if benchmark.family in _OF_ALL_RANKS:
        repeated = counts(benchmark, iterations).iterations
    each = WINDOW if Metric.BANDWIDTH in benchmark.metrics else 1
    return dict.fromkeys(sizes or (None,), repeated * each)


def measurement(case: Case) -> "Osu":
    """How a case is measured."""
    if case.number:
        return Counted(case)
    return Startup(case) if BENCHMARKS[case.benchmark].family == "startup" else Osu(case)


class Osu(Measurement):
    """One benchmark on one placement with one MPI.

    An environment with the feature ``spack`` runs OSU's programs, any other ``mpi_probe``, which
    has those benchmarks that the registry says; MPI 4 is the feature ``mpi4``.

    Partition extras that are read beside those of every program with MPI: ``max_message_size`` in
    bytes, ``time_budget`` in seconds for each size of ``mpi_probe`` and ``osu_iterations`` at each
    size of OSU.
    """

    def __init__(self, case: Case) -> None:
        self._entry = BENCHMARKS[case.benchmark]
        needs = [] if self._entry.in_probe else ["spack"]
        if self._entry.family == "persistent":
            needs.append("mpi4")
        transport = case.placement.transport.name
        environs = mpi.with_family(transport, needs=needs)
        if case.placement.full:
            environs = [
                each for each in environs if choice(each.rpartition("=")[2], transport).is_on_ucx
            ]
        super().__init__(self._entry, case.placement, environs)

    def ranks(self, setting: Setting) -> Ranks:
        """Each node has one rank, a single one as few as can be, or a rank for each core."""
        nodes = self.placement.num_nodes
        total = max(self._entry.ranks.least, nodes)
        if self.placement.full:
            total = cores_of_a_node(setting) * nodes
            if self._entry.ranks is RanksRule.EVEN:
                total -= total % 2
        return Ranks(total, -(-total // nodes))

    def job(self, setting: Setting) -> Job:
        """The program with everything that makes it this case."""
        by_osu = setting.programs.provider == "osu"
        own = self._options_of(self._entry, setting, by_osu=by_osu)
        words = [*setting.programs.command(self._entry), *own]
        more = mpi.asked_of_collectives(self, setting)
        return mpi.start(self.placement, setting, words, more)

    def examine(self, setting: Setting) -> Evidence:
        """As of every program with MPI; OSU's don't say how often they repeat."""
        by_osu = setting.programs.provider == "osu"
        return mpi.examine(
            self,
            self.placement,
            setting,
            result="" if by_osu else RESULT_JSON,
            exchanges=self._exchanges_of(self._entry, setting, by_osu=by_osu),
        )

    def _options_of(self, entry: MpiBenchmark, setting: Setting, *, by_osu: bool) -> list[str]:
        """Options of the program of an entry, in the sizes of this measurement."""
        sizes, extras = self.sizes(setting), setting.extras
        if by_osu:
            return options(entry, sizes, extras.osu_iterations)
        words = ["--json", RESULT_JSON]
        if sizes:
            words += ["-c", "-m", f"{sizes[0]}:{sizes[-1]}"]
        if Metric.LATENCY in entry.metrics:
            words.append(f"-z{','.join(map(str, PERCENTILES))}")
        if entry.datatype:
            words += ["-T", entry.datatype]
        return [*words, *flat({"--time-budget": extras.time_budget})]

    def _exchanges_of(
        self, entry: MpiBenchmark, setting: Setting, *, by_osu: bool
    ) -> Mapping[int | None, int] | None:
        """How often OSU's program exchanges messages of each size; ours says it itself."""
        if not by_osu:
            return None
        iterations = setting.extras.osu_iterations
        return exchanges(entry, self.sizes(setting), iterations)


class Counted(Osu):
    """A benchmark at the sizes and with the count that its case gives."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self._case = case

    def sizes(self, setting: Setting) -> tuple[int, ...]:
        """Those of the case, whatever the site measures at most."""
        return self._case.sizes

    def job(self, setting: Setting) -> Job:
        """As of every benchmark, as often as the case says."""
        return super().job(self._counted(setting))

    def examine(self, setting: Setting) -> Evidence:
        """As of every benchmark."""
        return super().examine(self._counted(setting))

    def _options_of(self, entry: MpiBenchmark, setting: Setting, *, by_osu: bool) -> list[str]:
        plain = super()._options_of(entry, setting, by_osu=by_osu)
        if by_osu:
            return plain
        repeated = counts(entry, self._case.iterations)
        return [*plain, "-i", str(repeated.iterations), "-x", str(repeated.warmup)]

    def _counted(self, setting: Setting) -> Setting:
        """The site's choices for a night, which are not those of the case, replaced."""
        extras = setting.extras
        counted = replace(extras, time_budget=None, osu_iterations=self._case.iterations)
        return replace(setting, extras=counted)


class Startup(Osu):
    """How long ranks need from the launcher's start to its end, or in ``MPI_Init``.

    OSU's hello prints no time: the job script looks at the clock before and after the launcher, so
    a launch holds the scheduler's part, ``MPI_Init`` and ``MPI_Finalize`` of the slowest rank.
    """

    def job(self, setting: Setting) -> Job:
        """As of every benchmark, with a look at the clock before and after the launcher."""
        job = super().job(setting)
        return replace(
            job,
            before=[*job.before, f"date +%s%N > {_BEGIN}"],
            after=[f"date +%s%N > {_END}"],
        )

    def examine(self, setting: Setting) -> Evidence:
        """What the ranks and the clock left behind."""
        found = super().examine(setting)
        if found.curve is None or Metric.LAUNCH not in self._entry.metrics:
            return found
        try:
            return replace(found, curve=with_launch(found.curve, setting.stage))
        except FabricheckError as error:
            return replace(found, objections=(*found.objections, str(error)))


def with_launch(curve: Curve, directory: Path) -> Curve:
    """The curve of a hello, with the time that its launch took in ms.

    Raises:
        FabricheckError: if the job script left no time behind.
    """
    took = (_clock(directory / _END) - _clock(directory / _BEGIN)) / _NS_OF_MS
    values = {(Metric.LAUNCH, "avg"): took}
    return replace(curve, points=(replace(curve.points[0], values=values),))


def _clock(path: Path) -> int:
    try:
        return int(path.read_text())
    except (OSError, ValueError) as error:
        raise FabricheckError(
            f"FC1204 expected the time in ns in {path.name}, found none ({error}): the job script "
            "ended earlier"
        ) from error
