"""What ``up`` tells the guest's first process, as a JSON file in the state directory."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fabricheck_testbed.layout import GUEST_NODES


class Settings(NamedTuple):
    """What the guest has to be.

    Attributes:
        directories: what it may write of this machine's files, each under its 9p tag.
        programs: paths of the programs that it starts.
        accelerator: with what QEMU runs it; for ``status``.
        token: what a client of its agents has to say first.
        cards: RDMA devices of each node.
        nodes: names of the nodes.
    """

    directories: dict[str, str]
    programs: dict[str, str]
    accelerator: str
    token: str
    cards: int = 1
    nodes: Sequence[str] = GUEST_NODES[:2]

    def save(self, path: Path) -> None:
        """Write the file, for its owner only: it holds the token."""
        path.touch(mode=0o600)
        path.write_text(json.dumps(self._asdict()), "utf-8")

    @classmethod
    def load(cls, path: Path) -> "Settings":
        """The inverse of ``save``."""
        read = json.loads(path.read_text("utf-8"))
        return cls(**read | {"nodes": tuple(read["nodes"])})
