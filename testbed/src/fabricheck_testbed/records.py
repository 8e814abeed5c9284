"""Records of the testbed's processes: who may be signalled, and who is only a namesake.

A process is known by its PID, its start time (field 22 of ``/proc/PID/stat``, clock ticks since
boot, see proc(5)) and the machine's boot id, so that a PID that the kernel has given to somebody
else is never taken for ours.
"""

import json
import os
import select
import signal
from pathlib import Path
from typing import NamedTuple

_FIRST_FIELD = 3
_START_TIME_FIELD = 22


class ProcessRecord(NamedTuple):
    """One process of a testbed, in the PID namespace in which ``up`` ran."""

    name: str
    pid: int
    start_ticks: int
    boot_id: str

    def alive(self) -> bool:
        """Whether exactly this process still runs; a zombie does not."""
        found = _state_and_start(self.pid)
        return (
            found is not None
            and found[0] not in "ZX"
            and found[1] == self.start_ticks
            and self.boot_id == host_boot_id()
        )

    def uptime_seconds(self) -> float:
        """Seconds since the process started."""
        since_boot = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
        return since_boot - self.start_ticks / os.sysconf("SC_CLK_TCK")

    def kill(self, timeout_seconds: float = 10.0) -> bool:
        """Send SIGKILL to exactly this process and wait for its end.

        Returns whether it was alive. Raises TimeoutError if it has not ended in time, and
        PermissionError if it belongs to somebody else.
        """
        return self._end(signal.SIGKILL, timeout_seconds)

    def wait(self, timeout_seconds: float = 10.0) -> bool:
        """Wait for its end, which something else brings; returns and raises as ``kill``."""
        return self._end(None, timeout_seconds)

    def _end(self, number: signal.Signals | None, timeout_seconds: float) -> bool:
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return False
        try:
            # The descriptor pins the process, so the identity that is checked now stays true.
            if not self.alive():
                return False
            if number is not None:
                signal.pidfd_send_signal(descriptor, number)
            poller = select.poll()
            poller.register(descriptor, select.POLLIN)
            if not poller.poll(timeout_seconds * 1000):
                raise TimeoutError(
                    f"process {self.pid} ({self.name}) has not ended {timeout_seconds:g} s "
                    "after SIGKILL"
                )
            return True
        finally:
            os.close(descriptor)


def host_boot_id() -> str:
    """The boot id of this machine (or of the node, if called inside one)."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _state_and_start(pid: int, proc: str = "/proc") -> tuple[str, int] | None:
    try:
        text = Path(proc, str(pid), "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command name is in parentheses and may itself hold spaces and parentheses.
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[_START_TIME_FIELD - _FIRST_FIELD])


def write_own_record(directory: Path, name: str, host_proc: int, boot_id: str) -> None:
    """Record the calling process.

    ``host_proc`` is an open descriptor of the ``/proc`` of the PID namespace in which ``up`` ran:
    its ``self`` link gives the PID that the user sees, whatever namespace the caller is in.
    """
    pid = int(os.readlink("self", dir_fd=host_proc))
    found = _state_and_start(pid, f"/proc/self/fd/{host_proc}")
    if found is None:
        raise ProcessLookupError(f"process {pid} ({name}) cannot be seen in its own /proc")
    record = ProcessRecord(name, pid, found[1], boot_id)
    # The directory itself is reached by path: the state directory is visible in every node.
    temporary = directory / f".{name}.tmp"
    temporary.write_text(json.dumps(record._asdict()), encoding="utf-8")
    temporary.rename(directory / f"{name}.json")


def read_record(directory: Path, name: str) -> ProcessRecord | None:
    """The record of ``name``, or None if there is none (or a cut one)."""
    try:
        record = ProcessRecord(**json.loads((directory / f"{name}.json").read_text("utf-8")))
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError, RecursionError):
        return None
    return record if isinstance(record.pid, int) else None


def read_records(directory: Path) -> list[ProcessRecord]:
    """All records of a testbed, in the order of their names."""
    names = sorted(path.stem for path in directory.glob("*.json"))
    return [record for name in names if (record := read_record(directory, name))]
