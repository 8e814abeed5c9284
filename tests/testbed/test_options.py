import json
from pathlib import Path

import pytest

from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.layout import Layout
from fabricheck_testbed.options import (
    Started,
    conflict,
    load,
    make_wish,
    own_pid_namespace,
    save,
)
from fabricheck_testbed.records import host_boot_id

HOME = Path("/usr")


def started() -> Started:
    return Started(
        nodes=4,
        cpus_per_node=4,
        keep_visible=["/tmp/a"],
        user_namespace=False,
        made_directory=True,
        pid_namespace=own_pid_namespace(),
        boot_id=host_boot_id(),
        guest_directories=[],
    )


@pytest.mark.parametrize(("nodes", "cpus"), [(0, None), (65, None), (None, 0), (None, 257)])
def test_sizes_out_of_range_are_named(nodes: int | None, cpus: int | None) -> None:
    with pytest.raises(TestbedError, match=r"--(nodes|cpus-per-node) \d+: expected 1 to"):
        make_wish(nodes, cpus, [])


def test_what_is_not_asked_for_does_not_conflict() -> None:
    assert conflict(make_wish(None, None, []), started(), HOME) is None
    assert conflict(make_wish(4, 4, []), started(), HOME) is None


def test_conflicts_say_what_differs(tmp_path: Path) -> None:
    assert conflict(make_wish(2, None, []), started(), HOME) == "it has 4 nodes, not 2"
    assert conflict(make_wish(None, 8, []), started(), HOME) == "it has 4 CPUs per node, not 8"
    hidden = Path("/tmp/testbed-hidden")
    assert conflict(make_wish(None, None, []), started(), hidden) == (
        f"its nodes do not see {hidden}"
    )
    assert conflict(make_wish(None, None, []), started(), Path("/tmp/a/b")) is None


def test_saved_and_loaded(tmp_path: Path) -> None:
    save(Layout(tmp_path), started())
    assert load(Layout(tmp_path)) == started()
    assert load(Layout(tmp_path / "elsewhere")) is None


def test_testbed_of_another_pid_namespace_is_left_alone(tmp_path: Path) -> None:
    save(Layout(tmp_path), started()._replace(pid_namespace="pid:[1]"))
    with pytest.raises(TestbedError, match="another PID namespace"):
        load(Layout(tmp_path))


def test_testbed_of_an_earlier_boot_is_known(tmp_path: Path) -> None:
    before = started()._replace(pid_namespace="pid:[1]", boot_id="an earlier boot")
    save(Layout(tmp_path), before)
    assert load(Layout(tmp_path)) == before


@pytest.mark.parametrize("text", ["{", json.dumps({"nodes": 4})])
def test_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    Layout(tmp_path).options.write_text(text)
    with pytest.raises(TestbedError, match=r"testbed\.json is damaged"):
        load(Layout(tmp_path))
