"""``fabricheck scaling``: what collectives keep of their bandwidth as nodes are added."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from fabricheck.cli.console import open_console, open_table
from fabricheck.cli.options import Asked, JsonOption, gathered
from fabricheck.cli.output import write_json
from fabricheck.errors import FabricheckError
from fabricheck.report import scaling as steps_of
from fabricheck.report.run import ReportedRun
from fabricheck.report.scaling import ScalingCurve, ScalingStep
from fabricheck.units import format_size, parse_size, share, with_unit

_PIPE_WIDTH = 200
_Steps = Mapping[ScalingCurve, Sequence[ScalingStep]]


@gathered
def scaling(
    *,
    asked: Asked,
    benchmark: Annotated[
        list[str] | None, typer.Option(help="Only these collectives.", metavar="NAME")
    ] = None,
    size: Annotated[
        list[str] | None,
        typer.Option(
            help="Only these message sizes, such as 1MiB. Default: the largest that all have.",
            metavar="SIZE",
        ),
    ] = None,
    machine: JsonOption = False,
) -> None:
    """Show time, bytes on the wire, effective bandwidth and parallel efficiency by node.

    The bytes are the least that the busiest rank must send or receive; the efficiency is the
    effective bandwidth over that of two nodes (docs/reference/osu.md).

    Exit code 0: there is something to show. 2: nothing, or no such session.

    Examples:

        fabricheck scaling

        fabricheck scaling --benchmark allreduce --size 1KiB --size 1MiB

        fabricheck scaling --json | jq '.curves[] | select(.benchmark == "alltoall")'
    """
    run = asked.run()
    found = {
        curve: steps
        for curve, steps in steps_of.scaling(run).items()
        if not benchmark or curve.benchmark in benchmark
    }
    sizes = tuple(parse_size(text) for text in size or ())
    every = {curve: _chosen(steps, sizes, every=machine) for curve, steps in found.items()}
    if not (chosen := {curve: steps for curve, steps in every.items() if steps}):
        raise FabricheckError(
            f"FC2529 expected collectives between nodes in {run.path}, found none that were asked "
            "for: run MpiCollective on two nodes and more, or ask for others"
        )
    if machine:
        write_json(_as_json(run, chosen))
    else:
        _show(run, chosen)


def _chosen(
    steps: Sequence[ScalingStep], sizes: Sequence[int], *, every: bool
) -> list[ScalingStep]:
    if sizes:
        return [step for step in steps if step.size in sizes]
    if every:
        return list(steps)
    by_nodes = [{s.size for s in steps if s.nodes == n} for n in {s.nodes for s in steps}]
    shared = set.intersection(*by_nodes)
    return [step for step in steps if shared and step.size == max(shared)]


def _show(run: ReportedRun, found: _Steps) -> None:
    console = open_console(_PIPE_WIDTH)
    figures = ("nodes", "ranks", "time", "on the wire", "effective", "efficiency")
    table = open_table(("collective", "size"), figures)
    for curve, steps in found.items():
        for number, step in enumerate(steps):
            table.add_row("" if number else _title(curve), *_cells(step))
    console.print(table)
    console.print(f"record  {run.path}, {run.which}", soft_wrap=True)


def _title(curve: ScalingCurve) -> str:
    full = " full" if curve.full else ""
    place = f"{curve.system}:{curve.partition}"
    return f"{curve.benchmark} {curve.environ} {curve.transport}{full} on {place}"


def _cells(step: ScalingStep) -> list[str]:
    return [
        format_size(step.size),
        str(step.nodes),
        str(step.ranks),
        with_unit(step.latency, "us"),
        f"{step.wire:.0f} B",
        with_unit(step.bandwidth, "MB/s"),
        "-" if step.efficiency is None else share(step.efficiency),
    ]


def _as_json(run: ReportedRun, found: _Steps) -> dict[str, Any]:
    return {
        "report": str(run.path),
        "curves": [
            {**asdict(curve), "steps": [asdict(step) for step in steps]}
            for curve, steps in found.items()
        ],
    }
