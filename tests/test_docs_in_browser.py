"""The built documentation, opened as a file in Chromium without a network."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.report import chromium
from tests.report.chromium import find, opened, requests, wait_until

pytestmark = [pytest.mark.e2e, *chromium.MARKS]

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site, built without a network."""
    built = tmp_path_factory.mktemp("site")
    mkdocs = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", built]
    subprocess.run(["unshare", "--net", *mkdocs], cwd=ROOT, check=True)
    return built


def test_pages_ask_for_nothing_of_the_network_and_the_index_has_what_readers_look_for(
    site: Path,
) -> None:
    assert (site / "how-to" / "red-or-untrusted.html").is_file()
    home = (site / "index.html").read_text()
    assert re.findall(r'<script[^>]*src="(?:https?:)?//[^"]*', home) == []
    assert re.findall(r'(?:src|href)="(?:https?:)?//[^"]*\.(?:js|css|woff2?)', home) == []
    assert "scripts/iframe-worker.js" in home
    assert "What it needs." in home
    assert not re.findall(r"<a [^>]*>[^<]*\.md</a>", home)
    index = (site / "search" / "search_index.js").read_text()
    assert "explanation/decisions.html" not in index
    assert "how-to/red-or-untrusted.html" in index


def test_the_code_of_each_page_fits_a_phone_and_links_have_titles(
    site: Path, tmp_path: Path
) -> None:
    phone = {"width": 390, "height": 900, "deviceScaleFactor": 1, "mobile": True}
    wide = """
        return [document.documentElement.scrollWidth > 390,
          ...[...document.querySelectorAll("article pre > code")]
            .filter((each) => each.scrollWidth > each.clientWidth + 1)
            .map((each) => each.textContent),
          ...[...document.querySelectorAll("article a")]
            .map((each) => each.textContent).filter((each) => /^[\\w-]+\\.md$/.test(each))];
        """
    with opened(tmp_path / "profile") as browser:
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
        pages = sorted(each.relative_to(site) for each in site.rglob("*.html"))
        for page in pages:
            browser.get((site / page).as_uri())
            assert (page, browser.execute_script(wide)) == (page, [False])
        assert not [each for each in requests(browser) if each.startswith("http")]
        assert len(pages) > 40


@pytest.mark.parametrize("page", ["index.html", "reference/programs/rdma_batch.html"])
def test_a_page_that_is_a_file_is_searched(site: Path, tmp_path: Path, page: str) -> None:
    with opened(tmp_path / "profile", site / page) as browser:
        (words,) = find(browser, "input.md-search__input")
        browser.execute_script("arguments[0].focus()", words)
        words.send_keys("memlock")
        found = wait_until(browser, lambda each: find(each, ".md-search-result__link"))
        assert any("troubleshooting" in each.get_attribute("href") for each in found)
        asked = [each["message"] for each in browser.get_log("performance")]
        assert not [each for each in asked if '"url":"http' in each]
