"""A node dies under a stress of real Slurm, watched by the exporter and a real Prometheus."""

import re
import shlex
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.guards.test_stress import Controller, stress
from tests.monitor.test_exporter import Exporter
from tests.monitor.test_loop import Loop, Web, stack
from tests.waiting import wait_until

__all__ = ["stack", "stress"]
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("guards")]
LATENCY = "fabricheck_stress_latency_seconds"


def test_a_node_that_dies_under_a_stress_is_an_alert_that_stays(
    stress: Controller, stack: ExitStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = stress.suite
    stress.start()
    stress.until(lambda: len(stress.blocks()) > 2, "three blocks")
    # The nodes' network is their own; the exporter is where Prometheus is, and asks Slurm there.
    login = shlex.join(suite.testbed.command("login"))
    suite.write(
        "bin/path/on-login",
        f'#!/bin/sh\nshift\n[ -z "${{SLURM_CONF:-}}" ] || exec "$@"\nexec {login} "$@"\n',
    )
    monkeypatch.setenv("PYTHONPATH", str(suite.root / "src"))
    web = Web()
    stack.callback(web.close)
    exporter = Exporter(f"--reports={suite.root / 'reports'}")
    stack.callback(exporter.stop)
    loop = Loop(tmp_path, web, {"fabricheck": exporter.port}, stack)
    wait_until(lambda: loop.query(LATENCY))
    assert not {each for each in web.alerts if each.startswith("Stress")}

    def seen() -> object:
        return web.alerts, re.findall(
            r"^fabricheck_stress_[sn].*", exporter.get("/metrics")[2], re.M
        )

    # The next test's ``up`` replaces a testbed that has lost a node.
    suite.testbed.kill_node("n2")
    wait_until(lambda: web.alerts.get("StressNodeDead") == "firing", seen)
    # The next job waits for another node in its place.
    wait_until(lambda: not loop.query(LATENCY), lambda: loop.query(LATENCY))
    assert "StressNodeDead" not in web.resolved
