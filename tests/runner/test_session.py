import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.history.recorded import case

from fabricheck.errors import FabricheckError
from fabricheck.provenance import session
from fabricheck.record.entries import Session, moment
from fabricheck.record.resting import FIELDS, pack
from fabricheck.record.write import append
from fabricheck.report.load import load
from fabricheck.runner.selection import RunSelection
from fabricheck.runner.session import run

pytestmark = pytest.mark.integration


RECORDS = (
    f"{sys.executable} -c 'import os; from pathlib import Path; "
    "from fabricheck.record.entries import Session, moment; "
    "from fabricheck.record.write import append; "
    'append(Path("perflogs"), [Session(time=moment(), session=os.environ["FABRICHECK_SESSION"], '
    'system="local")])\''
)
"""A line of shell that records the end of a session, as ReFrame does."""


def put_reframe(suite: Path, script: str) -> None:
    program = suite / "bin" / "path" / "reframe"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_the_session_of_this_run_is_found(tmp_path: Path) -> None:
    put_reframe(tmp_path, f"{RECORDS}; exit 1")
    assert run(tmp_path, RunSelection("local")) == (1, session())
    assert load(tmp_path / "perflogs", session()).defects[0].startswith("no test case was run")


def test_what_the_run_lacks_is_left_to_the_record(tmp_path: Path) -> None:
    told = 'for each; do echo "$each"; done >options'
    put_reframe(tmp_path, f"{told}\n{RECORDS}")
    run(tmp_path, RunSelection("local"), "no RDMA: rx1, rx2 = none")
    assert "--session-extras=lacking=no%20RDMA%3A%20rx1%2C%20rx2%20%3D%20none" in (
        (tmp_path / "options").read_text().splitlines()
    )


def test_a_night_within_a_budget_is_selected_and_recorded(tmp_path: Path) -> None:
    rests = {name: name for name in FIELDS}
    told = 'for each; do echo "$each"; done >options; echo "$FABRICHECK_CHOSEN" >chosen'
    put_reframe(tmp_path, f"{told}\n{RECORDS}")
    tests = {"C latency tcp-2n": {"systems": ["local:here"], "environs": ["mpich"]}}
    run(tmp_path, RunSelection("local", chosen=tests, resting=(rests,)))
    options = (tmp_path / "options").read_text().splitlines()
    assert f"--session-extras=resting={pack([rests])}" in options
    assert json.loads(Path((tmp_path / "chosen").read_text().strip()).read_text()) == tests


@pytest.mark.parametrize("report", [False, True])
def test_a_run_without_an_end_in_the_record_is_told(tmp_path: Path, *, report: bool) -> None:
    put_reframe(tmp_path, "exit 3")
    (tmp_path / "reports").mkdir()
    if report:
        (tmp_path / "reports" / "run-0.json").touch()
        earlier = Session(time=moment(), session="earlier", system="local")
        append(tmp_path / "perflogs", [earlier])
    with pytest.raises(FabricheckError, match=r"expected the end of session .* exit code 3"):
        run(tmp_path, RunSelection("local"))


def test_a_selection_that_fits_nothing_is_told(tmp_path: Path) -> None:
    put_reframe(tmp_path, "exit 0")
    with pytest.raises(FabricheckError, match="expected a case of this selection"):
        run(tmp_path, RunSelection("local", ("pair_health_nccl",)))


def test_two_runs_of_one_checkout_do_not_mix(tmp_path: Path) -> None:
    put_reframe(tmp_path, "true")
    (tmp_path / "reports").mkdir()
    lock = os.open(tmp_path / "reports" / ".lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with pytest.raises(FabricheckError, match="expected no other run in this checkout"):
        run(tmp_path, RunSelection("local"))
    os.close(lock)


def test_on_a_terminal_one_line_stands_for_what_reframe_says(tmp_path: Path) -> None:
    case = "[       OK ] (1/2) NodeHealth /a63165b6 @local:main+builtin"
    put_reframe(tmp_path, f"echo '{case}'; {RECORDS}")
    code = (
        "import sys; from pathlib import Path; from fabricheck.runner.session import run; "
        "from fabricheck.runner.selection import RunSelection; "
        "run(Path(sys.argv[1]), RunSelection('local'))"
    )
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb") as seen:
        subprocess.run([sys.executable, "-c", code, tmp_path], stdout=theirs, check=True)
        os.close(theirs)
        shown = seen.read1(1 << 16).decode()
    assert "\x1b[2K1 of 2 cases, 0:00 min" in shown
    assert case not in shown
    assert (tmp_path / "reports" / "reframe.out").read_text() == f"{case}\n"


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize(
    ("send", "number", "word"),
    [(os.killpg, signal.SIGINT, "interrupted"), (os.kill, signal.SIGTERM, "terminated")],
)
def test_an_interrupt_waits_for_reframe_and_says_what_became_of_it(
    tmp_path: Path, send: Callable[[int, int], None], number: int, word: str, *, terminal: bool
) -> None:
    cancelled = (
        "trap 'echo cancelled >cancelled; exit 9' INT TERM\n"
        "echo >ready; while :; do sleep 0.1; done"
    )
    put_reframe(tmp_path, cancelled)
    script = (
        "from pathlib import Path; from fabricheck.cli import guarded\n"
        "from fabricheck.runner.session import run\n"
        "from fabricheck.runner.selection import RunSelection\n"
        f"raise SystemExit(guarded(lambda: run(Path({str(tmp_path)!r}), RunSelection('local'))))"
    )
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        stdout=follower if terminal else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        os.close(follower)
        while process.poll() is None and not (tmp_path / "ready").exists():
            time.sleep(0.05)
        send(process.pid, number)
        _, said = process.communicate()
    os.close(leader)
    assert (process.returncode, (tmp_path / "cancelled").exists()) == (128 + number, True)
    expected = f"fabricheck: {word}: ReFrame, which cancels its jobs then, has ended; "
    expected += "no case had ended, so there is no verdict\n"
    assert said.decode() == expected


def test_what_had_ended_before_an_interrupt_has_a_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_reframe(tmp_path, "true")

    def interrupted(*_: object) -> int:
        append(tmp_path / "perflogs", [case(1, session=session(), id="a", level="critical")])
        append(tmp_path / "perflogs", [case(3, session=session(), id="c", result="fail", level="")])
        append(
            tmp_path / "perflogs", [case(2, session=session(), id="b", result="abort", level="")]
        )
        raise KeyboardInterrupt("ended")

    monkeypatch.setattr("fabricheck.runner.session.start", interrupted)
    with pytest.raises(KeyboardInterrupt) as ended:
        run(tmp_path, RunSelection("local"))
    assert str(ended.value).startswith(
        "ended; 2 of the cases had ended (1 critical, 1 failed), the others were cancelled; "
        "verdict so far: failed: fabricheck report --session "
    )
