"""``lab/simulate locate``."""

from typing import Annotated

import typer

from simulation.few import tables as few_tables
from simulation.locating import beside, seldom, tables
from simulation.pairs import Kind
from simulation.tables import JsonOption, SeedOption, show

_HOSTS_OF_TWO_LEAVES = 64


def locate(
    *,
    nodes: Annotated[
        int | None,
        typer.Option(
            min=4, help="Nodes of one fabric to simulate.", show_default="all of the table"
        ),
    ] = None,
    bad: Annotated[int, typer.Option(min=0, help="Slow nodes of it.")] = 10,
    links: Annotated[
        int, typer.Option(min=0, help="Slow links of it; its topology then is known.")
    ] = 0,
    noise: Annotated[float, typer.Option(min=0.001, help="Of a measurement, relative.")] = 0.02,
    correlated: Annotated[
        bool, typer.Option("--correlated", help="One leaf is congested for some rounds.")
    ] = False,
    heavy_tail: Annotated[
        bool, typer.Option("--heavy-tail", help="One test in 100 is slower by 1.3 to 3.")
    ] = False,
    rivals: Annotated[
        bool, typer.Option("--rivals", help="Only the table of rivals, on other fabrics.")
    ] = False,
    few: Annotated[
        bool, typer.Option("--few", help="Only the tables of three to eight nodes.")
    ] = False,
    now_and_then: Annotated[
        bool, typer.Option("--now-and-then", help="Only the table of what is slow at times.")
    ] = False,
    runs: Annotated[int, typer.Option(min=1, help="For each figure.")] = 100,
    seed: SeedOption = 20261122,
    machine: JsonOption = False,
) -> None:
    """Measure how well "fabricheck locate" names slow nodes and links, beside its rivals.

    Without --nodes it prints the tables of docs/how-to/localisation.md.

    Exit code 0: measured. 2: bad input.

    Examples:

        lab/simulate locate --runs 100

        lab/simulate locate --rivals --runs 3

        lab/simulate locate --few --runs 400

        lab/simulate locate --now-and-then --runs 30

        lab/simulate locate --nodes 10000 --bad 10 --links 3 --correlated --heavy-tail --runs 5
    """
    hosts = 32 if nodes and nodes >= _HOSTS_OF_TWO_LEAVES else 2
    kind = nodes and Kind(
        -(-nodes // hosts), hosts, hosts if links else 0, bad, links, noise, heavy_tail, correlated
    )
    data = {"runs": runs, "seed": seed}
    if few:
        found = few_tables(runs, seed)
    elif now_and_then:
        found = seldom(runs, seed)
    else:
        found = beside(runs, seed) if rivals else tables(runs, seed, kind or None)
    show(data, found, machine=machine)
