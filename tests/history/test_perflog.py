import errno
import os
from pathlib import Path

import pytest

from fabricheck.errors import FabricheckError
from fabricheck.history import perflog
from fabricheck.history.record import FIELDS, HEADER, Record


def record(**changes: str) -> Record:
    return Record(**{**dict.fromkeys(FIELDS, ""), "variable": "latency_p50_8B", **changes})


def test_records_read_back(tmp_path: Path) -> None:
    path = tmp_path / "testbed" / "main" / "MpiPointToPoint.log"
    written = [record(value="1.5"), record(finding='pipes | and "quotes"\nand lines')]
    perflog.append(path, written[:1])
    perflog.append(path, written[1:])
    read = list(perflog.read(path))
    assert read[0] == written[0]
    assert read[1].finding == 'pipes | and "quotes" and lines'
    assert path.read_text().count(HEADER) == 1


def test_another_header_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "check.log"
    for number in range(2):
        path.write_text("result|other\npass|1\n")
        perflog.append(path, [record()])
        assert (tmp_path / f"check.log.h{number}").exists()
        path.unlink()


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "check.log"
    perflog.append(path, [record()])
    with path.open("a") as file:
        file.write("half|a|li")
    with pytest.raises(FabricheckError, match=r"check.log, line 3: expected \d+ fields.*found 3"):
        list(perflog.read(path))


def test_a_full_disk_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "check.log"
    perflog.append(path, [record()])
    before = path.read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:10]))
    with pytest.raises(FabricheckError, match=os.strerror(errno.ENOSPC)):
        perflog.append(path, [record()])
    assert path.read_bytes() == before


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FabricheckError, match="expected to append 2 lines to the perflog"):
        perflog.append(tmp_path / "file" / "check.log", [record()] * 2)
