"""``fabricheck explain``: the layers below a case, and the one in which it went wrong."""

from dataclasses import replace
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from fabricheck.cli.console import open_console, open_table
from fabricheck.cli.options import Asked, JsonOption, gathered
from fabricheck.cli.output import picked, write_json
from fabricheck.errors import FabricheckError
from fabricheck.judge.levels import Level
from fabricheck.measures.metrics import size_label
from fabricheck.record.entries import Sample
from fabricheck.report.layer_comparison import LayerComparison, LayerRow, compare_layers, find_case
from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.units import times, with_unit

_PIPE_WIDTH = 200


@gathered
def explain(
    case: Annotated[
        list[str],
        typer.Argument(
            metavar="CASE",
            help="The case as the report names it: benchmark, environment, placement.",
        ),
    ],
    *,
    asked: Asked,
    partition: Annotated[
        str, typer.Option(help="Only cases of this partition.", metavar="NAME")
    ] = "",
    machine: JsonOption = False,
) -> None:
    """Line up verbs, UCX and MPI on the path of a case, and name the layer at fault.

    Any words that match exactly one case are enough. A run that measured it since the last
    night is explained instead, unless --session names another.

    Exit code 0: the layer at fault is named, or nothing is wrong. 1: the layer is not known
    yet, and the output names what to measure. 2: no such case or session.

    Examples:

        fabricheck explain latency openmpi rc-2n

        fabricheck explain "allreduce mpich tcp-4n" --session 20261121T054159Z-login1-4711

        fabricheck explain bw openmpi rc-2n --json | jq .places
    """
    run, chosen, before = _measured_last(asked, " ".join(case), partition)
    found = compare_layers(run, chosen)
    if machine:
        write_json(_as_json(run, found))
    else:
        _show(run, found, before)
    raise typer.Exit(0 if found.diagnosis.settled else 1)


def _measured_last(
    asked: Asked, words: str, partition: str
) -> tuple[ReportedRun, ReportedCase, str]:
    """The newest run that measured the case, the case, and what the last night found before it."""
    night = asked.run()
    for newer in reversed(night.newer):
        run = replace(asked, session=newer.session).run()
        try:
            case = find_case(run, words, partition)
        except FabricheckError:  # its message would be of that run alone
            continue
        if not case.status.measured:
            continue
        earlier = [e for e in night.cases if (e.title, e.partition) == (case.title, case.partition)]
        before = f"; before: {earlier[0].status} in {night.kind} {night.session}" if earlier else ""
        return run, case, before
    return night, find_case(night, words, partition), ""


def _show(run: ReportedRun, found: LayerComparison, before: str) -> None:
    console = open_console(_PIPE_WIDTH)
    case = found.case
    nodes = f", nodes {', '.join(case.nodes)}" if case.nodes else ""
    console.print(
        f"{case.title} on {case.system}:{case.partition}{nodes}: {case.status}", soft_wrap=True
    )
    for cause in case.causes:
        console.print(f"  {cause}", soft_wrap=True)
    console.print()
    console.print(_table(found))
    console.print()
    for sentence in _conclusions(found):
        console.print(sentence, soft_wrap=True)
    console.print(f"record  {run.path}, {run.which}{before}", soft_wrap=True)


def _table(found: LayerComparison) -> Table:
    sizes = (f"at {size_label(size)}" for size in found.sizes)
    table = open_table(("layer", "case", "level", *sizes))
    for layer, state in found.states.items():
        rows = [row for row in found.rows if row.layer is layer]
        if not rows:
            table.add_row(layer, "", state)
        for number, row in enumerate(rows):
            table.add_row("" if number else layer, *_cells(row, chosen=row.case is found.case))
    return table


def _cells(row: LayerRow, *, chosen: bool) -> list[str | Text]:
    title = Text(row.case.title, "bold" if chosen else "")
    values = [_against_reference(sample) for sample in row.samples]
    return [title, row.case.status, *values]


def _against_reference(sample: Sample | None) -> str:
    if sample is None or sample.value is None:
        return "-"
    text = with_unit(sample.value, sample.unit)
    if sample.reference:
        reference = with_unit(sample.reference, sample.unit)
        text += f" ({times(sample.value / sample.reference)} of {reference})"
    return text if not sample.level or Level(sample.level).passes else f"{text} {sample.level}"


def _conclusions(found: LayerComparison) -> list[str]:
    sentences = [
        f"{number} more case{'s' if number > 1 else ''} of {layer} without a row"
        for layer, number in found.left_out.items()
    ]
    sentences.append(f"=> {found.diagnosis.sentence}")
    if found.suspects:
        was = "was" if len(found.suspects) == 1 else "were"
        sentences.append(
            f"=> {', '.join(found.suspects)} {was} in each of the {found.red} red cases of "
            f"{found.case.partition} and in no good one: look there first"
        )
    sentences += [f"to know more: {command}" for command in found.commands]
    return sentences


def _as_json(run: ReportedRun, found: LayerComparison) -> dict[str, Any]:
    return {
        "report": str(run.path),
        "session": run.session,
        "case": found.case.title,
        **picked(found.case, "status system partition nodes causes"),
        **picked(found.diagnosis, "places sentence settled unmeasured"),
        "suspects": found.suspects,
        "commands": found.commands,
        "layers": [
            {
                "layer": layer,
                "state": state,
                "cases": [_row_json(row) for row in found.rows if row.layer is layer],
                "left_out": found.left_out.get(layer, 0),
            }
            for layer, state in found.states.items()
        ],
    }


def _row_json(row: LayerRow) -> dict[str, Any]:
    return {
        "case": row.case.title,
        **picked(row.case, "status nodes"),
        "values": [
            {
                **picked(sample, "variable size value unit reference lower upper"),
                "level": sample.level or None,
            }
            for sample in row.samples
            if sample is not None
        ],
    }
