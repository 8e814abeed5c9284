import errno
import os
import socket
import stat
from pathlib import Path

import pytest
from tests.refusals import refused

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


@pytest.mark.parametrize(
    ("fault", "seen", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), FabricheckError, "No space left on dev"),
        (KeyboardInterrupt(), KeyboardInterrupt, None),
    ],
)
def test_a_full_disk_or_an_interrupt_leaves_the_old_page_and_no_other_file(
    tmp_path, monkeypatch, fault, seen, words
):
    def broken(_handle):
        raise fault

    path = tmp_path / "page.html"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(seen, match=words):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_and_its_target_is_written(tmp_path):
    (tmp_path / "link").symlink_to("page.html")
    for text in ("first", "second"):
        write_whole(tmp_path / "link", text)
        assert (tmp_path / "page.html").read_text() == text
    assert (tmp_path / "link").is_symlink()


def test_a_device_is_written_through_and_stays(tmp_path):
    (tmp_path / "null").symlink_to("/dev/null")
    write_whole(tmp_path / "null", "x")
    write_whole(Path("/dev/null"), "x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    with refused("FC2101", "cannot write /dev/full: No space left on device"):
        write_whole(Path("/dev/full"), "x")


def test_a_pipe_is_written_if_somebody_reads_it(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with refused("FC2101", "No such device or address"):
        write_whole(pipe, "x")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "x")
    assert os.read(reader, 10) == b"x"
    os.close(reader)
    assert list(tmp_path.iterdir()) == [pipe]


def test_what_takes_no_text_is_refused(tmp_path):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        with refused("FC2101", "it is neither a file nor a pipe"):
            write_whole(tmp_path / "s", "x")


def test_half_a_surrogate_pair_and_a_long_name_are_written(tmp_path):
    path = tmp_path / ("n" * 255)
    write_whole(path, "caf\udce9")
    assert path.read_text() == "caf\\udce9"


def test_a_missing_directory_is_told(tmp_path):
    with refused("FC2101", r"cannot write .*: No such file"):
        write_whole(tmp_path / "none" / "page.html", "x")


def test_a_directory_in_the_way_is_told(tmp_path):
    (tmp_path / "page.html").mkdir()
    with refused("FC2101", "Is a directory"):
        write_whole(tmp_path / "page.html", "x")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can lay a link for another user")
def test_a_link_of_another_user_where_all_may_write_is_not_followed(tmp_path):
    shared, victim = tmp_path / "shared", tmp_path / "victim"
    shared.mkdir()
    shared.chmod(0o1777)
    victim.write_text("precious")
    path = shared / "page.html"
    path.symlink_to(victim)
    os.lchown(path, 65534, 65534)
    with refused("FC2101", "a link of another user"):
        write_whole(path, "page")
    assert victim.read_text() == "precious"
    os.lchown(path, 0, 0)
    write_whole(path, "page")
    assert victim.read_text() == "page"
