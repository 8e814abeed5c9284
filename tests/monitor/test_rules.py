"""The rules: each alert is seen quiet, firing and resolved, and a rule that is broken is seen."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.monitor.conftest import ROOT, metrics_of, promtool

from fabricheck.fabric.limits import BANDS
from fabricheck.monitor.catalog import FAMILIES

pytestmark = pytest.mark.integration

PLACE = ROOT / "ci" / "prometheus"
RULES = yaml.safe_load((PLACE / "rules.yml").read_text())
FILES = sorted(PLACE.glob("rules*_test.yml"))
CASES = [case for file in FILES for case in yaml.safe_load(file.read_text())["tests"]]
ALL = [rule for group in RULES["groups"] for rule in group["rules"]]
ALERTS = [rule for rule in ALL if "alert" in rule]
OF_OTHERS = {
    "up",
    "node_infiniband_np_ecn_marked_roce_packets_received_total",
    "node_infiniband_np_cnp_packets_sent_total",
    "node_infiniband_rp_cnp_packets_handled_total",
}


def test_what_the_examples_configure_is_valid() -> None:
    for arguments in (
        ("check", "config", PLACE / "prometheus.yml"),
        ("test", "rules", *FILES),
    ):
        done = promtool(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run(
        ["amtool", "check-config", PLACE / "alertmanager.yml"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("alert", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_is_seen_quiet_then_firing_then_resolved(alert: dict[str, Any]) -> None:
    courses = [
        [bool(each["exp_alerts"]) for each in case.get("alert_rule_test", ())
         if each["alertname"] == alert["alert"]]
        for case in CASES
    ]  # fmt: skip
    assert [False, True, False] in courses
    assert alert["labels"]["severity"] in {"critical", "warning"}
    assert alert["annotations"].keys() == {"summary", "do"}


@pytest.mark.parametrize("expression", ["vector(1) > 2", "vector(1)"], ids=["never", "always"])
def test_a_rule_that_says_nothing_or_everything_is_seen(tmp_path: Path, expression: str) -> None:
    rules = yaml.safe_load((PLACE / "rules.yml").read_text())
    for group in rules["groups"]:
        for rule in group["rules"]:
            if "alert" in rule:
                rule["expr"] = expression
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(rules))
    for file in FILES:
        (tmp_path / file.name).write_bytes(file.read_bytes())
    done = promtool("test", "rules", *tmp_path.glob("*_test.yml"))
    assert done.returncode == 1
    seen = set(re.findall(r"alertname: ?(\w+)", done.stdout + done.stderr))
    assert seen == {rule["alert"] for rule in ALERTS}


def test_rules_use_what_there_is_and_hold_no_limit_of_a_band() -> None:
    ours = {*FAMILIES, *(rule["record"] for rule in ALL if "record" in rule)}
    used = set().union(*(metrics_of(rule["expr"]) for rule in ALL))
    assert used - ours == OF_OTHERS
    limits = {limit for band in BANDS.values() for limit in (band.warning, band.critical) if limit}
    for rule in ALERTS:
        numbers = {float(each) for each in re.findall(r"[<>=] ?(\d+(?:\.\d+)?)\b", rule["expr"])}
        assert numbers & {limit for limit in limits if limit > 1} == set()
    bands = set(re.findall(r'band="(\w+)"', str(ALERTS)))
    assert bands == {"ecn", "pfc"} <= BANDS.keys()
