"""A simulated year of nights within a budget: the shipped choice is ahead of the simple ones."""

import gzip
import json
from pathlib import Path

import pytest
import yaml
from tests.lab.made import simulate

from fabricheck.errors import FabricheckError
from fabricheck.planning.night_past import words_of
from fabricheck.provenance import SUITE
from fabricheck.reframe_ext.matrix import CheckCase
from simulation import budget
from simulation.night_faults import rules


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
    for world, by in found.items():
        assert by["full night"] <= by["the rota"], world
        assert by["the rota"] < min(by["round robin"], by["random"]), world


@pytest.mark.lab
def test_the_rota_is_ahead_on_the_testbed() -> None:
    assert_ahead(means())


def test_the_rota_is_ahead_on_a_part_of_its_cases(tmp_path: Path) -> None:
    night = json.loads(gzip.decompress(budget._TESTBED.read_bytes()))
    night["chosen"] = night["chosen"][::5]
    (tmp_path / "night.json").write_text(json.dumps(night))
    found = means("--cases", tmp_path / "night.json", "--faults", "1500")
    for world, by in found.items():
        # Where all cases cost the same, round robin is as good as can be without other knowledge.
        alike = 1.15 if "costs the same" in world else 1.0
        assert by["the rota"] < alike * min(by["round robin"], by["random"]), world


def test_another_file_is_refused(tmp_path: Path) -> None:
    for text in ("{}", "no", '{"chosen": [], "resting": []}'):
        (tmp_path / "night.json").write_text(text)
        with pytest.raises(FabricheckError, match="what fabricheck plan --night --json prints"):
            simulate("night", "--cases", tmp_path / "night.json")


def test_the_rules_see_what_the_measured_table_says() -> None:
    """Each fault that was injected is a rule, and each case that was red under it sees it."""
    named = {"openmpi", "builtin"}
    measured = yaml.safe_load((SUITE / "lab" / "faults.yaml").read_text())["faults"]
    known = {rule["name"]: rule for rule in rules()}
    for fault in measured:
        rule = known[fault["name"]]
        for each in fault["seen"]:
            name, environ, *placement = each["case"].split()
            assert environ in named
            sees = any(
                words_of(_of_table(name, environ, placement)) >= set(words)
                for words in rule["seen"]
            )
            assert sees == (each["level"] != "good"), (fault["name"], each["case"])
    assert set(known) - {fault["name"] for fault in measured} == {"path", "benchmark", "case"}


def _of_table(name: str, environ: str, placement: list[str]) -> CheckCase:
    tags = ("health",) if name.endswith("_health") else ()
    rdma = "main" if placement and placement[0].startswith(("tcp", "shm")) else "rdma"
    check = {"fabric_health": "FabricHealth", "node_health": "NodeHealth"}.get(name, "Check")
    return CheckCase(check, name, "".join(placement), rdma, environ, tags, ())
