"""A remote shell for namespaces of one machine, where no sshd is: a socket file stands for a host.

usage: remote_shell.py --serve FOLDER HOST [WORD ...]   on the host, or where WORDs before a command
                                                       run it there
       REMOTE=FOLDER remote_shell.py HOST COMMAND ...
The streams of the caller are handed over, so that a command reads and writes them itself.
"""

import os
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

STREAMS = 3
LONGEST = 1 << 20


def serve(place: Path, through: Sequence[str]) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place))
        server.listen(64)
        while True:
            client, _ = server.accept()
            if os.fork() == 0:
                run(client, through)
                os._exit(0)
            client.close()


def run(client: socket.socket, through: Sequence[str]) -> None:
    command, streams, _, _ = socket.recv_fds(client, LONGEST, STREAMS)
    done = subprocess.run(
        [*through, "sh", "-c", command.decode()],
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
        cwd="/",
        env={"PATH": os.defpath, "HOME": "/root"},
        start_new_session=True,
        check=False,
    )
    client.sendall(struct.pack("i", done.returncode))


def call(place: Path, command: str) -> int:
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(place))
        except OSError as error:
            sys.stderr.write(f"connect to host {place.name}: {error.strerror}\n")
            return 255
        socket.send_fds(client, [command.encode()], range(STREAMS))
        answer = client.recv(4)
        return struct.unpack("i", answer)[0] % 256 if answer else 255


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(Path(sys.argv[2]) / sys.argv[3], sys.argv[4:])
    else:
        # As ssh does: its words, one after the other, are a line for a shell.
        sys.exit(call(Path(os.environ["REMOTE"]) / sys.argv[1], " ".join(sys.argv[2:])))
