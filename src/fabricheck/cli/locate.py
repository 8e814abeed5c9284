"""``fabricheck locate``: which node or link is slow, from one job on all idle nodes."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fabricheck.cli.options import JsonOption, gathered
from fabricheck.cli.output import tell
from fabricheck.cli.run import OfJobs, SystemOption
from fabricheck.provenance import SUITE, home


class Carrier(StrEnum):
    """What carries the data between nodes."""

    MPI = "mpi"
    NCCL = "nccl"


@gathered
def locate(
    *,
    system: SystemOption = None,
    jobs: OfJobs,
    environ: Annotated[
        str | None, typer.Option(help="Environment (MPI).", show_default="all", metavar="NAME")
    ] = None,
    transport: Annotated[
        str | None, typer.Option(help="Transport.", show_default="all", metavar="NAME")
    ] = None,
    carrier: Annotated[Carrier, typer.Option("--with", help="What carries data.")] = Carrier.MPI,
    topology: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What is known of leaves, spines and routes.",
            show_default="that of the site file",
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Every pair once: as many rounds as nodes.")
    ] = False,
    seconds: Annotated[
        float, typer.Option(min=0.05, help="Of each round.", metavar="SECONDS")
    ] = 2.0,
    node_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the good nodes, one a line.")
    ] = None,
    machine: JsonOption = False,
) -> None:
    """Name the node or link that is slower than its peers.

    All idle nodes of every partition of the system measure in disjoint pairs at once, in rounds;
    what a round found decides who meets in the next one (docs/how-to/localisation.md). Nothing is
    drained: the commands for it are printed.

    Exit code 0: no place is accused. 1: a place is accused, or a port is down. 3: the measurements
    decide nothing. 2: bad input.

    Examples:

        fabricheck locate --system mycluster --environ openmpi --transport rc

        fabricheck locate --system mycluster --topology fabric.topology --node-file good.txt

        fabricheck locate --system mycluster --with nccl

        fabricheck locate --system mycluster --json | jq '.cases[].accused[].places'
    """
    # ReFrame takes a second to import: --help does not pay for it.
    from fabricheck.judge.levels import Level
    from fabricheck.localise.located import Located, as_json, cards, lines
    from fabricheck.localise.located import locate as judged
    from fabricheck.localise.rails import FEWEST, slow_rails
    from fabricheck.record.entries import LOCATE
    from fabricheck.reframe_ext.config import system_here
    from fabricheck.report.files import write_whole
    from fabricheck.report.load import load
    from fabricheck.runner import selection, session

    benchmark = "pair_health" if carrier is Carrier.MPI else "pair_health_nccl"
    wanted = selection.RunSelection(
        system or system_here(SUITE),
        (benchmark,),
        (transport,) if transport else (),
        (environ,) if environ else (),
    )
    selection.check(SUITE, wanted)
    options = jobs.options(wanted.system)
    options += [f"-SPairHealth.round_seconds={seconds}", f"--session-extras=kind={LOCATE}"]
    options += ["-SPairHealth.full=yes"] if full else []
    if topology:
        options.append(f"-SPairHealth.topology={topology.absolute()}")
    _, recorded = session.run(SUITE, wanted, None, options, aside=machine)
    found_cases = load(home() / "perflogs", recorded).cases
    cases = [case for case in found_cases if case.benchmark == benchmark]
    proved = (Level.GOOD, Level.WARNING, Level.CRITICAL, Level.NO_REFERENCE)
    unproved = [case for case in cases if case.level not in proved]
    judgements = [(case, judged(Path(case.output))) for case in cases if case not in unproved]
    text = [
        line
        for case, each in judgements
        for line in (f"{case.system}:{case.partition} {case.title}: {each.level}", *lines(each))
    ]
    of_nodes: dict[tuple[str, ...], list[tuple[str, Located]]] = {}
    for case, each in judgements:
        if case.port:
            where = case.system, case.partition, case.environ, case.transport
            of_nodes.setdefault(where, []).append((case.port, each))
    several = [runs for runs in of_nodes.values() if len(runs) > 1]
    named = [line for runs in several for line in (*cards(runs), *slow_rails(runs))]
    cases_as_json = [{"case": case.title, **as_json(each)} for case, each in judgements]
    tell(text + named, {"cases": cases_as_json, "cards": named}, machine=machine)
    for case in unproved:
        typer.echo(f"{case.title}: no conclusion: {'; '.join(case.causes)}", err=machine)
    names = [set(each.good) for _, each in judgements if not each.is_pair]
    if node_file is not None and names:
        good = set.intersection(*names).difference(*(each.bad for _, each in judgements))
        write_whole(node_file, "".join(f"{name}\n" for name in sorted(good)))
    critical = bool(named) or any(each.level is Level.CRITICAL for _, each in judgements)
    open_ = any(
        each.is_pair and not each.dead
        for runs in of_nodes.values()
        for _, each in runs
        if len(runs) < FEWEST
    )
    raise typer.Exit(3 if unproved or open_ or not cases else int(critical))
