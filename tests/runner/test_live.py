import io
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fabricheck.errors import Terminated
from fabricheck.record.costs import Cost, Key
from fabricheck.runner.live import RunStanding, follow, started

LATENCY = "MpiPointToPoint %benchmark=latency %transport={} %num_nodes=2"
SAID = f"""\
[ \x1b[32mRUN     \x1b[0m ] {LATENCY.format("rc")} /3bc07727 @testbed:rdma+openmpi
[ RUN      ] {LATENCY.format("tcp")} /eb66011b @testbed:main+openmpi
[ RUN      ] NodeHealth /a63165b6 @testbed:main+builtin
     L: memlock: not applicable on n[1-4]: no RDMA device
     L: level good
[ \x1b[32m      OK\x1b[0m ] ( 2/14) {LATENCY.format("tcp")} /eb66011b @testbed:main+openmpi
     L: level critical
"""
LOG = (
    f"debug: {LATENCY.format('tcp')} /eb66011b @testbed:main+openmpi: Entering stage: run\n"
    f"debug: {LATENCY.format('rc')} /3bc07727 @testbed:rdma+openmpi: Entering stage: run\n"
)
RC = Key("rdma", "openmpi", "MpiPointToPoint", "latency", "rc-2n")


def test_the_line_says_what_runs_what_is_done_and_what_is_left() -> None:
    standing = RunStanding({RC: Cost(90.0, 2)})
    for line in SAID.splitlines():
        standing.take(line)
    standing.look(LOG)
    assert standing.left() == 1080
    assert standing.line() == (
        "2 of 14 cases, 0:00 min, 1 good, 1 critical, about 18:00 min left: latency rc-2n openmpi"
    )


def test_without_a_history_nothing_is_said_of_the_time_left() -> None:
    standing = RunStanding({})
    standing.take(SAID.splitlines()[0])
    assert standing.left() is None
    assert standing.line() == "0 of ? cases, 0:00 min"


@pytest.mark.integration
def test_lines_of_reframe_go_to_a_file_and_one_stays(tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    (tmp_path / "said").write_text(SAID)
    with (tmp_path / "lock").open("w") as lock:

        def run(script: str, terminal: io.StringIO) -> int:
            words, environment = ["sh", "-c", script], {"PATH": "/usr/bin:/bin"}
            given = tmp_path, words, environment, lock.fileno()
            return follow(*given, known={}, terminal=terminal)

        shown = io.StringIO()
        assert run("cat said; exit 1", shown) == 1
        assert shown.getvalue().split("\r\x1b[2K")[-1].startswith("2 of 14 cases")
        assert (tmp_path / "reports" / "reframe.out").read_text() == SAID
        broken = io.StringIO()
        assert run("echo no such check; exit 1", broken) == 1
    assert broken.getvalue().endswith("\nno such check\n")


@pytest.mark.integration
def test_what_terminates_while_reframe_starts_reaches_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real, made = subprocess.Popen, list[subprocess.Popen[bytes]]()

    def interrupted(*words: Any, **options: Any) -> "subprocess.Popen[bytes]":
        made.append(real(*words, **options))
        os.kill(os.getpid(), signal.SIGTERM)
        return made[0]

    monkeypatch.setattr(subprocess, "Popen", interrupted)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Terminated, match="has ended"), started(["sleep", "60"]):
        pytest.fail("it went on")
    assert made[0].returncode == -signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before
