"""What pages say twice is the same, and what the code has: needs, ports, defaults."""

import re
import tomllib
from dataclasses import asdict

import pytest
import yaml
from tests.test_docs import APP, PAGES
from tests.test_layout import text_of

from fabricheck.trend.settings import Settings

NEEDED = ("README.md", "docs/how-to/install.md", "docs/tutorials/setup.md")


def plain(name: str) -> str:
    return " ".join(text_of(name).split())


@pytest.mark.parametrize("page", NEEDED)
def test_what_a_login_node_needs_is_the_same_everywhere(page: str) -> None:
    project = tomllib.loads(text_of("pyproject.toml"))["project"]
    least = project["requires-python"].removeprefix(">=")
    (cmake,) = re.findall(r"cmake_minimum_required\(VERSION ([\d.]+)\)",
                          text_of("src/bench/CMakeLists.txt"))  # fmt: skip
    assert f"Python {least}" in plain(page)
    assert f"CMake {cmake}" in plain(page)
    assert "GCC 11 or Clang 16 (C++20)" in plain(page)


def test_what_compute_nodes_need_has_one_answer() -> None:
    needs = plain("docs/tutorials/setup.md").partition("**Compute nodes**")[2].partition("## ")[0]
    assert all(f"`{name}`" in needs for name in ("ucx_info", "ethtool", "ibv_devinfo"))
    assert "perftest" in needs
    assert "install perftest on that node" in plain("docs/reference/perftest.md")
    for page in PAGES:
        assert not re.search(r"[Nn]othing has to be installed on", plain(page)), page


def default(command: str, option: str) -> object:
    (found,) = [each for each in APP.commands[command].params if option in each.opts]
    return found.default


def test_the_exporters_port_is_the_default() -> None:
    port = str(default("exporter", "--listen")).partition(":")[2]
    for page in PAGES:
        assert set(re.findall(r"(?:127\.0\.0\.1|login1|n1|HOST):(9\d{3})\b", text_of(page))) <= {
            port,
            *("9090", "9093"),  # Prometheus and Alertmanager
        }, page


def test_nights_are_kept_as_long_as_the_pages_say() -> None:
    days = default("nightly", "--keep-days")
    assert f"`--keep-days` ({days})" in plain("docs/how-to/nightly.md")
    assert f"`--keep-days`, {days}" in plain("docs/reference/files.md")


def test_the_settings_of_the_trend_are_the_defaults() -> None:
    page = text_of("docs/explanation/detection.md")
    (example,) = re.findall(r"```yaml\n(systems.*?)```", page, re.DOTALL)
    shown = yaml.safe_load(example.replace("[...]", "[]"))["trend"]
    assert shown == {name: value for name, value in asdict(Settings()).items() if name in shown}
