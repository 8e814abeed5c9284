"""UCX's tables of protocols: from which memory messages were sent, how, and over which lanes.

UCX prints them with ``UCX_PROTO_INFO``, one for each operation on a kind of memory. Since 1.21 the
value ``used`` prints them at the end of the job, with counts::

    | ucp_context_0 intra-node cfg#2                                                       |
    | tagged message by ucp_tag_send*(fast-completion) from cuda/GPU0                      |
    | Count |   Range   |                   Description                    |    Config     |
    |    21 |   1..4880 | eager copy-in copy-out                           | sysv/memory   |
    |    15 | 4881..inf | (?) rendezvous zero-copy flushed write to remote | cuda_ipc/cuda |

From 1.16 to 1.20 ``y`` prints them without counts, each when its operation is first used::

    | ucp_context_0 intra-node cfg#2 | tagged message by ucp_tag_send* from cuda/GPU0 |
    |                        1..4880 | eager copy-in copy-out           | sysv/memory |
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE = re.compile(r"\]\s+\|(?P<cells>.+)\|$")
_TITLE = re.compile(
    r" \S+ (?P<reach>self|intra-node|inter-node) cfg#\d+\s*(?:\| (?P<operation>.+))?$"
)
_SIZE = r"(\d+)([KMGTPE]?)"
_ROW = re.compile(
    rf"(?:\s*(?P<count>\d+) \|)?\s*{_SIZE}(?:\.\.(?:{_SIZE}|inf))? \| (?P<how>.*?)\s*\|"
    r" (?P<lanes>.*)$"
)
_LANE = re.compile(r"\b([a-z]\w*)/\S+")
_MEMORY = re.compile(r"\b(?:from|into) (host|cuda)")
_POWERS = {unit: 1 << (10 * power) for power, unit in enumerate(("", *"KMGTPE"))}


@dataclass(frozen=True, slots=True)
class Protocol:
    """A row of a table: how an operation moves messages of a range of sizes.

    Attributes:
        operation: what is moved, such as ``tagged message by ucp_tag_send* from cuda/GPU0``.
        count: how many were moved so; ``None`` where UCX doesn't count.
        least: smallest message of the range in bytes.
        most: largest one, ``math.inf`` for no limit.
        how: the protocol in UCX's words. One that begins with ``(?)`` is a guess of what the other
            side will do, which has a table of its own.
        lanes: the transports that it uses to the other rank; none where it only copies inside a
            node.
    """

    operation: str
    count: int | None
    least: int
    most: float
    how: str
    lanes: tuple[str, ...]

    @property
    def is_message(self) -> bool:
        """Whether its rows count messages as the MPI sent them, not what became of them."""
        return " message by " in self.operation

    @property
    def is_of_gpu(self) -> bool:
        """Whether it is about memory of a GPU, managed memory too."""
        memory = _MEMORY.search(self.operation)
        return memory is not None and memory[1] == "cuda"

    @property
    def is_certain(self) -> bool:
        """Whether it is more than a guess of what the other side will do."""
        return not self.how.startswith("(?)")

    @property
    def is_zero_copy(self) -> bool:
        """Whether this side has the lane itself read or write the memory, without a buffer."""
        staged = "copy-in" in self.how or ", frag " in self.how
        return "zero-copy" in self.how and not staged


def read_protocols(text: str) -> tuple[Protocol, ...]:
    """What UCX used to other ranks, from the log of one process; not to the process itself."""
    return tuple(_rows(text))


def _rows(text: str) -> Iterator[Protocol]:
    reach, operation = "", ""
    for line in text.splitlines():
        if not (match := _LINE.search(line)):
            continue
        cells = match["cells"]
        if title := _TITLE.match(cells):
            reach, operation = title["reach"], (title["operation"] or "").strip()
        elif reach and not operation:
            operation = cells.strip()
        elif reach not in ("", "self") and (row := _ROW.match(cells)):
            yield _protocol(operation, row)


def _protocol(operation: str, row: re.Match[str]) -> Protocol:
    count, least, unit, most, most_unit, how, lanes = row.groups()
    least_bytes = int(least) * _POWERS[unit]
    if most:
        most_bytes: float = int(most) * _POWERS[most_unit]
    else:
        most_bytes = math.inf if "..inf " in row[0] else least_bytes
    return Protocol(
        operation=operation,
        count=None if count is None else int(count),
        least=least_bytes,
        most=most_bytes,
        how=how,
        lanes=tuple(dict.fromkeys(_LANE.findall(lanes))),
    )
