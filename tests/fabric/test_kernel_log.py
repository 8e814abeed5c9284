"""Lines of the kernel's log that come in a run are findings of it, and no other lines are."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.fabric.conftest import Grow, later, snapshot_of, take

from fabricheck.fabric.job import Node, describe
from fabricheck.fabric.kernel_log import judge_log, judge_since
from fabricheck.fabric.limits import Limits
from fabricheck.fabric.ports import Snapshot
from fabricheck.launch import judging

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


def test_lines_between_two_runs_are_told_once_and_those_of_before_a_boot_too(
    tmp_path: Path,
) -> None:
    def line(second: int) -> str:
        return f"[{second:5}.000000] mlx5_core 0000:3b:00.0 ens1: Link down"

    def run(seconds: tuple[int, int], *logged: int) -> list[str]:
        lines = tuple(line(each) for each in logged if each <= seconds[1])
        before = tuple(each for each in lines if float(each[1:6]) <= seconds[0])
        ends = (
            replace(EMPTY, uptime=float(at), log=log)
            for at, log in zip(seconds, (before, lines), strict=True)
        )
        return [each.found for each in judge_since(*ends, tmp_path / "kernel-log")]

    assert run((10, 20), 5, 15) == [], "nobody knows since when the first run should count"
    assert run((40, 50), 5, 15, 30, 35) == [f"2 lines, the last: {line(35)}"]
    assert run((40, 50), 5, 15, 30, 35) == [f"2 lines, the last: {line(35)}"], "judged again"
    assert run((60, 70), 5, 15, 30, 35) == []
    assert run((8, 9), 3) == [f"one line: {line(3)}"], "of a boot since"
    unread = replace(EMPTY, log=None)
    assert [*judge_since(unread, unread, tmp_path / "none")] == []
    assert not (tmp_path / "none").exists()


def test_what_came_between_two_runs_is_a_warning_of_the_node_s_case(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(judging, "home", lambda: tmp_path)
    lines = (f"[   15.000000] {LINES[5][1]}",)
    for before, after, logged in ((1.0, 2.0, ()), (20.0, 21.0, lines)):
        node = Node(
            replace(EMPTY, uptime=before, log=logged), replace(EMPTY, uptime=after, log=logged)
        )
        monkeypatch.setattr(judging, "read_nodes", lambda _, node=node: [node])
        found = judging.judge_fabric(tmp_path, Limits())
    (told,) = (each for each in found if each.subject.startswith("kernel log"))
    assert (told.level, told.subject) == ("warning", "kernel log before this run: link down")
