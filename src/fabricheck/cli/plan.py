"""``fabricheck plan``: what a run on a system measures, and why it measures nothing else."""

from dataclasses import asdict
from typing import Annotated

import typer

from fabricheck.cli.options import JsonOption, gathered
from fabricheck.cli.output import tell
from fabricheck.cli.run import Only, SystemOption
from fabricheck.errors import FabricheckError
from fabricheck.provenance import SUITE, home


@gathered
def plan(
    *,
    system: SystemOption = None,
    only: Only,
    night: Annotated[
        bool,
        typer.Option("--night", help="What tonight would run within its budget."),
    ] = False,
    machine: JsonOption = False,
) -> None:
    """Show the matrix of a system, and for every case that is left out what it lacks.

    ReFrame loads the checks and selects them by its own rules; nothing runs. The options that
    choose cases are those of "fabricheck run". The cost is estimated from what the cases took
    before. --json lists every case. --night shows what "fabricheck nightly" would run now: the
    chosen cases, the share of expected faults that they cover, and for each other case why it rests
    and when it is due (docs/how-to/nightly.md).

    Exit code 0: shown. 2: bad input.

    Examples:

        fabricheck plan --system testbed

        fabricheck plan --system testbed --transport rc --nodes 2

        fabricheck plan --system testbed --tag nightly --json | jq '.left_out[].reason'

        fabricheck plan --system mycluster --night
    """
    from fabricheck.planning import plan_text
    from fabricheck.planning.plan import make
    from fabricheck.record.costs import Key, costs, estimate
    from fabricheck.reframe_ext.config import system_here
    from fabricheck.runner.selection import check_names

    system = system or system_here(SUITE)
    if night:
        _show_night(system, only, machine=machine)
        return
    wanted = only.of(system)
    check_names(SUITE, wanted)
    made = make(SUITE, system, wanted.tags, wanted.holds)
    keys = [
        Key(each.partition, each.environ, each.check, each.benchmark, each.placement)
        for each in made.cases
    ]
    cost = estimate(keys, costs(home(SUITE) / "perflogs", system))
    tell(plan_text.plan_lines(made, cost), {**asdict(made), "cost": asdict(cost)}, machine=machine)


def _show_night(system: str, only: Only, *, machine: bool) -> None:
    from fabricheck.planning import plan_text
    from fabricheck.planning.night import choose

    if only != Only():
        raise FabricheckError(
            "FC2525 expected --night alone, found options that choose cases beside it: a night "
            "chooses among the cases of the tag nightly; leave them out"
        )
    found = choose(SUITE, system)
    if found is None:
        raise FabricheckError(
            f"FC2526 expected a section night in the site file of {system}, found none: its nights "
            "run everything; give it a budget (docs/how-to/nightly.md), or leave --night out"
        )
    tell(plan_text.night_lines(found), asdict(found), machine=machine)
