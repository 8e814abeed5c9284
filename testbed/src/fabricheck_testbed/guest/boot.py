"""The guest as the anchor sees it: started, then listened to until it is ready."""

import time
from typing import Final

from fabricheck_testbed import layout
from fabricheck_testbed.layout import Layout
from fabricheck_testbed.node import NodeError, ip_batch
from fabricheck_testbed.process import Host, ended, last_line, start_daemon
from fabricheck_testbed.spec import Spec

READY: Final = "ready"


class Guest:
    """A guest that boots."""

    def __init__(self, spec: Spec, host: Host) -> None:
        """Plug a network card into the bridge, and start QEMU."""
        self._files = host.files
        self._seconds = spec.guest_seconds
        port = layout.switch_port(layout.GUEST)
        ip_batch(
            spec.programs["ip"],
            f"tuntap add dev {port} mode tap",
            f"link set {port} master {layout.BRIDGE} up",
        )
        self._files.guest_events.touch()
        self._pid = start_daemon(layout.GUEST, spec.guest, host)
        self._deadline = time.monotonic() + spec.guest_seconds
        self._seen = 0

    def events(self) -> list[str]:
        """What it has reported since the last call; NodeError if nothing more is to be expected."""
        # A line counts when its end is there.
        lines = self._files.guest_events.read_text("utf-8", "replace").split("\n")[:-1]
        new = [line.strip() for line in lines[self._seen :]]
        self._seen = len(lines)
        if new:
            return new
        if ended(self._pid):
            raise NodeError(
                f"the guest (rx1, rx2) has ended, its last words: {last_words(self._files)}"
            )
        if time.monotonic() > self._deadline:
            raise NodeError(
                f"the guest (rx1, rx2) is not ready after {self._seconds:g} s, its last words: "
                f"{last_words(self._files)}"
            )
        return []


def last_words(files: Layout) -> str:
    """Why a guest has ended, as far as it has said so: a panic, QEMU's complaint, or its end."""
    console = files.guest_console
    text = console.read_text("utf-8", "replace") if console.exists() else ""
    panics = [line for line in text.splitlines() if "Kernel panic" in line]
    if panics:
        return panics[0].strip()
    return last_line(files.output_file(layout.GUEST)) or last_line(console) or "none"
