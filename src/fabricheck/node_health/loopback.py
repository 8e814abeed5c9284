"""What each card moves to itself: its PCIe link and firmware, without cable or another node."""

import re
import socket
import subprocess
import time
from typing import Final

from fabricheck.judge.levels import Level
from fabricheck.node_health.facts import Facts
from fabricheck.node_health.survey import Line
from fabricheck.nodes.cards import board

RULE: Final = "loopback"
PATIENCE: Final = 20.0
"""Seconds for all cards together."""

_PROGRAM: Final = ("ib_write_bw", "-F", "-D", "1", "-s", "65536")
# Size, iterations, peak and average in MB/s, as perftest's table has them.
_ROW: Final = re.compile(r"^\s*65536\s+\d+\s+[\d.]+\s+([\d.]+)", re.MULTILINE)
_PEERS: Final = 3
_WARNING, _CRITICAL = 0.8, 0.6
"""Shares of the median of the cards of one board: our choice; half the lanes are half."""


def measure(node: Facts) -> Line:
    """The bandwidth of each active port of a node, the slow ones named beside their peers."""
    ports = [port.name for port in node.ports if port.state == "ACTIVE"]
    end = time.monotonic() + PATIENCE
    found: dict[str, float] = {}
    level, wrong = Level.GOOD, list[str]()
    for port in ports:
        share = (end - time.monotonic()) / (len(ports) - len(found) - len(wrong))
        bandwidth, words = _bandwidth(port, time.monotonic() + share)
        if bandwidth:
            found[port] = bandwidth
        else:
            level = Level.WARNING
            wrong.append(f"{port} was not measured: {words}")
    for port, bandwidth in found.items():
        peers = sorted(each for name, each in found.items() if _alike(node, name, port))
        usual = peers[len(peers) // 2]
        if len(peers) >= _PEERS and bandwidth < _WARNING * usual:
            level = Level.CRITICAL if bandwidth < _CRITICAL * usual else level
            level = Level.WARNING if level is Level.GOOD else level
            wrong.append(f"{port} {bandwidth:.0f} MB/s, its peers {usual:.0f} MB/s")
    every = ", ".join(f"{port} {bandwidth:.0f} MB/s" for port, bandwidth in found.items())
    words = "; ".join(wrong) or every or "no active port"
    return Line(RULE, level if ports else None, words, (node.node,))


def _alike(node: Facts, one: str, other: str) -> bool:
    return board(node.cards, one) == board(node.cards, other)


def _bandwidth(port: str, end: float) -> tuple[float, str]:
    """MB/s, or none and why not."""
    device, _, number = port.partition(":")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        command = [*_PROGRAM, "-d", device, "-i", number, "-p", str(free.getsockname()[1])]
    words = "no answer in time"
    nothing = subprocess.DEVNULL
    try:
        with subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing) as server:
            try:
                while (left := end - time.monotonic()) > 0:
                    said = subprocess.run(
                        [*command, "127.0.0.1"], stdin=nothing, stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT, text=True, timeout=left, check=False,
                    ).stdout  # fmt: skip
                    if match := _ROW.search(said):
                        return float(match[1]), ""
                    words = (said.strip().splitlines() or [words])[-1]
                    time.sleep(0.1)
            finally:
                server.kill()
    except FileNotFoundError:
        words = "ib_write_bw is not on PATH (Debian: perftest)"
    except subprocess.TimeoutExpired:
        pass
    return 0.0, words
