"""One breakable copy of the suite with a testbed of its own, whole again for each test."""

from collections.abc import Iterator

import pytest
from tests.guards.suite import Suite

from fabricheck_testbed import Testbed


@pytest.fixture(scope="session")
def copied_suite(
    can_run_testbeds: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Suite]:
    directory = tmp_path_factory.mktemp("guards")
    testbed = Testbed(directory / "tb")
    root = directory / "suite"
    root.mkdir()
    yield Suite(root, testbed)
    testbed.down()


@pytest.fixture
def suite(copied_suite: Suite) -> Iterator[Suite]:
    """The copy, healthy; after the test it is so again."""
    copied_suite.testbed.up(nodes=2, shares=[copied_suite.root])
    yield copied_suite
    copied_suite.restore()


@pytest.fixture(scope="session")
def copied_rdma_suite(rdma_testbed: Testbed, tmp_path_factory: pytest.TempPathFactory) -> Suite:
    root = tmp_path_factory.mktemp("guards") / "suite"
    root.mkdir()
    return Suite(root, rdma_testbed, partition="rdma")


@pytest.fixture
def rdma_suite(copied_rdma_suite: Suite) -> Iterator[Suite]:
    """The copy on a testbed with RDMA devices, healthy; after the test it is so again."""
    yield copied_rdma_suite
    copied_rdma_suite.restore()
    for node in ("rx1", "rx2"):
        copied_rdma_suite.testbed.clear_faults(node)
