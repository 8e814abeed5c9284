"""Chromium for the tests of the page: started, driven and asked what it did."""

import contextlib
import json
import shutil
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")

MARKS = [
    pytest.mark.skipif(not CHROMIUM or not DRIVER, reason="chromium or chromedriver is missing"),
    pytest.mark.timeout(300),
]

OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1300,1000",
)
PATIENCE = 60


@contextlib.contextmanager
def opened(profile: Path, page: Path | None = None, *, scripts: bool = True):
    """Chromium with a page, and gone after."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for option in (*OPTIONS, f"--user-data-dir={profile}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    if not scripts:
        blocked = {"profile.managed_default_content_settings.javascript": 2}
        options.add_experimental_option("prefs", blocked)
    with webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER)) as driver:
        # Forget what Chromium's own first page asked for.
        driver.get("about:blank")
        driver.get_log("performance")
        if page:
            driver.get(page.as_uri())
        yield driver


def complaints(driver):
    """What the browser's console has beside news."""
    return [entry for entry in driver.get_log("browser") if entry["level"] != "INFO"]


def find(driver, selector):
    return driver.find_elements("css selector", selector)


def wait_until(driver, condition):
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(driver, PATIENCE).until(condition)


def all_drawn(driver):
    """Every chart, also of what is folded, which is unfolded for it."""
    unfold = "document.querySelectorAll('.benchmark').forEach((each) => { each.open = true; });"
    driver.execute_script(unfold)
    wait_until(driver, lambda d: len(find(d, ".chart")) == len(find(d, ".chart[data-drawn]")))


def requests(driver):
    """Addresses of all that the page asked for."""
    entries = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [
        entry["params"]["request"]["url"]
        for entry in entries
        if entry["method"] == "Network.requestWillBeSent"
    ]
