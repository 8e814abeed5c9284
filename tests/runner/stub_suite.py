"""A suite whose ReFrame is a stub that writes a record, case by case, as the real one does.

As a program it is that ReFrame (``reframe``), and the command line of the suite (``fabricheck``):
its command ``run`` runs the stub, all others are the real ones.
"""

import json
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from fabricheck.record.entries import CaseEntry, Nodes, Sample, Session, moment
from fabricheck.record.facts import MACHINE, SOFTWARE
from fabricheck.record.write import append

CASES, SIZES = 4, 400
JOURNAL, SAMPLE = "journal", "sample.json"


def make(suite: Path, sample: str) -> Path:
    """Make the suite; the path of its command line."""
    (suite / SAMPLE).write_text(sample)
    for name in ("reframe", "fabricheck"):
        program = suite / "bin" / "path" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        here = Path(__file__)
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {here} {suite} {name} "$@"\n')
        program.chmod(0o755)
    return program


def reframe(suite: Path, options: list[str]) -> None:
    now = datetime.now(UTC)
    session = os.environ["FABRICHECK_SESSION"]
    place = {"session": session, "system": "testbed", "partition": "main", "environ": "openmpi"}
    for case in range(CASES):
        facts = dict.fromkeys(MACHINE, "m"), dict.fromkeys(SOFTWARE, "s")
        machine, software = facts
        nodes = Nodes(
            time=moment(), **place, nodes=(f"n{case}",), machine=machine, software=software
        )
        append(suite / "perflogs", [nodes])
        append(suite / "perflogs", [made(place, case)])
        # What is journaled was recorded before: it must be in the history.
        with (suite / JOURNAL).open("a") as journal:
            journal.write(f"{session} latency{case}\n")
        time.sleep(0.1)
    # The end of the session, with the cases of a sample beside those above.
    sample = json.loads((suite / SAMPLE).read_text())
    end = sample["end"]
    end |= {"session": session, "time": moment(), "announced": end["announced"] + CASES}
    end["info"]["time_end"] = f"{now:%Y%m%dT%H%M%S}+0000"
    if "--mode=nightly" in options:
        end["info"]["kind"] = "nightly"
    cases = []
    for case in sample["cases"]:
        values = [Sample(**each) for each in case["samples"].values()]
        cases.append(CaseEntry(**{**case, "session": session, "time": moment(), "samples": values}))
    append(suite / "perflogs", [*cases, Session(**end)])
    for option in options:
        if option.startswith("--report-junit="):
            Path(option.partition("=")[2]).write_text("<testsuites/>")


def made(place: dict[str, str], case: int) -> CaseEntry:
    return CaseEntry(
        time=moment(),
        **place,
        level="good",
        result="pass",
        check="MpiPointToPoint",
        benchmark=f"latency{case}",
        transport="tcp",
        num_nodes=2,
        ranks=2,
        ranks_per_node=1,
        job=place["session"],
        id=f"case {case}",
        samples=tuple(
            Sample(
                metric="latency", statistic="p50", size=size, value=10 + size / 1000, unit="us",
                level="good",
            )
            for size in range(SIZES)
        ),
    )  # fmt: skip


def fabricheck(suite: Path, arguments: list[str]) -> None:
    if arguments[0] == "run":
        from fabricheck.runner import session
        from fabricheck.runner.selection import RunSelection

        junit = [f"--report-{each[2:]}" for each in arguments if each.startswith("--junit=")]
        mode = [each for each in arguments if each.startswith("--mode=")]
        session.run(suite, RunSelection("testbed"), None, junit + mode)
    else:
        sys.argv[1:] = arguments
        from fabricheck.cli import main

        main()


if __name__ == "__main__":
    {"reframe": reframe, "fabricheck": fabricheck}[sys.argv[2]](Path(sys.argv[1]), sys.argv[3:])
