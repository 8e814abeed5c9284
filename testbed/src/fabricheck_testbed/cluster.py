"""The testbed for Python programs and tests, with faults to inject."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from fabricheck_testbed import faults, layout, lifecycle
from fabricheck_testbed import status as status_module
from fabricheck_testbed.commands import node_command, run_captured
from fabricheck_testbed.enter import live_node
from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.records import read_record

_SECONDS: Final = 60.0


class Testbed:
    """One testbed, known by its state directory. All methods raise TestbedError."""

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
        rdma: bool | None = None,
        fabric: str | None = None,
        cards: int | None = None,
        rdma_nodes: int | None = None,
        progress: lifecycle.Progress = lambda _: None,
    ) -> lifecycle.UpResult:
        """See ``lifecycle.up``."""
        return lifecycle.up(
            self.files.root,
            nodes=nodes,
            cpus_per_node=cpus_per_node,
            shares=shares,
            rdma=rdma,
            fabric=fabric,
            cards=cards,
            rdma_nodes=rdma_nodes,
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
        if node not in layout.GUEST_NODES:
            live_node(self.files, node).kill()
            return
        # A process cannot kill the first one of its own PID namespace: the guest has to do it.
        record = f"{self.files.guest_records}/{node}.json"
        pid = json.loads(self._succeed(layout.GUEST, "cat", record))["pid"]
        self._succeed(layout.GUEST, "kill", "-KILL", str(pid))

    def kill_daemon(self, name: str) -> None:
        """SIGKILL for ``munged``, ``slurmctld`` or ``slurmd.NODE``."""
        record = read_record(self.files.records, name)
        if record is None or not record.kill():
            raise TestbedError(f"no {name} runs in the testbed in {self.files.root}")

    def link_down(self, node: str) -> None:
        """Pull the node's cable: to the switch, or the one below a guest node's RDMA device."""
        faults.set_link(self.files, node, "down")

    def link_up(self, node: str) -> None:
        """Plug the cable in again."""
        faults.set_link(self.files, node, "up")

    def shape(self, node: str, token_bucket: str) -> None:
        """Limit the node's link with a token bucket filter, on host nodes in both directions.

        ``token_bucket`` is what tc-tbf(8) takes: ``rate 100mbit burst 64kb latency 50ms``.
        """
        faults.shape(self.files, node, token_bucket)

    def unshape(self, node: str) -> None:
        """Take the limit away."""
        faults.clear_queue(self.files, node)

    def netem(self, node: str, arguments: str) -> None:
        """Disturb what a guest node sends; ``arguments`` as for tc-netem(8): ``loss 2%``."""
        faults.netem(self.files, node, arguments)

    def clear_netem(self, node: str) -> None:
        """Undo ``netem``."""
        faults.clear_queue(self.files, node)

    def set_mtu(self, node: str, mtu: int) -> None:
        """Change the MTU of the node's own interface."""
        faults.set_mtu(self.files, node, mtu)

    def clear_faults(self, node: str) -> None:
        """Undo every fault of the node's link."""
        faults.clear(self.files, node)

    def _succeed(self, node: str, *command: str) -> str:
        done = self.run(node, *command, timeout_seconds=_SECONDS)
        if done.returncode != 0:
            raise TestbedError(f"{' '.join(command)} in {node}: {done.stderr.strip()}")
        return done.stdout
