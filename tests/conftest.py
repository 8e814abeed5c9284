"""What holds for all tests: their order, and that nothing is skipped where everything is there."""

from collections.abc import Generator

import pytest

pytest_plugins = ["pytester"]

# Quick tests first; within a rank pytest's own order stays.
RANKS = {"browser": 1, "testbed": 2}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--everything",
        action="store_true",
        help="a skipped test that is marked testbed or browser fails: its tools must be there",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: max((RANKS.get(m.name, 0) for m in item.iter_markers()), default=0))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    marked = any(marker.name in RANKS for marker in item.iter_markers())
    if report.skipped and marked and item.config.getoption("--everything"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped under --everything: {reason}"
    return report
