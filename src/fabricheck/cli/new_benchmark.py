"""``fabricheck new-benchmark``: the folder of a benchmark of one's own."""

import shlex
from pathlib import Path
from typing import Annotated

import typer


def new_benchmark(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the benchmark and its folder.")],
    directory: Annotated[
        Path, typer.Option("--directory", metavar="DIR", help="Where the folder is made.")
    ] = Path("benchmarks"),
) -> None:
    """Write the folder of an own benchmark: program, check, and what to expect.

    It runs as it is, on each transport of MPI that the system offers, is proved, judged and
    recorded. Change the program, entries.py and references.yaml (docs/how-to/own-benchmark.md).

    Exit code 0: written. 2: bad input.

    Examples:

        fabricheck new-benchmark halo3d
    """
    from fabricheck.planning.own_benchmark import write_benchmark

    folder = write_benchmark(directory.absolute(), name)
    typer.echo(f"{folder}: written; next:")
    typer.echo(f"  export FABRICHECK_BENCHMARKS={shlex.quote(str(folder.parent))}")
    typer.echo(f"  fabricheck run --system local --benchmark {name}")
