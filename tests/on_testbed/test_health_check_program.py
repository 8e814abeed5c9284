"""Slurm's own HealthCheckProgram drains a node whose port is down, by the lines of the page."""

import re
import sys
from pathlib import Path

import pytest
from tests.node_health.trees import grow, write
from tests.waiting import wait_until

from fabricheck.provenance import SUITE
from fabricheck_testbed import Testbed, slurm_conf

pytestmark = pytest.mark.e2e

FABRICHECK = Path(sys.executable).with_name("fabricheck")
PAGE = SUITE / "docs" / "reference" / "node-health.md"
PORT = "sys/class/infiniband/mlx5_1/ports/1/state"


def script_of_the_page(trees: Path, manifest: Path, conf: Path) -> str:
    """What the page gives to HealthCheckProgram, on recorded trees, one for each node."""
    (lines,) = re.findall(r"(words=\$\(.*\n\[ \$\? .*\n)", PAGE.read_text())
    for path, own in (
        ("/opt/fabricheck/bin/fabricheck", FABRICHECK),
        ("/etc/slurm/manifest.json", manifest),
    ):
        assert path in lines
        lines = lines.replace(path, str(own))
    tree = f"FABRICHECK_NODE_ROOT={trees}/$SLURMD_NODENAME"
    return f"#!/bin/sh\nexport SLURM_CONF={conf} {tree}\n{lines}"


def test_a_node_whose_port_is_down_is_drained_by_slurm(
    can_run_testbeds: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, manifest = tmp_path / "health.sh", tmp_path / "manifest.json"
    for node in ("n1", "n2"):
        grow(tmp_path / node, cards=2)
    manifest.write_text('{"facts": {"": {"RDMA ports": "2"}, "mlx5_1:1": {"state": "ACTIVE"}}}')
    lines = f"HealthCheckProgram={program}\nHealthCheckInterval=3\n"
    monkeypatch.setattr(slurm_conf, "_SLURM_CONF", slurm_conf._SLURM_CONF + lines)
    testbed = Testbed(tmp_path / "tb")
    program.write_text(script_of_the_page(tmp_path, manifest, testbed.files.slurm_conf))
    program.chmod(0o755)

    def told(node: str) -> str:
        return testbed.run("login", "sinfo", "-hNn", node, "-o", "%T %E").stdout

    try:
        testbed.up(nodes=2, shares=[tmp_path, SUITE])
        write(tmp_path / "n2", PORT, "1: DOWN\n")
        wait_until(lambda: "drain" in told("n2"), "Slurm to drain n2")
        assert "critical: n2: ports: mlx5_1:1 state DOWN, the manifest has ACTIVE" in told("n2")
        assert "drain" not in told("n1")
    finally:
        testbed.down()
