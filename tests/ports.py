"""Where a process of a test can be reached."""

from contextlib import suppress
from pathlib import Path

_LISTENS = "0A"


def port_of(pid: int, protocol: str = "tcp") -> int:
    """The port at which a process waits for connections, or for datagrams; 0 as long as it doesn't.

    Args:
        pid: of the process.
        protocol: ``tcp`` or ``udp``.
    """
    sockets = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # it has been closed since
            sockets.add(str(link.readlink()))
    for line in Path(f"/proc/net/{protocol}").read_text().splitlines()[1:]:
        words = line.split()
        if f"socket:[{words[9]}]" in sockets and (protocol == "udp" or words[3] == _LISTENS):
            return int(words[1].split(":")[1], 16)
    return 0
