from pathlib import Path

import pytest

from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.visible import implied_paths, is_visible, paths_to_keep, shared_paths


def test_only_what_private_directories_would_hide_is_kept() -> None:
    wanted = [Path("/tmp/a/b"), Path("/tmp/a"), Path("/home/me"), Path("/dev/shm/x"), Path("/tmp")]
    assert paths_to_keep(wanted) == ["/dev/shm/x", "/tmp/a"]


def test_both_ends_of_a_link_are_kept(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    kept = paths_to_keep([tmp_path / "link"])
    assert kept == [str(tmp_path / "link"), str(tmp_path / "real")]


def test_visibility() -> None:
    assert is_visible(Path("/home/me"), [])
    assert not is_visible(Path("/tmp/a"), [])
    assert is_visible(Path("/tmp/a/b"), ["/tmp/a"])
    assert not is_visible(Path("/tmp"), ["/tmp/a"])


def test_the_checkout_around_the_working_directory_is_implied(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    below = tmp_path / "checks"
    below.mkdir()
    assert implied_paths(below)[:2] == [below, tmp_path]


def test_share_must_be_a_directory(tmp_path: Path) -> None:
    with pytest.raises(TestbedError, match=r"--share .*nothing: expected a directory"):
        shared_paths([tmp_path / "nothing"])


def test_private_directories_cannot_be_shared() -> None:
    with pytest.raises(TestbedError, match="/tmp is private to each node"):
        shared_paths([Path("/tmp")])
