"""rdma_batch where there is no RDMA device: what it refuses, each in one sentence with exit code 2.

What needs devices runs in the guest (tests/on_testbed); accounting, tables and the
messages of the two ends have unit tests in src/bench/tests.
"""

import re
import subprocess
from pathlib import Path

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.ranks]

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "programs" / "rdma_batch.md").read_text()
TIMEOUT = 60

REFUSED = {
    ("--nonsense",): "unknown option --nonsense; see rdma_batch --help",
    ("--op",): "option --op needs a value; see rdma_batch --help",
    ("--op", "send"): 'option --op: "send" is none of read, write',
    ("--op", "write", "--max-rd-atomic", "4"): "option --max-rd-atomic is for --op read",
    ("--op", "read", "--inline", "64"): "option --inline is for --op write",
    ("--all", "--all-batch"): "option --all-batch is for a sweep of its own",
    ("--all", "--sizes", "0:8"): '"0:8" begins at 0',
    ("--num-target-dev", "2", "--dev", "a"): "option --dev names 1 device(s), expected 2",
    ("",): "the target's name is empty",
    ("--num-worker-threads", "4"): "expected a queue pair or more for each worker thread",
    ("--mtu", "1500"): 'option --mtu: "1500" is none of 256, 512, 1024, 2048, 4096',
    ("--dev", "a,b"): "option --dev names 2 device(s), expected 1",
    ("node1", "node2"): '"node2" is one word too many',
    ("--json", "/nonexistent/x", "node1"): "there is no folder /nonexistent",
    ("--buffer-size", "8192", "--max-mem", "4096", "node1"): "raise --max-mem",
    (): "no RDMA device",
    ("--numa", "device"): "no RDMA device",
    ("node1",): "initiator rank 0: this machine has no RDMA device",
}


@pytest.fixture(scope="session")
def program(sanitized) -> Path:
    path = sanitized.folder / "rdma_batch" / "rdma_batch"
    if not path.exists():
        pytest.skip("libibverbs-dev is not installed, so rdma_batch is not built")
    return path


def run(program: Path, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [program, *arguments], capture_output=True, text=True, timeout=TIMEOUT, check=False
    )


@pytest.mark.parametrize("arguments", REFUSED, ids=" ".join)
def test_bad_input_is_one_sentence_and_exit_code_2(program, arguments):
    if "no RDMA device" in REFUSED[arguments] and any(Path("/sys/class/infiniband").glob("*")):
        pytest.skip("this machine has an RDMA device")
    done = run(program, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("rdma_batch: ")
    assert REFUSED[arguments] in done.stderr
    assert done.stderr.count("\n") == 1


def test_help_and_page_have_the_same_options(program):
    done = run(program, "--help")
    assert done.returncode == 0
    assert "Examples" in done.stdout
    in_help = set(re.findall(r"--[a-z][a-z-]+", done.stdout)) - {
        "--help",
        "--version",
        "--tcp-port",
    }
    missing = {option for option in in_help if f"{option}" not in PAGE}
    assert missing == set()


def test_version(program):
    done = run(program, "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"rdma_batch \d+\.\d+\.\d+\n", done.stdout)
