"""The examples of docs/how-to/references.md work as they stand."""

import re
from pathlib import Path

import pytest

from fabricheck.documents import schema
from fabricheck.errors import FabricheckError
from fabricheck.judge.levels import Level
from fabricheck.judge.references import CaseKey, resolve
from fabricheck.measures.curve import Variable
from fabricheck.measures.metrics import Metric
from fabricheck.measures.registry import REGISTRY

TEXT = (Path(__file__).parents[2] / "docs" / "how-to" / "references.md").read_text()
EXAMPLES = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
CASE = CaseKey("hpc", "hpc:cpu", "openmpi", "latency", "rc-2n")


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "hpc.yaml"
    file.write_text(EXAMPLES[0])
    return file


def test_the_example_is_a_reference_file(path):
    references, tolerance = resolve(path, "MpiPointToPoint", CASE)
    assert references[Variable.read("latency_p50_1B")].upper == 0.25
    assert tolerance.monotone == 0.3


def test_the_measured_example_is_one(path):
    path.with_name("hpc.measured.yaml").write_text(EXAMPLES[1])
    references, tolerance = resolve(path, "MpiPointToPoint", CASE)
    assert references[Variable.read("latency_p50_1B")].value == 1.84
    assert tolerance.samples == 40


def test_the_error_is_the_one_shown(path):
    path.write_text(EXAMPLES[0].replace("[-0.5, 0.25]", "[-0.5, 0.05]"))
    with pytest.raises(FabricheckError) as caught:
        resolve(path, "MpiPointToPoint", CASE)
    shown = " ".join(TEXT.split())
    assert str(caught.value).replace(str(path), "references/mycluster.yaml") in shown


def test_keys_of_rules_are_described():
    rule = schema("fabricheck.judge", "references.schema.json").schema["$defs"]["rule"]
    keys = [*rule["properties"], *rule["properties"]["for"]["properties"]]
    assert [key for key in keys if f"| `{key}" not in TEXT and f", `{key}`" not in TEXT] == []


def test_levels_and_units_are_described():
    assert all(f"| {level} |" in TEXT for level in Level)
    assert all(f"`{unit}`" in TEXT for unit in {metric.row.unit for metric in Metric})
    assert {s for b in REGISTRY.values() for s in b.statistics} == {
        *("avg", "p50", "p99", "min", "max"),
    }
