"""The rules: each alert is seen quiet, firing and resolved, and a rule that is broken is seen."""

import re
import subprocess
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.monitor.conftest import ROOT, metrics_of, promtool

from fabricheck.fabric.counters import BANDS
from fabricheck.monitor.catalog import FAMILIES

pytestmark = pytest.mark.integration

PLACE = ROOT / "bin" / "prometheus"
RULES = yaml.safe_load((PLACE / "rules.yml").read_text())
FILES = sorted(PLACE.glob("rules*_test.yml"))
CASES = [case for file in FILES for case in yaml.safe_load(file.read_text())["tests"]]
ALL = [rule for group in RULES["groups"] for rule in group["rules"]]
ALERTS = [rule for rule in ALL if "alert" in rule]
OF_OTHERS = {
    "ALERTS",
    "up",
    "node_textfile_mtime_seconds",
    "prometheus_rule_evaluation_failures_total",
    "prometheus_rule_group_iterations_missed_total",
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


def test_the_example_of_prometheus_asks_where_the_units_of_systemd_listen() -> None:
    config = yaml.safe_load((PLACE / "prometheus.yml").read_text())
    targets = {
        job["job_name"]: job["static_configs"][0]["targets"] for job in config["scrape_configs"]
    }
    units = ROOT / "bin" / "systemd"
    (login,) = re.findall(
        "^ListenStream=(.+)$", (units / "fabricheck-exporter.socket").read_text(), re.MULTILINE
    )
    assert targets["fabricheck"] == [login]
    (nodes,) = re.findall(r"--listen (\S+)", (units / "fabricheck-ports.service").read_text())
    everywhere, _, port = nodes.partition(":")
    assert everywhere == "0.0.0.0"
    assert {each.partition(":")[2] for each in targets["fabricheck-ports"]} == {port}
    # Without it nobody sees a rule that fails.
    assert targets["prometheus"]


@pytest.mark.parametrize(("severity", "receiver"), [("critical", "pager"), ("warning", "mail")])
def test_every_severity_has_a_receiver(severity: str, receiver: str) -> None:
    done = subprocess.run(
        ["amtool", "config", "routes", "test", f"--config.file={PLACE / 'alertmanager.yml'}",
         f"severity={severity}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.split() == [receiver]


@pytest.mark.parametrize("alert", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_is_seen_quiet_then_firing_then_resolved(alert: dict[str, Any]) -> None:
    courses = [
        [bool(each["exp_alerts"]) for each in case.get("alert_rule_test", ())
         if each["alertname"] == alert["alert"]]
        for case in CASES
    ]  # fmt: skip
    assert [False, True, False] in [[key for key, _ in groupby(course)] for course in courses]
    severities = re.findall(r"\bcritical\b|\bwarning\b", alert["labels"]["severity"])
    assert severities in (["critical"], ["warning"], ["critical", "warning"])
    assert alert["annotations"].keys() == {"summary", "do", "runbook_url"}
    assert alert["annotations"]["runbook_url"].endswith(f"#{alert['alert'].lower()}")


def test_each_alert_has_a_section_that_says_what_it_means_and_what_to_do() -> None:
    page = (ROOT / "docs" / "how-to" / "alerts.md").read_text()
    sections = dict(re.findall(r"^## (\w+)\n\n(.+?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    assert sections.keys() == {rule["alert"] for rule in ALERTS}
    assert list(sections) == sorted(sections)
    for name, text in sections.items():
        assert "**Ask:**" in text, name
        assert "**Do:**" in text, name


def test_all_that_a_leaf_takes_along_is_one_message() -> None:
    config = yaml.safe_load((PLACE / "alertmanager.yml").read_text())
    assert "leaf" in config["route"]["group_by"]
    silent = {(str(each["source_matchers"]), *each["equal"]) for each in config["inhibit_rules"]}
    assert ("['alertname = ExporterDown']", "node") in silent


@pytest.mark.parametrize(
    ("expression", "quiet"),
    [("vector(1) > 2", True), ("vector(1)", False)],
    ids=["never", "always"],
)
def test_a_rule_that_is_always_quiet_or_never_is_seen(
    tmp_path: Path, expression: str, quiet: bool
) -> None:
    rules = yaml.safe_load((PLACE / "rules.yml").read_text())
    for group in rules["groups"]:
        for rule in group["rules"]:
            if "alert" in rule:
                rule["expr"] = expression
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(rules))
    # Of each alert one moment is enough, as comparisons take all of the time: the last of a case.
    tried: set[str] = set()
    for file in FILES:
        suite = yaml.safe_load(file.read_text())
        for case in suite["tests"]:
            case.pop("promql_expr_test", None)
            case["alert_rule_test"] = [
                moment
                for moment in reversed(case.get("alert_rule_test", ()))
                if bool(moment["exp_alerts"]) is quiet
                if not (moment["alertname"] in tried or tried.add(moment["alertname"]))
            ]
        suite["tests"] = [case for case in suite["tests"] if case["alert_rule_test"]]
        (tmp_path / file.name).write_text(yaml.safe_dump(suite))
    done = promtool("test", "rules", *tmp_path.glob("*_test.yml"))
    assert done.returncode == 1
    seen = set(re.findall(r"alertname: ?(\w+)", done.stdout + done.stderr))
    assert seen == {rule["alert"] for rule in ALERTS}


def test_what_is_held_is_forgotten_after_a_week(tmp_path: Path) -> None:
    rules = (PLACE / "rules.yml").read_text()
    assert rules.count("7 * 86400") == 3
    (tmp_path / "rules.yml").write_text(rules.replace("7 * 86400", "7 * 3600"))
    file = tmp_path / "rules_week_test.yml"
    file.write_bytes(Path(__file__).with_name(file.name).read_bytes())
    done = promtool("test", "rules", file)
    assert done.returncode == 0, done.stdout + done.stderr


def test_rules_use_what_there_is_and_hold_no_limit_of_a_band() -> None:
    ours = {*FAMILIES, *(rule["record"] for rule in ALL if "record" in rule)}
    used = set().union(*(metrics_of(rule["expr"]) for rule in ALL))
    assert used - ours == OF_OTHERS
    limits = {limit for band in BANDS.values() for limit in (band.warning, band.critical) if limit}
    for rule in ALERTS:
        numbers = {float(each) for each in re.findall(r"[<>=] ?(\d+(?:\.\d+)?)\b", rule["expr"])}
        assert numbers & {limit for limit in limits if limit > 1} == set()
    named = re.findall(r'band=~?"([\w|]+)"', str(ALERTS))
    assert {"ecn", "pfc"} < {each for bands in named for each in bands.split("|")} <= BANDS.keys()


def test_what_one_alert_silences_has_the_labels_that_must_be_equal() -> None:
    tests = [each for case in CASES for each in case.get("alert_rule_test", ())]
    config = yaml.safe_load((PLACE / "alertmanager.yml").read_text())
    for rule in config["inhibit_rules"]:
        for side in ("source_matchers", "target_matchers"):
            (names,) = (each.split("=")[1].strip(' ~"') for each in rule[side])
            seen = [test["exp_alerts"] for test in tests if re.fullmatch(names, test["alertname"])]
            labels = [each["exp_labels"].keys() for alerts in seen for each in alerts]
            assert any(each >= {*rule["equal"]} for each in labels), names
