"""The agent: runs commands for ``client`` in a node of the guest. It lives inside the guest.

A Python that has started long ago and forks costs a hundredth of one that starts in an emulator.
"""

import contextlib
import fcntl
import json
import os
import pty
import select
import signal
import socket
import struct
import termios
from collections.abc import Callable
from typing import Final, NoReturn

from fabricheck_testbed import layout
from fabricheck_testbed.enter import become, shell_code
from fabricheck_testbed.guest import wire

_REQUEST_SECONDS: Final = 20.0
_WATCH_SECONDS: Final = 1.0
_BACKLOG: Final = 64


def serve(node: str, token: str, watch: Callable[[], None]) -> NoReturn:
    """Answer clients of ``node`` for ever; calls ``watch`` about once a second."""
    # The kernel reaps what ends here: this is the first process of a PID namespace.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.create_server((layout.address(node), wire.AGENT_PORT), backlog=_BACKLOG)
    listener.settimeout(_WATCH_SECONDS)
    while True:
        with contextlib.suppress(TimeoutError):
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _answer(connection, node, token)
            connection.close()
        watch()


def _answer(connection: socket.socket, node: str, token: str) -> NoReturn:
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        connection.settimeout(_REQUEST_SECONDS)
        frame = wire.receive(connection)
        if frame is not None and frame.kind == wire.REQUEST:
            request = json.loads(frame.data)
            if request["token"] == token:
                connection.settimeout(None)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                _Command(connection, node, request).run()
    finally:
        os._exit(0)


class _Command:
    """One command, and the streams between it and its client."""

    def __init__(self, connection: socket.socket, node: str, request: dict[str, object]) -> None:
        self._connection = connection
        self._pending = b""
        self._closing = False
        if request["window"] is None:
            self._start_with_pipes(node, request)
        else:
            self._start_with_terminal(node, request)
        self._outputs = [self._output]
        if self._errors is not None:
            self._outputs.append(self._errors)
        for descriptor in {*self._outputs, self._input}:
            os.set_blocking(descriptor, False)

    def _start_with_pipes(self, node: str, request: dict[str, object]) -> None:
        stdin, self._input = os.pipe()
        self._output, stdout = os.pipe()
        self._errors: int | None
        self._errors, stderr = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.setsid()
            for target, source in enumerate((stdin, stdout, stderr)):
                os.dup2(source, target)
            _become(node, request)
        for descriptor in (stdin, stdout, stderr):
            os.close(descriptor)

    def _start_with_terminal(self, node: str, request: dict[str, object]) -> None:
        self._child, self._output = pty.fork()
        if self._child == 0:
            _set_window(0, str(request["window"]))
            _become(node, request)
        self._input = os.dup(self._output)
        self._errors = None

    def run(self) -> None:
        """Move bytes until the command has ended or the client has gone."""
        ended = os.pidfd_open(self._child)
        try:
            while True:
                watched: list[int | socket.socket] = [self._connection, ended, *self._outputs]
                writing = [self._input] if self._pending else []
                ready, writable, _ = select.select(watched, writing, [])
                if writable:
                    self._feed()
                for descriptor in [each for each in self._outputs if each in ready]:
                    self._forward(descriptor)
                if ended in ready:
                    self._finish()
                    return
                if self._connection in ready and not self._obey():
                    return
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._child, signal.SIGKILL)

    def _finish(self) -> None:
        for descriptor in list(self._outputs):
            while self._forward(descriptor):
                pass
        _, status = os.waitpid(self._child, 0)
        self._connection.sendall(wire.packed(wire.EXIT, str(shell_code(status)).encode()))

    def _forward(self, descriptor: int) -> bool:
        """Pass on what the command wrote; returns whether there was anything."""
        try:
            data = os.read(descriptor, wire.CHUNK)
        except BlockingIOError:
            return False
        except OSError:  # a terminal whose programs have all ended
            data = b""
        if not data:
            self._outputs.remove(descriptor)
            return False
        kind = wire.ERRORS if descriptor == self._errors else wire.OUTPUT
        self._connection.sendall(wire.packed(kind, data))
        return True

    def _obey(self) -> bool:
        """Do what the client says; returns whether it is still there."""
        frame = wire.receive(self._connection)
        if frame is None:
            return False
        if frame.kind == wire.INPUT:
            self._pending = frame.data
            self._closing = not frame.data
            self._feed()
        elif frame.kind == wire.SIGNAL:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._child, int(frame.data))
        elif frame.kind == wire.WINDOW:
            _set_window(self._output, frame.data.decode())
        return True

    def _feed(self) -> None:
        try:
            if self._pending:
                self._pending = self._pending[os.write(self._input, self._pending) :]
        except BlockingIOError:
            return
        except OSError:  # the command has closed its standard input
            self._pending = b""
        if self._pending:
            return
        if self._closing and self._errors is not None:
            os.close(self._input)
        else:
            self._connection.sendall(wire.packed(wire.TAKEN))


def _become(node: str, request: dict[str, object]) -> NoReturn:
    command, environment = request["command"], request["environment"]
    if not isinstance(command, list) or not isinstance(environment, dict):
        os._exit(1)
    become(node, command, environment, str(request["directory"]))


def _set_window(descriptor: int, size: str) -> None:
    rows, columns = (int(number) for number in size.split())
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
