"""The built documentation, opened as a file in Chromium without a network."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.report import chromium
from tests.report.chromium import find, opened, wait_until

pytestmark = [pytest.mark.e2e, *chromium.MARKS]

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("page", ["index.html", "reference/programs/rdma_batch.html"])
def test_a_page_that_is_a_file_is_searched(tmp_path: Path, page: str) -> None:
    site = tmp_path / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", site]
    subprocess.run(command, cwd=ROOT, check=True)
    with opened(tmp_path / "profile", site / page) as browser:
        (words,) = find(browser, "input.md-search__input")
        browser.execute_script("arguments[0].focus()", words)
        words.send_keys("memlock")
        found = wait_until(browser, lambda each: find(each, ".md-search-result__link"))
        assert any("troubleshooting" in each.get_attribute("href") for each in found)
        asked = [each["message"] for each in browser.get_log("performance")]
        assert not [each for each in asked if '"url":"http' in each]
