"""One breakable copy of the suite with a testbed of its own, whole again for each test."""

from collections.abc import Iterator

import pytest
from tests.guards.suite import Suite
from tests.testbed import conftest as testbed_fixtures

from fabricheck.testbed import Testbed

can_run_testbeds = testbed_fixtures.can_run_testbeds


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
