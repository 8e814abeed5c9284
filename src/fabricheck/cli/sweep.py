"""``fabricheck sweep``: which values of environment variables are better than the default."""

import json
from typing import Annotated

import typer

from fabricheck.cli.console import open_console
from fabricheck.cli.options import JsonOption
from fabricheck.cli.output import tell, write_json
from fabricheck.cli.run import SystemOption, start_testbed
from fabricheck.provenance import SUITE

_WIDTH = 160
_NOTHING = 3


def sweep(
    *,
    system: SystemOption = None,
    benchmark: Annotated[str, typer.Option(help="What to measure.", metavar="NAME")],
    vary: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=VALUE[,VALUE]",
            help="An environment variable and its values; may be repeated, for each combination. "
            "An empty value leaves it unset, '\\,' is a comma in a value.",
        ),
    ],
    partition: Annotated[
        str, typer.Option(help="Of the system, where several fit.", metavar="NAME")
    ] = "",
    environ: Annotated[
        str, typer.Option(help="Environment (MPI), where several fit.", metavar="NAME")
    ] = "",
    transport: Annotated[
        str, typer.Option(help="Transport, where several fit.", metavar="NAME")
    ] = "",
    nodes: Annotated[
        int, typer.Option(min=0, help="Number of nodes, 0 where one fits.", metavar="N")
    ] = 0,
    rounds: Annotated[
        int, typer.Option(min=2, help="Measurements of each setting.", metavar="N")
    ] = 12,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would run and how long; run nothing.")
    ] = False,
    machine: JsonOption = False,
) -> None:
    """Find the setting of environment variables that is better than the default.

    One case runs again and again in one allocation: in each round once with no variable set, and
    once with each setting, in an order that a drift in time hits alike. Shown are the best setting
    for small, middle and large messages and for all, its gain with an interval that allows for the
    number of settings, and the line for the site file. A transport is proved as in a night: a
    setting with which it is not, which fails, or which UCX or the MPI doesn't know, can't be
    trusted, and is shown with the reason.

    Nothing of it enters history, trend, references or acceptance: the record lies in
    reports/sweeps/.

    Exit code 0: compared, whatever is better. 1: some setting can't be trusted, or has too few
    rounds. 3: nothing could be compared. 2: bad input.

    Examples:

        fabricheck sweep --system testbed --benchmark allreduce --transport tcp --nodes 2 \\
            --environ openmpi --vary UCX_RNDV_THRESH=1k,8k,64k,inf

        fabricheck sweep --benchmark allreduce --transport rc --nodes 8 --environ openmpi5 \\
            --vary OMPI_MCA_coll_tuned_use_dynamic_rules=1 \\
            --vary OMPI_MCA_coll_tuned_allreduce_algorithm=2,3,4,5,6 --dry-run

        fabricheck sweep --system local --benchmark latency --environ mpich \\
            --vary UCX_RNDV_THRESH=8k,64k --json | jq '.best'
    """
    from fabricheck.acceptance import best_setting_text as shown
    from fabricheck.acceptance.best_setting import FEW, UNTRUSTED, best_setting
    from fabricheck.planning.plan import make
    from fabricheck.reframe_ext.config import system_here
    from fabricheck.report.files import write_whole
    from fabricheck.runner import selection
    from fabricheck.runner import sweep as sweeping

    system = system or system_here(SUITE)
    settings = sweeping.settings_of(vary)
    wanted = selection.RunSelection(
        system,
        (benchmark,),
        (transport,) if transport else (),
        (environ,) if environ else (),
        nodes=(nodes,) if nodes else (),
    )
    selection.check(SUITE, wanted)
    if system == "testbed" and not dry_run:
        start_testbed(with_rdma=wanted.needs("rdma"))
    cases = make(SUITE, system, (), wanted.holds).cases
    case = sweeping.one_of([c for c in cases if partition in ("", c.partition)], system)
    made = sweeping.made(SUITE, system, case, settings, rounds)
    told = sweeping.words(made)
    if dry_run:
        plan = {"seconds": made.seconds, "runs": made.plan.runs}
        tell(told, {**made.where, **plan}, machine=machine)
        return
    typer.echo("\n".join(told), err=machine)
    directory, runs = sweeping.measure(SUITE, made, aside=machine)
    found = {**made.where, **best_setting(settings, made.order, runs)}
    write_whole(directory / "sweep.json", f"{json.dumps(found, indent=2)}\n")
    if machine:
        write_json(found)
    else:
        shown.show(found, open_console(_WIDTH))
        typer.echo(f"\nrecord  {directory}")
    says = {row["says"] for row in found["ratios"]}
    bad = says & {UNTRUSTED, FEW}
    raise typer.Exit(_NOTHING if says == bad else int(bool(bad)))
