"""Fixtures of the report's tests."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.report import sample

from fabricheck.report.load import load
from fabricheck.report.run import ReportedRun
from fabricheck.report.summary import Summary, summarise


@pytest.fixture
def write(tmp_path: Path) -> Callable[[sample.Run], Path]:
    """Record a run, and nothing else; the directory of the record."""

    def recorded(run: sample.Run) -> Path:
        shutil.rmtree(tmp_path / "perflogs", ignore_errors=True)
        return sample.write(run, tmp_path / "perflogs")

    return recorded


@pytest.fixture
def judged(
    write: Callable[[sample.Run], Path],
) -> Callable[[sample.Run], tuple[ReportedRun, Summary]]:
    """Record a run, read and sum it up."""

    def summed_up(run: sample.Run) -> tuple[ReportedRun, Summary]:
        found = load(write(run))
        return found, summarise(found)

    return summed_up
