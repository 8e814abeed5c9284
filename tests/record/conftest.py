"""Places for a record and for its columns."""

from pathlib import Path

import pytest


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return tmp_path / "perflogs"
