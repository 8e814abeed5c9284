"""The contents of a state directory: writing them, and removing them with their processes."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from fabricheck_testbed import fabric, layout, slurm_conf
from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.guest import machine
from fabricheck_testbed.layout import Layout
from fabricheck_testbed.options import Started
from fabricheck_testbed.programs import COMPILER
from fabricheck_testbed.records import read_records
from fabricheck_testbed.spec import Spec

_MUNGE_KEY_BYTES: Final = 128
_LOOKS: Final = 50
_MOMENT: Final = 0.01
_SHIM_SOURCE: Final = Path(__file__).with_name("setgroups_shim.c")


def make_root(files: Layout) -> bool:
    """Make the state directory; returns whether it was missing. Raises as ``check_root``."""
    made = not files.root.exists()
    files.root.mkdir(mode=0o755, parents=True, exist_ok=True)
    check_root(files)
    return made


def check_root(files: Layout) -> None:
    """TestbedError if the state directory exists and holds something else, or is read-only."""
    if not files.root.exists():
        return
    ours = {files.lock.name, files.options.with_suffix(".tmp").name}
    # It is written first and removed last: without it nothing else there is ours.
    if files.options.is_file():
        ours |= {path.name for path in (*files.directories, *files.files)}
    foreign = sorted(path.name for path in files.root.iterdir() if path.name not in ours)
    if foreign:
        raise TestbedError(
            f"the state directory {files.root} holds {foreign[0]!r}, which is not a testbed's: "
            "choose an empty or a new directory with --state-dir"
        )
    if not os.access(files.root, os.W_OK | os.X_OK):
        raise TestbedError(
            f"the state directory {files.root} is not writable for user {os.geteuid()}: "
            "choose another with --state-dir"
        )


def kill_recorded(files: Layout) -> list[str]:
    """End every recorded process that still runs; returns their names with PIDs.

    Only the anchor is killed, which says of itself that it is this testbed's. The kernel ends all
    others with it, and these are waited for: a record alone is no reason to signal anybody.
    """
    records = [record for record in read_records(files.records) if record.alive()]
    anchor = next((record for record in records if record.name == layout.SWITCH), None)
    command = _command(anchor.pid) if anchor else []
    if anchor and command and not _is_anchor(command, files):
        raise TestbedError(
            f"expected process {anchor.pid} to be the testbed in {files.root}, as {files.records} "
            f"says, found another program, which is left alone: remove {files.records} if no "
            "testbed runs there"
        )
    others = [record for record in records if record != anchor and _is_inside(record.pid)]
    records = [*([anchor] if anchor else []), *others]
    for record in records:
        try:
            # A process that is ending has no command any more.
            if record == anchor and command:
                record.kill()
            else:
                record.wait()
        except PermissionError as error:
            raise TestbedError(
                f"process {record.pid} ({record.name}) of the testbed in {files.root} belongs to "
                "another user: run this as the user who started the testbed"
            ) from error
        except TimeoutError as error:
            raise TestbedError(
                f"{error}: it hangs in the kernel, which /proc/{record.pid}/stack may explain"
            ) from error
    return [f"{record.name} ({record.pid})" for record in records]


def _command(pid: int) -> list[str]:
    """The words with which a process was started; none if it is ending."""
    place = Path("/proc", str(pid))
    try:
        for _ in range(_LOOKS):
            words = (place / "cmdline").read_text("utf-8", "replace").split("\0")[:-1]
            state = (place / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
            if words or state in "ZX":
                return words
            # A process that begins has none for a moment either.
            time.sleep(_MOMENT)
    except OSError:
        pass
    return []


def _is_anchor(command: Sequence[str], files: Layout) -> bool:
    """Whether this is how the anchor of this state directory is started (see ``_launch``)."""
    try:
        *_, code, spec, _events, _control, _lock = command
        # Also that of the days when this package was a part of another.
        return "fabricheck_testbed.anchor" in code and Spec.loads(spec).root == str(files.root)
    except (ValueError, TypeError):
        return False


def _is_inside(pid: int) -> bool:
    """Whether a process lives in another PID namespace than ours, as all of a testbed do."""
    try:
        return (
            Path("/proc", str(pid), "ns", "pid").readlink() != Path("/proc/self/ns/pid").readlink()
        )
    except OSError:
        return False


def remove_files(files: Layout, *, keep_lock: bool) -> list[str]:
    """Remove what ``up`` wrote, by name; returns the paths that were there."""
    removed = []
    for directory in files.directories:
        if directory.exists():
            shutil.rmtree(directory)
            removed.append(str(directory))
    files.options.with_suffix(".tmp").unlink(missing_ok=True)
    for path in files.files:
        if path.exists() and not (keep_lock and path == files.lock):
            path.unlink()
            removed.append(str(path))
    return removed


def write_configuration(files: Layout, started: Started, programs: dict[str, str]) -> None:
    """Write everything that daemons read, into fresh directories."""
    for directory in files.directories:
        directory.mkdir(mode=0o755)
    memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    files.slurm_conf.write_text(
        slurm_conf.slurm_conf(
            files,
            started.nodes,
            started.cpus_per_node,
            memory_mb,
            guest=started.guest_nodes,
            guest_memory_mb=machine.MEMORY_MB,
            with_topology=started.fabric != fabric.BRIDGE,
        ),
        "utf-8",
    )
    if started.fabric != fabric.BRIDGE:
        files.topology_conf.write_text(fabric.topology_conf(started.nodes), "utf-8")
        topology = fabric.topology(started.fabric, started.nodes)
        files.topology.write_text(json.dumps(topology), "utf-8")
    files.package.write_text(str(layout.PACKAGE), "utf-8", "surrogateescape")
    files.cgroup_conf.write_text(slurm_conf.CGROUP_CONF, "utf-8")
    names = [layout.LOGIN, *started.node_names]
    files.hosts.write_text(slurm_conf.hosts(names), "utf-8")
    files.munge_key.touch(mode=0o600)
    files.munge_key.write_bytes(os.urandom(_MUNGE_KEY_BYTES))
    if started.user_namespace:
        _compile_shim(files, programs[COMPILER])


def _compile_shim(files: Layout, compiler: str) -> None:
    done = subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", str(files.setgroups_shim), str(_SHIM_SOURCE)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        complaint = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[0]
        raise TestbedError(
            f"{compiler} cannot compile {_SHIM_SOURCE.name}, which a testbed without root needs "
            f"({complaint}): apt-get install gcc libc6-dev"
        )
