"""The loop under a real stress: a slow cable, the message, its end, and what is left of each."""

import os
import re
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.guards.suite import Suite
from tests.guards.test_stress import RULES, Controller
from tests.monitor.conftest import Suite as Reports
from tests.monitor.conftest import query_of
from tests.monitor.test_dashboard import ASKING
from tests.monitor.test_exporter import Exporter
from tests.monitor.test_last_run import night
from tests.monitor.test_loop import Loop, Web
from tests.report import sample
from tests.waiting import wait_until

from fabricheck.cli.door import DOOR

pytestmark = [pytest.mark.lab, pytest.mark.xdist_group("guards")]


def test_a_stress_tells_of_a_slow_cable_and_of_its_end(
    suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stress = Controller(suite)
    # 64 KiB over 10 Mbit/s take 52 ms: critical is what takes 20.
    suite.write(
        "references/testbed.yaml", RULES.replace("1.0e+9", "2.0e+4").replace("1.0e+8", "1.0e+4")
    )
    monkeypatch.setenv(DOOR.variable, str(suite.root.parent / "tb"))
    reports = Reports(suite.root / "reports")
    with ExitStack() as stack:
        stack.callback(stress, "stop", "--now")
        stress.start()
        stress.until(lambda: len(stress.blocks()) > 2, "three blocks")
        reports.ran(report=sample.report("allreduce", "bcast"))
        night(reports.reports / "nights", 1)
        web = Web()
        stack.callback(web.close)
        runs = Exporter(f"--reports={reports.reports}")
        stack.callback(runs.stop)
        ports = Exporter("--ports", f"--state={tmp_path / 'ports.json'}")
        stack.callback(ports.stop)
        targets = {"fabricheck": runs.port, "fabricheck-ports": ports.port, "switch": web.port}
        loop = Loop(tmp_path, web, targets, stack)
        # No ports of RDMA here, so no marks: what a node with them exports is in test_loop.py.
        queries = [
            query_of(target["expr"])
            for panel in ASKING
            if "stress" in str(panel["targets"]) or "mpi_" in str(panel["targets"])
            for target in panel["targets"]
            if not re.search("port|ecn", target["expr"])
        ]
        wait_until(lambda: not loop.unanswered(queries), lambda: loop.lacking)
        assert not web.alerts.keys() & {"HighAllreduceLatency", "ExporterDown"}

        suite.testbed.shape("n1", "rate 10mbit burst 16kb latency 200ms")
        wait_until(lambda: web.alerts.get("HighAllreduceLatency") == "firing", lambda: web.alerts)
        suite.testbed.unshape("n1")
        wait_until(lambda: web.alerts["HighAllreduceLatency"] == "resolved", lambda: web.alerts)
        assert {each.level for each in stress.blocks()} >= {"good", "critical"}

        assert stress("stop").returncode == 0
        wait_until(lambda: not loop.query("mpi_allreduce_latency_us"))
        assert not loop.query("fabricheck_stress_latency_seconds")
        assert loop.query("mpi_stress_test_running")[0]["value"][1] == "0"

        os.kill(runs.process.pid, signal.SIGKILL)
        wait_until(lambda: web.alerts.get("ExporterDown") == "firing", lambda: web.alerts)
