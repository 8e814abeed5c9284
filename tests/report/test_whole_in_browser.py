"""The page of a whole night in Chromium: small, short, without a barrier, and fit for a phone."""

from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest
from tests.report import chromium, sample, whole
from tests.report.chromium import find, opened, wait_until

pytestmark = [pytest.mark.e2e, *chromium.MARKS]

SCREEN = 900


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    _, written = whole.write(whole.night(), tmp_path_factory.mktemp("good"), past=False)
    return written


@pytest.fixture
def browser(page, tmp_path) -> Iterator:
    with opened(tmp_path / "profile", page) as driver:
        yield driver


def resize(driver, width: int) -> None:
    window = {"width": width, "height": SCREEN, "deviceScaleFactor": 1, "mobile": width == 390}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", window)


def shown(driver, selector: str) -> list:
    return [each for each in find(driver, selector) if each.is_displayed()]


def test_a_good_night_is_small_short_and_its_curves_are_folded_and_filtered(browser, page):
    assert page.stat().st_size <= 1.2e6
    resize(browser, 1280)
    assert browser.execute_script("return document.body.scrollHeight") <= 20 * SCREEN
    assert shown(browser, ".chart") == []
    rows = len(shown(browser, ".matrix tbody tr"))
    find(browser, "#filter-words")[0].send_keys("allreduce")
    wait_until(browser, lambda d: 0 < len(shown(d, ".matrix tbody tr")) < rows)
    browser.get(f"{page.as_uri()}#curve-allreduce-tcp-4n")
    wait_until(browser, lambda d: find(d, "#curve-allreduce-tcp-4n .chart[data-drawn]"))


def test_on_a_phone_no_table_is_cut(browser):
    resize(browser, 390)
    cut = """
        document.querySelectorAll("details:not(.benchmark)").forEach((each) => each.open = true);
        return [...document.querySelectorAll(".scroll")]
          .filter((box) => box.scrollWidth > box.clientWidth + 1)
          .map((box) => box.getAttribute("aria-label"));
        """
    assert browser.execute_script(cut) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_a_night_with_a_slow_card(tmp_path, scheme):
    night = sample.only(whole.slow_card(whole.night(20)), "latency", "node_health", *whole.CARDS)
    _, written = whole.write(night, tmp_path, past=False)
    with opened(tmp_path / "profile", written) as driver:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        first = find(driver, "main section")[0].text
        assert "mlx5_2:1" in first, "the slow card is in the first part below the head"
        driver.execute_script(resources.files("axe_core_python").joinpath("axe.min.js").read_text())
        found = driver.execute_async_script(
            "const done = arguments[0]; axe.run().then((found) => done(found.violations))"
        )
        assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == []
