"""What is stopped: a rank that never ends fails at its time limit; an interrupt is one sentence."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.reframe_ext.recorded import reframe
from tests.waiting import wait_until

pytestmark = pytest.mark.integration

# What a stopped program does not answer to is all but SIGKILL.
SUITE = """
import reframe as rfm
from reframe.core.builtins import run_after, run_before

from fabricheck.reframe_ext.case import BenchmarkCase, measured_on


@rfm.simple_test
class Stopped(BenchmarkCase):
    benchmark = measured_on(["bw"], ["rc-2n"])
    time_limit = "2s"
    executable = "sh"
    executable_opts = ["-c", "'echo $$ >pid; kill -STOP $$; exit 0'"]

    @run_after("init")
    def run_anywhere(self):
        self.valid_prog_environs = ["*"]

    @run_before("run")
    def launch(self):
        pass

    def fabric_findings(self):
        return ()
"""


INTERRUPTED = """
import os, signal
import reframe as rfm
from reframe.core.builtins import run_after

@rfm.simple_test
class Interrupted(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "true"

    @run_after("run")
    def interrupt(self):
        os.kill(os.getpid(), signal.SIGINT)
"""


def test_an_interrupt_has_no_traceback(tmp_path: Path) -> None:
    done = reframe(tmp_path, INTERRUPTED)
    assert done.returncode == 1
    assert "run session stopped: cancelled by user" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_stopped_rank_fails_the_case_at_its_time_limit(tmp_path: Path) -> None:
    assert reframe(tmp_path, SUITE, "--keep-stage-files", "--run").returncode == 1
    (pid,) = tmp_path.glob("stage/**/pid")
    process = Path("/proc", pid.read_text().strip())
    # It was killed by then, and whoever inherits it buries it.
    wait_until(lambda: not process.exists(), "the end of the stopped program")
    told = subprocess.run(
        [sys.executable, "-m", "fabricheck", "report", f"--perflogs={tmp_path / 'perflogs'}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 1
    assert "† failed bw builtin rc-2n" in told.stdout
    assert "job timed out" in told.stdout
