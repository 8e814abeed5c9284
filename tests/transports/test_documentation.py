"""docs/reference/transports.md says what the code does."""

import subprocess
import sys
from pathlib import Path

import pytest

from fabricheck.transports.families import MPIS
from fabricheck.transports.table import TRANSPORTS

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "reference" / "transports.md").read_text()
SCRIPT = ROOT / "ci" / "document-transports.py"


def test_the_tables_are_those_of_the_code() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_every_transport_and_family_has_a_row() -> None:
    rows = [line.split("|")[1].strip(" `") for line in TEXT.splitlines() if line.startswith("| ")]
    assert set(rows) >= {*TRANSPORTS, *MPIS}
