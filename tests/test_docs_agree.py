"""What pages say twice is the same, and what the code has: needs, ports, defaults."""

import re
import tomllib
from dataclasses import asdict
from typing import Any

import pytest
import yaml
from tests.test_docs import APP, PAGES
from tests.test_layout import ROOT, text_of

from fabricheck.acceptance.settings import Settings as AcceptanceSettings
from fabricheck.node_health.survey import Expectations
from fabricheck.planning.plan import make
from fabricheck.provenance import SUITE
from fabricheck.sites.extras import NodeHealthExtra
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


def test_the_services_listen_where_the_pages_say() -> None:
    where = {
        "fabricheck-exporter.socket": ("=127.0.0.1:", "open to this machine only"),
        "fabricheck-ports.service": (" 0.0.0.0:", "listens on all addresses"),
    }
    for name, (address, words) in where.items():
        assert address in text_of(f"bin/systemd/{name}")
        for page in ("docs/how-to/monitoring.md", "docs/tutorials/setup.md"):
            assert words in plain(page)


def test_nights_are_kept_as_long_as_the_pages_say() -> None:
    days = default("nightly", "--keep-days")
    assert f"`--keep-days` ({days})" in plain("docs/how-to/nightly.md")
    assert f"`--keep-days`, {days}" in plain("docs/reference/files.md")


def example(page: str, key: str) -> dict[str, Any]:
    """The section of that name in the first site file that a page shows whole."""
    (shown,) = re.findall(r"```yaml\n(systems.*?)```", text_of(page), re.DOTALL)
    section: dict[str, Any] = yaml.safe_load(shown.replace("[...]", "[]"))[key]
    return section


def test_the_settings_of_the_trend_are_the_defaults() -> None:
    shown = example("docs/explanation/detection.md", "trend")
    assert shown == {name: value for name, value in asdict(Settings()).items() if name in shown}


def test_the_settings_of_an_acceptance_are_the_defaults() -> None:
    assert example("docs/how-to/acceptance.md", "acceptance") == asdict(AcceptanceSettings())


def test_what_nodes_must_offer_by_default_is_what_the_code_asks_for() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| [^|]+ \| `([^`]*)` \|$",
        text_of("docs/reference/node-health.md"),
        re.MULTILINE,
    )
    shown = {name: yaml.safe_load(value) for name, value in rows}
    defaults = {**asdict(NodeHealthExtra()), "versions": Expectations().versions}
    assert shown == {k: [*v] if isinstance(v, tuple) else v for k, v in defaults.items()}


def test_the_pages_and_the_script_have_the_same_ports_and_waits() -> None:
    script = text_of("src/fabricheck/transports/pair.sh")
    (first, jobs, each) = map(
        int, re.findall(r"first_port=\$\(\((\d+) \+ job % (\d+) \* (\d+)\)\)", script)[0]
    )
    ports = f"{first} to {first + jobs * each - 1}"
    page = plain("docs/reference/perftest.md")
    assert ports in page
    assert ports in plain("docs/how-to/troubleshooting.md")
    for name in ("GRACE", "WAIT", "LIMIT"):
        (seconds,) = re.findall(rf"FABRICHECK_PAIR_{name}:-(\d+)", script)
        assert re.search(rf"{seconds} s[^.]*`FABRICHECK_PAIR_{name}`", page), name


@pytest.mark.parametrize("page", ["docs/how-to/service.md", "docs/how-to/read-a-result.md"])
def test_the_time_limits_of_cases_are_those_of_the_checks(page: str) -> None:
    limits = {
        int(minutes)
        for path in (ROOT / "checks").glob("*.py")
        for minutes in re.findall(r'time_limit = "(\d+)m"', path.read_text())
    }
    assert f"{min(limits)} to {max(limits)} minutes" in plain(page)


def test_the_version_is_the_projects() -> None:
    version = tomllib.loads(text_of("pyproject.toml"))["project"]["version"]
    assert f"Version {version} " in plain("README.md")
    for page in PAGES:
        assert set(re.findall(r"fabricheck-([\d.]+)-py3", text_of(page))) <= {version}, page


def test_what_was_seen_is_the_same_everywhere() -> None:
    readme = plain("README.md")
    (seen,) = re.findall(r"\*\*Seen on\*\* (.*?) \*\*Not yet on\*\*", readme)
    (unseen,) = re.findall(r"\*\*Not yet on\*\* (.*?)\. If you", readme)
    run = text_of("docs/reference/transports.md").partition("## What has been run")[2]
    shown = {
        f"{name} {version}"
        for name, versions in re.findall(
            r"((?:Open |Intel )?MPI(?:CH)?) ([\d.]+(?: and [\d.]+)?)", seen
        )
        for version in versions.split(" and ")
    }
    measured = {
        name.replace("(R)", "")
        for name in re.findall(r"^\| ([^|]*MPI[^|]*?) \| 20", run, re.MULTILINE)
    }
    assert shown and measured
    assert {each for each in shown if not any(name.startswith(each) for name in measured)} == set()
    assert {each for each in measured if not any(each.startswith(name) for name in shown)} == set()
    limits = plain("docs/explanation/limits.md")
    (pbs,) = re.findall(r"OpenPBS [\d.]+\d", seen)
    assert pbs in limits
    limits = limits.partition("## What you might")[0]
    for name in ("InfiniBand", "mlx5", "bnxt_re", "irdma"):
        assert name in unseen
        assert name in limits


def test_what_the_suite_itself_costs_is_one_figure() -> None:
    (seconds,) = re.findall(
        r"in the program and ([\d.]+) s around", plain("docs/explanation/method.md")
    )
    assert f"wrappers, snapshots | {seconds} |" in text_of("docs/reference/cost.md")


@pytest.mark.integration
def test_as_many_cases_run_on_the_testbed_as_the_pages_say() -> None:
    nodes = [each for each in make(SUITE, "testbed").cases if each.partition in ("main", "rdma")]
    page = text_of("docs/reference/cost.md")
    for tag in ("smoke", "nightly"):
        mpis = [each.environ for each in nodes if tag in each.tags]
        usual = len([each for each in mpis if each in ("openmpi", "mpich", "builtin")])
        with_5 = usual + mpis.count("openmpi5")
        assert re.search(rf"\| `{tag}` \| {usual}, with Open MPI 5 ", page)
        if "openmpi5" in mpis:
            assert f"| `{tag}` | {usual}, with Open MPI 5 {with_5} |" in page
    assert f"testbed's {usual} nightly cases" in plain("docs/explanation/budget.md")
