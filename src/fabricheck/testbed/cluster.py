"""The testbed for Python programs and tests, with faults to inject."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from fabricheck.errors import FabricheckError
from fabricheck.testbed import layout, lifecycle
from fabricheck.testbed import status as status_module
from fabricheck.testbed.commands import node_command, run_captured
from fabricheck.testbed.enter import live_node
from fabricheck.testbed.records import read_record


class Testbed:
    """One testbed, known by its state directory. All methods raise FabricheckError."""

    # The name begins like a pytest class; it is none.
    __test__ = False

    def __init__(self, state_dir: Path) -> None:
        self.files = layout.layout_at(state_dir)

    def up(
        self,
        *,
        nodes: int | None = None,
        cpus_per_node: int | None = None,
        shares: Sequence[Path] = (),
        progress: lifecycle.Progress = lambda _: None,
    ) -> lifecycle.UpResult:
        """See ``lifecycle.up``."""
        return lifecycle.up(
            self.files.root,
            nodes=nodes,
            cpus_per_node=cpus_per_node,
            shares=shares,
            progress=progress,
        )

    def down(self) -> lifecycle.DownResult:
        """See ``lifecycle.down``."""
        return lifecycle.down(self.files.root)

    def status(self) -> status_module.TestbedStatus:
        """See ``status.status``."""
        return status_module.status(self.files)

    def command(self, node: str, *command: str) -> list[str]:
        """A command line that runs ``command`` in ``node``, for ``subprocess``."""
        return node_command(self.files, node, command)

    def run(
        self, node: str, *command: str, timeout_seconds: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run ``command`` in ``node`` with captured output; see ``commands.run_captured``."""
        return run_captured(self.files, node, command, timeout_seconds)

    def kill_node(self, node: str) -> None:
        """Pull the plug: SIGKILL for the node's first process, which ends all its others."""
        live_node(self.files, node).kill()

    def kill_daemon(self, name: str) -> None:
        """SIGKILL for ``munged``, ``slurmctld`` or ``slurmd.NODE``."""
        record = read_record(self.files.records, name)
        if record is None or not record.kill():
            raise FabricheckError(f"no {name} runs in the testbed in {self.files.root}")

    def link_down(self, node: str) -> None:
        """Pull the cable between ``node`` and the switch."""
        self._succeed(layout.SWITCH, "ip", "link", "set", layout.switch_port(node), "down")

    def link_up(self, node: str) -> None:
        """Plug the cable in again."""
        self._succeed(layout.SWITCH, "ip", "link", "set", layout.switch_port(node), "up")

    def shape(self, node: str, token_bucket: str) -> None:
        """Limit the node's link in both directions with a token bucket filter.

        ``token_bucket`` is what tc-tbf(8) takes: ``rate 100mbit burst 64kb latency 50ms``.
        """
        for host, interface in self._link_ends(node):
            limit = token_bucket.split()
            self._succeed(host, "tc", "qdisc", "replace", "dev", interface, "root", "tbf", *limit)

    def unshape(self, node: str) -> None:
        """Take the limit away."""
        for host, interface in self._link_ends(node):
            self._succeed(host, "tc", "qdisc", "del", "dev", interface, "root")

    @staticmethod
    def _link_ends(node: str) -> tuple[tuple[str, str], tuple[str, str]]:
        return ((layout.SWITCH, layout.switch_port(node)), (node, layout.INTERFACE))

    def _succeed(self, node: str, *command: str) -> None:
        done = self.run(node, *command)
        if done.returncode != 0:
            raise FabricheckError(f"{' '.join(command)} in {node}: {done.stderr.strip()}")
