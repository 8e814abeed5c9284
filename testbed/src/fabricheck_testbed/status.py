"""How a testbed is: its nodes, its daemons, and what is wrong with it."""

import os
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

from fabricheck_testbed import layout
from fabricheck_testbed.commands import run_captured
from fabricheck_testbed.fabric import routers
from fabricheck_testbed.guest import machine
from fabricheck_testbed.guest.boot import last_words
from fabricheck_testbed.guest.settings import Settings
from fabricheck_testbed.layout import Layout
from fabricheck_testbed.options import Started, load
from fabricheck_testbed.records import ProcessRecord, read_record

_QUERY_SECONDS: Final = 10.0
# States of sinfo (22.05) in which a node takes or runs jobs, or has been set aside on purpose.
_USABLE_STATES: Final = frozenset(
    {"idle", "mixed", "allocated", "completing", "drained", "draining", "reserved", "planned"}
)


class NodeStatus(NamedTuple):
    """One row of ``testbed status``."""

    name: str
    address: str
    pid: int | None
    daemon: str
    daemon_pid: int | None
    slurm_state: str
    uptime_seconds: float | None


class GuestStatus(NamedTuple):
    """The emulated machine that is the nodes rx1 and rx2."""

    pid: int | None
    accelerator: str
    memory_mb: int | None
    memory_limit_mb: int
    uptime_seconds: float | None
    answers: bool


class TestbedStatus(NamedTuple):
    """A testbed as a whole; ``problems`` is empty if it is healthy."""

    state_dir: str
    running: bool
    mode: str = ""
    keep_visible: list[str] = []  # noqa: RUF012
    nodes: list[NodeStatus] = []  # noqa: RUF012
    guest: GuestStatus | None = None
    problems: list[str] = []  # noqa: RUF012

    def as_json(self) -> dict[str, object]:
        """The status for machines."""
        return {
            **self._asdict(),
            "healthy": self.running and not self.problems,
            "nodes": [node._asdict() for node in self.nodes],
            "guest": self.guest and self.guest._asdict(),
        }


def status(files: Layout) -> TestbedStatus:
    """The status of the testbed in this state directory; TestbedError as ``options.load``."""
    started = load(files)
    anchor = _alive(files, layout.SWITCH)
    if started is None or anchor is None:
        return TestbedStatus(str(files.root), running=False)
    mode = "user namespace" if started.user_namespace else "root"
    states = slurm_states(files)
    rows = [_row(files, name, states) for name in _hosts(started)]
    guest = _guest(files) if started.rdma else None
    return TestbedStatus(
        str(files.root),
        running=True,
        mode=mode,
        keep_visible=started.keep_visible,
        nodes=rows,
        guest=guest,
        problems=_problems(files, rows, guest, started),
    )


def _hosts(started: Started) -> list[str]:
    return [layout.LOGIN, *started.node_names]


def _alive(files: Layout, name: str) -> ProcessRecord | None:
    record = read_record(files.records, name)
    return record if record is not None and record.alive() else None


def slurm_states(files: Layout) -> dict[str, str]:
    """Each node's state in sinfo's long words; empty if the controller does not answer."""
    # Without these sinfo only waits for a timeout.
    if any(_alive(files, name) is None for name in ("munged", layout.LOGIN, "slurmctld")):
        return {}
    try:
        done = run_captured(
            files, layout.LOGIN, ["sinfo", "--noheader", "--Node", "--format=%N %T"], _QUERY_SECONDS
        )
    except subprocess.TimeoutExpired:
        return {}
    if done.returncode != 0:
        return {}
    return dict(line.split(maxsplit=1) for line in done.stdout.splitlines())


def _row(files: Layout, name: str, states: dict[str, str]) -> NodeStatus:
    record = _alive(files, layout.process_of(name))
    daemon = layout.daemon_of(name)
    daemon_record = _alive(files, daemon)
    if name == layout.LOGIN:
        state = "controller" if states else "not answering"
    else:
        state = states.get(name, "unknown")
    return NodeStatus(
        name,
        layout.address(name),
        record.pid if record else None,
        daemon.partition(".")[0],
        daemon_record.pid if daemon_record else None,
        state,
        record.uptime_seconds() if record else None,
    )


def _guest(files: Layout) -> GuestStatus:
    record = _alive(files, layout.GUEST)
    return GuestStatus(
        record.pid if record else None,
        Settings.load(files.guest_settings).accelerator,
        _resident_mb(record.pid) if record else None,
        machine.MEMORY_MB,
        record.uptime_seconds() if record else None,
        record is not None and _answers(files),
    )


def _resident_mb(pid: int) -> int | None:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    except FileNotFoundError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


def _answers(files: Layout) -> bool:
    try:
        return run_captured(files, layout.GUEST, ["true"], _QUERY_SECONDS).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _problems(
    files: Layout, rows: list[NodeStatus], guest: GuestStatus | None, started: Started
) -> list[str]:
    found = [] if _alive(files, "munged") else ["munged is dead"]
    found += [
        f"{name} is dead"
        for name in routers(started.fabric, started.nodes)
        if not _alive(files, name)
    ]
    if guest is not None and guest.pid is None:
        found.append(f"the guest (rx1, rx2) is dead, its last words: {last_words(files)}")
    elif guest is not None and not guest.answers:
        found.append(f"the guest (rx1, rx2) does not answer in {_QUERY_SECONDS:g} s")
    for row in rows:
        in_guest = row.name in layout.GUEST_NODES
        if row.pid is None:
            found += [] if in_guest else [f"{row.name} is dead"]
        elif row.daemon_pid is None and not in_guest:
            found.append(f"{row.daemon} on {row.name} is dead")
        elif row.name == layout.LOGIN and row.slurm_state != "controller":
            found.append("slurmctld does not answer")
        elif row.name != layout.LOGIN and row.slurm_state not in _USABLE_STATES:
            found.append(f"{row.name} is {row.slurm_state} in Slurm")
    return found
