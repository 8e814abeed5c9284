"""Fixtures of the report's tests."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.report.sample import Report

from fabricheck.report.load import load
from fabricheck.report.model import Run
from fabricheck.report.summary import Summary, summarise


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Report], Path]:
    """Write a run report to a file and return its path."""

    def to_file(document: Report) -> Path:
        path = tmp_path / "run.json"
        path.write_text(json.dumps(document))
        return path

    return to_file


@pytest.fixture
def judged(write: Callable[[Report], Path]) -> Callable[[Report], tuple[Run, Summary]]:
    """Load a run report and sum it up."""

    def summed_up(document: Report) -> tuple[Run, Summary]:
        run = load(write(document))
        return run, summarise(run)

    return summed_up
