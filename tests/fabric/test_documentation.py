"""docs/reference/fabric-health.md says what the code does."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fabricheck.fabric.job import VALUES
from fabricheck.fabric.limits import read_limits
from fabricheck.sites.extras import PartitionExtras

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "reference" / "fabric-health.md").read_text()
SCRIPT = ROOT / "ci" / "document-counters.py"


def test_the_tables_are_those_of_the_code() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_the_example_is_a_partitions_extras() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    limits = read_limits(PartitionExtras.of(yaml.safe_load(example)["extras"]))
    assert limits.devices == ("mlx5_0:1", "mlx5_1:1")
    assert limits.bands["loss"].critical == 0.01


def test_the_variables_are_described() -> None:
    for name, bands in VALUES.items():
        (line,) = [line for line in TEXT.splitlines() if line.startswith(f"| `{name}_max`")]
        assert all(f"`{band}`" in line for band in bands)
