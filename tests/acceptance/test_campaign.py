"""ci/acceptance.sh with a ReFrame that measures nothing and remembers what it was asked."""

import os
import random
import shutil
import subprocess
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]

# Its "database" has a line for each session that ended: side, and what the fabric was then.
REFRAME = """#!/bin/bash
case $1 in
  --list-stored-sessions=*)
    echo 'UUID,Start time,End time,Num runs,Num cases'
    side=${1#*state==\\"} side=${side%%\\"*}
    [[ $1 == *state==* ]] || side=
    times=20261122T100000+0000,20261122T100140+0000
    grep "^$side" reports/database 2>/dev/null | sed "s/.*/3f1b6c3f-d3b1,$times,1,4/"
    exit 0 ;;
esac
echo "$*" >>reports/asked
[[ ! -e reports/broken ]] || exit 1
side=${!#} side=${side##*state=}
echo "begin $side" >>reports/running
sleep "${SECONDS_OF_RUN:-0}"
echo "$side $(cat reports/fabric)" >>reports/database
echo "end $side" >>reports/running
exit 1
"""
FABRICHECK = """#!/bin/bash
echo "$*" >>reports/fabricheck
[[ $1 != accept ]] || exit "$(cat reports/verdict 2>/dev/null || echo 3)"
"""
SWITCH = "echo {0} >reports/fabric; echo {0} >>reports/switched"
BOTH = ("--before", SWITCH.format("before"), "--after", SWITCH.format("after"))


class Suite:
    """A checkout with the script and stubs of what it calls."""

    def __init__(self, root: Path) -> None:
        self.root, self.reports = root, root / "reports"
        self.reports.mkdir()
        (root / "ci" / "bin").mkdir(parents=True)
        (root / ".venv" / "bin").mkdir(parents=True)
        shutil.copy(ROOT / "ci" / "acceptance.sh", root / "ci")
        shutil.copy(ROOT / "setup-env.sh", root)
        for path, text in (("ci/bin/reframe", REFRAME), (".venv/bin/fabricheck", FABRICHECK)):
            (root / path).write_text(text)
            (root / path).chmod(0o755)

    def start(self, *options: str, seconds: float = 0.0) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [self.root / "ci" / "acceptance.sh", *options],
            env={**os.environ, "SECONDS_OF_RUN": str(seconds)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *options: str) -> tuple[int, str]:
        process = self.start(*options)
        output, _ = process.communicate(timeout=120)
        return process.returncode, output

    def lines(self, name: str) -> list[str]:
        path = self.reports / name
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path)


def test_runs_take_turns_and_the_state_before_is_restored(suite: Suite):
    code, output = suite.run("fw28", "--pairs", "3", *BOTH, "--", "-n", "Latency")
    assert code == 3, output
    first, later = [line for line in output.splitlines() if "runs at most" in line]
    assert first.endswith("6 runs at most; how long one takes is known after the first")
    assert "5 runs at most, 2 min each: until" in later
    assert suite.lines("database") == [
        f"{side} {side}" for side in ("before", "after", "after", "before", "before", "after")
    ]
    assert suite.lines("switched") == ["before", "after", "before", "after", "before"]
    assert suite.lines("asked")[0] == (
        "-c checks -S RdmaStream.messages=1000000 -n Latency -r "
        "--session-extras=campaign=fw28,state=before"
    )
    refreshed, accepted = suite.lines("fabricheck")
    assert refreshed == "history refresh"
    state = '?campaign=="fw28" and state=="{}" and num_aborted==0'
    assert accepted == (
        f"accept --before {state.format('before')} --after {state.format('after')} "
        f"--record {suite.root}/reports/acceptance/fw28-3-3.json"
    )
    assert len(suite.lines("acceptance/fw28.log")) == 6


@pytest.mark.parametrize(("verdict", "pairs"), [(0, 3), (1, 3), (3, 5)])
def test_a_campaign_ends_when_it_is_clear(suite: Suite, verdict: int, pairs: int):
    (suite.reports / "verdict").write_text(str(verdict))
    code, output = suite.run("fw28", "--pairs", "5", *BOTH)
    assert (code, len(suite.lines("database"))) == (verdict, 2 * pairs), output


def test_a_control_changes_nothing_and_says_so(suite: Suite):
    (suite.reports / "fabric").write_text("as it is\n")
    code, output = suite.run("same", "--pairs", "2", "--control")
    assert code == 3, output
    sides = [line.split()[0] for line in suite.lines("database")]
    assert sides == ["before", "after", "after", "before"]
    assert suite.lines("switched") == []
    assert "--control --record" in suite.lines("fabricheck")[-1]


def test_more_pairs_go_on_from_where_it_was(suite: Suite):
    suite.run("fw28", "--pairs", "2", *BOTH)
    suite.run("fw28", "--pairs", "3", *BOTH)
    found = [line.split()[0] for line in suite.lines("database")]
    assert found == ["before", "after", "after", "before", "before", "after"]


def test_without_switch_one_side_is_made_and_then_the_other(suite: Suite):
    (suite.reports / "fabric").write_text("old\n")
    code, output = suite.run("cables", "--pairs", "2", "--only", "before")
    assert (code, suite.lines("fabricheck")) == (0, [])
    assert "ci/acceptance.sh cables --only after --pairs 2" in output
    (suite.reports / "fabric").write_text("new\n")
    assert suite.run("cables", "--pairs", "2", "--only", "after")[0] == 3
    assert suite.lines("database") == ["before old", "before old", "after new", "after new"]


def test_a_run_that_leaves_nothing_ends_it_and_the_state_before_is_restored(suite: Suite):
    (suite.reports / "broken").touch()
    code, output = suite.run("fw28", *BOTH)
    assert code == 2
    assert "expected a stored session of run 1 before, found none; ReFrame ended with 1" in output
    assert suite.lines("switched") == ["before"]
    assert suite.lines("fabricheck") == []


def test_a_switch_that_fails_ends_it(suite: Suite):
    code, output = suite.run("fw28", "--before", SWITCH.format("before"), "--after", "false")
    assert code == 2
    assert "the command for the state after failed: false" in output
    assert suite.lines("database") == ["before before"]
    assert suite.lines("switched")[-1] == "before"


def test_two_at_a_time_are_refused(suite: Suite):
    first = suite.start("one", "--pairs", "1", *BOTH, seconds=5)
    while not suite.lines("running"):
        assert first.poll() is None, first.communicate()
        time.sleep(0.05)
    code, output = suite.run("two", *BOTH)
    assert code == 2
    assert "expected no other campaign in this checkout" in output
    first.communicate(timeout=120)
    assert first.returncode == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "expected a name of letters"),
        (('x" or "', *BOTH), "expected a name of letters"),
        (("x",), "expected --before CMD and --after CMD, or --only"),
        (("x", "--before", "true"), "expected --before CMD and --after CMD, or --only"),
        (("x", "--only", "both"), "expected --before CMD and --after CMD, or --only"),
        (("x", "--only", "after", "--after", "true"), "expected --only without"),
        (("x", "--pairs", "0", *BOTH), "expected a number of pairs"),
        (("x", "--pair", "1"), "expected --pairs, --before, --after, --only, --control or --"),
        (("x", "--pairs"), "expected a value after --pairs"),
    ],
)
def test_bad_input(suite: Suite, options: tuple[str, ...], words: str):
    code, output = suite.run(*options)
    assert (code, suite.lines("asked")) == (2, [])
    assert words in output


@pytest.mark.lab
def test_killed_anywhere_it_measures_each_run_once_in_its_own_state(suite: Suite):
    generator = random.Random(20261121)
    for _ in range(10):
        process = suite.start("fw28", "--pairs", "4", *BOTH, seconds=0.1)
        time.sleep(generator.uniform(0.05, 0.9))
        process.kill()
        process.wait()
    process = suite.start("fw28", "--pairs", "4", *BOTH)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 3, output
    database = suite.lines("database")
    assert sorted(database) == ["after after"] * 4 + ["before before"] * 4
    assert [line.split()[0] for line in database] == (["before", "after", "after", "before"] * 2)
    # A run that was left behind had ended before the next began.
    assert suite.lines("running") == [
        f"{word} {line.split()[0]}" for line in database for word in ("begin", "end")
    ]


def test_a_run_that_was_left_behind_is_waited_for(suite: Suite):
    process = suite.start("fw28", "--pairs", "1", *BOTH, seconds=3)
    while not suite.lines("running"):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.kill()
    process.wait()
    code, output = suite.run("fw28", "--pairs", "1", *BOTH)
    assert code == 3, output
    assert "waiting for another run in this checkout" in output
    assert suite.lines("database") == ["before before", "after after"]
