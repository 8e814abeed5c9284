"""``fabricheck init``: a repository of private systems."""

from pathlib import Path
from typing import Annotated

import typer


def init(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A directory that is empty, or not there yet.")
    ],
) -> None:
    """Write a repository for private systems: site files, references, nightly, pipeline.

    It runs the suite as a dependency, without a fork. setup-env.sh there sets FABRICHECK_SITES, the
    directories (with ':' between them) whose sites/ and references/ come before the suite's own.

    Exit code 0: written. 2: bad input.

    Examples:

        fabricheck init our-systems && . our-systems/setup-env.sh
    """
    from fabricheck.planning.repository import write_repository

    write_repository(directory)
    typer.echo(
        f"{directory}: written; next: . {directory}/setup-env.sh && fabricheck site init NAME"
    )
