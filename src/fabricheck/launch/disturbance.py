"""What a case suffered from others: CPU time that went elsewhere while its ranks ran.

Ranks that share cores wait for each other, and that is no disturbance. What counts is what others
got on the CPUs that the ranks may use: the ticks of all programs there (``/proc/stat``) less the
CPU time of the ranks, and the time that a hypervisor took away. Time in the kernel is not
counted, since the ranks' own messages cost some that no process is charged with.
"""

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ClusterShell.RangeSet import RangeSet

from fabricheck.errors import FabricheckError
from fabricheck.nodes.told import PREFIX, Told, files, read_told
from fabricheck.units import seconds, share

FOREIGN_SHARE: Final = "FABRICHECK_FOREIGN_SHARE"
"""Environment variable with the share of the ranks' CPUs that others may have, where a site's own
daemons take more than elsewhere; 1 lets them have all."""
_FOREIGN_SHARE: Final = 0.25
STOLEN_SHARE: Final = "FABRICHECK_STOLEN_SHARE"
"""The same of what the hypervisor may take."""
_STOLEN_SHARE: Final = 0.1
MEMORY_SHARE: Final = 0.1
"""Share of the time in which some task may wait for memory."""
NOTICED: Final = 0.2
"""Part of these shares that is enough where a case is critical or untrusted: a moment of other work
hits the few sizes that run then. Chosen, not measured."""
LEAST_SECONDS: Final = 0.2
"""CPU time below which nothing is said: ticks are a hundredth of a second, and sampled."""

START, STOP = "start", "stop"
"""What ``rank.sh`` calls the moments just before and just behind the program."""

_TICKS: Final = 100
_MICROSECONDS: Final = 1_000_000
_NANOSECONDS: Final = 1_000_000_000
# What the shell's "times" prints: a line for itself and one for its children, each with the time of
# the program and of the kernel for it.
_TIME: Final = re.compile(r"^time .*\n(?P<minutes>\d+)m(?P<seconds>\d+(?:\.\d+)?)s ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Suffered:
    """What the ranks on the nodes of one machine suffered while they ran.

    Attributes:
        hosts: the nodes; several where they are parts of one machine.
        cpus: number of CPUs that the ranks may use.
        seconds: how long they ran.
        own: CPU seconds of the ranks.
        foreign: CPU seconds of other programs on their CPUs.
        stolen: CPU seconds that the hypervisor took, or in which the threads of an emulator waited.
        memory: seconds in which some task waited for memory.
    """

    hosts: tuple[str, ...]
    cpus: int
    seconds: float
    own: float
    foreign: float
    stolen: float
    memory: float

    def disturbances(self, part: float = 1.0) -> list[str]:
        """What disturbed them, each in a sentence; none if nothing did.

        Args:
            part: of the shares that others may have.

        Raises:
            FabricheckError: if the environment has no share from 0 to 1.
        """
        where, room = ", ".join(self.hosts), self.cpus * self.seconds
        found = []
        for words, taken, whole, most in (
            (f"other programs had {{share}} of the ranks' CPUs on {where}",
             self.foreign, room, _allowed(FOREIGN_SHARE, _FOREIGN_SHARE)),
            (f"the hypervisor took {{share}} of the CPUs of {where}",
             self.stolen, room, _allowed(STOLEN_SHARE, _STOLEN_SHARE)),
            (f"tasks waited for memory on {where} {{share}} of the time",
             self.memory, self.seconds, MEMORY_SHARE),
        ):  # fmt: skip
            if taken >= LEAST_SECONDS and taken >= part * most * whole:
                told = share(taken / whole) if whole else "all"
                found.append(f"{words.format(share=told)} ({seconds(taken)} of {seconds(whole)})")
        return found


def _allowed(variable: str, usual: float) -> float:
    given = os.environ.get(variable, usual)
    try:
        allowed = float(given)
    except ValueError:
        allowed = -1.0
    if not 0 < allowed <= 1:
        raise FabricheckError(
            f"FC0902 expected {variable} as a share above 0 and up to 1, found {given!r}"
        )
    return allowed if allowed < 1 else math.inf


def find_disturbances(directory: Path, *, shared: bool, part: float = 1.0) -> list[str]:
    """What disturbed the ranks of a job, each in a sentence; none if nothing did.

    Args:
        directory: the job's.
        shared: the nodes are parts of one machine and share its CPUs.
        part: of the shares that others may have.
    """
    return [
        each
        for found in read_suffered(directory, shared=shared)
        for each in found.disturbances(part)
    ]


def read_suffered(directory: Path, *, shared: bool) -> list[Suffered]:
    """What the ranks of a job suffered, from what its nodes left in its directory.

    A node that did not tell what its CPUs did before and after says nothing. Of a rank that did not
    tell what it took, it is supposed that it took a whole CPU.
    """
    ranks = [_read_rank(path) for path in sorted(directory.glob("witness.*"))]
    nodes = [moved for path in files(directory) if (moved := _read(path)).is_whole]
    if shared and nodes:
        return [_suffered(max(nodes, key=lambda node: node.seconds), ranks)] if ranks else []
    pairs = ((node, [each for each in ranks if each.host == node.host]) for node in nodes)
    return [_suffered(node, here) for node, here in pairs if here]


@dataclass(frozen=True, slots=True)
class _Rank:
    """Node, CPUs, and CPU seconds of a rank; ``None`` if it told none."""

    host: str
    cpus: str
    own: float | None


def _read_rank(path: Path) -> _Rank:
    text = path.read_text(errors="replace")
    facts = dict(line.split(" ", maxsplit=1) for line in text.splitlines() if " " in line)
    match = _TIME.search(text)
    own = 60 * int(match["minutes"]) + float(match["seconds"]) if match else None
    return _Rank(facts.get("host", ""), facts.get("cpus", ""), own)


@dataclass(frozen=True, slots=True)
class _Load:
    """What the CPUs of one node did: ticks for programs, for others than this guest, and in all.

    ``waited`` is the time in us in which some task waited for memory, ``emulated`` that in ns in
    which the threads of an emulator waited for a CPU.
    """

    host: str
    cpus: Mapping[str, tuple[int, int, int]]
    waited: int
    emulated: int

    @property
    def is_whole(self) -> bool:
        return bool(self.cpus)

    @property
    def seconds(self) -> float:
        return max((total for _, _, total in self.cpus.values()), default=0) / _TICKS


def _suffered(node: _Load, ranks: Sequence[_Rank]) -> Suffered:
    cpus = {str(cpu) for each in ranks for cpu in RangeSet(each.cpus or None)}
    own = sum(node.seconds if each.own is None else each.own for each in ranks)
    moved = [ticks for cpu, ticks in node.cpus.items() if cpu in cpus]
    used, stolen = (sum(ticks[which] for ticks in moved) / _TICKS for which in (0, 1))
    return Suffered(
        hosts=tuple(dict.fromkeys(each.host for each in ranks)),
        cpus=len(cpus),
        seconds=node.seconds,
        own=own,
        foreign=max(used - own, 0.0),
        stolen=stolen + node.emulated / _NANOSECONDS,
        memory=node.waited / _MICROSECONDS,
    )


def _read(path: Path) -> _Load:
    """How far each number grew from start to stop; what is damaged or lacks one says nothing."""
    sums: dict[str, dict[tuple[str, str], int]] = {START: {}, STOP: {}}
    try:
        for told in read_told(path):
            for key, number in _numbers(told) if told.moment in sums else ():
                sums[told.moment][key] = sums[told.moment].get(key, 0) + number
    except (FabricheckError, ValueError, IndexError):
        sums = {START: {}, STOP: {}}
    start, stop = sums[START], sums[STOP]
    moved = {key: stop[key] - number for key, number in start.items() if key in stop}
    return _Load(
        path.name.removeprefix(PREFIX),
        {
            cpu: (moved["used", cpu], moved["stolen", cpu], total)
            for (kind, cpu), total in moved.items()
            if kind == "total"
        },
        moved.get(("waited", ""), 0),
        moved.get(("emulated", ""), 0),
    )


def _numbers(told: Told) -> Iterator[tuple[tuple[str, str], int]]:
    for line in told.lines.get("proc/stat", ()):
        name, *words = line.split()
        user, nice, system, idle, wait, interrupt, soft, steal = map(int, words[:8])
        cpu, used = name.removeprefix("cpu"), user + nice
        yield ("used", cpu), used
        yield ("stolen", cpu), steal
        yield ("total", cpu), used + system + idle + wait + interrupt + soft + steal
    for line in told.lines.get("proc/pressure/memory", ()):
        yield ("waited", ""), int(line.rpartition("total=")[2])
    for path, lines in told.lines.items():
        for line in lines if path.endswith("schedstat") else ():
            yield ("emulated", ""), int(line.split()[1])
