"""``fabricheck parse``: the output of a benchmark as a table or as JSON."""

import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from fabricheck.cli.console import open_console, open_table
from fabricheck.cli.options import JsonOption
from fabricheck.cli.output import picked, write_json
from fabricheck.errors import FabricheckError, ParseError
from fabricheck.inputs import read_bounded
from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.metrics import point_label
from fabricheck.measures.parser import LACKING, check_complete, decode, parse_all, parse_file
from fabricheck.measures.registry import find, sweep
from fabricheck.units import parse_size

STANDARD_INPUT = Path("-")
_EXPECTATION = re.compile(r"(?P<min>\d{1,18}\w*):(?P<max>\d{1,18}\w*)", re.ASCII)
_PIPE_WIDTH = 160

FileArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        allow_dash=True,
        help="Output of a program of the suite, OSU, perftest, ucx_perftest (-b FILE -f -v), IMB, "
        "nccl-tests, GPCNet, MORI-IO or SEREN; - reads standard input.",
    ),
]
ExpectOption = Annotated[
    str | None,
    typer.Option(
        metavar="MIN:MAX",
        help="Message sizes that must be there, such as 1:4MiB. OSU and ucx_perftest mark no end, "
        "so that only this shows whether their table is complete.",
    ),
]
BenchmarkOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="The benchmark that ran, where the output does not name it: bw_fan_in (OSU prints "
        "another's title), rdma_batch_write.",
    ),
]


def parse(
    file: FileArgument,
    *,
    expect: ExpectOption = None,
    benchmark: BenchmarkOption = "",
    machine: JsonOption = False,
) -> None:
    """Read the output of a benchmark: sizes, columns, units and validation.

    Logs of UCX or srun between the lines are skipped.

    Whatever makes the table doubtful ends with one sentence and exit code 2:
    no table or several, a cut or damaged row, missing sizes, wrong data.

    Examples:

        fabricheck parse latency.out

        srun -N2 osu_latency | fabricheck parse - --expect 1:4MiB

        fabricheck parse fan_in.out --benchmark bw_fan_in

        fabricheck parse allreduce.out --json | jq '.points[].values.latency_p50'
    """
    curves = read_curves(file, expect, benchmark)
    if machine:
        found = [_as_json(curve, checked=is_checked(curve, expect)) for curve in curves]
        write_json(found[0] if len(found) == 1 else {"curves": found})
    else:
        for curve in curves:
            _show(curve, checked=is_checked(curve, expect))


def read_curves(file: Path, expect: str | None, benchmark: str = "") -> list[Curve]:
    """The curves in a file or on standard input, complete as far as that can be known.

    Raises:
        FabricheckError: if there is no complete table or none of ``benchmark``, or ``expect``
            isn't ``MIN:MAX``.
    """
    if benchmark:
        find(benchmark)
    sizes = _expected_sizes(expect) if expect is not None else None
    source = "standard input" if file == STANDARD_INPUT else str(file)
    if file == STANDARD_INPUT:
        text = decode(read_bounded(sys.stdin.buffer), source)
        curves = parse_all(text, source, benchmark)
    else:
        curves = parse_file(file, benchmark)
    chosen = [curve for curve in curves if benchmark in ("", curve.benchmark)]
    if not chosen:
        found = ", ".join(dict.fromkeys(curve.benchmark for curve in curves))
        raise ParseError(f"FC2522 {source}: expected {benchmark}, found {found} in its title")
    for curve in chosen if sizes is not None else ():
        if find(curve.benchmark).min_size is None:
            raise ParseError(
                f"FC2523 {source}: {curve.benchmark} has no message sizes: omit --expect"
            )
        check_complete(curve, sizes or (), source)
    return chosen


def is_checked(curve: Curve, expect: str | None) -> bool:
    """Whether the curve is known to be complete."""
    has_sizes = find(curve.benchmark).min_size is not None
    return curve.is_whole or expect is not None or not (has_sizes or LACKING in curve.metadata)


def unchecked(curve: Curve) -> str:
    """The sentence on a curve that may lack sizes at its end."""
    if LACKING in curve.metadata:
        return f"completeness not checked: {curve.metadata[LACKING]}, give --expect MIN:MAX"
    program = "OSU" if curve.program == "osu" else curve.program
    lack = "does not print its sizes" if curve.program == "perftest" else "marks no end"
    return f"completeness not checked: {program} {lack}, give --expect MIN:MAX"


def _expected_sizes(expect: str) -> tuple[int, ...]:
    match = _EXPECTATION.fullmatch(expect)
    if not match:
        raise FabricheckError(
            "FC2524 expected --expect MIN:MAX in bytes or with a unit, such as 1:4MiB, found "
            f"{expect!r}"
        )
    smallest, largest = (
        int(bound) if bound.isdigit() else parse_size(bound) for bound in match.group("min", "max")
    )
    return sweep(smallest, largest)


def _as_json(curve: Curve, *, checked: bool) -> dict[str, Any]:
    return {
        **picked(curve, "benchmark program version datatype"),
        "metadata": dict(curve.metadata),
        "complete": True if checked else None,
        "units": {metric: metric.row.unit for metric, _ in curve.points[0].values},
        "columns": ["_".join(column) for column in curve.points[0].values],
        "points": [
            {
                **picked(point, "size iterations valid"),
                "values": {"_".join(column): value for column, value in point.values.items()},
            }
            for point in curve.points
        ],
    }


def _show(curve: Curve, *, checked: bool) -> None:
    console = open_console(_PIPE_WIDTH)
    datatype = f", {curve.datatype}" if curve.datatype else ""
    program = f"{curve.program} {curve.version}".rstrip()
    console.print(f"{curve.benchmark} of {program}{datatype}")
    for key, value in curve.metadata.items():
        console.print(f"{key}: {value}", soft_wrap=True)
    console.print(_table(curve))
    sizes = [point.size for point in curve.points if point.size is not None]
    measured = f"{len(sizes)} sizes {_size(curve.points[0])}..{_size(curve.points[-1])}, "
    if sizes or not checked:
        console.print(
            measured * bool(sizes) + ("complete" if checked else unchecked(curve)), soft_wrap=True
        )


def _table(curve: Curve) -> Table:
    columns = list(curve.points[0].values)
    heads = [f"{metric} {statistic} ({metric.row.unit})" for metric, statistic in columns]
    has_iterations = curve.points[0].iterations is not None
    table = open_table((), ("size", *heads, *(["iterations"] if has_iterations else [])))
    table.add_column("data")
    for point in curve.points:
        values = [f"{point.values[column]:.2f}" for column in columns]
        iterations = [str(point.iterations)] if has_iterations else []
        # The parser refuses a table with wrong data, so that no row here can say so.
        table.add_row(_size(point), *values, *iterations, "valid" if point.valid else "not checked")
    return table


def _size(point: Point) -> str:
    metric, _ = next(iter(point.values))
    return "-" if point.size is None else point_label(metric, point.size)
