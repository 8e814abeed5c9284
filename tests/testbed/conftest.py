"""Testbeds for tests, each with a finalizer, and a look at what they might leave behind."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from fabricheck_testbed import Testbed
from fabricheck_testbed.records import read_records

NAMESPACES = ("net", "uts", "ipc", "pid", "mnt")


class Traces(NamedTuple):
    """What the root namespaces show of anybody's testbeds."""

    named_namespaces: str
    links: list[str]
    mounts: list[str]


Namespace = tuple[int, int]


class Watch:
    """Looks at the machine from outside, to find what a testbed leaves behind."""

    def __init__(self) -> None:
        self._held: list[int] = []

    def traces(self) -> Traces:
        done = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True)
        links = sorted(path.name for path in Path("/sys/class/net").iterdir())
        return Traces(done.stdout, links, Path("/proc/self/mounts").read_text().splitlines())

    def namespaces_of(self, testbed: Testbed) -> set[Namespace]:
        """The namespaces that a running testbed owns, as device and inode numbers.

        They are held open until the test ends, because the kernel gives the numbers of a
        namespace that has gone to the next one.
        """
        found = set()
        for record in read_records(testbed.files.records):
            for name in NAMESPACES:
                self._held.append(os.open(f"/proc/{record.pid}/ns/{name}", os.O_RDONLY))
                status = os.fstat(self._held[-1])
                found.add((status.st_dev, status.st_ino))
        return found - _namespaces("self")

    @staticmethod
    def processes_in(namespaces: set[Namespace]) -> list[str]:
        """All processes of this machine that live in one of the given namespaces."""
        return [
            path.name
            for path in Path("/proc").iterdir()
            if path.name.isdecimal() and namespaces & _namespaces(path.name)
        ]

    def close(self) -> None:
        for descriptor in self._held:
            os.close(descriptor)


@pytest.fixture
def watch() -> Iterator[Watch]:
    watch = Watch()
    yield watch
    watch.close()


def _namespaces(process: str) -> set[Namespace]:
    found = set()
    for name in NAMESPACES:
        try:
            status = Path("/proc", process, "ns", name).stat()
        except OSError:  # ended meanwhile, or a zombie
            return set()
        found.add((status.st_dev, status.st_ino))
    return found


@pytest.fixture
def make_testbed(can_run_testbeds: None, tmp_path: Path) -> Iterator[Callable[[str], Testbed]]:
    """Testbeds in directories below tmp_path, taken down in the end whatever happened."""
    made = []

    def make(name: str = "tb") -> Testbed:
        made.append(Testbed(tmp_path / name))
        return made[-1]

    yield make
    for testbed in made:
        testbed.down()


@pytest.fixture
def program() -> list[str]:
    """The command line."""
    return [sys.executable, "-m", "fabricheck_testbed"]
