"""``fabricheck node``: the verdict on this node, for a scheduler's health check."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fabricheck.cli.output import tell

_EXIT = {"critical": 1, None: 3}


def node(
    *,
    manifest: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Facts that cards must have."),
    ] = None,
    partition: Annotated[
        str, typer.Option(metavar="SYSTEM:PARTITION", help="What its site file expects of a node.")
    ] = "",
    loopback: Annotated[
        bool, typer.Option("--loopback", help="Measure each card against itself, up to 20 s.")
    ] = False,
    lanes: Annotated[
        Path | None,
        typer.Option(
            metavar="DIRECTORY", help="Keep each day's light of modules there; name what fell."
        ),
    ] = None,
    machine: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False,
) -> None:
    """Judge this node in seconds: ports and cards; for prologs and health checks.

    One line; starts no job and drains nothing. docs/reference/node-health.md shows how Slurm's
    prolog, epilog and HealthCheckProgram and LBNL NHC use it.

    Exit code 0: good, or warnings. 1: critical. 2: bad input. 3: inconclusive.

    Examples:

        fabricheck node --json > c001.json

        fabricheck node --manifest c001.json --loopback

        fabricheck node --lanes /var/lib/fabricheck
    """
    from fabricheck.node_health.one_node import SilentNodeError, look
    from fabricheck.node_health.survey import Expectations, read_expectations

    expected = Expectations()
    if partition:
        from fabricheck.sites.files import extras_of

        expected = read_expectations((), extras_of(partition))
    try:
        verdict = look(expected, manifest, lanes, loopback=loopback)
    except SilentNodeError as error:
        lines, level = [f"inconclusive: {error}"], None
        data: dict[str, Any] = {"level": None, "words": str(error)}
    else:
        level = verdict.level
        lines = [verdict.sentence()]
        data = {
            "node": verdict.facts.node,
            "level": level,
            "words": verdict.sentence(),
            "lines": [
                {"rule": each.rule, "level": each.level, "words": each.words}
                for each in verdict.lines
            ],
            "facts": verdict.facts.cards,
        }
    tell(lines, data, machine=machine)
    raise typer.Exit(_EXIT.get(level, 0))
