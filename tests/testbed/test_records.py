import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabricheck_testbed.records import (
    ProcessRecord,
    host_boot_id,
    read_record,
    read_records,
    write_own_record,
)

pytestmark = pytest.mark.integration


@pytest.fixture
def own_record(tmp_path: Path) -> ProcessRecord:
    proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
    try:
        write_own_record(tmp_path, "me", proc, host_boot_id())
    finally:
        os.close(proc)
    record = read_record(tmp_path, "me")
    assert record
    return record


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


def record_of(process: subprocess.Popen[bytes], *, late_ticks: int = 0) -> ProcessRecord:
    stat = Path(f"/proc/{process.pid}/stat").read_text()
    start = int(stat.rpartition(")")[2].split()[19])
    return ProcessRecord("sleeper", process.pid, start + late_ticks, host_boot_id())


def test_a_process_records_itself(own_record: ProcessRecord, tmp_path: Path) -> None:
    assert own_record.pid == os.getpid()
    assert own_record.alive()
    assert own_record.uptime_seconds() >= 0
    assert read_records(tmp_path) == [own_record]


def test_namesake_with_another_start_time_is_left_alone(
    bystander: subprocess.Popen[bytes],
) -> None:
    record = record_of(bystander, late_ticks=1)
    assert not record.alive()
    assert not record.kill()
    assert bystander.poll() is None


def test_namesake_after_a_reboot_is_left_alone(bystander: subprocess.Popen[bytes]) -> None:
    record = record_of(bystander)._replace(boot_id="another boot")
    assert not record.kill()
    assert bystander.poll() is None


def test_kill_ends_exactly_the_recorded_process(bystander: subprocess.Popen[bytes]) -> None:
    assert record_of(bystander).kill()
    assert bystander.wait(10) == -9


def test_a_zombie_does_not_count_as_alive(bystander: subprocess.Popen[bytes]) -> None:
    record = record_of(bystander)
    record.kill()
    assert not record.alive()
    assert not record.kill()


def test_cut_record_is_no_record(tmp_path: Path) -> None:
    (tmp_path / "n1.json").write_text('{"name": "n1", "pid"')
    (tmp_path / "n2.json").write_text('{"name": "n2"}')
    assert read_records(tmp_path) == []
    assert read_record(tmp_path, "n3") is None
