"""Running ReFrame and finding what it wrote."""

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TextIO
from urllib.parse import quote

from fabricheck.errors import FabricheckError
from fabricheck.locks import of_run
from fabricheck.measures import ADDED
from fabricheck.provenance import SESSION, home
from fabricheck.provenance import session as name_of_session
from fabricheck.record.costs import costs
from fabricheck.record.resting import EXTRA, pack
from fabricheck.record.sessions import last
from fabricheck.reframe_ext import command as reframe
from fabricheck.reframe_ext.again import DISTURBED_AGAIN
from fabricheck.reframe_ext.cmake_build import WANTED
from fabricheck.reframe_ext.judged import CHOSEN, NIGHT
from fabricheck.reframe_ext.rota import ROTA
from fabricheck.reframe_ext.varied import SWEEP
from fabricheck.report.files import write_whole
from fabricheck.report.load import load
from fabricheck.report.status import Status
from fabricheck.runner.live import follow, started
from fabricheck.runner.selection import RunSelection


def run(
    suite: Path,
    selection: RunSelection,
    lacking: str | None = None,
    options: Sequence[str] = (),
    *,
    aside: bool = False,
    sweep: Path | None = None,
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
        sweep: the file with the plan of a sweep, beside which its record is to be; nothing of it
            runs again, as that would be out of turn.

    Returns:
        ReFrame's exit code, and the session in the record.

    Raises:
        FabricheckError: if ReFrame did not record the end of its session, or another run is under
            way.
    """
    reports = home(suite) / "reports"
    reports.mkdir(exist_ok=True)
    if lacking is not None:
        # ReFrame takes the extras apart at commas.
        options = [*options, f"--session-extras=lacking={quote(lacking)}"]
    # Two runs of one checkout would overwrite each other's stage directories. ReFrame holds the
    # lock as well: it may outlive this process, if that is killed.
    busy = (
        f"FC0416 expected no other run in this checkout, found one that holds {reports / '.lock'}: "
        "wait for its end, or use another checkout"
    )
    session, perflogs = name_of_session(), home(suite) / "perflogs"
    own = {WANTED: ":".join(selection.programs()), SESSION: session, SWEEP: str(sweep or "")}
    own[NIGHT] = str(datetime.now(UTC).toordinal()) if "--mode=nightly" in options else ""
    if sweep:
        perflogs = sweep.parent / "perflogs"
    else:
        own[DISTURBED_AGAIN], options = "1", [*options, "--max-retries=1"]
    with of_run(reports, busy) as lock:
        chosen = reports / "chosen"
        if selection.chosen is not None:
            write_whole(chosen, json.dumps(selection.chosen))
            options = [*options, f"--session-extras={EXTRA}={pack(selection.resting)}"]
        own[CHOSEN] = "" if selection.chosen is None else str(chosen)
        if selection.turns is not None:
            write_whole(reports / "turns", json.dumps(selection.turns))
        own[ROTA] = "" if selection.turns is None else str(reports / "turns")
        asked = [*selection.reframe_options(), *options]
        given = suite, command(suite, *asked), reframe.environment(suite, **own), lock
        try:
            if sys.stdout.isatty() and not aside:
                sys.stdout.flush()
                # That of the command line shows control characters instead of sending them.
                with open(1, "w", encoding="utf-8", closefd=False) as terminal:
                    known = costs(home(suite) / "perflogs", selection.system)
                    code = follow(*given, known=known, terminal=terminal)
            else:
                code = start(*given, sys.stderr if aside else None)
        except KeyboardInterrupt as ended:
            raise type(ended)(f"{ended}; {_so_far(perflogs, session)}") from None
    if not (perflogs.is_dir() and last(perflogs, name=session)):
        if code == 0:
            # ReFrame begins no session for that, and calls it passed.
            raise FabricheckError(
                f"FC0417 expected a case of this selection that system {selection.system} offers, "
                "found none: 'fabricheck plan' with the same --system and --benchmark names what "
                "is lacking"
            )
        raise FabricheckError(
            f"FC0413 expected the end of session {session} in the record {perflogs}, found none "
            f"(ReFrame ended with exit code {code}): its last output is above"
        )
    return code, session


_NOT_ENDED: Final = (Status.ABORTED, Status.SKIPPED, Status.NOT_RUN)


def _so_far(perflogs: Path, session: str) -> str:
    """What a session that was interrupted has in the record: what ran, and the verdict on it."""
    try:
        run = load(perflogs, session)
        found = [case.status for case in (*run.failed_builds, *run.cases)]
    except FabricheckError:
        found = []
    ran = Counter(each for each in found if each not in _NOT_ENDED)
    if not ran:
        return "no case had ended, so there is no verdict"
    counts = ", ".join(f"{number} {status}" for status, number in ran.items())
    return (
        f"{ran.total()} of the cases had ended ({counts}), the others were cancelled; verdict so "
        f"far: {Status.worst(ran)}: fabricheck report --session {session}"
    )


def command(suite: Path, *options: str) -> list[str]:
    """ReFrame with all checks, the suite's and those that were added, to be run."""
    checks = (word for each in (suite / "checks", *ADDED) for word in ("-c", str(each)))
    return [*reframe.command(suite), *checks, *options, "-r"]


def start(
    suite: Path,
    words: Sequence[str],
    environment: Mapping[str, str],
    lock: int,
    out: TextIO | None = None,
) -> int:
    """Start ReFrame, which holds a lock as well, and wait for its end; its exit code."""
    place = home(suite)
    with started(words, cwd=place, env=environment, pass_fds=[lock], stdout=out) as process:
        return process.wait()
