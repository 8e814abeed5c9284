"""Fixtures of the report's tests."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.report.sample import Report


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Report], Path]:
    """Write a run report to a file and return its path."""

    def to_file(document: Report) -> Path:
        path = tmp_path / "run.json"
        path.write_text(json.dumps(document))
        return path

    return to_file
