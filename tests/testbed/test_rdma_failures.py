"""A guest that hangs, panics, dies or never starts: one sentence, and the rest keeps working."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from fabricheck_testbed import Testbed, lifecycle
from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.guest import client
from fabricheck_testbed.guest import machine as machine_module

pytestmark = pytest.mark.e2e
SECONDS = 180.0


def guest_pid(testbed: Testbed) -> int:
    guest = testbed.status().guest
    assert guest is not None
    assert guest.pid is not None
    return guest.pid


@pytest.mark.lab
def test_a_guest_that_hangs_panics_and_starts_afresh(
    make_testbed: Callable[[str], Testbed], can_run_guests: None, watch, tmp_path: Path
) -> None:
    before = watch.traces()
    testbed = make_testbed("tb")
    testbed.up(nodes=1, rdma=True)
    assert watch.traces() == before
    rest = ["srun", "--partition=main", "hostname"]

    # One node pulled: the other one goes on.
    testbed.kill_node("rx2")
    done = testbed.run("rx2", "true", timeout_seconds=SECONDS)
    assert done.returncode == 2
    assert "rx2 of the testbed" in done.stderr
    assert testbed.run("rx1", "true", timeout_seconds=SECONDS).returncode == 0

    # The machine hangs.
    os.kill(guest_pid(testbed), signal.SIGSTOP)
    assert "the guest (rx1, rx2) does not answer in 10 s" in testbed.status().problems
    done = testbed.run("rx1", "true", timeout_seconds=client.CONNECT_SECONDS + 60)
    assert done.returncode == 2
    assert "rx1 of the testbed" in done.stderr
    assert "does not answer (timed out): its guest hangs or has crashed" in done.stderr
    assert testbed.run("login", *rest, timeout_seconds=SECONDS).stdout == "n1\n"
    os.kill(guest_pid(testbed), signal.SIGCONT)

    # The kernel panics under a command.
    done = testbed.run("guest", "sh", "-c", "echo c >/proc/sysrq-trigger", timeout_seconds=SECONDS)
    assert done.returncode == 2
    assert "does not answer" in done.stderr
    (problem,) = [each for each in testbed.status().problems if "the guest" in each]
    assert "the guest (rx1, rx2) is dead, its last words: " in problem
    assert "Kernel panic - not syncing: sysrq triggered crash" in problem
    done = testbed.run("rx1", "true", timeout_seconds=SECONDS)
    assert f"rx1 of the testbed in {testbed.files.root} is dead" in done.stderr
    assert testbed.run("login", *rest, timeout_seconds=SECONDS).stdout == "n1\n"

    # Another up mends it; a hanging guest does not keep down from its work.
    mended = testbed.up()
    assert mended.nodes == ["n1", "rx1", "rx2"]
    assert any("Kernel panic" in why for why in mended.restarted_for)
    namespaces = watch.namespaces_of(testbed)
    os.kill(guest_pid(testbed), signal.SIGSTOP)
    assert any(process.startswith("guest (") for process in testbed.down().processes)
    assert watch.processes_in(namespaces) == []
    assert watch.traces() == before
    assert not testbed.files.root.exists()


@pytest.fixture
def qemu(
    can_run_guests: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], None]:
    """Puts a stand-in before QEMU on PATH, and loses patience soon."""
    monkeypatch.setattr(lifecycle, "_GUEST_SECONDS", 3.0)

    def put(body: str) -> None:
        program = tmp_path / "bin" / "qemu-system-x86_64"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/bash\n{body}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    return put


FIND_FILES = """
[[ $* == *guest.events* ]] || exit 1 # the look at KVM
for each; do
  case $each in
    file:*console) console=${each#file:} ;;
    file:*events) events=${each#file:} ;;
  esac
done
"""


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("echo 'qemu: cannot set up guest memory' >&2; exit 1", "qemu: cannot set up guest memory"),
        (
            "echo '[ 0.1] Kernel panic - not syncing: No init' >$console; echo later >>$console",
            "the guest (rx1, rx2) has ended, its last words: [ 0.1] Kernel panic - not syncing: No",
        ),
        (
            "printf 'step guest booted\\r\\nerror rxe0 is bad\\r\\n' >$events; exec sleep 60",
            "could not start: guest: rxe0 is bad",
        ),
        (
            "echo 'stuck here' >$console; exec sleep 60",
            "not ready after 3 s, its last words: stu",
        ),
    ],
)
def test_a_guest_that_does_not_start_is_one_sentence(
    body: str,
    complaint: str,
    make_testbed: Callable[[str], Testbed],
    qemu: Callable[[str], None],
    watch,
) -> None:
    before = watch.traces()
    qemu(FIND_FILES + body)
    testbed = make_testbed("tb")
    with pytest.raises(TestbedError) as refused:
        testbed.up(nodes=1, rdma=True)
    assert complaint in str(refused.value)
    assert f"(logs in {testbed.files.log})" in str(refused.value)
    assert not testbed.status().running
    assert testbed.files.guest_console.parent.is_dir(), "what there was to read stays"
    testbed.up(nodes=1, rdma=False)
    assert testbed.status().problems == []
    testbed.down()
    assert watch.traces() == before


def test_what_is_missing_before_the_start_leaves_nothing(
    make_testbed: Callable[[str], Testbed], can_run_guests: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_module, "available_mb", lambda: 100)
    testbed = make_testbed("tb")
    with pytest.raises(TestbedError, match="guest needs 2560 MB of memory, and 100 MB are avai"):
        testbed.up(nodes=1, rdma=True)
    assert not testbed.files.root.exists()
