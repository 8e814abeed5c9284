"""TLS as Prometheus' own exporters read it: certificates of both sides, and mistakes told."""

import re
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from tests.monitor.conftest import ROOT, promtool

from fabricheck.errors import FabricheckError
from fabricheck.monitor.refresh import Refresher
from fabricheck.monitor.server import Server
from fabricheck.monitor.web_config import tls

pytestmark = pytest.mark.integration
TEXT = "tls_server_config: {cert_file: own.crt, key_file: own.key}\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 and its key, which is its own authority."""
    place = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *(
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=test",
                "-addext",
                "subjectAltName=IP:127.0.0.1",
            ),
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


@pytest.fixture(params=[False, True], ids=["server", "both"])
def port(place: Path, request: pytest.FixtureRequest) -> Iterator[tuple[int, bool]]:
    """A server with TLS, and whether it asks for certificates: the documented file."""
    text = TEXT
    if request.param:
        document = (ROOT / "docs" / "monitoring.md").read_text()
        (text,) = re.findall(r"```yaml\n(tls_server_config.*?)```", document, re.DOTALL)
        text = text.replace("exporter.", "own.").replace("prometheus-ca", "own")
    path = config(place, text)
    assert promtool("check", "web-config", path).returncode == 0
    refresher = Refresher([])
    refresher.refresh()
    with Server("127.0.0.1:0", refresher, tls(path)) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server.server_address[1], request.param
        server.shutdown()
        thread.join()


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


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "tls_server_config"),
        (TEXT + "basic_auth_users: {a: b}\n", "basic_auth_users"),
        (TEXT.replace("own.key", "none.key"), "expected a certificate and its key"),
        (TEXT.replace("own.key", "web.yml"), "expected a certificate and its key"),
        (TEXT.replace("}", ", client_ca_file: own.crt}"), "client_auth_type"),
        (TEXT.replace("}", ", min_version: TLS13}"), "min_version"),
    ],
)
def test_mistakes_are_told(place: Path, text: str, told: str) -> None:
    with pytest.raises(FabricheckError, match=told):
        tls(config(place, text))
