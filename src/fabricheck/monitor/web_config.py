"""TLS and passwords, from the file that Prometheus' own exporters read (exporter-toolkit)."""

import base64
import hashlib
import secrets
import ssl
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fabricheck.documents import load, schema
from fabricheck.errors import FabricheckError, optional

_PAGE = "docs/how-to/monitoring.md"


class Users:
    """Who may read, with the bcrypt hash of each password.

    A hash takes a tenth of a second by design, so it is worked out once for each right password,
    and never for two requests at a time. An unknown name takes as long as a wrong password, if all
    hashes have one cost.

    Args:
        hashes: by name.
    """

    def __init__(self, hashes: Mapping[str, str]) -> None:
        self._hashes = {name: each.encode() for name, each in hashes.items()}
        cost = max(int(each.split("$")[2]) for each in hashes.values())
        self._bcrypt = optional("bcrypt", "passwords")
        self._nobody = self._bcrypt.hashpw(secrets.token_bytes(), self._bcrypt.gensalt(cost))
        self._right: set[bytes] = set()
        self._lock = threading.Lock()

    def let_in(self, authorization: str) -> bool:
        """Whether a request's header ``Authorization`` has a name and its password."""
        scheme, _, encoded = authorization.partition(" ")
        try:
            said = base64.b64decode(encoded, validate=True) if scheme.lower() == "basic" else b""
        except ValueError:
            return False
        name, colon, password = said.partition(b":")
        if not colon:
            return False
        seen = hashlib.sha256(said).digest()
        if seen in self._right:
            return True
        known = self._hashes.get(name.decode(errors="replace"))
        with self._lock:
            try:
                right = self._bcrypt.checkpw(password, known or self._nobody)
            except ValueError:
                # bcrypt takes no more than 72 bytes.
                return False
        if right and known:
            self._right.add(seen)
        return right and known is not None


class WebConfig(NamedTuple):
    """How a server is reached: encrypted or not, and by whom."""

    tls: ssl.SSLContext | None = None
    users: Users | None = None


def read(path: Path) -> WebConfig:
    """What a file asks for; its paths are relative to it.

    Raises:
        FabricheckError: if it is not as the schema has it, or names what can't be used.
    """
    document = load(path, "a web configuration", _PAGE)
    document.check(schema("fabricheck.monitor", "web_config.schema.json"))
    asked = document.value
    tls, users = asked.get("tls_server_config"), asked.get("basic_auth_users")
    return WebConfig(tls and _tls(path, tls), users and Users(users))


def _tls(path: Path, asked: Mapping[str, Any]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(*(path.parent / asked[key] for key in ("cert_file", "key_file")))
        if "client_ca_file" in asked:
            context.load_verify_locations(path.parent / asked["client_ca_file"])
            context.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ValueError) as error:
        raise FabricheckError(
            f"FC2211 {path}: expected a certificate and its key as tls_server_config, found: "
            f"{error}"
        ) from error
    return context
