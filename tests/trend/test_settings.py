from pathlib import Path

import pytest
from tests.refusals import refused
from tests.sites import minimal

from fabricheck.errors import FabricheckError
from fabricheck.provenance import SUITE
from fabricheck.trend.settings import Settings, read_settings


def site(tmp_path: Path, text: str) -> Path:
    (tmp_path / "hpc.yaml").write_text(minimal.site("hpc", text))
    return tmp_path


def test_without_settings_the_defaults_hold(tmp_path: Path):
    assert read_settings([site(tmp_path, "")], ["hpc"]) == {"hpc": Settings()}


def test_a_site_file_says_otherwise(tmp_path: Path):
    found = read_settings([site(tmp_path, "trend: {alarm_p: 0.0001, new_days: 3}\n")], ["hpc"])
    assert found["hpc"] == Settings(alarm_p=0.0001, new_days=3)


def test_a_case_that_rests_is_not_silent(tmp_path: Path):
    night = "night: {budget: {wall: 1h}, at_least_every: {smoke: 10}}\n"
    assert read_settings([site(tmp_path, night)], ["hpc"])["hpc"].silent_days == 20
    often = "night: {budget: {wall: 1h}, at_least_every: {smoke: 2}}\ntrend: {silent_days: 30}\n"
    assert read_settings([site(tmp_path, often)], ["hpc"])["hpc"].silent_days == 30
    plain = "night: {budget: {node_hours: 1}}\n"
    assert read_settings([site(tmp_path, plain)], ["hpc"])["hpc"].silent_days == 14


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "trend: {alarm: 0.1}",
            "line 3: trend > alarm: unknown key 'alarm': did you mean 'alarm_p'",
        ),
        (
            "trend: {alarm_p: high}",
            "trend > alarm_p: expected a number from 1e-09 to 0.1, found 'high'",
        ),
        ("trend: {alarm_p: true}", "trend > alarm_p: expected a number .*, found True"),
        (
            "trend: {history_nights: 50.0}",
            "trend > history_nights: expected a whole number from 20",
        ),
        ("trend: {alarm_p: 0.5}", "trend > alarm_p: expected .* to 0.1, found 0.5"),
        ("trend: [1]", r"line 3: trend: expected names and numbers, found \[1\]"),
        ("trend: }", "expected a site file in YAML"),
    ],
)
def test_settings_that_cannot_be_are_named(tmp_path: Path, text: str, words: str):
    with pytest.raises(FabricheckError, match=f"hpc.yaml.*{words}|{words}.*hpc.yaml"):
        read_settings([site(tmp_path, text)], ["hpc"])


def test_a_site_file_that_is_a_list_is_named(tmp_path: Path):
    (tmp_path / "hpc.yaml").write_text("- 1\n")
    with refused("FC0201"):
        read_settings([tmp_path], ["hpc"])


def test_the_suites_own_site_files_can_be_read():
    assert "testbed" in read_settings([SUITE / "sites"], ["testbed"])


def test_a_broken_file_stops_only_systems_that_no_other_file_has(tmp_path: Path):
    (tmp_path / "broken.yaml").write_text("trend: }")
    sites = [site(tmp_path, "trend: {alarm_p: 0.0001}\n")]
    assert read_settings(sites, ["hpc"])["hpc"].alarm_p == 0.0001
    # An imported history has systems without a site file.
    assert read_settings(sites, ["hpc", "other"])["other"] == Settings()
    (tmp_path / "broken.yaml").write_text("systems: [{name: other}]\ntrend: }")
    with refused("FC0104", r"broken\.yaml"):
        read_settings(sites, ["hpc", "other"])
