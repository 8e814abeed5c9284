"""A simulated year of nights within a budget: the shipped choice is ahead of the simple ones."""

import gzip
import json
from pathlib import Path

import pytest
from tests.lab.made import simulate

from fabricheck.errors import FabricheckError
from simulation import budget


def means(*options: str | Path) -> dict[str, dict[str, float]]:
    """The mean nights to detection by world and rule."""
    (rows,) = (
        each for each in json.loads(simulate("night", "--json", *options).stdout).values()
        if isinstance(each, list)
    )  # fmt: skip
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        full = row["cases by"] == "full night"
        assert row["node-seconds"] in (("100 %",) if full else ("32 %", "33 %"))
        found.setdefault(row["what breaks"], {})[row["cases by"]] = float(row["mean"])
    return found


def assert_ahead(found: dict[str, dict[str, float]]) -> None:
    assert len(found) == len(budget.WORLDS)
    for world, rules in found.items():
        assert rules["full night"] <= rules["the model"], world
        assert rules["the model"] < min(rules["round robin"], rules["random"]), world


@pytest.mark.lab
def test_the_model_is_ahead_on_the_testbed() -> None:
    assert_ahead(means())


def test_the_model_is_ahead_on_a_part_of_its_cases(tmp_path: Path) -> None:
    night = json.loads(gzip.decompress(budget._TESTBED.read_bytes()))
    night["chosen"] = night["chosen"][::5]
    (tmp_path / "night.json").write_text(json.dumps(night))
    found = means("--cases", tmp_path / "night.json", "--faults", "1500")
    for world, rules in found.items():
        assert rules["the model"] < min(rules["round robin"], rules["random"]), world


def test_another_file_is_refused(tmp_path: Path) -> None:
    for text in ("{}", "no", '{"chosen": [], "resting": []}'):
        (tmp_path / "night.json").write_text(text)
        with pytest.raises(FabricheckError, match="what fabricheck plan --night --json prints"):
            simulate("night", "--cases", tmp_path / "night.json")
