"""Running a command inside a node, from outside: what ``testbed exec`` does.

Kept free of heavy imports: it is called for every command that tests and checks run in a node.
"""

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

from fabricheck_testbed import layout, libc
from fabricheck_testbed.errors import EXIT_BAD_INPUT, TestbedError
from fabricheck_testbed.fabric import is_router
from fabricheck_testbed.layout import Layout
from fabricheck_testbed.process import COMMAND_NOT_FOUND, FORWARDED, restore_signals
from fabricheck_testbed.records import ProcessRecord, read_record, read_records

CANNOT_EXECUTE: Final = 126
SIGNAL_BASE: Final = 128
# si_code of a signal from the terminal: the whole foreground group, and so the command, has it.
_SI_KERNEL: Final = 0x80
_FORWARDED: Final = frozenset({*FORWARDED, signal.SIGWINCH})
# The mount namespace comes last: after it the caller's /proc is out of reach.
_NAMESPACES: Final = ("user", "net", "uts", "ipc", "pid", "mnt")
_WAY_TO_GUEST: Final = ("user", "net")


def run_in_node(files: Layout, node: str, command: Sequence[str]) -> int:
    """Run ``command`` in ``node`` with the caller's standard streams, directory and environment.

    The caller itself enters the node's namespaces, so this is for a process that does nothing
    else. Signals are forwarded to the command, and the command ends with the caller.

    Returns the exit status as a shell gives it: the command's own, 128 + N after signal N, 127 if
    there is no such command, 126 if it cannot be executed. Raises TestbedError if the node
    does not run or belongs to somebody else.
    """
    directory = os.getcwd()  # noqa: PTH109
    in_guest = node in layout.GUEST_HOSTS
    record = live_node(files, node)
    namespaces: Sequence[str] = _NAMESPACES
    if in_guest:
        # Its namespaces are in a kernel of its own, so it is reached through the network.
        record, namespaces = live_node(files, layout.LOGIN), _WAY_TO_GUEST
    try:
        _enter(record, namespaces)
    except PermissionError as error:
        raise TestbedError(
            f"{node} of the testbed in {files.root} cannot be entered ({error.strerror}): "
            "run this as the user who started the testbed"
        ) from error
    environment = {
        **os.environ,
        "SLURM_CONF": str(files.slurm_conf),
        layout.NODE_VARIABLE: node,
        layout.PARTITIONS_VARIABLE: " ".join(layout.partitions(files)),
    }
    if in_guest:
        from fabricheck_testbed.guest.client import run_in_guest

        return run_in_guest(files, node, command, environment, directory)
    waited = _FORWARDED | {signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, waited)
        libc.die_with_parent(signal.SIGKILL)
        become(node, command, environment, directory)
    return _wait(child, waited)


def live_node(files: Layout, node: str) -> ProcessRecord:
    """The record of a running node; TestbedError says what there is instead."""
    if (inside := os.environ.get(layout.NODE_VARIABLE)) is not None:
        raise TestbedError(
            f"this already runs in {inside} of a testbed, from which other nodes are reached with "
            "srun, not with exec"
        )
    record = read_record(files.records, layout.process_of(node))
    if record is not None and record.alive():
        return record
    hosts = [name for other in read_records(files.records) for name in _hosts_in(other.name)]
    if not hosts:
        raise TestbedError(
            f"no testbed runs in {files.root}: start one with testbed up --state-dir {files.root}"
        )
    if record is not None:
        raise TestbedError(f"{node} of the testbed in {files.root} is dead; up starts afresh")
    raise TestbedError(f"the testbed in {files.root} has no node {node!r}, only {', '.join(hosts)}")


def _hosts_in(process: str) -> tuple[str, ...]:
    if process == layout.GUEST:
        return layout.GUEST_HOSTS
    is_node = process.removeprefix("n").isdecimal() or is_router(process)
    return (process,) if is_node or process in (layout.LOGIN, layout.SWITCH) else ()


def _enter(record: ProcessRecord, namespaces: Sequence[str]) -> None:
    opened = []
    for name in namespaces:
        path = f"/proc/{record.pid}/ns/{name}"
        # Entering one's own user namespace is an error.
        if name != "user" or not Path(path).samefile("/proc/self/ns/user"):
            opened.append((name, os.open(path, os.O_RDONLY | os.O_CLOEXEC)))
    for name, descriptor in opened:
        libc.setns(descriptor, name)
        os.close(descriptor)
        if name == "user":
            os.setresgid(0, 0, 0)
            os.setresuid(0, 0, 0)


def become(
    node: str, command: Sequence[str], environment: dict[str, str], directory: str
) -> NoReturn:
    """In a child that is already in ``node``: replace it by ``command``."""
    try:
        _change_directory(directory, node)
        # A temporary directory that the node does not see would break compilers.
        if not Path(environment.get("TMPDIR", "/")).is_dir():
            del environment["TMPDIR"]
        restore_signals()
        os.execvpe(command[0], list(command), environment)  # noqa: S606
    except FileNotFoundError:
        _complain(f"{command[0]}: no such command in {node}")
        os._exit(COMMAND_NOT_FOUND)
    except OSError as error:
        _complain(f"{command[0]} in {node}: {error.strerror}")
    os._exit(CANNOT_EXECUTE)


def _change_directory(directory: str, node: str) -> None:
    try:
        os.chdir(directory)
    except OSError:
        _complain(
            f"the directory {directory} is not visible in {node}, starting in / "
            "(up --share makes it visible)"
        )
        os.chdir("/")


def _complain(message: str) -> None:
    os.write(2, f"testbed: {message}\n".encode())


def _wait(child: int, waited: frozenset[signal.Signals]) -> int:
    while True:
        information = signal.sigwaitinfo(waited)
        if information.si_signo != signal.SIGCHLD:
            if information.si_code != _SI_KERNEL:
                os.kill(child, information.si_signo)
            continue
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid == child:
            return shell_code(status)


def shell_code(status: int) -> int:
    """The exit status of a process (wait(2)) as a shell gives it."""
    code = os.waitstatus_to_exitcode(status)
    return SIGNAL_BASE - code if code < 0 else code


def main() -> NoReturn:
    """Entry point without the command line's imports: STATE-DIR NODE COMMAND..."""
    try:
        sys.exit(run_in_node(Layout(Path(sys.argv[1])), sys.argv[2], sys.argv[3:]))
    except TestbedError as error:
        os.write(2, f"testbed: {error}\n".encode())
        sys.exit(error.exit_code)
    except OSError as error:
        os.write(2, f"testbed: cannot enter {sys.argv[2]}: {error}\n".encode())
        sys.exit(EXIT_BAD_INPUT)
