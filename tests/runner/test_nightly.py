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
from tests.report import reframe, sample
from tests.runner.stub_suite import CASES, JOURNAL, SIZES, make
from typer.testing import CliRunner

from fabricheck.cli.application import build
from fabricheck.errors import FabricheckError
from fabricheck.history.selection import Selection
from fabricheck.history.store import History
from fabricheck.provenance import SUITE
from fabricheck.runner.nightly import LINES, MailOn, Plan, check_nights, run_night
from fabricheck.runner.nights import Nights

pytestmark = pytest.mark.integration

KILLS = 10
SCRIPT = """
import sys
from pathlib import Path
from fabricheck.runner.nightly import Plan, run_night
suite = Path(sys.argv[1])
run_night(Plan(suite, program=suite / "ci/bin/fabricheck"))
"""


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    program = make(tmp_path, json.dumps(reframe.report(sample.report("latency"))))
    mail = f"(echo $SUBJECT; cat) >{tmp_path / 'mail'}"
    return Plan(tmp_path, mail=mail, program=program)


def test_a_night_leaves_page_summary_and_junit_and_delivers_the_summary(plan: Plan) -> None:
    done = run_night(plan)
    assert done.codes == {"run": 0, "history": 0, "trend": 0, "page": 0}
    assert done.exit_code == 0
    latest = plan.nights.root / "latest"
    assert latest.resolve() == done.directory
    assert "this run is not in the history" not in (latest / "page.html").read_text()
    assert (latest / "junit.xml").exists()
    assert (latest / "summary.txt").read_text().splitlines() == list(done.summary)
    assert done.summary[0].startswith("FINE: night of ")
    assert any("STEADY" in line for line in done.summary)
    assert len(done.summary) <= LINES
    subject, *rest = (plan.suite / "mail").read_text().splitlines()
    assert (subject, rest) == (f"fabricheck: {done.summary[0]}", list(done.summary))
    assert measured(plan.reports / "history").height == CASES * SIZES


def program(plan: Plan, script: str) -> Plan:
    """The plan with another command line in place of the suite's."""
    path = plan.suite / "program"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return replace(plan, program=path)


def test_a_step_that_fails_is_named_and_does_not_stop_the_others(plan: Plan) -> None:
    done = run_night(program(plan, 'echo "$1 said"; [ "$1" != history ] || exit 2'))
    assert (done.exit_code, done.codes) == (2, {"run": 0, "history": 2, "trend": 0})
    assert done.summary[0].startswith("FAILED in history: night of")
    assert "history ended with exit code 2: history said" in done.summary
    assert "no page: the run left no report" in done.summary
    assert "trend said" in done.summary
    assert plan.nights.all()[0].complete


def test_a_history_that_crashes_is_said_by_summary_subject_page_and_check(plan: Plan) -> None:
    # A real night whose history ends with Python's code of a traceback, which is a verdict's.
    real = plan.program.read_text()
    plan.program.write_text(real.replace("exec", '[ "$1" != report ] || exit 0\nexec', 1))
    run_night(plan)
    plan.program.write_text(real.replace("exec", '[ "$1" != history ] || exit 1\nexec', 1))
    assert check_nights(plan) == []
    done = run_night(plan)
    assert (done.exit_code, done.codes["history"]) == (2, 1)
    assert done.summary[0].startswith("FAILED in history: night of")
    assert done.summary[1] == "history ended with exit code 1: it said nothing"
    assert any("the history does not hold tonight" in line for line in done.summary)
    assert (plan.suite / "mail").read_text().startswith("fabricheck: FAILED in history: night of")
    assert "this run is not in the history" in (done.directory / "page.html").read_text()
    (note,) = check_nights(plan)
    assert note.startswith(f"NIGHT FAILED in history: that of {done.directory.name[:4]}")
    assert (plan.suite / "mail").read_text().startswith("fabricheck: NIGHT FAILED in history\n")


@pytest.mark.parametrize(
    ("mail_on", "mails"), [("always", "yyyyyy"), ("wrong", "nyyyny"), ("change", "yyynyy")]
)
def test_the_nights_that_are_asked_for_are_delivered(plan: Plan, mail_on: str, mails: str) -> None:
    # Fine, untrusted twice, critical twice (of which the second is no news), and untrusted again.
    script = """
    [ "$1" = report ] && cat counts
    [ "$1" = run ] && { echo '{"session_info"' >reports/run-$(date +%N).json; exit $(cat code); }
    exit 0"""
    asked = replace(program(plan, f"cd {plan.suite}; {script}"), mail_on=MailOn(mail_on))
    came = ""
    for counts, code in (
        ("3 good, 0 untrusted", 0), ("2 good, 1 untrusted", 1), ("2 good, 1 no-reference", 1),
        ("2 good, 1 critical, 0 untrusted", 1), ("3 good, 0 failed", 0), ("1 untrusted", 1),
    ):  # fmt: skip
        (plan.suite / "counts").write_text(counts)
        (plan.suite / "code").write_text(str(code))
        (plan.suite / "mail").unlink(missing_ok=True)
        run_night(asked)
        came += "y" if (plan.suite / "mail").exists() else "n"
    assert came == mails


def test_the_mail_command_is_not_in_the_list_of_processes(plan: Plan) -> None:
    words = plan.suite / "words"
    # Not in the list: neither the command line of the shell nor that of its parent.
    mail = f"cat /proc/$$/cmdline >{words}; : secret"
    run_night(replace(program(plan, "true"), mail=mail))
    assert "eval" in words.read_text()
    assert "secret" not in words.read_text()


def test_a_program_that_a_signal_ended_has_failed(plan: Plan) -> None:
    done = run_night(program(plan, '[ "$1" != trend ] || kill -9 $$'))
    assert (done.exit_code, done.codes["trend"]) == (2, -9)
    assert "trend ended with exit code -9: it said nothing" in done.summary


def test_what_is_worth_a_look_has_exit_code_1(plan: Plan) -> None:
    done = run_night(program(plan, '[ "$1" != trend ] || { seq 99; exit 1; }'))
    assert done.exit_code == 1
    assert done.summary[0].startswith("LOOK")
    assert len(done.summary) == LINES
    assert "... and more: see trend.txt" in done.summary


def test_two_nights_do_not_overlap_and_the_operator_is_told(plan: Plan) -> None:
    plan.nights.root.mkdir(parents=True)
    lock = os.open(plan.nights.root / ".lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with pytest.raises(FabricheckError, match="expected no other night under way"):
        run_night(plan)
    os.close(lock)
    assert (plan.suite / "mail").read_text().startswith("fabricheck: the night did not begin\n")
    assert plan.nights.all() == []


def test_a_mail_command_that_fails_is_said_and_the_summary_is_there(plan: Plan) -> None:
    with pytest.raises(FabricheckError, match=r"to take the summary, found: exit code 3") as told:
        run_night(replace(program(plan, "true"), mail="exit 3 # secret"))
    assert "secret" not in str(told.value)
    (night,) = plan.nights.all()
    assert (night.directory / "summary.txt").exists()
    assert (night.complete, night.stopped_at) == (False, "mail")


def test_a_place_that_cannot_be_written_is_named(plan: Plan) -> None:
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


def test_a_missing_night_is_told_by_the_next_and_by_a_look(plan: Plan) -> None:
    short = replace(program(plan, "true"), every=timedelta(seconds=0.1))
    with pytest.raises(FabricheckError, match="expected nights in"):
        check_nights(short)
    run_night(short)
    time.sleep(0.2)
    assert check_nights(short)[0].startswith("NIGHT MISSING: the last that was completed began")
    assert (plan.suite / "mail").read_text().startswith("fabricheck: NIGHT MISSING\n")
    assert check_nights(replace(short, every=timedelta(days=1))) == []
    assert run_night(short).summary[1].startswith("NIGHT MISSING: the last")


def test_what_is_old_goes_and_the_record_stays(plan: Plan) -> None:
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
    run_night(replace(plan, every=timedelta(days=90)))
    assert not old.directory.exists()
    assert sorted(path.name for path in plan.reports.glob("run-*")) == [
        "run-1.json", "run-2.json", "run-3.json", "run-5.json", "run-of-others.json"
    ]  # fmt: skip
    run_night(plan)
    assert measured(plan.reports / "history").height == 2 * CASES * SIZES


def measured(store: Path) -> pl.DataFrame:
    """What the stub recorded itself; its run report holds the cases of a sample beside that."""
    return table(store).filter(pl.col("benchmark").str.contains(r"^latency\d"))


def start(plan: Plan) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, plan.suite],
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def finish(plan: Plan) -> float:
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
def test_ten_kills_at_random_points_lose_and_double_nothing(plan: Plan) -> None:
    # The page takes longer than all the rest together, and nothing depends on it.
    page = f'[ "$1" != report ] || exec touch {plan.suite / "page"}'
    quick = plan.program.with_name("fabricheck")
    quick.write_text(quick.read_text().replace("exec", f"{page}\nexec", 1))
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
        [SUITE / "ci" / "nightly.sh", "--help"],
        cwd="/", env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ended.stdout.startswith("sourced")
    assert "fabricheck nightly [OPTIONS]" in ended.stdout


def test_options_and_files_that_examples_name_exist() -> None:
    known = subprocess.run(
        [SUITE / "ci" / "nightly.sh", "--help"], capture_output=True, text=True, check=True
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
