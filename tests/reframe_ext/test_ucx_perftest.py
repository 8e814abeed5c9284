"""The check of ucx_perftest: the real program over shared memory, and one that misbehaves."""

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REFRAME = Path(sys.executable).parent / "reframe"
CHECK = ROOT / "checks" / "ucx_perftest.py"
BOTH_RANKS = Path(__file__).with_name("bin") / "both-ranks"
PROGRAM = "ucx_perftest"
CONFIGURATION = """
from reframe.core.backends import register_launcher
from reframe.core.launchers import JobLauncher

@register_launcher("both", local=True)
class Both(JobLauncher):
    def command(self, job):
        return ["both-ranks"]

site_configuration = {
    "systems": [{"name": "alone", "hostnames": [".*"], "partitions": [{
        "name": "main", "scheduler": "local", "launcher": "both", "environs": ["builtin"],
        "features": ["shm", "nodes-1"],
        "extras": {"max_message_size": 256, "time_budget": 0.001},
    }]}],
    "environments": [{"name": "builtin", "features": ["ucx"]}],
}
"""


class Ran:
    """One case: ReFrame's record of it, and the files that it left."""

    def __init__(self, place: Path, benchmark: str, wrapper: str = "") -> None:
        real = shutil.which(PROGRAM)
        assert real, f"expected {PROGRAM} on PATH (ci/setup installs it), found none"
        programs = place / "bin"
        programs.mkdir()
        (programs / "both-ranks").symlink_to(BOTH_RANKS)
        if wrapper:
            script = programs / PROGRAM
            script.write_text(f"#!/bin/sh\nreal={real}\n{wrapper}\n")
            script.chmod(0o755)
        config = place / "config.py"
        config.write_text(CONFIGURATION)
        done = subprocess.run(
            [
                REFRAME, f"--config-file={config}", f"--checkpath={CHECK}", "--run",
                f"--prefix={place}", f"--report-file={place / 'run.json'}", "--keep-stage-files",
                "-E", f"benchmark == {benchmark!r}",
            ],
            cwd=place,
            env={
                **os.environ,
                "PATH": f"{programs}:{os.environ['PATH']}",
                "FABRICHECK_PAIR_WAIT": "10",
                "FABRICHECK_PAIR_GRACE": "2",
                "RFM_WARN_AS_ERROR": "1",
            },
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
        sys.stdout.write(done.stdout + done.stderr)
        (self.case,) = json.loads((place / "run.json").read_text())["runs"][-1]["testcases"]
        self.level = self.case["level"]
        self.findings = self.case["findings"]
        (batch,) = place.glob(f"stage/**/{benchmark}.batch")
        self.batch = batch.read_text().splitlines()


@pytest.fixture
def ran(tmp_path: Path) -> Callable[..., Ran]:
    return functools.partial(Ran, tmp_path)


@pytest.mark.parametrize("benchmark", ["ucx_tag_lat", "ucx_get_bw"])
def test_a_good_run_is_believed(ran: Callable[..., Ran], benchmark: str) -> None:
    good = ran(benchmark)
    # The system has no reference file, so nothing judges what has been proved.
    assert good.level == "no-reference", good.findings
    assert [line.split()[0] for line in good.batch] == [f"{benchmark}:{1 << n}" for n in range(9)]
    values = good.case["perfvalues"]
    assert len(values) == 2 * 9
    assert all(value[0] > 0 for value in values.values())
    assert good.case["program"] == PROGRAM
    assert good.case["program_version"] == good.case["ucx_version"] != ""
    assert "UCX lanes " in good.case["evidence"]
    assert "sysv/memory" in good.case["evidence"] or "posix/memory" in good.case["evidence"]


def test_another_transport_than_the_one_asked_for_is_untrusted(ran: Callable[..., Ran]) -> None:
    wrong = ran("ucx_tag_lat", 'UCX_TLS=tcp,self UCX_NET_DEVICES=lo exec $real "$@"')
    assert wrong.level == "untrusted"
    assert wrong.findings[0].startswith("expected data lanes on shm (")
    assert "tcp/lo" in wrong.findings[0]


def test_ucx_itself_says_why_no_test_of_the_batch_ran(ran: Callable[..., Ran]) -> None:
    refused = ran("ucx_tag_lat", 'UCX_TLS=rc_nonsense,self exec $real "$@"')
    assert refused.level == "untrusted"
    assert refused.findings[0].startswith("UCX on ")
    assert "transport 'rc_nonsense' is not available" in refused.findings[0]
    assert "every test of the batch failed" in refused.findings[0]


SERVER = '[ "$SLURM_PROCID" = 0 ] && exec $real "$@"; '


@pytest.mark.parametrize(
    ("client", "message"),
    [
        ('$real "$@" | sed /:64,/d', "but 64B is missing"),
        ('$real "$@" | sed /:256,/d', "but 256B is missing"),
        ('$real "$@" >/dev/null', "the client did not start"),
        ('$real "$@"; exit 3', "ended with exit code 3"),
    ],
)
def test_what_is_damaged_or_missing_is_named(
    ran: Callable[..., Ran], client: str, message: str
) -> None:
    bad = ran("ucx_tag_lat", SERVER + client)
    assert bad.level == "untrusted"
    assert message in bad.findings[0]


def test_a_server_that_never_listens_is_named(ran: Callable[..., Ran]) -> None:
    bad = ran("ucx_tag_lat", "echo no licence >&2; exit 7")
    assert bad.level == "untrusted"
    assert "its last words: no licence" in bad.findings[0]
