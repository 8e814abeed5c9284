"""The explorer in Chromium: a reader chooses a case, a figure, a size and a night."""

import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from tests.report import chromium, nights, sample
from tests.report.chromium import complaints, find, opened, wait_until

from fabricheck.history.series import Series
from fabricheck.report.load import load
from fabricheck.report.page import write_page
from fabricheck.report.summary import summarise

pytestmark = [pytest.mark.e2e, *chromium.MARKS]

SERIOUS = ("serious", "critical", "moderate")


@pytest.fixture(scope="module")
def run_and_series(tmp_path_factory):
    directory = tmp_path_factory.mktemp("run")
    document = sample.only(sample.with_critical(), "latency", "barrier", "bw")
    run = load(sample.write(document, directory))
    return run, [last(each) for each in nights.series_of(run, factor=nights.slower_over_tcp)]


def last(series):
    """Of one case only the last night."""
    key = series.key
    if (key.benchmark, key.environ, key.placement) != ("bw", "mpich", "shm-1n"):
        return series
    return Series(series.key, series.times[-1:], series.values[-1:], series.sessions[-1:])


@pytest.fixture(scope="module")
def page(run_and_series, tmp_path_factory) -> Path:
    run, series = run_and_series
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_page(run, summarise(run), path, nights.past_of(run, series))
    return path


@pytest.fixture(scope="module")
def shared(page, tmp_path_factory) -> Iterator:
    with opened(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture
def browser(shared, page):
    shared.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    shared.get("about:blank")
    shared.get_log("browser")
    shared.get(page.as_uri())
    wait_until(shared, lambda d: find(d, "#explorer-live[data-ready]"))
    yield shared
    assert complaints(shared) == []


def said(driver):
    return find(driver, "#explorer-words")[0].text


def choose(driver, name, text):
    from selenium.webdriver.support.select import Select

    Select(find(driver, f"#explorer-{name}")[0]).select_by_visible_text(text)


def drawn(driver, name):
    """The data of a source of the charts."""
    return driver.execute_script(
        """
        for (const drawn of Bokeh.documents) {
          const source = drawn.get_model_by_name(arguments[0]);
          if (source) return Object.fromEntries(
            Object.entries(source.data).map(([key, values]) => [key, Array.from(values)]));
        }
        """,
        name,
    )


def one_of(series, statistic, size, environ="openmpi", placement="tcp-2n"):
    wanted = ("latency", environ, placement, statistic, size)
    keys = [each.key for each in series]
    found = [(k.benchmark, k.environ, k.placement, k.statistic, k.size) for k in keys].index(wanted)
    return series[found]


def test_a_click_on_an_event_shows_its_trend(browser):
    find(browser, "[id^=event-] > p a[data-row]")[0].click()
    assert "latency openmpi tcp-2n (testbed:slurm)" in said(browser)
    assert ": new regression, +2" in said(browser)
    assert browser.current_url.endswith("#trends")
    assert len(drawn(browser, "changes")["time"]) == 1
    assert len(drawn(browser, "levels")["level"]) == 2


def test_a_click_on_a_course_of_the_matrix_shows_its_trend(browser):
    find(browser, '.matrix a.sparkline[href="#trends"]')[0].click()
    assert "latency p50 at 8 B, latency mpich shm-1n" in said(browser)


def test_the_charts_show_what_was_measured(browser, run_and_series):
    _, series = run_and_series
    choose(browser, "case", "latency openmpi tcp-2n (testbed:slurm)")
    choose(browser, "figure", "latency p50")
    choose(browser, "size", "8 B")
    each = one_of(series, "p50", 8)
    points = drawn(browser, "nights")
    assert points["value"] == pytest.approx(each.values.tolist(), rel=1.001e-3)
    assert points["time"] == (each.times.astype(np.int64) * 1000).tolist()
    curve = drawn(browser, "curve")
    assert curve["size"][:4] == [1, 2, 4, 8]
    assert curve["value"][3] == pytest.approx(each.values[-1], rel=1.001e-3)
    bounds = drawn(browser, "curve-bounds")
    assert bounds["reference"][3] == 20
    assert sorted(drawn(browser, "statistic-names")["name"]) == ["avg", "max", "p50", "p99"]


def test_any_night_can_be_held_against_the_level(browser, run_and_series):
    from selenium.webdriver.common.keys import Keys

    _, series = run_and_series
    find(browser, "[id^=event-] > p a[data-row]")[0].click()
    choose(browser, "size", "8 B")
    night = find(browser, "#explorer-night")[0]
    for _ in range(10):
        night.send_keys(Keys.ARROW_LEFT)
    assert night.get_attribute("aria-valuetext") == "2026-11-11 05:46"
    assert "on 2026-11-11 05:46 UTC" in said(browser)
    figure = find(browser, "#explorer-figure")[0].get_attribute("value").split()[-1]
    value = one_of(series, figure, 8).values[-11]
    assert drawn(browser, "curve")["value"][3] == pytest.approx(value, rel=1.001e-3)


def test_an_earlier_night_is_compared_with_its_own_level_and_a_later_one_with_that_before(browser):
    tonight = re.compile(r"\(\+2[\d.]+ %\) on ")
    find(browser, "[id^=event-] > p a[data-row]")[0].click()
    assert tonight.search(said(browser))
    browser.execute_script(
        "const n = arguments[0]; n.value = 3; n.dispatchEvent(new Event('input'))",
        find(browser, "#explorer-night")[0],
    )
    assert not tonight.search(said(browser))


@pytest.mark.parametrize(
    ("benchmark", "curve", "statistics"), [("barrier", False, True), ("bw", True, False)]
)
def test_no_curve_without_sizes_and_no_percentiles_of_one_figure(
    browser, benchmark, curve, statistics
):
    choose(browser, "case", f"{benchmark} openmpi tcp-2n (testbed:slurm)")
    shown = [
        find(browser, f"#explorer-{name}")[0].is_displayed() for name in ("curve", "statistics")
    ]
    assert shown == [curve, statistics]
    assert ("at" in said(browser).partition(",")[0].split()) == curve


def test_one_night_alone_is_drawn(browser):
    choose(browser, "case", "bw mpich shm-1n (testbed:slurm)")
    assert len(drawn(browser, "nights")["value"]) == 1
    width = browser.execute_script(
        """
        const trend = Bokeh.documents.find((drawn) => drawn.get_model_by_name("nights")).roots()[0];
        return trend.x_range.end - trend.x_range.start;
        """
    )
    assert width == pytest.approx(86_400_000, rel=0.2)


def test_the_table_has_every_night(browser):
    assert len(find(browser, "#explorer-values tr")) == 60
    first = find(browser, "#explorer-values tr")[0].get_attribute("textContent")
    assert first.startswith("2026-11-21 05:46")
    assert find(browser, "#explorer-caption")[0].get_attribute("textContent")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_barrier(browser, scheme):
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    axe = resources.files("axe_core_python").joinpath("axe.min.js").read_text()
    browser.execute_script(axe)
    found = browser.execute_async_script(
        "const done = arguments[0]; axe.run().then((found) => done(found.violations))"
    )
    assert [
        (each["id"], each["nodes"][0]["html"][:200]) for each in found if each["impact"] in SERIOUS
    ] == []
