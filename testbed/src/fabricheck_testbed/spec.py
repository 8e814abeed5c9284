"""What ``up`` tells the anchor process, as JSON on its command line."""

import json
from typing import NamedTuple


class Spec(NamedTuple):
    """One testbed to start.

    ``guest`` is QEMU's command line, empty for a testbed without one, and has to report that it is
    ready in ``guest_seconds``.
    """

    root: str
    nodes: int
    fabric: str
    keep_visible: list[str]
    user_namespace: bool
    programs: dict[str, str]
    boot_id: str
    guest: list[str]
    guest_seconds: float

    def dumps(self) -> str:
        """The spec as one line of JSON."""
        return json.dumps(self._asdict())

    @classmethod
    def loads(cls, text: str) -> "Spec":
        """The inverse of ``dumps``."""
        return cls(**json.loads(text))
