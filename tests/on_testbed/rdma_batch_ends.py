"""Both ends of rdma_batch on the guest's two nodes."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.bench.conftest import build

from fabricheck_testbed import Testbed

SECONDS = 120.0
PORT = 18700
ADDRESS = ("--gid-index", "1")


@dataclass(frozen=True)
class End:
    """How one end ended."""

    code: int
    out: str
    err: str


class Ends:
    """Runs the target on rx1 and the initiator on rx2; each run has a port of its own."""

    def __init__(self, testbed: Testbed) -> None:
        self._testbed = testbed
        self.port = PORT
        self.program = build("openmpi").folder / "rdma_batch" / "rdma_batch"

    def start(self, node: str, *words: str | Path) -> subprocess.Popen[str]:
        """A command in a node."""
        return subprocess.Popen(
            self._testbed.command(node, *map(str, words)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def target(self, *options: str) -> subprocess.Popen[str]:
        """The target, on the next port."""
        self.port += 1
        return self.start("rx1", self.program, *ADDRESS, "-p", str(self.port), *options)

    def initiator(self, *options: str) -> subprocess.Popen[str]:
        """An initiator for the latest target."""
        where = ("-p", str(self.port), "--wait", "30", "rx1")
        return self.start("rx2", self.program, *ADDRESS, *options, *where)

    def run(self, *options: str) -> tuple[End, End]:
        """Target and initiator with the same options."""
        both = self.target("--wait", "60", *options), self.initiator(*options)
        target, initiator = map(ended, both)
        return target, initiator


def ended(end: subprocess.Popen[str]) -> End:
    """Waits for an end."""
    out, err = end.communicate(timeout=SECONDS)
    return End(end.returncode, out, err)
