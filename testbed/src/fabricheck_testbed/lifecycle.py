"""Starting and removing a testbed."""

import contextlib
import os
import select
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from fabricheck_testbed import layout
from fabricheck_testbed.bootstrap import python_command
from fabricheck_testbed.commands import run_captured
from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.fabric import BRIDGE
from fabricheck_testbed.guest.boot import last_words
from fabricheck_testbed.guest.prepare import prepare, writable_directories
from fabricheck_testbed.layout import Layout
from fabricheck_testbed.lock import holder, state_lock
from fabricheck_testbed.options import (
    DEFAULT_CPUS_PER_NODE,
    DEFAULT_NODES,
    Started,
    Wish,
    conflict,
    load,
    make_wish,
    own_pid_namespace,
    save,
)
from fabricheck_testbed.process import DAEMON_ENVIRONMENT, last_line
from fabricheck_testbed.programs import require_programs
from fabricheck_testbed.records import host_boot_id, read_record
from fabricheck_testbed.rights import choose_mode
from fabricheck_testbed.spec import Spec
from fabricheck_testbed.state_files import (
    kill_recorded,
    make_root,
    remove_files,
    write_configuration,
)
from fabricheck_testbed.status import slurm_states, status
from fabricheck_testbed.visible import implied_paths, paths_to_keep

Progress = Callable[[str], None]
_START_SECONDS: Final = 90.0
_POLL_SECONDS: Final = 0.03
_REFRESH_SECONDS: Final = 60.0
# Typically 7 s; with ten times as many busy threads as processors, 50 s.
_GUEST_SECONDS: Final = 150.0


class UpResult(NamedTuple):
    """What ``up`` did; ``restarted_for`` lists what was wrong with a testbed that it replaced."""

    nodes: list[str]
    seconds: float
    restarted_for: list[str]
    already_running: bool


class DownResult(NamedTuple):
    """What ``down`` removed: processes with PIDs, and files. Both empty: nothing was there."""

    processes: list[str]
    files: list[str]


def up(
    state_dir: Path,
    *,
    nodes: int | None = None,
    cpus_per_node: int | None = None,
    shares: Sequence[Path] = (),
    rdma: bool | None = None,
    fabric: str | None = None,
    cards: int | None = None,
    rdma_nodes: int | None = None,
    progress: Progress = lambda _: None,
) -> UpResult:
    """Start a testbed and return when all its nodes are idle; a healthy one is left alone.

    ``rdma`` adds the guest with ``rdma_nodes`` nodes, rx1, rx2 and so on, which have RDMA devices,
    ``cards`` of them each. ``fabric`` is one of ``fabric.FABRICS``.

    ``None`` stands for "as it runs", and for the defaults if nothing runs. What an interrupted
    operation or a dead part left behind is removed first. Raises TestbedError.
    """
    begin = time.monotonic()
    wish = make_wish(nodes, cpus_per_node, shares, rdma, fabric, cards, rdma_nodes)
    files = layout.layout_at(state_dir)
    refuse_inside_node()
    # First what needs no state directory, so that a machine without it stays as it was.
    user_namespace = choose_mode()
    programs = require_programs(with_compiler=user_namespace)
    with _clear_errors(files):
        made_directory = make_root(files)
        with state_lock(files.lock, "up") as lock:
            before = load(files)
            wrong = _what_is_wrong(files, wish, before)
            if before is not None and wrong == []:
                if before.rdma:
                    _refresh_guest(files)
                return UpResult(before.node_names, 0.0, [], already_running=True)
            if before is not None:
                progress(f"cleaning up ({', '.join(wrong)})")
                made_directory = made_directory or before.made_directory
            kill_recorded(files)
            remove_files(files, keep_lock=True)
            started = _plan(
                files, wish, before, user_namespace=user_namespace, made_directory=made_directory
            )
            spec = _configure(files, started, programs, progress)
            _start(files, started, spec, lock, progress)
    return UpResult(started.node_names, time.monotonic() - begin, wrong, already_running=False)


def down(state_dir: Path, *, progress: Progress = lambda _: None) -> DownResult:
    """End a testbed and remove its files; without one, do nothing. Raises TestbedError."""
    files = layout.layout_at(state_dir)
    refuse_inside_node()
    # An ``up`` that has just begun has the lock, and nothing else.
    if not files.options.is_file() and holder(files.lock) is None:
        return DownResult([], [])
    with _clear_errors(files), state_lock(files.lock, "down"):
        started = load(files)
        if started is None:
            return DownResult([], [])
        progress("ending processes")
        processes = kill_recorded(files)
        progress("removing files")
        return DownResult(processes, _remove(files, started))


def _remove(files: Layout, started: Started) -> list[str]:
    removed = remove_files(files, keep_lock=False)
    if started.made_directory:
        with contextlib.suppress(OSError):
            files.root.rmdir()
            removed.append(str(files.root))
    return removed


def refuse_inside_node() -> None:
    """TestbedError if the caller runs in a node of a testbed."""
    if (inside := os.environ.get(layout.NODE_VARIABLE)) is not None:
        raise TestbedError(
            f"this runs in {inside} of a testbed: manage testbeds from the machine that hosts it"
        )


@contextlib.contextmanager
def _clear_errors(files: Layout) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = error.filename or files.root
        what = error.strerror or " ".join(map(str, error.args))
        raise TestbedError(
            f"the state directory {files.root} cannot be used: {what} ({where}); "
            "choose another with --state-dir"
        ) from error


def _what_is_wrong(files: Layout, wish: Wish, before: Started | None) -> list[str]:
    """Why a testbed must be started; empty if a fitting one runs. TestbedError on conflict."""
    if before is None:
        return []
    found = status(files)
    if not found.running:
        return ["the last one ended without down"]
    layout.refuse_of_other_package(files)
    if (lacking := conflict(wish, before, Path.cwd())) is not None:
        raise TestbedError(
            f"a testbed runs in {files.root}, but {lacking}: take it down first "
            f"(testbed down --state-dir {files.root})"
        )
    return found.problems


def _refresh_guest(files: Layout) -> None:
    """Let the guest forget what it has read of this machine's files, which it caches."""
    forget = ["sh", "-c", "echo 3 >/proc/sys/vm/drop_caches"]
    done = run_captured(files, layout.GUEST, forget, _REFRESH_SECONDS)
    if done.returncode != 0:
        raise TestbedError(f"the guest (rx1, rx2) keeps files in its cache: {done.stderr}")


def _plan(
    files: Layout,
    wish: Wish,
    before: Started | None,
    *,
    user_namespace: bool,
    made_directory: bool,
) -> Started:
    kept = [path for path in map(Path, before.keep_visible if before else ()) if path.is_dir()]
    wanted = [files.root, *kept, *wish.shares, *implied_paths(Path.cwd())]
    rdma = bool(before and before.rdma) if wish.rdma is None else wish.rdma
    fabric = wish.fabric or (before.fabric if before else BRIDGE)
    if rdma and fabric != BRIDGE:
        raise TestbedError(
            f"a testbed with --fabric {fabric} has no RDMA devices: leave out --rdma or --fabric"
        )
    return Started(
        nodes=wish.nodes or (before.nodes if before else DEFAULT_NODES[fabric]),
        cpus_per_node=wish.cpus_per_node
        or (before.cpus_per_node if before else DEFAULT_CPUS_PER_NODE),
        keep_visible=paths_to_keep(wanted),
        user_namespace=user_namespace,
        made_directory=made_directory,
        pid_namespace=own_pid_namespace(),
        boot_id=host_boot_id(),
        guest_directories=writable_directories(wanted) if rdma else [],
        fabric=fabric,
        cards=wish.cards or (before.cards if before else 1),
        rdma_nodes=wish.rdma_nodes or (before.rdma_nodes if before else 2),
    )


def _configure(
    files: Layout, started: Started, programs: dict[str, str], progress: Progress
) -> Spec:
    """Write what daemons read; returns what the anchor has to start."""
    try:
        # The first file: from here on ``down`` knows what it has to remove.
        save(files, started)
        progress("configuration")
        write_configuration(files, started, programs)
        guest = prepare(files, started, progress) if started.rdma else []
    except BaseException:
        _remove(files, started)
        raise
    return Spec(
        str(files.root),
        started.nodes,
        started.fabric,
        started.keep_visible,
        started.user_namespace,
        programs,
        started.boot_id,
        guest,
        _GUEST_SECONDS,
    )


def _start(files: Layout, started: Started, spec: Spec, lock: int, progress: Progress) -> None:
    events, control = _launch(files, spec, lock)
    try:
        _follow(files, events, progress)
        progress(f"{len(started.node_names)} nodes to become idle")
        _wait_until_idle(files, len(started.node_names), events)
        os.write(control, b"\n")
    except BaseException:
        kill_recorded(files)
        raise
    finally:
        os.close(events)
        os.close(control)


def _launch(files: Layout, spec: Spec, lock: int) -> tuple[int, int]:
    """Start the anchor; returns our ends of its two pipes (see ``anchor``)."""
    events, anchor_events = os.pipe()
    anchor_control, control = os.pipe()
    passed = (anchor_events, anchor_control, lock)
    with files.output_file("anchor").open("wb") as log:
        launcher = subprocess.Popen(
            python_command("anchor", spec.dumps(), *map(str, passed)),
            pass_fds=passed,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=DAEMON_ENVIRONMENT,
            start_new_session=True,
        )
    os.close(anchor_events)
    os.close(anchor_control)
    launcher.wait()
    return events, control


def _follow(files: Layout, events: int, progress: Progress) -> None:
    with os.fdopen(events, encoding="utf-8", closefd=False) as lines:
        for line in lines:
            kind, _, text = line.strip().partition(" ")
            if kind == "ready":
                return
            if kind == "error":
                raise _cannot_start(files, text)
            progress(text)
    last_words = last_line(files.output_file("anchor"))
    raise _cannot_start(files, last_words or "its anchor process ended")


def _wait_until_idle(files: Layout, nodes: int, events: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    guest = read_record(files.records, layout.GUEST)
    while set((states := slurm_states(files)).values()) != {"idle"} or len(states) != nodes:
        if select.select([events], [], [], 0)[0]:
            raise _cannot_start(files, "its anchor process ended")
        if guest and not guest.alive():
            raise _cannot_start(files, f"the guest has ended, its last words: {last_words(files)}")
        if time.monotonic() > deadline:
            found = ", ".join(f"{node} {state}" for node, state in sorted(states.items()))
            raise _cannot_start(
                files,
                f"{nodes} idle nodes expected within {_START_SECONDS:g} s, found "
                f"{found or 'no answer from slurmctld'}",
            )
        time.sleep(_POLL_SECONDS)


def _cannot_start(files: Layout, reason: str) -> TestbedError:
    return TestbedError(
        f"the testbed in {files.root} could not start: {reason} (logs in {files.log})"
    )
