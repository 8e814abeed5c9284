"""The page of a whole night in Chromium: small, short, without a barrier, and fit for a phone."""

from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest
from tests.report import chromium, sample, whole
from tests.report.chromium import find, opened, wait_until

pytestmark = [pytest.mark.e2e, *chromium.MARKS]

SCREEN = 900
ONE_BENCHMARK = """
    const [first, ...others] = document.querySelectorAll(".benchmark");
    first.open = true;
    others.forEach((each) => each.querySelector(".groups").remove());
    """
"""The curves of all others are alike, and axe takes minutes for 80,000 elements."""


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    _, written = whole.write(whole.night(), tmp_path_factory.mktemp("good"))
    return written


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    night = whole.slow_card(whole.night(900))
    _, written = whole.write(night, tmp_path_factory.mktemp("large"), past=False)
    return written


@pytest.fixture
def browser(page, tmp_path) -> Iterator:
    with opened(tmp_path / "profile", page) as driver:
        yield driver


def resize(driver, width: int) -> None:
    window = {"width": width, "height": SCREEN, "deviceScaleFactor": 1, "mobile": width == 390}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", window)


def shown(driver, selector: str) -> list[str]:
    """The texts of what is seen."""
    script = """
        return [...document.querySelectorAll(arguments[0])]
          .filter((each) => each.checkVisibility()).map((each) => each.textContent);
        """
    return driver.execute_script(script, selector)


def test_a_good_night_is_small_short_and_its_curves_are_folded_and_filtered(browser, page):
    assert page.stat().st_size <= 1.2e6
    resize(browser, 1280)
    assert browser.execute_script("return document.body.scrollHeight") <= 20 * SCREEN
    assert shown(browser, ".benchmark .chart") == []
    rows = len(shown(browser, ".matrix tbody tr"))
    find(browser, "#filter-words")[0].send_keys("allreduce")
    wait_until(browser, lambda d: 0 < len(shown(d, ".matrix tbody tr")) < rows)
    browser.get(f"{page.as_uri()}#curve-allreduce-tcp-4n")
    wait_until(browser, lambda d: find(d, "#curve-allreduce-tcp-4n .chart[data-drawn]"))


def test_the_filter_takes_words_and_a_level(tmp_path):
    from selenium.webdriver.support.ui import Select

    _, written = whole.write(whole.slow_card(whole.night(40)), tmp_path, past=False)
    with opened(tmp_path / "profile", written) as driver:
        rows = ".matrix tbody tr, #by-node ~ .scroll tbody tr, .problems > li"
        every = shown(driver, rows)
        level = Select(find(driver, "#filter-level")[0])
        level.select_by_visible_text("critical")
        wait_until(driver, lambda d: len(shown(d, rows)) < len(every))
        critical = shown(driver, rows)
        assert all("critical" in each for each in critical)
        find(driver, "#filter-words")[0].send_keys("IB_READ_BW")
        wait_until(driver, lambda d: len(shown(d, rows)) < len(critical))
        assert all("ib_read_bw" in each for each in shown(driver, rows))
        level.select_by_visible_text("good")
        find(driver, "#filter-words")[0].clear()
        find(driver, "#filter-words")[0].send_keys("mlx5_2")
        wait_until(driver, lambda d: not shown(d, ".problems > li"))
        level.select_by_visible_text("any")
        find(driver, "#filter-words")[0].clear()
        find(driver, "#filter-words")[0].send_keys("c018")
        wait_until(driver, lambda d: len(shown(d, rows)) == 2)
        assert all("c[017-018]" in each for each in shown(driver, rows)), "though folded"


def cut(driver) -> list[str]:
    """Tables of a phone that are wider than it."""
    resize(driver, 390)
    return driver.execute_script(
        """
        document.querySelectorAll("details:not(.benchmark)").forEach((each) => each.open = true);
        return [...document.querySelectorAll(".scroll")]
          .filter((box) => box.scrollWidth > box.clientWidth + 1)
          .map((box) => box.getAttribute("aria-label"));
        """
    )


def test_on_a_phone_no_table_is_cut(browser):
    assert cut(browser) == []


def violations(driver) -> list[tuple[str, str]]:
    """What axe finds: the rule, and the first element that breaks it."""
    driver.execute_script(resources.files("axe_core_python").joinpath("axe.min.js").read_text())
    found = driver.execute_async_script(
        """
        axe.run({ resultTypes: ["violations"] })
          .then((found) => arguments[0](found.violations));
        """
    )
    return [(each["id"], each["nodes"][0]["html"][:200]) for each in found]


def test_a_page_of_900_cases_is_small_and_has_no_barrier(large, tmp_path):
    assert large.stat().st_size <= 4e6
    with opened(tmp_path / "profile", large) as driver:
        resize(driver, 1280)
        head = find(driver, "header")[0]
        assert head.rect["height"] < SCREEN
        assert "Card mlx5_2:1 of c[017-018] is slow: " in head.text
        assert "fabricheck node --loopback" in head.text
        assert cut(driver) == []
        resize(driver, 1280)
        driver.execute_script(ONE_BENCHMARK)
        assert violations(driver) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_a_night_with_a_slow_card(tmp_path, scheme):
    night = sample.only(whole.slow_card(whole.night(20)), "latency", "node_health", *whole.CARDS)
    _, written = whole.write(night, tmp_path, past=False)
    with opened(tmp_path / "profile", written) as driver:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        first = find(driver, "main section")[0].text
        assert "mlx5_2:1" in first, "the slow card is in the first part below the head"
        assert violations(driver) == []
