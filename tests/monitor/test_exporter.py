"""The exporter as a process: right answers, to clients of any kind, and nothing old."""

import gzip
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest
from tests.monitor.conftest import Suite, Tree, promtool
from tests.refusals import refused
from tests.waiting import wait_until

from fabricheck.cli.metrics import write
from fabricheck.errors import FabricheckError
from fabricheck.monitor import refresh, server
from fabricheck.monitor.catalog import Sample, Source, chosen, sample
from fabricheck.monitor.exposition import OPENMETRICS, PLAIN
from fabricheck.monitor.refresh import STALE, Refresher
from fabricheck.monitor.server import address

pytestmark = pytest.mark.integration

PROGRAM = Path(sys.executable).with_name("fabricheck")
Start = Callable[..., "Exporter"]


class Exporter:
    def __init__(self, *options: str | Path) -> None:
        self.process = subprocess.Popen(
            [PROGRAM, "exporter", "--listen=127.0.0.1:0", *options],
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stderr
        self.said = []
        while not self.said or "event=exporter_serves" not in self.said[-1]:
            line = self.process.stderr.readline()
            assert line, f"the exporter ended: {self.said}"
            self.said.append(line)
        self.port = int(self.said[-1].rpartition("=")[2])

    def get(self, path: str, **headers: str) -> tuple[int, str, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        return answer.status, answer.headers["Content-Type"], body

    def read(self) -> str:
        """The page, once the run was read, for which no page waits long."""
        up = 'fabricheck_exporter_source_up{source="run"} 1.0'
        wait_until(lambda: up in self.get("/metrics")[2])
        return self.get("/metrics")[2]

    def send(self, data: bytes) -> bytes:
        """What comes back for bytes that may be no request at all."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            try:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                return b"".join(iter(lambda: connection.recv(1 << 16), b""))
            except (ConnectionResetError, BrokenPipeError):
                return b""

    @property
    def memory(self) -> int:
        """Resident bytes."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGESIZE")

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=30)
        finally:
            self.process.kill()
            self.process.wait()
            assert self.process.stderr
            self.process.stderr.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exporter]:
    root = tmp_path_factory.mktemp("suite") / "reports"
    root.mkdir()
    Suite(root).ran()
    exporter = Exporter(f"--reports={root}")
    exporter.read()
    yield exporter
    assert exporter.stop() == 0


def test_pages(shared: Exporter) -> None:
    status, kind, body = shared.get("/metrics")
    assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert 'fabricheck_verdict_passed{system="testbed"} 1.0\n' in body
    assert 'fabricheck_exporter_source_up{source="run"} 1.0\n' in body
    assert 'fabricheck_band_limit{band="ecn",level="critical",node=""} 500.0\n' in body
    assert promtool("check", "metrics", text=body).returncode == 0
    status, kind, body = shared.get("/metrics?x=1", Accept="application/openmetrics-text")
    assert (status, kind) == (200, OPENMETRICS)
    assert body.endswith("# EOF\n")
    assert {shared.get(each)[0] for each in ("/health", "/-/ready", "/-/healthy")} == {200}
    assert "/metrics" in shared.get("/")[2]
    assert shared.get("/etc/passwd")[0] == 404
    assert shared.send(b"HEAD /metrics HTTP/1.1\r\n\r\n").endswith(b"\r\n\r\n")


def test_a_page_is_packed_for_who_takes_that_and_is_the_same(shared: Exporter) -> None:
    for kind in (PLAIN, OPENMETRICS):
        with closing(http.client.HTTPConnection("127.0.0.1", shared.port, timeout=30)) as asking:
            asking.request("GET", "/metrics", headers={"Accept": kind, "Accept-Encoding": "gzip"})
            answer = asking.getresponse()
            assert answer.headers["Content-Encoding"] == "gzip"
            text = gzip.decompress(answer.read()).decode()
        plain = shared.get("/metrics", Accept=kind, **{"Accept-Encoding": "gzip;q=0"})[2]
        ours = [line for line in text.splitlines() if "fabricheck_night" in line]
        assert ours == [line for line in plain.splitlines() if "fabricheck_night" in line]
        assert text.count("# EOF") == plain.count("# EOF") == (kind == OPENMETRICS)


def test_what_nobody_asked_for_is_left_out(suite: Suite) -> None:
    suite.ran()
    exporter = Exporter(f"--reports={suite.reports}", "--no-seed-names", "--interval=1")
    try:
        body = exporter.read()
        assert "mpi_benchmark" not in body
        done = promtool("check", "metrics", text=body)
        assert (done.returncode, done.stderr) == (0, "")
    finally:
        exporter.stop()
    exporter = Exporter(f"--reports={suite.reports}", "--collect=fabricheck_run_*")
    try:
        body = exporter.read()
        names = set(re.findall("^# TYPE (fabricheck_(?!exporter)|mpi_)", body, re.MULTILINE))
        assert names == {"fabricheck_"}
        assert "fabricheck_run_info" in body
        assert "fabricheck_case" not in body
        assert "fabricheck_exporter_source_up" in body
    finally:
        exporter.stop()
    with refused("FC3501", r"'fabricheck_ports_\*', which fits none"):
        chosen(["fabricheck_run_*", "fabricheck_ports_*"])
    assert chosen(["mpi_*"], seed_names=True)


HOSTILE = [
    (b"POST /metrics HTTP/1.1\r\nContent-Length: 9\r\n\r\n", b"405"),
    (b"GET /metrics HTTP/9.9\r\n\r\n", b"400"),
    (b"GET /\xff\xfe%00/../../etc/passwd HTTP/1.1\r\n\r\n", b"404"),
    (b"GET /metrics HTTP/1.1\r\nAccept: text/plain; version=x;escaping=\xff\r\n\r\n", b"200"),
    (b"GET /metrics HTTP/1.1\r\n" + b"A: b\r\n" * 500 + b"\r\n", b"431"),
    (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", b"414"),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"400"),
    (b"a b c d e\r\n\r\n", b"400"),
    (b"GET / HTTP/1.1", b"200"),
    (b"", b""),
]


@pytest.mark.parametrize(("data", "code"), HOSTILE)
def test_a_request_of_any_kind_is_the_clients_fault(
    shared: Exporter, data: bytes, code: bytes
) -> None:
    answer = shared.send(data)
    found = answer.split(b" ")[1] if answer.startswith(b"HTTP/") else b""
    # What is not read to its end may take the answer with it.
    assert found in (code, b"")
    assert shared.get("/health")[0] == 200


def test_many_scrapers_slow_readers_and_hostile_requests_at_once(shared: Exporter) -> None:
    seconds = float(os.environ.get("FABRICHECK_SCRAPE_SECONDS", "4"))
    end = time.monotonic() + seconds
    found: list[int] = []

    def scrape() -> None:
        while time.monotonic() < end:
            found.append(shared.get("/metrics")[0])

    def attack() -> None:
        while time.monotonic() < end:
            for data, _ in HOSTILE:
                answer = shared.send(data)
                found.append(int(answer.split(b" ")[1]) if answer.startswith(b"HTTP/") else 400)

    slow = [socket.create_connection(("127.0.0.1", shared.port)) for _ in range(40)]
    for number, connection in enumerate(slow):
        connection.sendall(b"GET /metrics HTTP/1.1\r\n" + b"\r\n" * (number % 2))
    shared.get("/metrics")
    before = shared.memory
    threads = [threading.Thread(target=scrape) for _ in range(50)]
    threads += [threading.Thread(target=attack) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for connection in slow:
        connection.close()
    assert {200, 400, 404, 405} <= set(found)
    assert not [code for code in found if code >= 500]
    assert shared.get("/health")[0] == 200
    assert shared.memory < before + (30 << 20)
    assert shared.memory < 160 << 20


@contextmanager
def serving() -> Iterator[tuple[str, int]]:
    """The address of a server in a thread."""
    with server.Server("127.0.0.1:0", Refresher([])) as serving:
        thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield serving.server_address[:2]  # type: ignore[misc]
        serving.shutdown()
        thread.join()


def test_a_client_that_says_nothing_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "DEADLINE", 0.1)
    with serving() as address, socket.create_connection(address, timeout=30) as idle:
        idle.sendall(b"GET /metr")
        assert idle.recv(1) == b""


def test_a_connection_above_the_most_ends_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST", 20)
    with serving() as address, ExitStack() as stack:
        slow = [
            stack.enter_context(socket.create_connection(address, timeout=30)) for _ in range(20)
        ]
        for _ in range(20):
            # Whoever reads is answered, as many as there are who hold a connection.
            with urlopen(f"http://127.0.0.1:{address[1]}/health", timeout=30) as one:
                assert one.status == 200
        assert slow[0].recv(1) == b""


def test_ports_and_what_is_not_there(tree: Callable[[str], Tree], tmp_path: Path) -> None:
    node = tree("mlx5_roce")
    exporter = Exporter("--ports", f"--state={tmp_path / 'ports.json'}")
    try:
        marked = "fabricheck_port_ecn_marked_packets_total{"
        wait_until(lambda: marked in exporter.get("/metrics")[2])
        (node.root / "proc" / "uptime").unlink()
        wait_until(lambda: "fabricheck_port_active" not in exporter.get("/metrics")[2])
        body = exporter.get("/metrics")[2]
        assert 'fabricheck_exporter_source_up{source="ports"} 0.0\n' in body
    finally:
        assert exporter.stop() == 0


class _Broken:
    name = Source.RUN
    error: Exception | None = None

    def read(self) -> list[object]:
        if self.error:
            raise self.error
        return []


def test_a_source_that_fails_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    source = _Broken()
    refresher = Refresher([source])  # type: ignore[list-item]
    source.error = FabricheckError("no report")
    for _ in range(3):
        refresher.refresh()
    source.error = None
    refresher.refresh()
    down, up = capsys.readouterr().err.splitlines()
    assert down.endswith(' level=error event=source_down source=run why="no report"')
    assert up.endswith(" level=info event=source_up source=run")
    source.error = ZeroDivisionError()
    refresher.refresh()
    assert b'source_up{source="run"} 0.0' in gzip.decompress(refresher.page(PLAIN))
    assert "a fault of fabricheck" in capsys.readouterr().err
    assert refresher.age < STALE


class _Says:
    """A source that says one thing, as often as it is let."""

    def __init__(self, name: Source, family: str, *labels: str) -> None:
        self.name = name
        self.said = list(sample(family, 1, *labels))
        self.let = threading.Event()
        self.let.set()

    def read(self) -> list[Sample]:
        self.let.wait()
        return self.said


def test_a_source_that_hangs_delays_no_other_and_leaves_nothing_old(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow = _Says(Source.STRESS, "fabricheck_stress_running", *"abcde")
    quick = _Says(Source.NIGHT, "fabricheck_night_verdict_passed", "testbed")
    refresher = Refresher([slow, quick], interval=0.01)
    slow.let.clear()
    refresher.start()
    try:
        said = b'fabricheck_night_verdict_passed{system="testbed"} 1.0'
        wait_until(lambda: said in gzip.decompress(refresher.page(PLAIN)))
        assert b'source_up{source="stress"} 0.0' in gzip.decompress(refresher.page(PLAIN))
        slow.let.set()
        wait_until(lambda: b"fabricheck_stress_running" in gzip.decompress(refresher.page(PLAIN)))
        slow.let.clear()
        monkeypatch.setattr(refresh, "STALE", 0.5)
        wait_until(
            lambda: b"fabricheck_stress_running" not in gzip.decompress(refresher.page(PLAIN))
        )
        page = gzip.decompress(refresher.page(PLAIN))
        assert b'source_up{source="stress"} 0.0' in page
        assert b'source_up{source="night"} 1.0' in page
        assert b"fabricheck_night_verdict_passed" in page
        assert refresher.age > 0.5
    finally:
        slow.let.set()
        refresher.stop()


def test_a_label_that_is_no_utf8_costs_no_source() -> None:
    odd = _Says(Source.RUN, "fabricheck_verdict_passed", "\udce9x")
    refresher = Refresher([odd, _Says(Source.NIGHT, "fabricheck_night_verdict_passed", "testbed")])
    refresher.refresh()
    page = gzip.decompress(refresher.page(PLAIN))
    assert b'fabricheck_verdict_passed{system="\\\\udce9x"} 1.0' in page
    assert b'fabricheck_night_verdict_passed{system="testbed"} 1.0' in page
    assert b'source_up{source="run"} 1.0' in page


def test_what_can_not_be_rendered_costs_its_source_alone() -> None:
    twice = _Says(Source.RUN, "fabricheck_verdict_passed", "testbed")
    refresher = Refresher([twice, _Says(Source.NIGHT, "fabricheck_night_verdict_passed", "t")])
    refresher.refresh()
    twice.said *= 2
    refresher.refresh()
    page = gzip.decompress(refresher.page(OPENMETRICS))
    assert b"fabricheck_verdict_passed" not in page
    assert b'source_up{source="run"} 0.0' in page
    assert b"fabricheck_night_verdict_passed" in page


@pytest.mark.parametrize(
    ("listen", "found"),
    [("127.0.0.1:9105", ("127.0.0.1", 9105)), ("[::1]:80", ("::1", 80)), ("node:0", ("node", 0))],
)
def test_addresses(listen: str, found: tuple[str, int]) -> None:
    assert address(listen) == found


@pytest.mark.parametrize(
    "listen", ["", "9105", ":9105", "a:b", "a:99999", "u@h:1", "h:1/x", "[::1:80"]
)
def test_what_is_no_address(listen: str) -> None:
    with pytest.raises(FabricheckError, match="expected HOST:PORT"):
        address(listen)


def test_an_address_that_is_taken_is_one_sentence() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(FabricheckError, match="name a free address"):
            server.Server(f"127.0.0.1:{taken.getsockname()[1]}", Refresher([]))


def test_the_file_for_the_textfile_collector(suite: Suite, tmp_path: Path) -> None:
    suite.ran()
    file = tmp_path / "fabricheck.prom"
    write(file, reports=suite.reports)
    text = file.read_text()
    assert promtool("check", "metrics", text=text).returncode == 0
    assert "fabricheck_verdict_passed" in text
    assert "fabricheck_exporter" not in text
    shutil.rmtree(suite.perflogs)
    with pytest.raises(FabricheckError, match="expected a session that came to its end"):
        write(file, reports=suite.reports)
    assert file.read_text() == text
    for options in ({"ports": True, "reports": suite.reports}, {"partition": "a:b"}):
        with pytest.raises(FabricheckError, match="without --ports"):
            write(file, **options)  # type: ignore[arg-type]
