"""Tiers: how much machine a test may use. A module is ``unit`` unless it says otherwise.

unit         nothing but this process: no other process, no waiting for a clock, no network
integration  other processes: stand-ins for launchers, ReFrame's dry runs, killed commands; pages
e2e          what is real: testbed, guest, browser, ranks of MPI
lab          hours of one question: error rates, kill loops, the table of faults, comparisons
"""

import os
import re
import socket
import sys
import time
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

# Its import binds a socket, once: better here than in the first test that loads ReFrame.
import urllib3  # noqa: F401

pytest_plugins = ["pytester", "tests.testbeds"]

# Tests run beside each other: what one takes of the CPUs is no disturbance of another's cases.
os.environ.setdefault("FABRICHECK_FOREIGN_SHARE", "1")
# Nor is what the hypervisor takes.
os.environ.setdefault("FABRICHECK_STOLEN_SHARE", "1")
# Nobody else asks the Slurm of a test.
os.environ.setdefault("RFM_POLL_RATE_MIN", "5")

TIERS = ("unit", "integration", "e2e", "lab")
MODULE_BEYOND_UNIT = re.compile(
    rf"^pytestmark = .*\bpytest\.mark\.({'|'.join(TIERS[1:])})\b", re.MULTILINE
)
# What starts a process or opens a connection, in the words of Python's audit events.
STARTS = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system")
CONNECTS = ("socket.connect", "socket.bind")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A place for a history."""
    return tmp_path / "store"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A place for a record."""
    return tmp_path / "perflogs"


def tier(item: pytest.Item) -> str:
    """The tier that a test names, or its module for it."""
    return next((mark.name for mark in item.iter_markers() if mark.name in TIERS), TIERS[0])


def group(item: pytest.Item) -> pytest.Mark | None:
    """The group of tests that keep to one process, if a test names one."""
    return item.get_closest_marker("xdist_group")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tier", choices=TIERS, help="run the tests of one tier alone")
    parser.addoption(
        "--everything",
        action="store_true",
        help="a skipped test of e2e or lab fails: its tools must be there",
    )


def pytest_report_header() -> list[str]:
    """What is not collected, so that nobody takes it for run."""
    lacking = "FABRICHECK_STORE names no store: no test of programs that Spack has built"
    return [] if os.environ.get("FABRICHECK_STORE") else [lacking]


@cache
def names_tier(path: Path, name: str) -> bool:
    """Whether a file says of one of its tests, or of all, that they are of that tier.

    Tests are ``unit`` without a word, unless their module names another tier.
    """
    text = path.read_text()
    if f"pytest.mark.{name}" in text:
        return True
    return name == TIERS[0] and not MODULE_BEYOND_UNIT.search(text)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file that doesn't name the tier isn't imported, which takes longer than most tests."""
    chosen = config.getoption("--tier")
    if chosen is None or not collection_path.match("test_*.py"):
        return None
    return None if names_tier(collection_path, chosen) else True


# First, since xdist then reads the groups.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    heavier = [item for item in items if tier(item) != TIERS[0]]
    if hidden := {item.path for item in heavier if not names_tier(item.path, tier(item))}:
        raise pytest.UsageError(
            "expected pytest.mark. and the tier in the file of each test beyond unit, found none "
            f"in {', '.join(map(str, sorted(hidden)))}: --tier would leave these tests out"
        )
    if chosen := config.getoption("--tier"):
        config.hook.pytest_deselected(items=[item for item in items if tier(item) != chosen])
        items[:] = [item for item in items if tier(item) == chosen]
    # Quick tests first. Within a tier, groups first, since they take longest: what comes last is
    # short, so that no process waits for another at the end. Else pytest's own order stays.
    items.sort(key=lambda item: (TIERS.index(tier(item)), group(item) is None))
    for item in items:
        if group(item) is None:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and tier(item) in ("e2e", "lab") and item.config.getoption("--everything"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped under --everything: {reason}"
    return report


class Guard:
    """Keeps unit tests to their tier, also where a thread or an ``except`` hides what they did."""

    def __init__(self) -> None:
        self.watching = False
        self.found: str | None = None
        sys.addaudithook(self.hear)
        self._sleep, time.sleep = time.sleep, self.sleep

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.watching:
            return
        if event in STARTS:
            self.refuse("start a process")
        elif event in CONNECTS and arguments[0].family in (socket.AF_INET, socket.AF_INET6):
            self.refuse("open a network socket")

    def sleep(self, seconds: float) -> None:
        if self.watching:
            self.refuse("sleep")
        self._sleep(seconds)

    def refuse(self, what: str) -> None:
        self.found = f"a unit test must not {what}: see the tiers in tests/conftest.py"
        pytest.fail(self.found)


GUARD = Guard()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    GUARD.watching, GUARD.found = tier(item) == TIERS[0], None
    try:
        return (yield)
    finally:
        GUARD.watching = False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    yield
    if GUARD.found:
        pytest.fail(GUARD.found)
