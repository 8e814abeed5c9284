"""The command lines of README and docs do what they say, run as they are written.

Each line of ``fabricheck`` stands in one of two lists: in ``RUN``, or in ``ELSEWHERE`` with what it
needs that a machine of tests does not have. What needs the testbed is run by the tests of it and by
``make run``. They run one after the other in one process, in a place of their own with a record.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.report import sample
from tests.report.nights import DAY, series_of, write_perflog
from tests.test_docs import COMMANDS, ROOT

from fabricheck.report.load import load

NIGHTS = 30
WRONG, INCONCLUSIVE = 1, 3

RUN = {
    "--help": 0,
    "init our-systems": 0,
    "site init mycluster --alone": 0,
    "site check testbed": 0,
    "references check --system testbed": 0,
    "references list --system testbed --json": 0,
    "history refresh": 0,
    "history status": 0,
    "history status --json": 0,
    "history show benchmark=latency transport=tcp size=8": 0,
    "history show benchmark=latency transport=tcp statistic=p50": 0,
    "history show benchmark=latency size=8,1KiB --since 2026-11-01": 0,
    "history show system=testbed --json": 0,
    "history export benchmark=latency": 0,
    "history export --format parquet --output history.parquet": 0,
    "report": 0,
    "report --json": 0,
    "report --html fabric.html": 0,
    "explain latency openmpi tcp-2n": 0,
    "explain bw openmpi tcp-2n": 0,
    "scaling": 0,
    "scaling --json": 0,
    "scaling --benchmark allreduce --size 1KiB --size 1MiB": 0,
    "coverage": 0,
    "coverage --json": 0,
    "trend": 0,
    "trend --json": 0,
    "trend --since 2026-11-01 --system testbed --all": 0,
    "accept --before 20261101:20261108 --after 20261109:now": INCONCLUSIVE,
    "compare 20261101:20261115 20261115:now": 0,
    "baseline propose": 0,
    "baseline propose --json": 0,
    "baseline diff": 0,
    "baseline accept": 0,
    "baseline best": 0,
    "baseline best --system testbed": 0,
    "baseline expire": 0,
    "baseline expire --days 90 --mark": 0,
    "baseline expire --days 180 --mark": 0,
    "parse latency.out": 0,
    "parse allreduce.out --json": 0,
    "judge latency.out --references references/testbed.yaml --system testbed --environ openmpi "
    "--placement tcp-2n": WRONG,
    "dashboard": 0,
    "dashboard mpi-benchmark-dashboard.json": 0,
    "dashboard --nights fabric-nights-dashboard.json": 0,
    "metrics write /dev/stdout": 0,
    "metrics write --ports /dev/stdout": 0,
    "metrics backfill history.om": 0,
    "metrics backfill /dev/stdout benchmark=allreduce --since 2026-11-01": 0,
    "locate --help": 0,
    "testbed doctor": 0,
    "testbed doctor --json": 0,
    "testbed down": 0,
    # The record is then one of two systems.
    "history import ~/other-suite/perflogs": 0,
}
"""What to run, in this order, and its exit code."""

ELSEWHERE = {
    "a testbed or a cluster that runs": (
        "run", "sweep", "nightly --system", "nightly --mail-on", "locate", "stress", "testbed up",
        "testbed exec", "testbed fault", "testbed status", "testbed down --state-dir",
        "site init mycluster --on-node", "node --json", "node --manifest", "node --lanes",
        "topology check", "topology show",
    ),
    "a site that the reader has written": (
        "site check mycluster", "plan --system mycluster", "coverage --system mycluster",
        "references check --system", "references list --system", "exporter --ports",
        "metrics script", "trend --since 2026-11-01 --system mycluster",
    ),
    "a record of its own: RDMA, a campaign, a night, another host": (
        "explain", "accept", "compare openmpi", "compare tcp", "compare partition=",
        "compare 20261101:20261115 20261115:now transport=",
        "baseline accept --step", "baseline accept transport=rc",
        "baseline best check=", "baseline diff benchmark=", "baseline propose transport=rc",
        "history import", "history export --format perflog", "history refresh --perflogs",
        "history show benchmark=halo3d",
        "nightly --check", "parse fan_in.out", "parse imb.out", "parse reduce.out",
        "parse -", "judge -", "report --plots phases", "report --session",
        "metrics write /var", "dashboard /var",
        "dashboard --nights /var",
    ),
    "only time: the same as one that is run": (
        "report --html", "plan --system testbed", "site init laptop --alone",
    ),
    "an end: it serves until it is stopped": ("exporter",),
}  # fmt: skip
"""What the other lines need, by how they begin."""

PROGRAM = """
import json, sys
from typer.testing import CliRunner
from fabricheck.cli.application import build
app, ends = build([]), []
for line in json.load(sys.stdin):
    sys.argv = ["fabricheck", *line]
    done = CliRunner().invoke(app, line)
    ends.append((done.exit_code, str(done.exception or "")[:500]))
with open("ends.json", "w") as file:
    json.dump(ends, file)
"""


def documented() -> dict[str, tuple[str, ...]]:
    """The command lines of all pages, without the program's name."""
    return {
        " ".join(each.words[1:]): each.words[1:]
        for each in COMMANDS
        if each.words[0] == "fabricheck"
    }


def need_of(line: str) -> str:
    """What a line needs; empty if no list says it."""
    for need, beginnings in ELSEWHERE.items():
        if any(f"{line} ".startswith(f"{each} ") or line.startswith(each) for each in beginnings):
            return need
    return ""


def test_each_line_is_run_or_says_what_it_needs() -> None:
    lines = {line for line in documented() if not {"...", "…"} & set(line.split())}
    assert RUN.keys() <= lines, "no page has these any more"
    assert [line for line in sorted(lines - RUN.keys()) if not need_of(line)] == []


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Sites and references of the suite, a run, nights before it, and two tables of OSU's."""
    for folder in ("sites", "references"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    run = sample.report("latency", "bw", "allreduce")
    for case in run["cases"]:
        # The nights say nothing of versions, and a change of them is no noise.
        case.update(mpi_version="", program_version="")
    sample.write(run, tmp_path / "perflogs")
    (tmp_path / "reports").mkdir()
    nights = series_of(load(tmp_path / "perflogs"), nights=NIGHTS)
    before = [
        replace(each, times=each.times - DAY)
        for each in nights
        if (each.key.benchmark, each.key.environ) == ("latency", "openmpi")
    ]
    write_perflog(before, tmp_path / "perflogs")
    others = ROOT / "tests" / "data" / "reframe" / "4.10-site"
    shutil.copytree(others, tmp_path / "other-suite" / "perflogs")
    tables = ROOT / "tests" / "data" / "osu-7.4"
    shutil.copy(tables / "openmpi.lat_tail.txt", tmp_path / "latency.out")
    shutil.copy(tables / "openmpi.allreduce_full_tail.txt", tmp_path / "allreduce.out")
    return tmp_path


@pytest.fixture
def short() -> Iterator[Path]:
    """A directory whose path leaves room for the sockets of a testbed."""
    with tempfile.TemporaryDirectory() as directory:
        yield Path(directory)


@pytest.mark.integration
def test_the_lines_do_what_they_say(place: Path, short: Path) -> None:
    lines = [
        [word.replace("~", str(place)) for word in documented()[line]]  # as the shell does
        for line in RUN
    ]
    subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=place,
        env={
            **os.environ,
            "HOME": str(place),
            "FABRICHECK_SITES": str(place),
            "FABRICHECK_TESTBED": str(short / "testbed"),
        },
        input=json.dumps(lines),
        capture_output=True,
        text=True,
        check=True,
    )
    ends = dict(zip(RUN, json.loads((place / "ends.json").read_text()), strict=True))
    assert {line: end for line, end in ends.items() if end[0] != RUN[line]} == {}
    assert (place / "fabric.html").stat().st_size > 0
    assert (place / "our-systems").is_dir()
