#!/usr/bin/env python3
"""Make the pictures of page, site and terminal in docs/images with headless Chromium.

Usage: lab/screenshots.py [--perflogs DIR --history DIR] [--out DIR]

Without a record the page shows the run that the tests are made of and 60 simulated nights
before it: Open MPI became 12 % slower over TCP between two nodes when its UCX was upgraded four
nights ago. Needs the development dependencies, Chromium and chromedriver.
"""

import argparse
import html
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUITE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SUITE))

from tests.report import nights, sample, whole
from tests.report.chromium import find, opened, wait_until

from fabricheck.errors import FabricheckError
from fabricheck.record.entries import Sample
from fabricheck.report.history_view import read_history_view
from fabricheck.report.load import load
from fabricheck.report.page import write_page
from fabricheck.report.run import ReportedCase
from fabricheck.report.summary import summarise

SLOWER = 1.12
NIGHTS = 4
BENCHMARKS = ("latency", "bw", "mbw_mr", "barrier", "bcast", "allreduce", "alltoall")
HIT = ("openmpi", "tcp-2n")
RDMA = {"rc-2n": (1.9, 12100.0)}
"""What the run has beside that of the tests: its latency in us and its bandwidth in MB/s."""


@dataclass(frozen=True)
class Shot:
    """A picture: its file, the window in pixels, the colours, and what is at its top."""

    name: str
    width: int
    height: int
    scheme: str
    top: str


SHOTS = (
    Shot("report.png", 1300, 1450, "light", "header"),
    Shot("report-matrix.png", 1300, 700, "light", "#matrix"),
    Shot("report-trends.png", 1300, 900, "light", "#explorer-live"),
    Shot("report-dark.png", 1300, 900, "dark", "#explorer-live"),
    Shot("report-narrow.png", 420, 900, "light", "header"),
)
CARD = Shot("report-card.png", 1300, 900, "light", "header")
"""Of another night, in which one card of two nodes with four each is slow."""
SITE = Shot("site.png", 1300, 800, "light", "body")
TERMINAL = Shot("terminal.png", 960, 590, "light", "pre")
CHARTS = 3


def main() -> None:
    """Write the page into a directory of its own, and the pictures of it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--perflogs", type=Path, metavar="DIR")
    parser.add_argument("--history", type=Path, metavar="DIR")
    parser.add_argument("--out", type=Path, metavar="DIR", default=SUITE / "docs" / "images")
    arguments = parser.parse_args()
    if bool(arguments.perflogs) != bool(arguments.history):
        parser.error("expected --perflogs and --history, found one of them: name both or none")
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        page = Path(scratch) / "page.html"
        if arguments.perflogs:
            run = load(arguments.perflogs)
            past = read_history_view(
                arguments.history, run, [SUITE / "sites"], [SUITE / "references"]
            )
            write_page(run, summarise(run), page, past)
        else:
            write_simulated(page)
        take(page, arguments.out, SHOTS)
        if not arguments.perflogs:
            made = whole.slow_card(sample.only(sample.report(), *BENCHMARKS))
            _, page = whole.write(made, Path(scratch) / "card")
            take(page, arguments.out, [CARD])
            take_plain(written_site(Path(scratch) / "site"), arguments.out, SITE)
            take_plain(written_terminal(Path(scratch)), arguments.out, TERMINAL)


def write_simulated(page: Path) -> None:
    """The page of a run that did not happen."""
    sample.PLACEMENTS |= RDMA
    made = sample.only(sample.with_warning(), *BENCHMARKS)
    run = load(sample.write(made, page.parent / "record"))
    series = nights.series_of(run, recent=NIGHTS, factor=slower)
    write_page(
        run, summarise(run), page, nights.recorded(run, series, page.parent, upgraded=NIGHTS)
    )


def written_site(place: Path) -> Path:
    """The home page of the built documentation."""
    mkdocs = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", place]
    subprocess.run(mkdocs, cwd=SUITE, check=True)
    return place / "index.html"


def written_terminal(place: Path) -> Path:
    """A page that shows what a terminal does of the simulated run."""
    report = [sys.executable, "-m", "fabricheck", "report", "--perflogs", place / "record"]
    environment = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run(report, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        raise FabricheckError(f"expected a verdict of the simulated run, found: {done.stderr}")
    page = place / "terminal.html"
    body = "margin: 0; background: #1c1c1c; color: #e4e4e4"
    style = "margin: 0; padding: 1em; font: 14px monospace; white-space: pre-wrap"
    shown = f'<pre style="{style}">' + html.escape(f"$ fabricheck report\n{done.stdout}")
    page.write_text(f'<meta charset="utf-8"><body style="{body}">{shown}')
    return page


def slower(case: ReportedCase, sample: Sample) -> float:
    """What the upgrade did to a value."""
    if (case.environ, case.placement) != HIT:
        return 1.0
    return SLOWER if sample.metric == "latency" else 1 / SLOWER


def take(page: Path, out: Path, shots: Sequence[Shot]) -> None:
    """Open the page once, and write pictures of it when the charts of the history are drawn."""
    with opened(page.parent / "profile", page) as driver:
        wait_until(driver, lambda found: find(found, "#explorer-live[data-ready]"))
        wait_until(driver, lambda found: len(find(found, "#explorer-live [data-drawn]")) == CHARTS)
        for shot in shots:
            photograph(driver, out, shot)


def take_plain(page: Path, out: Path, shot: Shot) -> None:
    """A picture of a page that draws nothing by itself."""
    with opened(page.parent / f"profile-{page.stem}", page) as driver:
        photograph(driver, out, shot)


def photograph(driver: Any, out: Path, shot: Shot) -> None:
    """A picture of what is open."""
    colors = [{"name": "prefers-color-scheme", "value": shot.scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": colors})
    size = {"width": shot.width, "height": shot.height}
    window = {**size, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", window)
    driver.execute_async_script(
        """
        const [top, done] = arguments;
        const place = document.querySelector(top).getBoundingClientRect().top + scrollY;
        scrollTo(0, top === "header" ? 0 : place - 50);
        setTimeout(done, 1500);
        """,
        shot.top,
    )
    if not driver.save_screenshot(str(out / shot.name)):
        raise FabricheckError(f"expected to write {out / shot.name}, found no way: see its folder")
    sys.stdout.write(f"{out / shot.name}\n")


if __name__ == "__main__":
    main()
