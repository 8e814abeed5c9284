"""A night with a stub for ReFrame: what it leaves, what it says, and that kills cost it nothing."""

import fcntl
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
import yaml
from tests.history.recorded import problems, table
from tests.report import sample
from tests.runner.stub_suite import CASES, JOURNAL, SIZES, make
from typer.testing import CliRunner

from fabricheck.cli.application import build
from fabricheck.errors import FabricheckError
from fabricheck.history.selection import Selection
from fabricheck.history.store import History
from fabricheck.provenance import SUITE
from fabricheck.record.entries import Session
from fabricheck.record.write import append
from fabricheck.runner.nightly import LINES, MailOn, NightPlan, check_nights, run_night
from fabricheck.runner.nights import Nights

pytestmark = pytest.mark.integration

KILLS = 10
SCRIPT = """
import sys
from pathlib import Path
from fabricheck.runner.nightly import NightPlan, run_night
suite = Path(sys.argv[1])
run_night(NightPlan(suite, program=suite / "bin/path/fabricheck"))
"""


@pytest.fixture
def plan(tmp_path: Path) -> NightPlan:
    program = make(tmp_path, json.dumps(sample.report("latency")))
    mail = f"(echo $SUBJECT; cat) >{tmp_path / 'mail'}"
    return NightPlan(tmp_path, mail=mail, program=program)


def test_a_night_leaves_page_summary_and_junit_and_delivers_the_summary(plan: NightPlan) -> None:
    done = run_night(plan)
    assert done.codes == dict.fromkeys(("run", "history", "trend", "coverage", "page"), 0)
    assert done.exit_code == 0
    latest = plan.nights.root / "latest"
    assert latest.resolve() == done.directory
    assert "this run is not in the history" not in (latest / "page.html").read_text()
    assert (latest / "junit.xml").exists()
    assert (latest / "summary.txt").read_text().splitlines() == list(done.summary)
    assert done.summary[0].startswith("FINE: testbed, 10 good of 10 cases: night of ")
    assert done.summary[1] == "The fabric: nothing critical in 10 cases judged"
    assert any("STEADY" in line for line in done.summary)
    assert len(done.summary) <= LINES
    subject, *rest = (plan.suite / "mail").read_text().splitlines()
    assert (subject, rest) == (f"fabricheck: {done.summary[0]}", list(done.summary))
    assert measured(plan.reports / "history").height == CASES * SIZES


def program(plan: NightPlan, script: str) -> NightPlan:
    """The plan with another command line in place of the suite's."""
    path = plan.suite / "program"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return replace(plan, program=path)


def test_a_step_that_fails_is_named_and_does_not_stop_the_others(plan: NightPlan) -> None:
    said = 'echo "$1 said" | tee /dev/stderr'
    done = run_night(program(plan, f'{said}; [ "$1" != history ] || exit 2'))
    assert (done.exit_code, done.codes) == (2, {"run": 0, "history": 2, "trend": 0})
    assert done.summary[0].startswith("FAILED in history: night of")
    assert "history ended with exit code 2: history said" in done.summary
    assert "no page: the record has no session of tonight" in done.summary
    assert "trend said" in done.summary
    assert plan.nights.all()[0].complete


def without(plan: NightPlan, *steps: str) -> NightPlan:
    """The plan with steps that end at once and say nothing."""
    quick = plan.program.with_name("quick")
    left_out = "|".join(steps)
    quick.write_text(
        f'#!/bin/sh\ncase $1 in {left_out}) exit 0 ;; esac\nexec {plan.program} "$@"\n'
    )
    quick.chmod(0o755)
    return replace(plan, program=quick)


def test_a_history_that_crashes_is_said_by_summary_subject_page_and_check(plan: NightPlan) -> None:
    # A real night whose history ends with Python's code of a traceback, which is a verdict's.
    real = plan.program.read_text()
    run_night(without(plan, "report", "trend"))
    plan.program.write_text(real.replace("exec", '[ "$1" != history ] || exit 1\nexec', 1))
    assert check_nights(plan) == []
    done = run_night(plan)
    assert (done.exit_code, done.codes["history"]) == (2, 1)
    counted = "testbed, 10 good of 10 cases"
    assert done.summary[0].startswith(f"FAILED in history: {counted}: night of")
    assert done.summary[1] == "history ended with exit code 1: no output"
    assert any("the history does not hold tonight" in line for line in done.summary)
    assert (plan.suite / "mail").read_text().startswith("fabricheck: FAILED in history: testbed")
    assert "this run is not in the history" in (done.directory / "page.html").read_text()
    (note,) = check_nights(plan)
    assert note.startswith(f"NIGHT FAILED in history: that of {done.directory.name[:4]}")
    assert (plan.suite / "mail").read_text().startswith("fabricheck: NIGHT FAILED in history\n")


def recorded(plan: NightPlan) -> None:
    """A session that is tonight's, whenever that is."""
    end = "2999-01-01T00:00:00+00:00"
    night = Session(time=end, session="s", system="hpc", info={"kind": "nightly"})
    append(plan.suite / "perflogs", [night])


def told(status: str, *, changes: dict[str, object] | None = None) -> str:
    """What ``report --json`` prints of a night with one case that is not good."""
    bad = {"status": status, "subject": "bw rc-2n", "nodes": ["n1", "n2"], "causes": ["why"]}
    return json.dumps(
        {
            "counts": {"good": 2, **({} if status == "good" else {status: 1})},
            "systems": ["hpc"], "cases": [{}] * 3, "fabric": "The fabric: x", "run": "The run: y",
            "next": "Next: z", "shared": [], "lacking": None,
            "problems": [] if status == "good" else [bad], "history": changes,
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("mail_on", "mails"), [("always", "yyyyyyyyy"), ("wrong", "nyyynyyyy"), ("change", "yyynyyyny")]
)
def test_the_nights_that_are_asked_for_are_delivered(
    plan: NightPlan, mail_on: str, mails: str
) -> None:
    # Fine, untrusted, without reference, critical (which is no news), fine, untrusted; a regression
    # that is new, open, and new.
    script = """
    [ "$1" = report ] && cat told
    [ "$1" = trend ] && exit $(cat trend)
    [ "$1" = run ] && exit $(cat code)
    exit 0"""
    asked = replace(program(plan, f"cd {plan.suite}; {script}"), mail_on=MailOn(mail_on))
    recorded(plan)
    came = ""
    new, old = ({"regressions": {state: 1}, "slow": 0} for state in ("new", "open"))
    for status, code, changes in (
        ("good", 0, None), ("untrusted", 1, None), ("no-reference", 1, None),
        ("critical", 1, None), ("good", 0, None), ("untrusted", 1, None),
        ("good", 0, new), ("good", 0, old), ("good", 0, new),
    ):  # fmt: skip
        (plan.suite / "told").write_text(told(status, changes=changes))
        (plan.suite / "code").write_text(str(code))
        (plan.suite / "trend").write_text(str(int(changes is not None)))
        (plan.suite / "mail").unlink(missing_ok=True)
        run_night(asked)
        came += "y" if (plan.suite / "mail").exists() else "n"
    assert came == mails


def test_the_subject_has_system_counts_and_regressions_and_the_text_what_is_wrong(
    plan: NightPlan,
) -> None:
    changes: dict[str, object] = {"regressions": {"open": 2}, "slow": 0}
    words = told("untrusted", changes=changes)
    recorded(plan)
    done = run_night(program(plan, f"[ $1 != report ] || {{ echo '{words}'; exit 1; }}"))
    subject = "LOOK: hpc, 1 untrusted of 3 cases, 2 open regressions: night of "
    assert done.summary[0].startswith(subject)
    assert done.summary[0].endswith(" UTC: bw rc-2n on n[1-2]: why")
    head = ["The fabric: x", "The run: y", "Next: z", "untrusted bw rc-2n on n[1-2]: why"]
    assert done.summary[1:5] == head
    assert (plan.suite / "mail").read_text().startswith(f"fabricheck: {subject}")


def test_damage_of_the_record_is_in_the_summary(plan: NightPlan) -> None:
    plan = without(plan, "report", "trend")
    run_night(plan)
    place = plan.suite / "perflogs" / "testbed" / "main"
    (place / "2026-01.jsonl").write_text("garbage\n")
    done = run_night(plan)
    words = "the record has 1 lines with a new problem: see fabricheck history status"
    assert words in done.summary
    (place / "2026-01.jsonl").unlink()
    done = run_night(plan)
    words = "the record has 1 files that changed or are gone: see fabricheck history status"
    assert words in done.summary


def test_the_mail_command_is_not_in_the_list_of_processes(plan: NightPlan) -> None:
    words = plan.suite / "words"
    # Not in the list: neither the command line of the shell nor that of its parent.
    mail = f"cat /proc/$$/cmdline >{words}; : secret"
    run_night(replace(program(plan, "true"), mail=mail))
    assert "eval" in words.read_text()
    assert "secret" not in words.read_text()


def test_a_program_that_a_signal_ended_has_failed(plan: NightPlan) -> None:
    done = run_night(program(plan, '[ "$1" != trend ] || kill -9 $$'))
    assert (done.exit_code, done.codes["trend"]) == (2, -9)
    assert "trend ended with exit code -9: no output" in done.summary


def test_what_is_worth_a_look_has_exit_code_1(plan: NightPlan) -> None:
    done = run_night(program(plan, '[ "$1" != trend ] || { seq 99; exit 1; }'))
    assert done.exit_code == 1
    assert done.summary[0].startswith("LOOK")
    assert len(done.summary) == LINES
    assert "... and more: see trend.txt" in done.summary


def test_two_nights_do_not_overlap_and_the_operator_is_told(plan: NightPlan) -> None:
    plan.nights.root.mkdir(parents=True)
    lock = os.open(plan.nights.root / ".lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with pytest.raises(FabricheckError, match="expected no other night under way"):
        run_night(plan)
    os.close(lock)
    assert (plan.suite / "mail").read_text().startswith("fabricheck: the night did not begin\n")
    assert plan.nights.all() == []


def test_a_mail_command_that_fails_is_said_and_the_summary_is_there(plan: NightPlan) -> None:
    with pytest.raises(FabricheckError, match=r"to take the summary, found: exit code 3") as told:
        run_night(replace(program(plan, "true"), mail="exit 3 # secret"))
    assert "secret" not in str(told.value)
    (night,) = plan.nights.all()
    assert (night.directory / "summary.txt").exists()
    assert (night.complete, night.stopped_at) == (False, "mail")


def test_a_place_that_cannot_be_written_is_named(plan: NightPlan) -> None:
    (plan.suite / "reports").write_text("")
    with pytest.raises(FabricheckError, match="expected a place for the nights at"):
        run_night(plan)


@pytest.mark.parametrize(
    "option",
    [f"--{what}={text}" for what in ("keep-days", "every-hours") for text in ("1e12", "inf")],
)
def test_times_beyond_the_calendar_are_refused_before_anything_runs(option: str) -> None:
    ended = CliRunner().invoke(build(["nightly"]), ["nightly", option])
    assert isinstance(ended.exception, FabricheckError)
    assert str(ended.exception).startswith(f"expected {option.partition('=')[0]} of ")


def test_a_missing_night_is_told_by_the_next_and_by_a_look(plan: NightPlan) -> None:
    short = replace(program(plan, "true"), every=timedelta(seconds=0.1))
    with pytest.raises(FabricheckError, match="expected nights in"):
        check_nights(short)
    run_night(short)
    time.sleep(0.2)
    assert check_nights(short)[0].startswith("NIGHT MISSING: the last that was completed began")
    assert (plan.suite / "mail").read_text().startswith("fabricheck: NIGHT MISSING\n")
    assert check_nights(replace(short, every=timedelta(days=1))) == []
    assert run_night(short).summary[1].startswith("NIGHT MISSING: the last")


def test_what_is_old_goes_and_the_record_stays(plan: NightPlan) -> None:
    nights = Nights(plan.nights.root)
    old = nights.begin(datetime.now(UTC) - timedelta(days=100))
    plan.reports.mkdir(exist_ok=True)
    ours = '{"session_info": {}}'
    (plan.reports / "precious").write_text(ours)
    (plan.reports / "run-3.json").symlink_to("precious")
    for name, days, text in (
        ("run-0.json", 100, ours),
        ("run-1.json", 1, ours),
        ("run-2.json", 100, "{}"),
        ("run-of-others.json", 100, ours),
    ):
        (plan.reports / name).write_text(text)
        os.utime(plan.reports / name, times=(time.time() - days * 86400,) * 2)
    plan = without(plan, "report", "trend")
    run_night(replace(plan, every=timedelta(days=90)))
    assert not old.directory.exists()
    assert sorted(path.name for path in plan.reports.glob("run-*")) == [
        "run-1.json", "run-2.json", "run-3.json", "run-of-others.json"
    ]  # fmt: skip
    run_night(plan)
    assert measured(plan.reports / "history").height == 2 * CASES * SIZES


def measured(store: Path) -> pl.DataFrame:
    """What the stub made itself; it records the cases of a sample beside that."""
    return table(store).filter(pl.col("benchmark").str.contains(r"^latency\d"))


def start(plan: NightPlan) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, plan.suite], stderr=subprocess.PIPE, start_new_session=True
    )


def finish(plan: NightPlan) -> float:
    """Run a night to its end; what a killed one left running may hold it off for a while."""
    while True:
        began = time.monotonic()
        with start(plan) as night:
            assert night.stderr
            said = night.stderr.read().decode()
        if night.returncode == 0:
            return time.monotonic() - began
        assert "expected no other night under way" in said
        time.sleep(0.2)


@pytest.mark.lab
def test_ten_kills_at_random_points_lose_and_double_nothing(plan: NightPlan) -> None:
    # The page takes longer than all the rest together, and nothing depends on it.
    plan.program.write_text(
        plan.program.read_text().replace("exec", '[ "$1" != report ] || exit 0\nexec', 1)
    )
    took = finish(plan)
    chance = random.Random(20261121)
    for number in range(KILLS):
        with start(plan) as night:
            time.sleep(chance.uniform(0, took))
            # Half of the time all of the night, half of the time only its first process.
            if number % 2:
                night.kill()
            else:
                os.killpg(night.pid, signal.SIGKILL)
    finish(plan)
    assert any(not night.complete for night in plan.nights.all())
    assert plan.nights.missing(datetime.now(UTC), plan.every) == []
    store = plan.reports / "history"
    counts = Counter(
        zip(*(measured(store)[name] for name in ("session", "benchmark")), strict=True)
    )
    journal = {tuple(line.split()) for line in (plan.suite / JOURNAL).read_text().splitlines()}
    # Whole cases only: those that were journaled, and at most one more of each kill.
    assert set(counts.values()) == {SIZES}
    assert set(counts) >= journal
    assert len(counts) <= len(journal) + KILLS
    assert problems(store) == []
    with History.open_to_read(store) as history:
        found = history.provenance()
        wanted = tuple(f"latency{case}" for case in range(CASES))
        for series in history.series(Selection({"benchmark": wanted})):
            case = int(series.key.benchmark.removeprefix("latency"))
            for session in series.sessions:
                assert f"n{case}" in found.of(series.key, str(session)).machines


def test_the_script_for_cron_needs_nothing_of_its_environment(tmp_path: Path) -> None:
    (tmp_path / "environment").write_text("echo sourced $unset_variable\n")
    environment = {"PATH": "/usr/bin:/bin", "FABRICHECK_ENVIRONMENT": f"{tmp_path}/environment"}
    ended = subprocess.run(
        [SUITE / "bin" / "nightly.sh", "--help"],
        cwd="/", env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ended.stdout.startswith("sourced")
    assert "fabricheck nightly [OPTIONS]" in ended.stdout


def test_options_and_files_that_examples_name_exist() -> None:
    known = subprocess.run(
        [SUITE / "bin" / "nightly.sh", "--help"], capture_output=True, text=True, check=True
    ).stdout
    pipeline = (SUITE / "ci" / "gitlab-ci.yml").read_text()
    for text in (pipeline, (SUITE / "docs" / "how-to" / "nightly.md").read_text()):
        for line in text.splitlines():
            if "nightly.sh " in line:
                options = re.findall(r"--[a-z-]+", line.partition("nightly.sh ")[2].split("'")[0])
                assert all(option in known for option in options), line
        for script in re.findall(r"\bci/[a-z.-]+\b", text):
            assert (SUITE / script).exists(), script
    jobs = yaml.safe_load(pipeline)
    assert {jobs[name]["stage"] for name in (".change", "night")} == set(jobs["stages"])
    assert all(jobs[name]["script"] for name in ("lint", "night"))
