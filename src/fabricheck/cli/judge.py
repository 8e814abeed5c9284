"""``fabricheck judge``: a measured curve against a reference file."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from fabricheck.cli.options import JsonOption
from fabricheck.cli.output import picked, tell
from fabricheck.cli.parse import (
    BenchmarkOption,
    ExpectOption,
    FileArgument,
    is_checked,
    read_curves,
    unchecked,
)
from fabricheck.judge.levels import Level
from fabricheck.judge.references import CaseKey, Tolerance, resolve
from fabricheck.judge.verdict import JUDGE, Judgement, Subject, Verdict, judge_curve
from fabricheck.measures.curve import Curve
from fabricheck.measures.parser import CONFIRMER, the_one
from fabricheck.measures.registry import CHECKS, FAMILIES, find, part_of
from fabricheck.transports.placement import placements

_USUAL_NODES = (1, 2, 4, 8, 16)


def _complete_placement(incomplete: str) -> list[str]:
    return [name for name in placements(_USUAL_NODES) if name.startswith(incomplete)]


def judge(
    file: FileArgument,
    *,
    references: Annotated[Path, typer.Option(metavar="FILE", help="Reference file of the system.")],
    system: Annotated[
        str,
        typer.Option(
            metavar="SYSTEM[:PARTITION]",
            help="ReFrame's name of the system; with the partition if the references ask for it.",
        ),
    ],
    environ: Annotated[
        str, typer.Option(help="ReFrame's name of the environment.", metavar="NAME")
    ],
    placement: Annotated[
        str,
        typer.Option(
            help="Transport and number of nodes, such as tcp-2n or shm-1n.",
            autocompletion=_complete_placement,
            metavar="PLACEMENT",
        ),
    ],
    check: Annotated[
        str,
        typer.Option(
            help="Check class of the references.",
            metavar="CLASS",
            show_default="the one of the benchmark's family",
            autocompletion=lambda: list(CHECKS),
        ),
    ] = "",
    expect: ExpectOption = None,
    benchmark: BenchmarkOption = "",
    machine: JsonOption = False,
) -> None:
    """Judge a measured curve: what is wrong, then the level on the last line.

    A table that marks no end, as OSU's, is untrusted without --expect: it may be cut.

    Exit code 0: good or warning.

    Exit code 1: critical, no-reference or untrusted.

    Exit code 2: the output or the reference file cannot be used.

    Examples:

        fabricheck judge latency.out --references references/testbed.yaml \\
            --system testbed --environ openmpi --placement tcp-2n

        srun -N2 osu_bw | fabricheck judge - --references site.yaml --expect 1:4MiB \\
            --system mycluster:cpu --environ mpich --placement rc-2n --json
    """
    curve = the_one(read_curves(file, expect, benchmark), str(file), benchmark)
    if reader := part_of(curve.benchmark, CONFIRMER):
        reader.confirm_case(curve, placement, str(file))
    name, _, _ = system.partition(":")
    partition = system if ":" in system else ""
    key = CaseKey(name, partition, environ, curve.benchmark, placement)
    chosen = check or FAMILIES[find(curve.benchmark).family].checks[0]
    expected, tolerance = resolve(references, chosen, key)
    verdict = judge_curve(curve, expected, tolerance)
    if own := part_of(curve.benchmark, JUDGE):
        # What only the site knows, as the rate of a link, is not judged here.
        verdict = own.refine(verdict, Subject(curve, tolerance))
    checked = is_checked(curve, expect)
    if not checked:
        findings = (unchecked(curve), *verdict.findings)
        verdict = Verdict(Level.UNTRUSTED, verdict.judgements, findings)
    data = _as_json(curve, key, chosen, verdict, tolerance, checked=checked)
    tell(_lines(key, verdict, tolerance), data, machine=machine)
    raise typer.Exit(0 if verdict.level.passes else 1)


def _lines(key: CaseKey, verdict: Verdict, tolerance: Tolerance | None) -> Iterator[str]:
    counts = Counter(judgement.level for judgement in verdict.judgements)
    found = ", ".join(f"{counts[level]} {level}" for level in Level if counts[level])
    yield f"{key}: {len(verdict.judgements)} values, {found}"
    if tolerance:
        yield f"references: {tolerance.kind}, {tolerance.source}, {tolerance.date}"
    yield from (f"- {finding}" for finding in verdict.findings)
    yield verdict.level


def _as_json(
    curve: Curve,
    key: CaseKey,
    check: str,
    verdict: Verdict,
    tolerance: Tolerance | None,
    *,
    checked: bool,
) -> dict[str, Any]:
    return {
        "level": verdict.level,
        "findings": list(verdict.findings),
        **picked(curve, "benchmark program version"),
        "complete": True if checked else None,
        "check": check,
        **picked(key, "system environ placement"),
        "partition": key.partition or None,
        "tolerance": tolerance and picked(tolerance, "kind source date monotone best"),
        "judgements": [
            {
                "variable": str(judgement.variable),
                **picked(judgement, "level value unit message"),
                "reference": _reference(judgement),
            }
            for judgement in verdict.judgements
        ],
    }


def _reference(judgement: Judgement) -> dict[str, Any] | None:
    if (reference := judgement.reference) is None:
        return None
    return {
        "value": reference.value,
        "critical": list(reference.bounds()),
        "warning": list(judgement.good),
        "expected_failure": reference.expected_failure or None,
    }
