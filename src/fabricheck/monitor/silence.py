"""Silences of Alertmanager while planned work loads the fabric: what it causes pages nobody."""

import contextlib
import json
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from fabricheck.errors import FabricheckError
from fabricheck.events import emit

CAUSED: Final = (
    "HighECNRate|PauseStorm|HighRetransmissions|HighAllreduceLatency|StressFailing|StressPreempted"
)
"""Alerts that load causes; links, ports, nights and exporters are never silenced."""
_LASTS: Final = timedelta(minutes=15)
_RENEWED: Final = 300.0
_PATIENCE: Final = 10.0


@contextlib.contextmanager
def silenced(address: str, why: str) -> Iterator[None]:
    """Silence what load causes, as long as this lasts.

    The silence ends a quarter of an hour after it was last renewed: who is killed silences nothing
    for long.

    Args:
        address: of Alertmanager, such as ``http://127.0.0.1:9093``; empty for none.
        why: what is said in the silence.

    Raises:
        FabricheckError: on entering, if Alertmanager does not take it.
    """
    if not address:
        yield
        return
    silence = _Silence(address, why)
    silence.renew()
    ended = threading.Event()
    thread = threading.Thread(target=silence.keep, args=[ended], daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        with _told(f"the silence {silence.name} ends by itself"):
            silence.end()


class _Silence:
    def __init__(self, address: str, why: str) -> None:
        self._address = address.rstrip("/")
        self._why = why
        self._began = datetime.now(UTC).isoformat()
        self.name = ""

    def renew(self) -> None:
        """Begin it, or let it last longer."""
        matcher = {"name": "alertname", "value": CAUSED, "isRegex": True, "isEqual": True}
        asked = {
            "matchers": [matcher],
            "startsAt": self._began,
            "endsAt": (datetime.now(UTC) + _LASTS).isoformat(),
            "createdBy": "fabricheck",
            "comment": self._why,
        }
        given = self._ask("POST", "silences", asked | ({"id": self.name} if self.name else {}))
        name = str(given.get("silenceID", ""))
        if name != self.name:
            self.name = name
            # With another beginning than by its own clock Alertmanager would end it at the next
            # renewal, and begin a new one.
            self._began = str(self._ask("GET", f"silence/{name}").get("startsAt", self._began))

    def keep(self, ended: threading.Event) -> None:
        """Renew it now and then, until the end."""
        while not ended.wait(_RENEWED):
            with _told("it is tried again"):
                self.renew()

    def end(self) -> None:
        """End it."""
        self._ask("DELETE", f"silence/{self.name}")

    def _ask(
        self, method: str, path: str, data: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        url = f"{self._address}/api/v2/{path}"
        body = None if data is None else json.dumps(data).encode()
        asked = Request(  # noqa: S310 - its scheme is looked at below
            url, body, {"Content-Type": "application/json"}, method=method
        )
        try:
            if urlsplit(url).scheme not in ("http", "https"):
                raise ValueError("an address that does not begin with http:// or https://")  # noqa: TRY301
            with urlopen(asked, timeout=_PATIENCE) as answer:  # noqa: S310
                return json.loads(answer.read() or b"{}")  # type: ignore[no-any-return]
        except (OSError, ValueError) as error:
            said = error.read()[:200].decode(errors="replace") if isinstance(
                error, HTTPError
            ) else ""  # fmt: skip
            raise FabricheckError(
                f"FC3502 expected Alertmanager to take a silence at {url}, found: {error} {said}: "
                "correct --alertmanager, or leave it out and silence by hand"
            ) from error


@contextlib.contextmanager
def _told(then: str) -> Iterator[None]:
    """Say what went wrong, and go on: the work does not depend on it."""
    try:
        yield
    except FabricheckError as error:
        emit("silence_failed", level="warn", why=f"{error}; {then}")
