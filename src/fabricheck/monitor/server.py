"""The exporter's HTTP server: pages that are ready, to clients of any kind.

A request is answered from memory and its connection closed. No client holds a connection longer
than `DEADLINE`, however slowly it speaks or reads, and there are never more than `MOST`.
"""

import contextlib
import gzip
import os
import socket
import socketserver
import sys
import threading
import time
import traceback
from http.server import BaseHTTPRequestHandler
from typing import Any, Final
from urllib.parse import urlsplit

from fabricheck.errors import FabricheckError
from fabricheck.monitor.exposition import choose, takes_gzip
from fabricheck.monitor.refresh import STALE, Refresher
from fabricheck.monitor.web_config import WebConfig

DEADLINE: Final = 10.0
"""Seconds after which a connection is closed, answered or not."""
MOST: Final = 200
"""Connections at one time; one above ends the one that is open longest, which answers in time
when it is no slow client's."""

_PLAIN: Final = "text/plain; charset=utf-8"
_INDEX: Final = (
    "<!DOCTYPE html><html lang=en><title>fabricheck</title><h1>fabricheck</h1>"
    "<p><a href=/metrics>metrics</a>, <a href=/health>health</a></p></html>\n"
)
# What the library answers with codes that mean a fault of the server's.
_CLIENTS_FAULT: Final = {501: 405, 505: 400}
_SYSTEMD: Final = 3


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "fabricheck"
    sys_version = ""
    timeout = DEADLINE
    server: "Server"

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        users = self.server.web.users
        if users and not users.let_in(self.headers.get("Authorization", "")):
            self._answer(401, _PLAIN, b"name and password, please\n")
        elif path == "/metrics":
            kind = choose(self.headers.get("Accept", ""))
            page = self.server.refresher.page(kind)
            plain = not takes_gzip(self.headers.get("Accept-Encoding", ""))
            self._answer(200, kind, gzip.decompress(page) if plain else page, packed=not plain)
        elif path == "/-/healthy":
            self._answer(200, _PLAIN, b"fabricheck answers\n")
        elif path in ("/health", "/-/ready"):
            age = self.server.refresher.age
            code, word = (200, "OK") if age < STALE else (503, "STALE")
            self._answer(code, _PLAIN, f"{word}: read {age:.1f} s ago\n".encode())
        elif path == "/":
            self._answer(200, "text/html; charset=utf-8", _INDEX.encode())
        else:
            self._answer(404, _PLAIN, b"there are /metrics, /health, /-/healthy and /-/ready\n")

    do_HEAD = do_GET  # noqa: N815 - the library's name

    def send_error(
        self,
        code: int,
        message: str | None = None,
        explain: str | None = None,
    ) -> None:
        """Answer what is no request of ours with a code that says whose fault it is."""
        self._answer(_CLIENTS_FAULT.get(int(code), int(code)), _PLAIN, b"bad request\n")

    def _answer(self, code: int, kind: str, body: bytes, *, packed: bool = False) -> None:
        self.close_connection = True
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Vary", "Accept, Accept-Encoding")
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        if code == 401:  # noqa: PLR2004 - unauthorized
            self.send_header("WWW-Authenticate", "Basic")
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing: whoever scrapes each few seconds would fill the log."""


class Server(socketserver.ThreadingTCPServer):
    """Serves what a refresher holds.

    Args:
        listen: ``HOST:PORT``; of systemd, the socket that it passes on is taken instead.
        refresher: it must have been started.
        web: how connections are encrypted, and who may read.

    Raises:
        FabricheckError: if there is no such address, or another program has it.
    """

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = MOST

    def __init__(
        self,
        listen: str,
        refresher: Refresher,
        web: WebConfig = WebConfig(),
    ) -> None:
        self.refresher = refresher
        self.web = web
        self._open: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        passed = os.environ.get("LISTEN_FDS") == "1"
        host, port = address(listen)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler, bind_and_activate=False)
        try:
            if passed:
                self.socket.close()
                self.socket = socket.socket(fileno=_SYSTEMD)
                self.server_address = self.socket.getsockname()
            else:
                self.server_bind()
                self.server_activate()
        except OSError as error:
            self.server_close()
            raise FabricheckError(
                f"FC2209 expected to listen on {listen}, found: {error.strerror or error}: name a "
                "free address of this machine with --listen"
            ) from error

    def get_request(self) -> tuple[Any, Any]:
        """A connection; its handshake is left to its own thread, since it waits for the client."""
        request, client = super().get_request()
        if self.web.tls:
            request = self.web.tls.wrap_socket(
                request, server_side=True, do_handshake_on_connect=False
            )
        return request, client

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Take a connection; where there are too many, the oldest ends, as slow ones are."""
        with self._lock:
            if len(self._open) >= MOST:
                oldest = next(iter(self._open))
                del self._open[oldest]
                with contextlib.suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)
            self._open[request] = time.monotonic()
        return True

    def shutdown_request(self, request: Any) -> None:
        """Close a connection, and forget it."""
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """End what is open for too long."""
        limit = time.monotonic() - DEADLINE
        with self._lock:
            late = [request for request, since in self._open.items() if since < limit]
        for request in late:
            with contextlib.suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep quiet about clients that went away."""
        if not isinstance(sys.exception(), OSError):
            traceback.print_exc()


def address(listen: str) -> tuple[str, int]:
    """Host and port of ``HOST:PORT``, with an IPv6 address in brackets.

    Raises:
        FabricheckError: if it is none.
    """
    try:
        parts = urlsplit(f"//{listen}")
        plain = parts.netloc == listen and "@" not in listen
        if plain and parts.hostname and parts.port is not None:
            return parts.hostname, parts.port
    except ValueError:
        pass
    raise FabricheckError(
        f"FC2210 expected HOST:PORT to listen on, such as 127.0.0.1:9105, found {listen!r}"
    )
