"""The whole loop, with a real Prometheus and Alertmanager: scrape, query, alert, message, end."""

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
import yaml
from tests.monitor.conftest import TOOLS, Suite, Tree, query_of
from tests.monitor.test_dashboard import ASKING
from tests.monitor.test_exporter import Exporter
from tests.monitor.test_last_run import night
from tests.monitor.test_rules import PLACE
from tests.ports import port_of
from tests.report import sample as reports
from tests.stress.made import block, place
from tests.waiting import wait_until

from fabricheck.record.entries import moment
from fabricheck.schedulers.local import birth

pytestmark = pytest.mark.e2e
QUIET = {"Alerts that fire", "Links that are down", "Cases that are not good", "Alerts"}
MARKED = "sys/class/infiniband/*/ports/1/hw_counters/np_ecn_marked_roce_packets"


class Web:
    """Takes Alertmanager's messages, and stands in for the exporter of a switch."""

    def __init__(self) -> None:
        self.alerts: dict[str, str] = {}
        self.resolved: set[str] = set()
        alerts, resolved = self.alerts, self.resolved

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                for alert in json.loads(body)["alerts"]:
                    alerts[alert["labels"]["alertname"]] = alert["status"]
                    if alert["status"] == "resolved":
                        resolved.add(alert["labels"]["alertname"])
                self._answer(b"")

            def do_GET(self) -> None:
                self._answer(b'nexus_pfc_rx_frames{interface="ii1/1/1"} 1\n')

            def _answer(self, body: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/plain")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None: ...

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        self.port = self.server.server_address[1]

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def fast_rules() -> str:
    """The rules that are shipped, with seconds for minutes, and 12 of them for what is measured.

    What an exporter may take stays as it is, and so do days.
    """
    rules = (PLACE / "rules.yml").read_text()
    rules = re.sub(r"((?:for|interval): \d+)m\n", r"\1s\n", rules)
    rules = re.sub(r"\[\d+m\]", "[12s]", rules)
    assert rules.count("seen > 180\n") == 1
    return rules.replace("seen > 180\n", "seen > 6\n")


def serving(
    program: str, config: dict[str, Any], root: Path, stack: ExitStack, *options: str
) -> tuple[int, int]:
    """Start a program on a port of its own choice, which the kernel tells; port and process."""
    file = root / f"{program}.yml"
    file.write_text(yaml.safe_dump(config))
    log = root / f"{program}.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [
                _program(program),
                f"--config.file={file}",
                f"--storage{'.tsdb' if program == 'prometheus' else ''}.path={root / program}",
                "--web.listen-address=127.0.0.1:0",
                *options,
            ],
            stdout=output,
            stderr=output,
        )
    stack.callback(process.wait)
    stack.callback(process.terminate)
    port = wait_until(lambda: port_of(process.pid))
    wait_until(lambda: _ready(port))
    return port, process.pid


def asked(port: int, expression: str, at: int | None = None) -> list[dict[str, Any]]:
    """What a Prometheus answers, of now or of another time."""
    query = urlencode({"query": expression} | ({"time": at} if at else {}))
    with urlopen(f"http://127.0.0.1:{port}/api/v1/query?{query}", timeout=30) as answer:
        found = json.load(answer)
    assert found["status"] == "success"
    return found["data"]["result"]  # type: ignore[no-any-return]


def _ready(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=10) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


class Loop:
    """Prometheus and Alertmanager, asking two exporters and a switch's each second."""

    def __init__(self, root: Path, web: Web, targets: dict[str, int], stack: ExitStack) -> None:
        hook = {"url": f"http://127.0.0.1:{web.port}/", "send_resolved": True}
        soon = {"group_wait": "1s", "group_interval": "1s", "repeat_interval": "1h"}
        self._root = root
        self._manager, _ = serving(
            "prometheus-alertmanager",
            {
                "route": {"receiver": "hook", "group_by": ["alertname"], **soon},
                "receivers": [{"name": "hook", "webhook_configs": [hook]}],
            },
            root,
            stack,
            "--cluster.listen-address=",
        )
        (root / "rules.yml").write_text(fast_rules())
        self.port, self._process = serving("prometheus", self._config(targets), root, stack)
        self.ask(targets)

    def ask(self, targets: dict[str, int]) -> None:
        """Let Prometheus scrape these, and itself, from now on."""
        config = self._config({"prometheus": self.port, **targets})
        (self._root / "prometheus.yml").write_text(yaml.safe_dump(config))
        os.kill(self._process, signal.SIGHUP)

    def _config(self, targets: dict[str, int]) -> dict[str, Any]:
        manager = [{"static_configs": [{"targets": [f"127.0.0.1:{self._manager}"]}]}]
        return {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(self._root / "rules.yml")],
            "alerting": {"alertmanagers": manager},
            "scrape_configs": [
                {"job_name": job, "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
                for job, port in targets.items()
            ],
        }

    def query(self, expression: str) -> list[dict[str, Any]]:
        """What Prometheus answers."""
        return asked(self.port, expression)

    def unanswered(self, expressions: list[str]) -> list[str]:
        """Those without a series."""
        self.lacking = [each for each in expressions if not self.query(each)]
        return self.lacking


def _program(name: str) -> Path:
    found = shutil.which(name, path=f"{TOOLS}:{os.environ['PATH']}")
    assert found, f"expected {name}: run ci/setup test"
    return Path(found)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_from_a_counter_to_a_message_and_back(
    stack: ExitStack, suite: Suite, tree: Callable[[str], Tree], tmp_path: Path
) -> None:
    node = tree("mlx5_roce")
    suite.ran(report=reports.report("allreduce", "bcast", "latency"))
    suite.night(reports.report("allreduce", "bcast", "latency"))
    night(suite.reports / "nights", 30)
    # A stress whose job is this process.
    stress = place(
        suite.reports / "stress" / "s",
        *(block(f"{each}.1", value=9e3 + each, marks=each, at=time.time()) for each in range(8)),
        block("8.2", "bcast", at=time.time()),
        job=f"{os.getpid()}.{birth(os.getpid())}",
        measured={"n1": time.time()},
    )
    web = Web()
    stack.callback(web.close)
    runs = Exporter(f"--reports={suite.reports}")
    stack.callback(runs.stop)
    ports = Exporter("--ports", f"--state={tmp_path / 'ports.json'}")
    stack.callback(ports.stop)
    targets = {"fabricheck": runs.port, "fabricheck-ports": ports.port, "switch": web.port}
    loop = Loop(tmp_path, web, targets, stack)

    queries = {
        panel["title"]: query_of(target["expr"]) for panel in ASKING for target in panel["targets"]
    }
    for title in QUIET:
        # Where nothing is wrong, they name nothing.
        loop.query(queries.pop(title))
    blocks = itertools.count(9)

    def all_answered() -> bool:
        last = next(blocks)
        stress.append(block(f"100{last}.1", value=9e3 + last, marks=last, at=time.time()))
        return not loop.unanswered([*queries.values()])

    wait_until(all_answered, lambda: loop.lacking)
    # No block is lost, however many there are between two scrapes.
    made = next(blocks) - 1
    counted = 'fabricheck_stress_block_latency_seconds_count{operation="allreduce"}'
    wait_until(lambda: loop.query(counted)[0]["value"][1] == str(made), lambda: (made, counted))
    assert not web.alerts.keys() & {"HighECNRate", "ExporterDown", "LinkDown"}

    # A congested fabric: more marks each time, until the message has come.
    marked = 0

    def more_marks() -> bool:
        nonlocal marked
        marked += 5_000
        node.set(MARKED, marked)
        return web.alerts.get("HighECNRate") == "firing"

    wait_until(more_marks, lambda: (web.alerts, loop.query("fabricheck:ecn_marked_packets:rate5m")))
    wait_until(lambda: web.alerts["HighECNRate"] == "resolved")

    # The program of its allreduce is taken away: no latency is left of that, and the alert comes.
    stress.append(block("9.1", at=time.time()))
    wait_until(lambda: loop.query("mpi_allreduce_latency_us"))
    failing = replace(block("10.1", level="untrusted"), samples=())
    for each in range(10, 40):
        stress.append(replace(failing, id=f"{each}.1", time=moment(time.time())))
    wait_until(lambda: web.alerts.get("StressFailing") == "firing", lambda: web.alerts)
    assert not loop.query('fabricheck_stress_latency_seconds{operation="allreduce"}')

    # The stress ends, and with it its series.
    stress.append(block("40.1", at=time.time()))
    wait_until(lambda: loop.query("mpi_allreduce_latency_us"))
    stress.change(ended=time.time(), why="a stop was asked for")
    wait_until(lambda: not loop.query("mpi_allreduce_latency_us"))
    assert loop.query("mpi_stress_test_running")[0]["value"][1] == "0"
    assert not loop.query("fabricheck_stress_latency_seconds")
