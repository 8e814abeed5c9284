"""Sources break one after the other while critical alerts fire: none ends before its cause."""

from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.monitor.conftest import Suite, Tree
from tests.monitor.test_exporter import Exporter
from tests.monitor.test_loop import Loop, Web, stack
from tests.report import sample as reports
from tests.waiting import wait_until

from fabricheck.runner.nights import GOOD, Nights

__all__ = ["stack"]
pytestmark = pytest.mark.e2e
STATE = "sys/class/infiniband/mlx5_0/ports/1/state"
CRITICAL = {"FabricCritical", "FabricNightMissing", "LinkDown"}


class Site:
    """A suite with a bad night that is the last for long, and a node whose link went down."""

    def __init__(self, suite: Suite, node: Tree, state: Path) -> None:
        self.suite, self.node = suite, node
        suite.ran()
        self.record(reports.with_critical(), ago=1)
        self.schedule(hours=60)
        self._options = {
            "fabricheck": (f"--reports={suite.reports}",),
            "fabricheck-ports": ("--ports", f"--state={state}"),
        }
        self.exporters = {job: Exporter(*given) for job, given in self._options.items()}
        self.targets = {job: each.port for job, each in self.exporters.items()}

    def record(self, report: reports.Run, ago: int = 0) -> None:
        """Record a night that ended so many days ago, or less than a day more."""
        age = datetime.now(UTC) - datetime.fromisoformat(report["end"]["time"])
        self.suite.night(report, days=age.days - ago)

    def schedule(self, hours: float) -> None:
        """A night that began so many hours ago did its work."""
        nights, began = Nights(self.suite.reports / "nights"), datetime.now(UTC)
        began -= timedelta(hours=hours)
        day = timedelta(days=1)
        nights.complete(nights.begin(began), dict.fromkeys(GOOD, 0), began + day / 24, day)

    def start(self) -> None:
        for job, port in self.targets.items():
            self.exporters[job] = Exporter(*self._options[job], f"--listen=127.0.0.1:{port}")

    def kill(self) -> None:
        for each in self.exporters.values():
            each.process.kill()
            each.stop()

    def stop(self) -> None:
        for each in self.exporters.values():
            each.stop()


def test_no_critical_alert_ends_because_its_source_broke(
    stack: ExitStack, suite: Suite, tree: Callable[[str], Tree], tmp_path: Path
) -> None:
    site = Site(suite, tree("mlx5_roce"), tmp_path / "ports.json")
    stack.callback(site.stop)
    web = Web()
    stack.callback(web.close)
    loop = Loop(tmp_path, web, site.targets, stack)
    wait_until(lambda: loop.query("fabricheck_port_last_active_timestamp_seconds"))
    site.node.set(STATE, "1: DOWN")
    wait_until(lambda: {each for each in CRITICAL if web.alerts.get(each) == "firing"} == CRITICAL)

    def breaks(alert: str, do: Callable[[], object], mend: Callable[[], object]) -> None:
        do()
        wait_until(lambda: web.alerts.get(alert) == "firing", lambda: web.alerts)
        assert not web.resolved & CRITICAL, alert
        mend()
        wait_until(lambda: web.alerts[alert] == "resolved", lambda: web.alerts)
        assert not web.resolved & CRITICAL, alert

    # What a full disk leaves: a record of which the end is missing, and an empty file.
    for pattern, kept in (("perflogs/testbed/*.jsonl", 100), ("reports/nights/2*/night.json", 0)):
        (file,) = suite.reports.parent.glob(pattern)
        whole = file.read_bytes()
        breaks(
            "ExporterSourceDown",
            lambda file=file, text=whole[:kept]: file.write_bytes(text),
            lambda file=file, text=whole: file.write_bytes(text),
        )
    breaks("ExporterDown", site.kill, site.start)
    breaks("TargetGone", lambda: loop.ask({}), lambda: loop.ask(site.targets))
    site.stop()
    site.start()

    # The causes end, and the alerts with them.
    site.node.set(STATE, "4: ACTIVE")
    site.record(reports.report("allreduce"))
    site.schedule(hours=30)
    wait_until(lambda: web.resolved >= CRITICAL, lambda: web.alerts)
    assert "RulesFail" not in web.alerts
