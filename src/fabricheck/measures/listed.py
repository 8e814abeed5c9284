"""Benchmarks that a table in their folder lists: a CSV file with a row for each."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Final, TypeVar

from fabricheck.measures.benchmark import RUNS, Benchmark, Family, RanksRule
from fabricheck.measures.metrics import Metric
from fabricheck.tables import NAME, TEXT, YES_NO, Cell, many, maybe, one_of, pattern, rows
from fabricheck.transports.table import TRANSPORTS
from fabricheck.units import parse_size

_Listed = TypeVar("_Listed", bound=Benchmark)

SIZE: Final = Cell("a size such as 8B or 1MiB", parse_size)
_TRANSPORT: Final = one_of(TRANSPORTS.keys())
_COLUMNS: Final[Mapping[str, Cell]] = {
    "name": NAME,
    "title": TEXT,
    "metrics": many(one_of(Metric)),
    "statistics": many(one_of(("avg", "p50", "p99", "min", "max"))),
    "min_size": maybe(SIZE),
    "max_size": maybe(SIZE),
    "runs": one_of({name: frozenset(RUNS[RUNS.index(name) :]) for name in RUNS}),
    "smoke_on": maybe(many(_TRANSPORT)),
    "transports": many(_TRANSPORT),
    "needs": many(one_of(("inline",))),
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
