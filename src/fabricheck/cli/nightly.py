"""``fabricheck nightly``: run, history, trend, page and summary of a night, or a look at them."""

from dataclasses import asdict
from datetime import timedelta
from typing import Annotated, Final

import typer

from fabricheck.cli.options import JsonOption
from fabricheck.cli.output import tell
from fabricheck.cli.run import BenchmarkOption, SystemOption, TransportOption
from fabricheck.errors import FabricheckError
from fabricheck.provenance import SUITE
from fabricheck.runner.nightly import MailOn, NightPlan, check_nights, run_night

_MOST_DAYS: Final = 36_500
_MOST_HOURS: Final = 8_784


def nightly(
    *,
    system: SystemOption = None,
    benchmark: BenchmarkOption = None,
    transport: TransportOption = None,
    mail: Annotated[
        str,
        typer.Option(
            metavar="COMMAND",
            envvar="FABRICHECK_MAIL",
            help="Shell command that takes the summary on its standard input; $SUBJECT is set. "
            "The variable hides a secret from the list of processes.",
        ),
    ] = "",
    mail_on: Annotated[
        MailOn,
        typer.Option(
            help="Which nights the mail command gets: 'wrong': not fine; 'change': ended otherwise "
            "than the night before, or something is not proved or not judged; or 'always'."
        ),
    ] = MailOn.ALWAYS,
    keep_days: Annotated[
        float,
        typer.Option(min=1, help="Days that nights and run reports are kept.", metavar="DAYS"),
    ] = 90,
    every_hours: Annotated[
        float,
        typer.Option(
            min=0.1, help="How often a night is to come; later, one is missing.", metavar="HOURS"
        ),
    ] = 24,
    check: Annotated[
        bool, typer.Option("--check", help="Run nothing; report a missing or failed night.")
    ] = False,
    machine: JsonOption = False,
) -> None:
    """Run a night: checks, history, trend, page, summary; bin/nightly.sh is for cron.

    Everything is written to reports/nights/BEGIN/: page.html, summary.txt (20 lines), junit.xml,
    and the output of each step. reports/nights/latest is the last night that was completed. A night
    that is killed loses nothing; the next one reports it.

    Exit code 0: all is well. 1: something is critical, untrusted or without reference, or a
    regression is new or open; with --check, a night is missing or a step of it failed. 2: a step
    could not do its work, or another night is under way.

    Examples:

        fabricheck nightly --system mycluster --mail 'mail -s "$SUBJECT" ops@example.org'

        fabricheck nightly --system mycluster --mail-on wrong --mail 'mail ops@example.org'

        fabricheck nightly --check --every-hours 24

        fabricheck nightly --system local --json | jq .codes
    """
    limits = ("--keep-days", keep_days, _MOST_DAYS), ("--every-hours", every_hours, _MOST_HOURS)
    for option, value, most in limits:
        # Written so that it holds for what is no number, too.
        if not value <= most:
            raise FabricheckError(f"FC2519 expected {option} of {most} at most, found {value:g}")

    if not (check or system):
        from fabricheck.reframe_ext.config import system_here

        system = system_here(SUITE)
    options = [f"--system={system}"]
    options += [f"--benchmark={each}" for each in benchmark or ()]
    options += [f"--transport={each}" for each in transport or ()]
    keep, every = timedelta(days=keep_days), timedelta(hours=every_hours)
    plan = NightPlan(SUITE, options, mail, mail_on, keep, every)
    if check:
        notes = check_nights(plan)
        tell(notes or ["no night is missing"], {"missing": notes}, machine=machine)
        raise typer.Exit(int(bool(notes)))
    done = run_night(plan)
    tell(done.summary, {**asdict(done), "directory": str(done.directory)}, machine=machine)
    raise typer.Exit(done.exit_code)
