"""The language between ``client`` and ``agent``: frames of a kind, a length and that many bytes."""

import socket
import struct
from typing import Final, NamedTuple

AGENT_PORT: Final = 7000
CHUNK: Final = 65536
# From the client: the request, input (empty: its end), a signal, the size of the terminal.
REQUEST: Final = b"R"
INPUT: Final = b"I"
SIGNAL: Final = b"S"
WINDOW: Final = b"W"
# From the agent: the input has been taken, output, error output, the end with its exit code.
TAKEN: Final = b"T"
OUTPUT: Final = b"O"
ERRORS: Final = b"E"
EXIT: Final = b"X"
_HEADER: Final = struct.Struct("!cI")


class Frame(NamedTuple):
    """One message."""

    kind: bytes
    data: bytes


def packed(kind: bytes, data: bytes = b"") -> bytes:
    """A frame as bytes."""
    return _HEADER.pack(kind, len(data)) + data


def receive(connection: socket.socket) -> Frame | None:
    """The next frame, or None if the other side has closed; OSError if it is out of reach."""
    header = _exactly(connection, _HEADER.size)
    if header is None:
        return None
    kind, length = _HEADER.unpack(header)
    data = _exactly(connection, length)
    return None if data is None else Frame(kind, data)


def _exactly(connection: socket.socket, length: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < length:
        part = connection.recv(length - len(parts))
        if not part:
            return None
        parts += part
    return bytes(parts)
