"""docs/reference/node-health.md says what the code does."""

import re
from pathlib import Path

import yaml
from tests.node_health.survey import survey

from fabricheck.node_health.rules import RULES
from fabricheck.node_health.survey import Expectations, read_expectations
from fabricheck.sites.extras import NodeHealthExtra, PartitionExtras

KEYS = NodeHealthExtra.schema()["properties"]
TEXT = (Path(__file__).parents[2] / "docs" / "reference" / "node-health.md").read_text()


def environment(rule):
    with_mpi, without = (rule.applies(survey(family=family)) for family in ("openmpi", ""))
    return {(True, True): "all", (True, False): "with MPI", (False, True): "`builtin`"}[
        with_mpi, without
    ]


def row(rule):
    expected = rule.expected.replace("{", "`").replace("}", "`")
    return f"| {rule.name} | {expected} | {environment(rule)} | {rule.level} | {rule.source} |"


def test_every_prerequisite_has_its_row_and_no_row_is_without_one():
    rows = re.findall(r"^\| .* \| (?:warning|critical) \| .* \|$", TEXT, re.MULTILINE)
    assert rows == [row(rule) for rule in RULES]


def test_rules_speak_only_of_keys_that_exist():
    assert {key for rule in RULES for key in re.findall("{(.+?)}", rule.expected)} == KEYS.keys()


def test_every_key_has_its_row_with_its_default():
    rows = dict(re.findall(r"^\| `(\w+)` \|[^|\n]+\| `([^`\n]+)` \|$", TEXT, re.MULTILINE))
    assert rows.keys() == KEYS.keys()
    defaults = {key: yaml.safe_load(text) for key, text in rows.items()}
    given = NodeHealthExtra.of(defaults)
    assert given == NodeHealthExtra(versions=defaults["versions"])
    assert Expectations().versions == defaults["versions"]


def test_the_example_is_one():
    (example,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    extras = PartitionExtras.of(yaml.safe_load(example)["extras"])
    assert read_expectations([], extras) != Expectations()
