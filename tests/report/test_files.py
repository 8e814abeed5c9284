import errno
import os
import stat

import pytest

from fabricheck.errors import FabricheckError
from fabricheck.report.files import write_whole


def test_the_file_is_there_whole_and_nothing_else(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("old")
    write_whole(path, "new µs")
    assert path.read_text(encoding="utf-8") == "new µs"
    assert list(tmp_path.iterdir()) == [path]


def test_others_may_read_it_as_the_umask_says(tmp_path):
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "page.html", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o640


def test_a_full_disk_leaves_the_old_page(tmp_path, monkeypatch):
    def full(_handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "page.html"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FabricheckError, match="No space left on device"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_directory_is_told(tmp_path):
    with pytest.raises(FabricheckError, match=r"cannot write .*: No such file"):
        write_whole(tmp_path / "none" / "page.html", "x")


def test_a_directory_in_the_way_is_told(tmp_path):
    (tmp_path / "page.html").mkdir()
    with pytest.raises(FabricheckError, match="Is a directory"):
        write_whole(tmp_path / "page.html", "x")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
