"""Running a command in a node of the guest, from outside; ``enter`` comes here for these nodes.

Kept free of heavy imports, as ``enter``.
"""

import contextlib
import json
import os
import select
import signal
import socket
import termios
import tty
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Final

from fabricheck_testbed import layout
from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.guest import wire
from fabricheck_testbed.guest.settings import Settings
from fabricheck_testbed.layout import Layout
from fabricheck_testbed.process import FORWARDED
from fabricheck_testbed.records import read_record

CONNECT_SECONDS: Final = 20.0
# A guest that hangs does not even acknowledge: after so long the connection is given up.
_SILENCE_SECONDS: Final = 30
_PROBE_SECONDS: Final = 5
_WATCH_SECONDS: Final = 1.0


def run_in_guest(
    files: Layout, node: str, command: Sequence[str], environment: dict[str, str], directory: str
) -> int:
    """Run ``command``; the caller is already in the testbed's network, and nowhere else.

    Returns and raises as ``enter.run_in_node``; a guest that stops answering is a TestbedError.
    """
    _require_input()
    terminal = 0 if os.isatty(1) and _is_own_terminal(0) else None
    request: dict[str, object] = {
        "token": Settings.load(files.guest_settings).token,
        "command": list(command),
        "environment": environment,
        "directory": directory,
        "window": None if terminal is None else _window(terminal),
    }
    try:
        connection = socket.create_connection(
            (layout.address(node), wire.AGENT_PORT), timeout=CONNECT_SECONDS
        )
        _give_up_when_silent(connection)
        with connection, _raw(terminal):
            return _Session(connection, terminal, files).run(request)
    except OSError as error:
        raise TestbedError(
            f"{node} of the testbed in {files.root} does not answer ({error.strerror or error}): "
            f"its guest hangs or has crashed, see {files.guest_console}; "
            "down, then up --rdma, starts afresh"
        ) from error


def _require_input() -> None:
    """Without a standard input, the connection would get its number."""
    try:
        os.fstat(0)
    except OSError:
        os.open(os.devnull, os.O_RDONLY)


def _is_own_terminal(descriptor: int) -> bool:
    """Whether this is a terminal that we may use: a background job that does is stopped."""
    return os.isatty(descriptor) and os.tcgetpgrp(descriptor) == os.getpgrp()


def _give_up_when_silent(connection: socket.socket) -> None:
    connection.settimeout(None)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        (socket.TCP_NODELAY, 1),
        (socket.TCP_KEEPIDLE, _PROBE_SECONDS),
        (socket.TCP_KEEPINTVL, _PROBE_SECONDS),
        (socket.TCP_KEEPCNT, _SILENCE_SECONDS // _PROBE_SECONDS - 1),
        (socket.TCP_USER_TIMEOUT, _SILENCE_SECONDS * 1000),
    ):
        connection.setsockopt(socket.IPPROTO_TCP, option, value)


@contextlib.contextmanager
def _raw(terminal: int | None) -> Iterator[None]:
    """The guest's terminal handles the keys: ours must pass them on as they are."""
    if terminal is None:
        yield
        return
    before = termios.tcgetattr(terminal)
    tty.setraw(terminal)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _window(terminal: int) -> str:
    size = os.get_terminal_size(terminal)
    return f"{size.lines} {size.columns}"


class _Session:
    """One command under way, as the client sees it."""

    def __init__(self, connection: socket.socket, terminal: int | None, files: Layout) -> None:
        self._connection = connection
        self._guest = read_record(files.records, layout.GUEST)
        self._terminal = terminal
        self._waiting: list[bytes] = []
        self._sending = False

    def run(self, request: dict[str, object]) -> int:
        """Forward streams and signals until the command ends; returns its exit code."""
        self._send(wire.packed(wire.REQUEST, json.dumps(request).encode()))
        self._take_signals()
        reading_input = _is_own_terminal(0) or not os.isatty(0)
        if not reading_input:
            self._send(wire.packed(wire.INPUT))
        while True:
            watched: list[int | socket.socket] = [self._connection]
            if reading_input:
                watched.append(0)
            ready, _, _ = select.select(watched, [], [], _WATCH_SECONDS)
            if not ready and (self._guest is None or not self._guest.alive()):
                raise ConnectionError("QEMU has ended")
            if 0 in ready:
                # Until the agent has taken this, no more is read.
                reading_input = False
                self._send(wire.packed(wire.INPUT, _read_input()))
            if self._connection in ready:
                frame = wire.receive(self._connection)
                if frame is None:
                    raise ConnectionError("it has closed the connection")
                if frame.kind == wire.EXIT:
                    return int(frame.data)
                reading_input |= frame.kind == wire.TAKEN
                if frame.kind in (wire.OUTPUT, wire.ERRORS):
                    _write(1 if frame.kind == wire.OUTPUT else 2, frame.data)

    def _take_signals(self) -> None:
        for number in FORWARDED:
            # What the caller ignores stays ignored, as for a command in an ordinary node.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._forward_signal)
        if self._terminal is not None:
            signal.signal(signal.SIGWINCH, self._forward_window)

    def _send(self, data: bytes) -> None:
        """Send whole frames, also when a signal handler interrupts for another one."""
        self._waiting.append(data)
        if self._sending:
            return
        self._sending = True
        while self._waiting:
            self._connection.sendall(self._waiting.pop(0))
        self._sending = False

    def _forward_signal(self, number: int, _: FrameType | None) -> None:
        self._send(wire.packed(wire.SIGNAL, str(number).encode()))

    def _forward_window(self, _: int, __: FrameType | None) -> None:
        if self._terminal is not None:
            self._send(wire.packed(wire.WINDOW, _window(self._terminal).encode()))


def _read_input() -> bytes:
    try:
        return os.read(0, wire.CHUNK)
    except OSError:  # no standard input, or one that cannot be read
        return b""


def _write(descriptor: int, data: bytes) -> None:
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    except BrokenPipeError:
        # As a program whose reader has gone; the agent ends the command.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGPIPE)
