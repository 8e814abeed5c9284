"""``fabricheck run``."""

import os
import shutil
import sys
import textwrap
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabricheck.cli import completion
from fabricheck.cli.options import gathered
from fabricheck.cli.report import HISTORY, Compared, show, there
from fabricheck.errors import FabricheckError, optional
from fabricheck.provenance import SUITE, home, places
from fabricheck.report.load import load

if TYPE_CHECKING:
    from fabricheck.runner.selection import RunSelection

SystemOption = Annotated[
    str | None,
    typer.Option(
        envvar="RFM_SYSTEM",
        help="System of sites/; 'testbed' starts the embedded cluster.",
        autocompletion=completion.systems,
        show_default="that of this host",
        metavar="NAME",
    ),
]
BenchmarkOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Only this benchmark; may be repeated.",
        autocompletion=completion.benchmarks,
        metavar="NAME",
    ),
]
TransportOption = Annotated[
    list[str] | None,
    typer.Option(
        help="Only this transport; may be repeated.",
        autocompletion=completion.transports,
        metavar="NAME",
    ),
]


@dataclass(frozen=True, slots=True)
class Only:
    """Which cases of a system a command takes: all, or those that its options name."""

    benchmark: BenchmarkOption = None
    transport: TransportOption = None
    nodes: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Only this number of nodes; may be repeated.", metavar="N"),
    ] = None
    environ: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this environment (MPI); may be repeated.",
            autocompletion=completion.environments,
            metavar="NAME",
        ),
    ] = None
    tag: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this run (smoke, nightly, acceptance, full) or family; may be repeated.",
            metavar="TAG",
        ),
    ] = None

    def of(self, system: str) -> "RunSelection":
        """These cases of a system."""
        from fabricheck.runner.selection import RunSelection

        named = (self.benchmark, self.transport, self.environ, self.tag)
        benchmarks, transports, environments, tags = (tuple(each or ()) for each in named)
        nodes = tuple(self.nodes or ())
        return RunSelection(system, benchmarks, transports, environments, tags, nodes)


@dataclass(frozen=True, slots=True)
class OfJobs:
    """What the jobs of a run ask of the scheduler."""

    nodelist: Annotated[
        str, typer.Option(metavar="NODES", help="Only these nodes, such as n[1-4,7].")
    ] = ""
    exclude: Annotated[str, typer.Option(metavar="NODES", help="Not these nodes.")] = ""
    reservation: Annotated[str, typer.Option(help="In this reservation.", metavar="NAME")] = ""
    account: Annotated[str, typer.Option(help="On this account (project).", metavar="NAME")] = ""
    time: Annotated[
        str, typer.Option(metavar="DURATION", help="Limit of each job, such as 30m.")
    ] = ""
    maxjobs: Annotated[
        int | None, typer.Option(min=1, help="Jobs of a partition at once, at most.", metavar="N")
    ] = None

    def options(self, system: str) -> list[str]:
        """Options of ``reframe`` for them; the last two it finds in its environment."""
        from fabricheck.runner.selection import job_options

        return job_options(SUITE, system, asdict(self))


@gathered
def run(
    *,
    system: SystemOption = None,
    only: Only,
    jobs: OfJobs,
    mode: Annotated[
        str | None,
        typer.Option(
            help="ReFrame's mode, such as 'nightly': that tag in random order, within the site's "
            "budget of a night.",
            metavar="MODE",
        ),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write ReFrame's JUnit report, for CI.")
    ] = None,
) -> None:
    """Run the checks of a system, and show the verdict.

    Exit code 0: everything that ran is good or a warning. 1: something is critical, untrusted,
    without reference or did not run. 2: bad input.

    The testbed gets its RDMA devices if this machine can have them. If not, the rest is measured,
    and terminal, page and record list what was not measured.

    Examples:

        fabricheck run --system testbed --tag smoke

        fabricheck run --system testbed --benchmark latency --transport tcp --nodes 2

        fabricheck run --system local --environ mpich

        fabricheck run --system mycluster --mode nightly --junit junit.xml

        fabricheck run --system mycluster --reservation maint --nodelist n[3-7] --time 20m
    """
    if mode and only.environ:
        # With a mode, ReFrame adds its -p to a default that fits all.
        raise FabricheckError(
            "FC2527 expected --mode or --environ, found both: in a mode ReFrame runs all "
            "environments; leave one of the two out"
        )
    if sys.stderr.isatty():
        typer.echo("reading sites and checks", err=True)
    # ReFrame takes a second to import: --help does not pay for it.
    from fabricheck.planning.night import NIGHTLY, choose, resting_of, selected, turns
    from fabricheck.reframe_ext.config import system_here
    from fabricheck.runner import selection, session

    system = system or system_here(SUITE)
    wanted = only.of(system)
    selection.check(SUITE, wanted)
    lacking = selection.lacking(SUITE, wanted)
    if system == "testbed" and (reason := start_testbed(with_rdma=wanted.needs("rdma"))):
        lacking.insert(0, reason)
    # The scheduler is asked for nodes, once there is one.
    options = [*jobs.options(system), *([f"--mode={mode}"] if mode else [])]
    if mode == NIGHTLY and (night := choose(SUITE, system, wanted.benchmarks, wanted.transports)):
        wanted = replace(wanted, chosen=selected(night), resting=tuple(resting_of(night)))
        lacking += night.remarks
    if mode == NIGHTLY:
        wanted = replace(wanted, turns=turns(SUITE, system))
    # The login node of the testbed sees this directory, and not every other.
    written = home() / "reports" / f"junit-{os.getpid()}.xml"
    if junit:
        if not junit.absolute().parent.is_dir():
            raise FabricheckError(
                f"FC2528 expected a directory for --junit {junit}, found none: make it"
            )
        options.append(f"--report-junit={written}")
    code, recorded = session.run(SUITE, wanted, "; ".join(lacking) or None, options)
    if junit:
        shutil.move(written, junit)
    reports = home() / "reports"
    compared = Compared(there(home() / HISTORY))
    found = load(home() / "perflogs", recorded)
    verdict = show(found, html=reports / "fabricheck.html", compared=compared)
    raise typer.Exit(verdict or min(code, 1))


def start_testbed(*, with_rdma: bool) -> str | None:
    """Start the testbed or find it running; says what it lacks, and why, or None."""
    from fabricheck.cli.door import DOOR

    up = optional("fabricheck_testbed.cli", "testbed").up
    # Its Slurm is nobody else's.
    os.environ.setdefault("RFM_POLL_RATE_MIN", "5")
    state_dir = DOOR.state_dir()
    if not with_rdma:
        up(state_dir, share=list(places()))
        return None
    try:
        up(state_dir, share=list(places()), rdma=True)
    except optional("fabricheck_testbed.errors", "testbed").TestbedError as error:
        lacking = f"nothing on RDMA devices (partition rdma of the testbed): {error}"
        words = textwrap.fill(f"NOT MEASURED: {lacking}", shutil.get_terminal_size((100, 24))[0])
        typer.secho(words, fg=typer.colors.YELLOW, bold=True, err=True)
        try:
            # Unasked it would start what has just failed once more.
            up(state_dir, share=list(places()), rdma=False)
        except optional("fabricheck_testbed.errors", "testbed").TestbedError:
            # One that runs with them stays.
            up(state_dir, share=list(places()))
        return lacking
    return None
