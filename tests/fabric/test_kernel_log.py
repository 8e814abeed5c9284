"""Lines of the kernel's log that come in a run are findings of it, and no other lines are."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.fabric.conftest import Grow, later, snapshot_of, take

from fabricheck.fabric.job import describe
from fabricheck.fabric.kernel_log import judge_log
from fabricheck.fabric.limits import Limits
from fabricheck.fabric.ports import Snapshot

EMPTY = Snapshot("before", "n1", 10.0, {}, ())
STAMP = "[12345.678901] "
# As the drivers print them.
LINES = [
    ("command timeout", "mlx5_core 0000:3b:00.0: wait_func:1061:(pid 77): 2ERR_QP(0x507) timeout. "
     "Will cause a leak of a command resource"),
    ("command timeout", "mlx5_core 0000:3b:00.0 ens1f0: TX timeout detected"),
    ("command timeout", "bnxt_en 0000:c1:00.0 ens2: Error (timeout: 5000015) msg {0x41 0x1b3}"),
    ("command timeout", "bnxt_en 0000:c1:00.0: QPLIB: cmdq[0x1e]=0x3 timedout (20000)msec"),
    ("card reset", "mlx5_core 0000:3b:00.0: poll_health:739:(pid 0): device's health compromised"
     " - reached miss count"),
    ("link down", "mlx5_core 0000:3b:00.0 ens1f0np0: Link down"),
    ("link down", "bnxt_en 0000:c1:00.0 ens2f0np0: NIC Link is Down"),
    ("link down", "ice 0000:18:00.0 ens3f0: NIC Link is Down"),
    ("link down", "cxgb4 0000:04:00.4 eth4: link down"),
    ("module", "mlx5_core 0000:3b:00.0: Port module event[error]: module 0, Cable error, High "
     "Temperature"),
    ("module", "mlx5_core 0000:3b:00.0: Port module event: module 0, Cable unplugged"),
    ("PCIe error", "pcieport 0000:3a:00.0: AER: Corrected error received: 0000:3b:00.0"),
    ("PCIe error", "mlx5_core 0000:3b:00.0: PCIe Bus Error: severity=Corrected, type=Physical "
     "Layer, (Receiver ID)"),
    ("", "mlx5_core 0000:3b:00.0 ens1f0np0: Link up"),
    ("", "bnxt_en 0000:c1:00.0: Device requests max timeout of 60 seconds"),
    ("", "nvme 0000:01:00.0: device timed out"),
    ("", "mlx5_core 0000:3b:00.0: 252.048 Gb/s available PCIe bandwidth (16.0 GT/s PCIe x16 link)"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "line"), LINES)
def test_a_line_counts_for_its_row_or_for_none(kind: str, line: str) -> None:
    found = [*judge_log(EMPTY, replace(EMPTY, log=(f"{STAMP}{line}",)))]
    assert [each.subject for each in found] == ([f"kernel log: {kind}"] if kind else [])
    assert all(line in each.found for each in found)


def test_lines_are_counted_and_those_before_the_run_are_not() -> None:
    lines = [f"[{second}.000000] mlx5_core 0000:3b:00.0 ens1: Link down" for second in range(5)]
    (found,) = judge_log(replace(EMPTY, log=lines[:2]), replace(EMPTY, log=lines))
    assert found.found == f"3 lines, the last: {lines[-1]}"


def test_a_log_that_was_not_read_twice_is_not_judged() -> None:
    line = (f"{STAMP}{LINES[0][1]}",)
    assert not [*judge_log(replace(EMPTY, log=None), replace(EMPTY, log=line))]


@pytest.mark.integration
def test_the_collector_reads_the_log_and_says_where_it_may_not(grow: Grow) -> None:
    root = grow("mlx5_roce")
    lines = [f"{STAMP}{LINES[5][1]}", f"{STAMP}usb 1-1: new device", f"{STAMP}{LINES[11][1]}"]
    (root / "dmesg").write_text("\n".join(lines) + "\n")
    assert take(root).log == [lines[0], lines[2]]
    (root / "dmesg").unlink()
    unread = take(root)
    assert unread.log is None
    assert [line for line in describe([unread], Limits()) if "kernel log not available" in line]


@pytest.mark.integration
def test_a_job_in_which_a_card_stopped_answering_is_critical(tmp_path: Path) -> None:
    from fabricheck.fabric.health import judge

    before = snapshot_of("mlx5_roce", tmp_path)
    after = replace(later(before), log=(f"{STAMP}{LINES[0][1]}",))
    (found,) = judge(before, after, 10.0, Limits())
    assert (found.level, found.subject) == ("critical", "kernel log: command timeout")
