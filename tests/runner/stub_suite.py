"""A suite whose ReFrame is a stub that writes a record, case by case, as the real one does.

As a program it is that ReFrame (``reframe``), and the command line of the suite (``fabricheck``):
its command ``run`` runs the stub, all others are the real ones.
"""

import json
import os
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from fabricheck.history import perflog, provenance
from fabricheck.history.provenance import FILE, MACHINE, SOFTWARE, Origin
from fabricheck.history.record import FIELDS, Record

CASES, SIZES = 4, 400
JOURNAL, SAMPLE = "journal", "sample.json"


def make(suite: Path, sample: str) -> Path:
    """Make the suite; the path of its command line."""
    (suite / SAMPLE).write_text(sample)
    for name in ("reframe", "fabricheck"):
        program = suite / "ci" / "bin" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        here = Path(__file__)
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {here} {suite} {name} "$@"\n')
        program.chmod(0o755)
    return program


def reframe(suite: Path, options: list[str]) -> None:
    now = datetime.now(UTC)
    session = f"{now:%Y%m%dT%H%M%S.%fZ}-{os.getpid()}"
    partition = suite / "perflogs" / "testbed" / "main"
    for case in range(CASES):
        facts = dict.fromkeys(MACHINE, "m"), dict.fromkeys(SOFTWARE, "s")
        where = (session, "testbed", "main", "openmpi", (f"n{case}",))
        provenance.append(partition / FILE, Origin(now.isoformat(), *where, *facts))
        records = [record(session, now, case, size) for size in range(SIZES)]
        perflog.append(partition / "MpiPointToPoint.log", records)
        # What is journaled was recorded before: it must be in the history.
        with (suite / JOURNAL).open("a") as journal:
            journal.write(f"{session} latency{case}\n")
        time.sleep(0.1)
    number = len(list((suite / "reports").glob("run-*.json")))
    # The run report of the session that was just recorded.
    sample = json.loads((suite / SAMPLE).read_text())
    sample["session_info"]["time_end"] = f"{now:%Y%m%dT%H%M%S}+0000"
    for case in sample["runs"][0]["testcases"]:
        case["session"] = session
    (suite / "part").write_text(json.dumps(sample))
    (suite / "part").rename(suite / "reports" / f"run-{number}.json")
    for option in options:
        if option.startswith("--report-junit="):
            Path(option.partition("=")[2]).write_text("<testsuites/>")


def record(session: str, now: datetime, case: int, size: int) -> Record:
    return replace(
        Record(**dict.fromkeys(FIELDS, "")),
        time=now.isoformat(timespec="seconds"),
        level="good",
        system="testbed",
        partition="main",
        environment="openmpi",
        check="MpiPointToPoint",
        benchmark=f"latency{case}",
        transport="tcp",
        nodes="2",
        ranks="2",
        variable=f"latency_p50_{size}B",
        metric="latency",
        statistic="p50",
        size=str(size),
        value=str(10 + size / 1000),
        unit="us",
        job_id=session,
        session=session,
    )


def fabricheck(suite: Path, arguments: list[str]) -> None:
    if arguments[0] == "run":
        from fabricheck.runner import session  # noqa: PLC0415
        from fabricheck.runner.selection import Selection  # noqa: PLC0415

        junit = [f"--report-{each[2:]}" for each in arguments if each.startswith("--junit=")]
        session.run(suite, Selection("testbed"), None, junit)
    else:
        sys.argv[1:] = arguments
        from fabricheck.cli import main  # noqa: PLC0415

        main()


if __name__ == "__main__":
    {"reframe": reframe, "fabricheck": fabricheck}[sys.argv[2]](Path(sys.argv[1]), sys.argv[3:])
