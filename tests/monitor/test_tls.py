"""TLS and passwords as Prometheus' own exporters read them, and mistakes told."""

import base64
import re
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import bcrypt
import pytest
from tests.monitor.conftest import ROOT, promtool

from fabricheck.errors import FabricheckError
from fabricheck.monitor.refresh import Refresher
from fabricheck.monitor.server import Server
from fabricheck.monitor.web_config import read

pytestmark = pytest.mark.integration
TEXT = "tls_server_config: {cert_file: own.crt, key_file: own.key}\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 and its key, which is its own authority."""
    place = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=test"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", place / "own.key", "-out", place / "own.crt"),
        ],
        check=True,
        capture_output=True,
    )
    return place


def config(place: Path, text: str) -> Path:
    path = place / "web.yml"
    path.write_text(text)
    return path


@contextmanager
def serving(path: Path) -> Iterator[int]:
    """The port of a server with that web configuration."""
    refresher = Refresher([])
    refresher.refresh()
    with Server("127.0.0.1:0", refresher, read(path)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(params=[False, True], ids=["server", "both"])
def port(place: Path, request: pytest.FixtureRequest) -> Iterator[tuple[int, bool]]:
    """A server with TLS, and whether it asks for certificates: the documented file."""
    text = TEXT
    if request.param:
        document = (ROOT / "docs" / "how-to" / "monitoring.md").read_text()
        (text,) = re.findall(r"```yaml\n(tls_server_config.*?)```", document, re.DOTALL)
        text = text.replace("exporter.", "own.").replace("prometheus-ca", "own")
    path = config(place, text)
    assert promtool("check", "web-config", path).returncode == 0
    with serving(path) as number:
        yield number, request.param


def test_only_who_may_is_answered(place: Path, port: tuple[int, bool]) -> None:
    number, asks = port
    trusting = ssl.create_default_context(cafile=str(place / "own.crt"))
    known = ssl.create_default_context(cafile=str(place / "own.crt"))
    known.load_cert_chain(place / "own.crt", place / "own.key")

    def status(scheme: str, context: ssl.SSLContext | None) -> int:
        try:
            with urlopen(f"{scheme}://127.0.0.1:{number}/health", context=context, timeout=30) as a:
                return int(a.status)
        except (URLError, OSError):
            return 0

    assert status("https", known) == 200
    assert status("https", trusting) == (0 if asks else 200)
    assert status("https", ssl.create_default_context()) == 0
    assert status("http", None) == 0
    assert status("https", known) == 200


def test_only_who_knows_the_password_is_answered(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed = bcrypt.hashpw(b"fabric\xc3\xa4", bcrypt.gensalt(4)).decode()
    path = config(place, f"basic_auth_users: {{prometheus: '{hashed}'}}\n")
    assert promtool("check", "web-config", path).returncode == 0
    asked: list[bytes] = []
    check = bcrypt.checkpw
    monkeypatch.setattr(bcrypt, "checkpw", lambda *words: asked.append(words[1]) or check(*words))

    with serving(path) as number:

        def status(page: str, header: str | None) -> int:
            headers = {} if header is None else {"Authorization": header}
            request = Request(f"http://127.0.0.1:{number}{page}", headers=headers)
            try:
                with urlopen(request, timeout=30) as answer:
                    return int(answer.status)
            except HTTPError as error:
                assert error.code != 401 or error.headers["WWW-Authenticate"] == "Basic"
                return error.code

        def basic(words: bytes) -> str:
            return "Basic " + base64.b64encode(words).decode()

        right = basic("prometheus:fabricä".encode())
        for page in ("/metrics", "/health", "/"):
            assert status(page, right) == 200
            assert status(page, None) == 401
        # The right one is worked out once; an unknown name takes as long as a wrong password.
        assert asked == [hashed.encode()]
        for header in (
            *map(basic, [b"prometheus:", b"prometheus:fabric", b"other:fabric\xc3\xa4", b"none"]),
            basic(b"prometheus:" + b"x" * 100), basic(b"\xff:\xff"), "Basic ?", "Bearer x", "",
        ):  # fmt: skip
            assert status("/metrics", header) == 401
        assert len(asked) == 6
        assert asked.count(hashed.encode()) == 4


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "tls_server_config"),
        (TEXT + "basic_auth_users: {a: b}\n", "basic_auth_users > a: expected a bcrypt hash"),
        (f"basic_auth_users: {{a: $2y$31${'x' * 53}}}\n", "a bcrypt hash of cost 4 to 14"),
        ("basic_auth_users: {}\n", "basic_auth_users"),
        (TEXT.replace("own.key", "none.key"), "expected a certificate and its key"),
        (TEXT.replace("own.key", "web.yml"), "expected a certificate and its key"),
        (TEXT.replace("}", ", client_ca_file: own.crt}"), "client_auth_type"),
        (TEXT.replace("}", ", min_version: TLS13}"), "min_version"),
    ],
)
def test_mistakes_are_told(place: Path, text: str, told: str) -> None:
    with pytest.raises(FabricheckError, match=told):
        read(config(place, text))


def test_without_the_extra_its_name_is_said(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bcrypt", None)
    with pytest.raises(FabricheckError, match=r"bcrypt, found none.*fabricheck\[passwords\]"):
        read(config(place, f"basic_auth_users: {{a: $2y$10${'x' * 53}}}\n"))
