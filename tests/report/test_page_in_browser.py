"""The page in Chromium: what a reader meets, with and without scripts."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from tests.report import chromium, cluster, nights, sample
from tests.report.chromium import all_drawn, complaints, find, opened, requests, wait_until

from fabricheck.report.load import load
from fabricheck.report.page import write_page
from fabricheck.report.summary import summarise

pytestmark = [pytest.mark.e2e, *chromium.MARKS]


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("page")
    document = sample.only(sample.with_everything(), "latency", "allreduce", "barrier", "mbw_mr")
    run = load(sample.write(document, directory / "perflogs"))
    series = nights.series_of(run, factor=nights.slower_over_tcp)
    write_page(run, summarise(run), directory / "page.html", nights.past_of(run, series))
    return directory / "page.html"


@pytest.fixture
def browser(page, tmp_path) -> Iterator:
    with opened(tmp_path / "profile", page) as driver:
        yield driver


@pytest.fixture
def without_scripts(page, tmp_path) -> Iterator:
    with opened(tmp_path / "profile", page, scripts=False) as driver:
        yield driver


def test_all_charts_are_drawn_without_a_complaint_and_without_the_network(browser, page):
    all_drawn(browser)
    assert len(find(browser, ".chart")) > 10
    assert complaints(browser) == []
    outside = [
        url for url in requests(browser) if not url.startswith((page.as_uri(), "data:", "blob:"))
    ]
    assert outside == []


def test_a_page_without_history_draws_its_charts_too(tmp_path):
    document = sample.only(sample.report(), "latency")
    run = load(sample.write(document, tmp_path / "perflogs"))
    write_page(run, summarise(run), tmp_path / "page.html")
    with opened(tmp_path / "profile", tmp_path / "page.html") as driver:
        all_drawn(driver)
        assert len(find(driver, ".chart")) == 2
        assert complaints(driver) == []


def test_the_page_of_400_nodes_with_8_cards_is_small_and_drawn(tmp_path):
    cluster.write(tmp_path / "perflogs", nights=3)
    written = cluster.page(tmp_path)
    assert written.stat().st_size <= 8e6
    with opened(tmp_path / "profile", written) as driver:
        all_drawn(driver)
        assert complaints(driver) == []
        (left,) = {
            each.text for each in find(driver, ".cases li") if "none of them worse" in each.text
        }
        assert "and 4 good" in left, "of the 20 pairs of each card"


def test_the_policy_stops_what_would_leave_the_page(browser):
    browser.execute_script("new Image().src = 'http://192.0.2.1/x.png'")
    wait_until(
        browser, lambda d: any("Content Security" in e["message"] for e in d.get_log("browser"))
    )


def test_a_click_on_a_cell_leads_to_its_drawn_chart(browser):
    find(browser, '.matrix td a[href="#curve-allreduce-tcp-4n"]')[0].click()
    wait_until(browser, lambda d: find(d, "#curve-allreduce-tcp-4n:target .chart[data-drawn]"))
    top = browser.execute_script(
        "return document.querySelector(':target').getBoundingClientRect().top"
    )
    assert 0 <= top < 400
    assert "openmpi" in find(browser, ":target")[0].text


def test_a_cell_without_values_leads_to_what_is_wrong(browser):
    cell = next(a for a in find(browser, ".matrix td a") if "failed" in a.text)
    cell.click()
    assert "node n3 does not answer" in find(browser, ":target")[0].text


def test_hovering_a_point_shows_its_values(browser):
    from selenium.webdriver import ActionChains

    all_drawn(browser)
    chart = find(browser, "#curve-latency-shm-1n-latency-chart")[0]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    x, y = browser.execute_script(
        """
        const chart = arguments[0];
        const view = Bokeh.index.roots.find((root) => chart.contains(root.el));
        const data = view.model.renderers.find((r) => r.name === "mpich").data_source.data;
        const [scales, box] = [view.frame, chart.getBoundingClientRect()];
        const at = view.el.getBoundingClientRect();
        return [
          at.left + scales.x_scale.compute(data.size[10]) - (box.left + box.width / 2),
          at.top + scales.y_scale.compute(data.p50[10]) - (box.top + box.height / 2),
        ];
        """,
        chart,
    )
    ActionChains(browser).move_to_element_with_offset(chart, round(x), round(y)).perform()
    leaves = """
        const all = (node) =>
          [node, ...[...(node.shadowRoot?.children ?? []), ...node.children].flatMap(all)];
        return all(document.body)
          .filter((el) => !el.children.length && el.tagName === "SPAN")
          .map((el) => el.textContent);
    """
    wait_until(browser, lambda d: "1 KiB: p50 282 ns" in " ".join(d.execute_script(leaves)))


def test_the_verdict_and_the_tables_are_there_without_scripts(without_scripts):
    driver = without_scripts
    assert "Failed" in find(driver, "h1")[0].text
    assert "7.40 µs · 610 µs" in find(driver, ".matrix")[0].text
    assert "✖ critical" in find(driver, ".matrix")[0].text
    assert "node n3 does not answer" in find(driver, ".problems")[0].text
    assert "Worse than before" in find(driver, ".past")[0].text
    assert "new regression on testbed" in find(driver, "#event-1")[0].text
    assert find(driver, ".matrix .spark")[0].is_displayed()
    find(driver, "details:has(.sparklines) summary")[0].click()
    assert "latency openmpi tcp-2n" in find(driver, ".sparklines")[0].text
    assert not find(driver, "#explorer-live")[0].is_displayed()
    assert "need JavaScript" in find(driver, "noscript")[0].text
    assert find(driver, ".chart[data-drawn]") == []
    assert not any(chart.is_displayed() for chart in find(driver, ".chart"))
    details = find(driver, "#curve-latency-tcp-2n details")[0]
    details.find_element("css selector", "summary").click()
    assert "131072 (critical)" in details.text


def test_the_keyboard_reaches_every_link(browser):
    from selenium.webdriver.common.keys import Keys

    all_drawn(browser)
    find(browser, "body")[0].send_keys(Keys.TAB)
    first = browser.switch_to.active_element
    assert first.text == "Skip to what is wrong"
    assert first.location["x"] >= 0
    first.send_keys(Keys.ENTER)
    assert browser.current_url.endswith("#wrong")
    texts = set()
    for _ in range(40):
        browser.switch_to.active_element.send_keys(Keys.TAB)
        texts.add(browser.switch_to.active_element.get_attribute("href"))
    assert any(text and text.endswith("#curve-latency-tcp-2n") for text in texts)


def test_headings_tables_and_charts_have_names_for_screen_readers(browser):
    levels = [int(heading.tag_name[1]) for heading in find(browser, "h1, h2, h3, h4")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(head.get_attribute("scope") for head in find(browser, "th"))
    assert all(chart.get_attribute("aria-label") for chart in find(browser, ".chart"))
    assert all(region.accessible_name for region in find(browser, "main > section > [role=region]"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(browser, scheme):
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    poor = browser.execute_script(
        """
        const channel = (v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
        const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
        const light = ([r, g, b]) =>
          0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
        const ground = (el) => {
          for (; el; el = el.parentElement) {
            const color = parse(getComputedStyle(el).backgroundColor);
            if (color.length === 3 || color[3] > 0) return color;
          }
          return [255, 255, 255];
        };
        const poor = [];
        for (const el of document.querySelectorAll("body *:not(script):not(style)")) {
          const own = [...el.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
          if (!own || !el.getClientRects().length) continue;
          const [a, b] = [light(parse(getComputedStyle(el).color)), light(ground(el))];
          const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
          if (ratio < 4.5) poor.push(`${el.className || el.tagName}: ${ratio.toFixed(2)}`);
        }
        return poor;
        """
    )
    assert poor == []


def test_charts_follow_the_colour_scheme(browser):
    all_drawn(browser)

    def label_color():
        return browser.execute_script(
            "return Bokeh.documents[0].roots()[0].below[0].major_label_text_color"
        )

    light = label_color()
    feature = {"name": "prefers-color-scheme", "value": "dark"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    wait_until(browser, lambda _: label_color() != light)


def test_no_table_scrolls_at_1280_pixels_and_nothing_is_wider_than_a_phone(browser):
    all_drawn(browser)
    for width in (1280, 390):
        window = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width == 390}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", window)
        # Charts follow the window a moment after it changed.
        wait_until(
            browser,
            lambda d: d.execute_script(
                "const page = document.documentElement;return page.scrollWidth <= page.clientWidth"
            ),
        )
        wide = browser.execute_script(
            """
            document.querySelectorAll("details").forEach((folded) => { folded.open = true; });
            return [...document.querySelectorAll(arguments[0])]
              .filter((box) => box.scrollWidth > box.clientWidth + 1)
              .map((box) => box.getAttribute("aria-label"));
            """,
            ".scroll" if width == 1280 else "figure .scroll",
        )
        assert (width, wide) == (width, [])


def test_it_prints_with_its_charts(browser):
    all_drawn(browser)
    assert len(browser.print_page()) > 50_000
