import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from fabricheck.node_health.facts import NODE_PROBE, Facts, read_facts

Probe = Callable[..., Facts]


@pytest.fixture
def sysfs(tmp_path: Path) -> Path:
    """Where a tree for the probe is put together, with this machine's own processes."""
    for name in ("uptime", "self/status", "self/limits", "sys/kernel/osrelease"):
        path = tmp_path / "proc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((Path("/proc") / name).read_text())
    return tmp_path / "sys"


@pytest.fixture
def probe(tmp_path: Path, sysfs: Path) -> Probe:
    """Runs the probe, with dash, on a tree of files by path below /sys."""

    def run(files: dict[str, str], *programs: str, **env: str) -> Facts:
        for name, text in files.items():
            path = sysfs / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        sysfs.mkdir(exist_ok=True)
        subprocess.run(
            ["dash", NODE_PROBE, *programs],
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],
                "SLURMD_NODENAME": "n1",
                "FABRICHECK_NODE_ROOT": str(tmp_path),
                **env,
            },
            stdin=subprocess.DEVNULL,
            check=True,
        )
        return read_facts(tmp_path / "node.n1")

    return run
