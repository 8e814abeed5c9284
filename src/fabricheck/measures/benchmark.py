"""What is known of a benchmark: its metrics, units, sizes and how it is run."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeVar

from fabricheck.measures.metrics import Metric
from fabricheck.tables import NAME, TEXT, YES_NO, Cell, many, maybe, one_of, pattern, rows
from fabricheck.transports.table import TRANSPORTS
from fabricheck.units import parse_size


@dataclass(frozen=True, slots=True)
class Family:
    """Benchmarks that the same checks measure.

    Attributes:
        name: also the tag of its cases.
        title: what sort of benchmark it is, in words.
        checks: the check classes that measure it; of several the first is that of single ranks.
        layer: the layer of the software whose speed it measures on a path between two ends:
            ``MPI``, ``UCX`` or ``verbs``; empty for what has no layers below it.
        has_references: false where a run is its own yardstick.
        opens_ports: whether its programs open RDMA ports themselves, and MPI only starts them.
        starts: programs that its jobs start beside the benchmark, on ``PATH`` of the nodes.
    """

    name: str
    title: str
    checks: tuple[str, ...]
    layer: str = ""
    has_references: bool = True
    opens_ports: bool = False
    starts: tuple[str, ...] = ()


class RanksRule(StrEnum):
    """How many MPI ranks a benchmark can run with."""

    EXACTLY_TWO = "exactly two"
    EVEN = "an even number"
    AT_LEAST_TWO = "at least two"
    AT_LEAST_THREE = "at least three"

    @property
    def least(self) -> int:
        """The fewest ranks."""
        return 3 if self is RanksRule.AT_LEAST_THREE else 2

    @property
    def all_at_once(self) -> bool:
        """Whether all ranks take part in one operation, however many there are."""
        return self in (RanksRule.AT_LEAST_TWO, RanksRule.AT_LEAST_THREE)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What is known of every benchmark.

    Attributes:
        name: short name, the key in references, perflogs and reports.
        family: name of the family that it belongs to.
        title: what it is, in words.
        metrics: what is measured, the one that names the benchmark first.
        statistics: the statistics that are recorded and judged.
        min_size: smallest message in bytes, ``None`` if the benchmark sends no payload.
        max_size: largest message in bytes, ``None`` if the benchmark sends no payload.
        runs: the runs that it belongs to, as tags of ``RUNS``.
        smoke_on: the transports on which it belongs to the smoke run; ``None`` for all.
    """

    name: str
    family: str
    title: str
    metrics: tuple[Metric, ...]
    statistics: tuple[str, ...]
    min_size: int | None
    max_size: int | None
    runs: frozenset[str]
    smoke_on: tuple[str, ...] | None = field(default=None, kw_only=True)

    def runs_on(self, transport: str) -> frozenset[str]:
        """The runs that it belongs to on a transport."""
        if self.smoke_on is None or transport in self.smoke_on:
            return self.runs
        return self.runs - {"smoke"}

    @property
    def recorded(self) -> tuple[tuple[Metric, str], ...]:
        """Metric and statistic of each value that is recorded and judged at a size."""
        return tuple((metric, each) for metric in self.metrics for each in self.statistics)


@dataclass(frozen=True, slots=True)
class MpiBenchmark(Benchmark):
    """A benchmark of MPI.

    Attributes:
        printed: what stands between the program and its version in the title line of the output.
            Some OSU programs print the title of another.
        datatype: what to pass with ``-T``; ``None`` for the program's default. Reductions are
            never left at ``MPI_CHAR``: data validation of ``osu_allreduce`` then fails on a
            healthy Open MPI 4.1.4 (its ``op/avx`` component).
        ranks: how many ranks it can run with.
        validates: whether OSU can check the data received (``-c``).
        in_probe: whether ``mpi_probe`` measures it too, as a subcommand of the same name.
    """

    printed: str
    datatype: str | None
    ranks: RanksRule
    validates: bool = True
    in_probe: bool = False

    @property
    def osu_program(self) -> str:
        """The OSU program that measures it."""
        return f"osu_{self.name}"

    @property
    def recorded(self) -> tuple[tuple[Metric, str], ...]:
        """As of every benchmark; of a metric beside the first only the average."""
        first, *others = self.metrics
        return (
            *((first, statistic) for statistic in self.statistics),
            *((metric, "avg") for metric in others),
        )


@dataclass(frozen=True, slots=True)
class ProgramBenchmark(Benchmark):
    """A benchmark of a program with options, beside the families of MPI.

    Attributes:
        program: the program on ``PATH``, or one of the folder of that name in ``src/bench``.
        options: what makes the program this benchmark; never sizes, counts, devices or transports.
        transports: the transports that it can use.
        needs: features that a partition must offer beside those of the transport.
    """

    program: str
    options: tuple[str, ...]
    transports: tuple[str, ...]
    needs: tuple[str, ...] = ()


RUNS = ("smoke", "nightly", "acceptance", "full")
"""The tags that say when a check runs, each run with all of the one before it: a look at the fabric
in minutes; every night; before and after a change; everything there is."""

FULL = frozenset({"full"})
ACCEPTANCE = FULL | {"acceptance"}
NIGHTLY = ACCEPTANCE | {"nightly"}
SMOKE = NIGHTLY | {"smoke"}

_Listed = TypeVar("_Listed", bound=Benchmark)

RUN: Final = one_of({name: frozenset(RUNS[RUNS.index(name) :]) for name in RUNS})
SIZE: Final = Cell("a size such as 8B or 1MiB", parse_size)
_TRANSPORT: Final = one_of(TRANSPORTS.keys())
_COLUMNS: Final[Mapping[str, Cell]] = {
    "name": NAME,
    "title": TEXT,
    "metrics": many(one_of(Metric)),
    "statistics": many(one_of(("avg", "p50", "p99", "min", "max"))),
    "min_size": maybe(SIZE),
    "max_size": maybe(SIZE),
    "runs": RUN,
    "smoke_on": maybe(many(_TRANSPORT)),
    "transports": many(_TRANSPORT),
    "needs": many(one_of(("inline", "several_ports", "gpu_verbs"))),
    "printed": pattern("MPI[ _].+ Test", "MPI Latency Test"),
    "datatype": maybe(one_of(("mpi_float", "mpi_int"))),
    "ranks": one_of(RanksRule),
    "validates": YES_NO,
    "in_probe": YES_NO,
}
"""How the cells of a field are read; of the runs the first is named."""


def options(regex: str, example: str) -> Cell:
    """Options of a program, of a form of which there is an example."""
    form = pattern(regex, example)
    return Cell(form.form, lambda text: tuple(form.read(text).split()))


def listed(
    path: Path, kind: type[_Listed], families: Sequence[Family], **columns: Cell
) -> dict[str, _Listed]:
    """The benchmarks of a table, by name, in its order.

    Args:
        path: the file; lines that begin with ``#`` say why.
        kind: their class; the columns are fields of it.
        families: those of the folder.
        columns: how the cells of other fields are read, or those of a field more strictly.

    Raises:
        FabricheckError: for the first line that is wrong.
    """
    family = one_of(each.name for each in families)
    known = {**_COLUMNS, "family": family, **columns}
    schema = {each.name: known[each.name] for each in fields(kind)}
    defaults = {each.name for each in fields(kind) if each.default is not MISSING}
    return {row["name"]: kind(**row) for row in rows(path, schema, defaults)}
