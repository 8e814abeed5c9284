"""Recorded trees: one file each, a line PATH:VALUE for each line of each file in it."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fabricheck.fabric.ports import Snapshot
from fabricheck.fabric.ports import snapshot_of as ports_of
from fabricheck.nodes.told import SCRIPT, parse

DATA = Path(__file__).parents[1] / "data" / "fabric"
TREES = sorted(path.stem for path in DATA.glob("*.txt"))

Grow = Callable[[str], Path]
Take = Callable[[Path], Snapshot]


def unpack(name: str, root: Path) -> Path:
    """Make the files of a recorded tree."""
    for line in (DATA / f"{name}.txt").read_text().splitlines():
        path, _, value = line.partition(":")
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        with (root / path).open("a") as file:
            file.write(f"{value}\n")
    (root / "dmesg").touch()
    return root


def told(root: Path, moment: str = "before", **env: str) -> str:
    """What the script tells of a tree."""
    return subprocess.run(
        [SCRIPT, moment, "node", "ports", "adapters", "log"],
        env={"PATH": os.environ["PATH"], "FABRICHECK_NODE_ROOT": str(root), **env},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def take(root: Path, moment: str = "before") -> Snapshot:
    """The snapshot of a tree."""
    (found,) = parse(told(root, moment), "tree")
    return ports_of(found)


@pytest.fixture
def grow(tmp_path: Path) -> Grow:
    return lambda name: unpack(name, tmp_path / name)


def snapshot_of(tree: str, root: Path, host: str = "n1") -> Snapshot:
    """The snapshot of a recorded tree, as if taken on a host."""
    return replace(take(unpack(tree, root)), host=host)


def later(before: Snapshot, seconds: float = 10.0, **changes: object) -> Snapshot:
    """The same node after a while, with changes to its only port."""
    (port,) = before.ports.values()
    changed = replace(port, **changes)  # type: ignore[arg-type]
    ports = {changed.name: changed}
    return replace(before, moment="after", uptime=before.uptime + seconds, ports=ports)


def risen(before: Snapshot, seconds: float = 10.0, **by: int) -> Snapshot:
    """The same node after a while, with counters that rose."""
    (port,) = before.ports.values()
    assert by.keys() <= {name for _, name in port.counters}
    counters = {key: value + by.get(key[1], 0) for key, value in port.counters.items()}
    return later(before, seconds, counters=counters)
