"""TLS for the exporter, from the file that Prometheus' own exporters read (exporter-toolkit)."""

import ssl
from pathlib import Path

from fabricheck.documents import load, schema
from fabricheck.errors import FabricheckError

_PAGE = "docs/monitoring.md"


def tls(path: Path) -> ssl.SSLContext:
    """The TLS that a file asks for; its paths are relative to it.

    Raises:
        FabricheckError: if it is not as the schema has it, or names what can't be used.
    """
    document = load(path, "a web configuration", _PAGE)
    document.check(schema("fabricheck.monitor", "web_config.schema.json"))
    asked = document.value["tls_server_config"]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(*(path.parent / asked[key] for key in ("cert_file", "key_file")))
        if "client_ca_file" in asked:
            context.load_verify_locations(path.parent / asked["client_ca_file"])
            context.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ValueError) as error:
        raise FabricheckError(
            f"{path}: expected a certificate and its key as tls_server_config, found: {error}"
        ) from error
    return context
