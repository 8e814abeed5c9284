"""One testbed for a session, and one with RDMA devices: for all tests that leave them whole."""

import os
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest

from fabricheck.launch.disturbance import FOREIGN_SHARE, STOLEN_SHARE
from fabricheck_testbed import Testbed, faults
from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.guest import machine
from fabricheck_testbed.programs import require_guest_programs, require_programs
from fabricheck_testbed.rights import probe

_SECONDS = 300.0
_ATTEMPTS = 3
_Found = TypeVar("_Found")
SHARES = {name: os.environ.get(name, "1") for name in (FOREIGN_SHARE, STOLEN_SHARE)}
"""What lets others have the CPUs of cases that run on the testbed."""


def measured_again(measure: Callable[[], _Found], disturbed: Callable[[_Found], object]) -> _Found:
    """What is measured; once more, as the suite itself would, where other work disturbed it.

    Args:
        measure: takes a measurement, from a clean start each time.
        disturbed: whether the suite would call it disturbed; anything that is true.
    """
    for _ in range(_ATTEMPTS - 1):
        found = measure()
        if not disturbed(found):
            return found
    return measure()


@pytest.fixture(scope="session")
def can_run_testbeds() -> None:
    if os.geteuid() != 0:
        pytest.skip("these tests start testbeds as root")
    if (problem := probe(user_namespace=False)) is not None:
        pytest.skip(f"no namespaces here: {problem}")
    try:
        require_programs(with_compiler=True)
    except TestbedError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def testbed(can_run_testbeds: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """A running testbed of two nodes for all tests that leave it whole."""
    directory = tmp_path_factory.mktemp("shared")
    testbed = Testbed(directory / "tb")
    try:
        testbed.up(nodes=2, shares=[directory.parent])
        yield testbed
    finally:
        testbed.down()


@pytest.fixture(scope="session")
def can_run_guests(can_run_testbeds: None) -> None:
    try:
        require_guest_programs()
        machine.require_memory()
        machine.require_tap()
    except TestbedError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def rdma_testbed(
    can_run_guests: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Testbed]:
    """A running testbed with RDMA devices, for all tests that leave it whole."""
    base = tmp_path_factory.getbasetemp()
    testbed = Testbed(tmp_path_factory.mktemp("rdma") / "tb")
    try:
        testbed.up(nodes=1, shares=[base], rdma=True)
        yield testbed
    finally:
        testbed.down()


@pytest.fixture
def on(rdma_testbed: Testbed) -> Callable[[str, str], str]:
    """Output of a shell script in a node; the script must succeed."""

    def run(node: str, script: str) -> str:
        done = rdma_testbed.run(node, "sh", "-c", script, timeout_seconds=_SECONDS)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture
def clean(rdma_testbed: Testbed) -> Iterator[Testbed]:
    """The same, without a fault afterwards."""
    yield rdma_testbed
    for node in ("rx1", "rx2", "n1"):
        faults.clear(rdma_testbed.files, node)
