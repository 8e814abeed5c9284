"""A campaign with a ReFrame that measures nothing and records that its session ended."""

import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import run as command
from tests.refusals import refused

from fabricheck.cli import accept
from fabricheck.errors import FabricheckError
from fabricheck.record.entries import Session, to_line
from fabricheck.record.write import append
from fabricheck.runner import campaign
from fabricheck.runner.campaign import Campaign, measure

SWITCH = "cd {root}; echo {side} >fabric; echo {side} >>switched"


class Suite:
    """Places of a suite; `database` has a line for each run: side, and what the fabric was then."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.clear = root, False
        monkeypatch.setenv("FABRICHECK_SITES", str(root))
        self.switch = tuple(SWITCH.format(root=root, side=side) for side in campaign.SIDES)

    def session(self, side: str, **info: Any) -> Session:
        given = {"campaign": "fw28", "state": side, "num_aborted": 0, "time_elapsed": 100.5}
        number = f"session-{len(self.lines('database'))}"
        time = "2026-11-22T10:00:00+00:00"
        return Session(time=time, session=number, system="testbed", info={**given, **info})

    def reframe(self, suite: Path, words: Sequence[str], *_: object) -> int:
        self.add("asked", " ".join(words))
        side = words[-1].rpartition("=")[2]
        if not (self.root / "broken").exists():
            append(self.root / "perflogs", [self.session(side)])
            self.add("database", f"{side} {' '.join(self.lines('fabric'))}".strip())
        return 1

    def measure(self, pairs: int, *switch: str, **given: Any) -> list[int]:
        plan = Campaign("fw28", pairs, switch[:1], switch[1:], **given)
        return measure(plan, self.root, lambda: self.clear)

    def add(self, name: str, line: str) -> None:
        with (self.root / name).open("a") as file:
            file.write(f"{line}\n")

    def lines(self, name: str) -> list[str]:
        path = self.root / name
        return path.read_text().splitlines() if path.exists() else []

    def sides(self) -> list[str]:
        return [line.split()[0] for line in self.lines("database")]


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Suite:
    made = Suite(tmp_path, monkeypatch)
    monkeypatch.setattr(campaign, "start", made.reframe)
    return made


@pytest.fixture
def switching(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that switch, without a shell."""

    def run(words: Sequence[str], **_: object) -> Any:
        side = words[-1].rpartition("echo ")[2].partition(" ")[0]
        if words[-1] != "false":
            (suite.root / "fabric").write_text(f"{side}\n")
            suite.add("switched", side)
        return subprocess.CompletedProcess(words, int(words[-1] == "false"))

    monkeypatch.setattr(campaign.subprocess, "run", run)


@pytest.mark.usefixtures("switching")
def test_runs_take_turns_and_the_state_before_is_restored(
    suite: Suite, capsys: pytest.CaptureFixture[str]
) -> None:
    assert suite.measure(3, *suite.switch, options=("-n", "Latency")) == [3, 3]
    first, later = [line for line in capsys.readouterr().out.splitlines() if "at most" in line]
    assert first.endswith("6 runs at most; how long one takes is known after the first")
    assert "5 runs at most, 2 min each: until" in later
    assert suite.lines("database") == [
        f"{side} {side}" for side in ("before", "after", "after", "before", "before", "after")
    ]
    assert suite.lines("switched") == ["before", "after", "before", "after", "before"]
    assert suite.lines("asked")[0].endswith(
        "-S RdmaStream.messages=1000000 -n Latency -r --session-extras=campaign=fw28,state=before"
    )
    assert len(suite.lines("reports/acceptance/fw28.log")) == 6


@pytest.mark.usefixtures("switching")
@pytest.mark.parametrize(("clear", "pairs"), [(True, 3), (False, 5)])
def test_a_campaign_ends_when_it_is_clear(suite: Suite, clear: bool, pairs: int) -> None:
    suite.clear = clear
    assert suite.measure(5, *suite.switch) == [pairs, pairs]


def test_a_control_changes_nothing(suite: Suite) -> None:
    suite.measure(2, control=True)
    assert suite.sides() == ["before", "after", "after", "before"]
    assert suite.lines("switched") == []


def test_more_pairs_go_on_from_where_it_was(suite: Suite) -> None:
    suite.measure(2, control=True)
    suite.measure(3, control=True)
    assert suite.sides() == ["before", "after", "after", "before", "before", "after"]


def test_runs_of_others_and_those_that_were_aborted_do_not_count(suite: Suite) -> None:
    others = (suite.session("before", campaign="x"), suite.session("before", num_aborted=1))
    append(suite.root / "perflogs", others)
    assert suite.measure(1, control=True) == [1, 1]
    assert len(suite.sides()) == 2


def test_without_switch_one_side_is_made_and_then_the_other(suite: Suite) -> None:
    assert suite.measure(2, only="before") == [2, 0]
    assert suite.measure(2, only="after") == [2, 2]
    assert suite.sides() == ["before", "before", "after", "after"]


@pytest.mark.usefixtures("switching")
def test_a_run_that_leaves_nothing_ends_it_and_the_state_before_is_restored(suite: Suite) -> None:
    (suite.root / "broken").touch()
    with refused("FC0403", r"end of run 1 before .* none; ReFrame ended"):
        suite.measure(12, *suite.switch)
    assert suite.lines("switched") == ["before"]


@pytest.mark.usefixtures("switching")
def test_a_switch_that_fails_ends_it(suite: Suite) -> None:
    with refused("FC0404", "command for the state after to end with 0, found 1"):
        suite.measure(12, suite.switch[0], "false")
    assert suite.lines("database") == ["before before"]
    assert suite.lines("switched")[-1] == "before"


BOTH = ("--before", "true", "--after", "true")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("",), "expected a name of letters"),
        (('x" or "', *BOTH), "expected a name of letters"),
        (("x",), "expected --before CMD and --after CMD, or --only"),
        (("x", "--before", "true"), "expected --before CMD and --after CMD, or --only"),
        (("x", "--before", "true", "--before", "true"), "expected --before CMD and --after CMD"),
        (("x", "--only", "both"), "expected --before CMD and --after CMD, or --only"),
        (("x", "--only", "after", *BOTH), "expected --before CMD and --after CMD, or --only"),
        (("x", "--control", *BOTH), "expected --before CMD and --after CMD, or --only"),
    ],
)
def test_bad_input(suite: Suite, options: tuple[str, ...], words: str) -> None:
    with pytest.raises(FabricheckError, match=words):
        command("accept", "--campaign", *options)
    assert suite.lines("asked") == []


@pytest.mark.parametrize("options", [("--pairs", "0"), ("--pair", "1"), ("--pairs",)])
def test_options_that_are_none(suite: Suite, options: tuple[str, ...]) -> None:
    assert command("accept", "--campaign", "x", *BOTH, *options).exit_code == 2
    assert suite.lines("asked") == []


@pytest.fixture
def compared(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the command asks of a campaign, which makes its runs at once, and of the comparison."""
    asked: list[Any] = []

    def found(plan: Campaign, _: Path, is_clear: Callable[[], bool]) -> list[int]:
        asked.append(plan)
        return [3, 4]

    def compare(*given: Any, control: bool) -> Any:
        asked.append((*given[1:3], control))
        raise FabricheckError("compared")

    monkeypatch.setattr(campaign, "measure", found)
    monkeypatch.setattr(accept, "_compare", compare)
    monkeypatch.setattr(accept, "refreshed", lambda store: asked.append("refreshed"))
    monkeypatch.setattr(accept.signal, "signal", lambda *_: None)
    return asked


def test_the_command_compares_the_runs_of_the_campaign(compared: list[Any]) -> None:
    with pytest.raises(FabricheckError, match="compared"):
        command("accept", "--campaign", "x", *BOTH, "--", "-n", "Latency")
    state = '?campaign=="x" and state=="{}" and num_aborted==0'
    sides = [[state.format(side)] for side in campaign.SIDES]
    plan = Campaign("x", 12, ("true",), ("true",), options=("-n", "Latency"))
    assert compared == [plan, "refreshed", (*sides, False)]


def test_after_the_side_before_alone_nothing_is_compared(compared: list[Any]) -> None:
    done = command("accept", "--campaign", "cables", "--pairs", "2", "--only", "before")
    assert (done.exit_code, len(compared)) == (0, 1)
    assert "fabricheck accept --campaign cables --only after --pairs 2" in done.stdout


PROCESS = """
import sys
from pathlib import Path
from fabricheck.reframe_ext import command
from fabricheck.runner.campaign import Campaign, measure

root = Path(sys.argv[1])
command.command = lambda suite: [str(root / "reframe")]
switch = tuple(sys.argv[3:4]), tuple(sys.argv[4:])
measure(Campaign("fw28", int(sys.argv[2]), *switch), root, lambda: False)
"""
COMMAND = """
import sys
from fabricheck.reframe_ext import command

root = sys.argv.pop(1)
command.command = lambda suite: [root + "/reframe"]
from fabricheck.cli import main
main()
"""
REFRAME = """#!/bin/bash
cd {root}
side=${{!#}} side=${{side##*state=}}
trap 'echo "cancelled $side" >>running; exit 9' TERM
echo "begin $side" >>running
while [[ -e hold ]]; do sleep 0.05; done
sleep "${{SECONDS_OF_RUN:-0}}"
cat "line.$side" >>perflogs/testbed/2026-11.jsonl
echo "$side $(cat fabric)" >>database
echo "end $side" >>running
exit 1
"""


class Real(Suite):
    """The same with processes."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(root, monkeypatch)
        (root / "perflogs" / "testbed").mkdir(parents=True)
        (root / "reframe").write_text(REFRAME.format(root=root))
        (root / "reframe").chmod(0o755)
        for side in campaign.SIDES:
            (root / f"line.{side}").write_text(to_line(self.session(side)))
        self._monkeypatch = monkeypatch

    def start(self, pairs: int, seconds: float = 0) -> "subprocess.Popen[str]":
        self._monkeypatch.setenv("SECONDS_OF_RUN", str(seconds))
        return self.popen(PROCESS, str(pairs), *self.switch)

    def popen(self, code: str, *words: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-c", code, self.root, *words]
        out, error = subprocess.PIPE, subprocess.STDOUT
        return subprocess.Popen(command, stdout=out, stderr=error, text=True)

    def begun(self, process: "subprocess.Popen[str]") -> None:
        while not self.lines("running"):
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Real:
    return Real(tmp_path, monkeypatch)


@pytest.mark.integration
def test_two_at_a_time_are_refused(real: Real) -> None:
    (real.root / "hold").touch()
    first = real.start(1)
    real.begun(first)
    with pytest.raises(FabricheckError, match="expected no other campaign in this checkout"):
        real.measure(12, *real.switch)
    (real.root / "hold").unlink()
    output, _ = first.communicate(timeout=120)
    assert first.returncode == 0, output


@pytest.mark.integration
def test_a_run_that_was_left_behind_is_waited_for(real: Real) -> None:
    (real.root / "hold").touch()
    process = real.start(1)
    real.begun(process)
    process.kill()
    process.wait()
    again = real.start(1)
    assert again.stdout
    while "waiting for another run in this checkout" not in (line := again.stdout.readline()):
        assert line, "it did not wait"
    (real.root / "hold").unlink()
    again.communicate(timeout=120)
    assert real.lines("database") == ["before before", "after after"]


@pytest.mark.integration
def test_a_campaign_that_is_told_to_end_ends_reframe_and_restores_the_state_before(
    real: Real,
) -> None:
    (real.root / "hold").touch()
    sides = [f"--{side}={cmd}" for side, cmd in zip(campaign.SIDES, real.switch, strict=True)]
    with real.popen(COMMAND, "accept", "--campaign", "fw28", "--pairs", "1", *sides) as process:
        real.begun(process)
        process.terminate()
    assert process.returncode == 143
    assert real.lines("switched")[-1] == "before"
    assert real.lines("running")[-1] == "cancelled before"


@pytest.mark.lab
def test_killed_anywhere_it_measures_each_run_once_in_its_own_state(real: Real) -> None:
    generator = random.Random(20261121)
    for _ in range(10):
        process = real.start(4, seconds=0.1)
        time.sleep(generator.uniform(0.05, 2))
        process.kill()
        process.wait()
    output, _ = real.start(4).communicate(timeout=120)
    database = real.lines("database")
    assert sorted(database) == ["after after"] * 4 + ["before before"] * 4, output
    assert [line.split()[0] for line in database] == (["before", "after", "after", "before"] * 2)
    # A run that was left behind had ended before the next began.
    assert real.lines("running") == [
        f"{word} {line.split()[0]}" for line in database for word in ("begin", "end")
    ]
