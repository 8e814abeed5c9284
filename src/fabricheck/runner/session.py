"""Running ReFrame and finding what it wrote."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from fabricheck.benchmarks import ADDED
from fabricheck.errors import FabricheckError
from fabricheck.locks import held
from fabricheck.provenance import home
from fabricheck.record.costs import costs
from fabricheck.record.reframe_report import complete
from fabricheck.record.resting import EXTRA, pack
from fabricheck.reframe_ext import command as reframe
from fabricheck.reframe_ext.again import DISTURBED_AGAIN
from fabricheck.reframe_ext.cmake_build import WANTED
from fabricheck.reframe_ext.judged import CHOSEN
from fabricheck.report.files import write_whole
from fabricheck.runner.live import follow, waited_for
from fabricheck.runner.selection import Selection


def run(
    suite: Path,
    selection: Selection,
    lacking: str | None = None,
    options: Sequence[str] = (),
    *,
    aside: bool = False,
) -> tuple[int, str]:
    """Run the selected checks.

    On a terminal one line says how the run stands, and ReFrame's lines go to
    ``reports/reframe.out``; elsewhere they are the progress.

    Args:
        suite: root of the suite.
        selection: what to run.
        lacking: which part of the system this run cannot have, and why; kept in the record.
        options: more options of ``reframe``.
        aside: whether ReFrame's lines go to standard error, as standard output is a machine's.

    Returns:
        ReFrame's exit code, and the session in the record.

    Raises:
        FabricheckError: if ReFrame ended without a report, another run is under way, or the record
            can't be completed with what ReFrame alone knows.
    """
    reports = home(suite) / "reports"
    reports.mkdir(exist_ok=True)
    if lacking is not None:
        # ReFrame takes the extras apart at commas.
        options = [*options, f"--session-extras=lacking={quote(lacking)}"]
    lock_file = reports / ".lock"
    # Two runs of one checkout would overwrite each other's stage directories. ReFrame holds the
    # lock as well: it may outlive this process, if that is killed.
    busy = (
        f"expected no other run in this checkout, found one that holds {lock_file}: wait for its "
        "end, or use another checkout"
    )
    with held(lock_file, busy) as lock:
        return _run(suite, selection, reports, options, lock=lock, aside=aside)


def _run(
    suite: Path,
    selection: Selection,
    reports: Path,
    options: Sequence[str],
    *,
    lock: int,
    aside: bool,
) -> tuple[int, str]:
    before = set(reports.glob("run-*.json"))
    command = [
        *reframe.command(suite),
        *(word for each in (suite / "checks", *ADDED) for word in ("-c", str(each))),
        *selection.reframe_options(),
        *options,
        "--max-retries=1",
        "-r",
    ]
    own = {WANTED: ":".join(selection.programs()), DISTURBED_AGAIN: "1", CHOSEN: ""}
    if selection.chosen is not None:
        chosen = reports / "chosen"
        write_whole(chosen, json.dumps(selection.chosen))
        own[CHOSEN] = str(chosen)
        command.append(f"--session-extras={EXTRA}={pack(selection.resting)}")
    environment = reframe.environment(suite, **own)
    if sys.stdout.isatty() and not aside:
        sys.stdout.flush()
        # That of the command line shows control characters instead of sending them.
        with open(1, "w", encoding="utf-8", closefd=False) as terminal:
            code = follow(
                command,
                suite=home(suite),
                environment=environment,
                lock=lock,
                known=costs(home(suite) / "perflogs", selection.system),
                terminal=terminal,
            )
    else:
        out = sys.stderr if aside else None
        with (
            subprocess.Popen(
                command, cwd=home(suite), env=environment, pass_fds=[lock], stdout=out
            ) as process,
            waited_for(process),
        ):
            code = process.wait()
    written = set(reports.glob("run-*.json")) - before
    if not written:
        raise FabricheckError(
            f"expected a run report of ReFrame in {reports}, found none (it ended with exit code "
            f"{code}): its last words stand above"
        )
    report = max(written, key=lambda path: path.stat().st_mtime)
    return code, complete(report, home(suite) / "perflogs")
