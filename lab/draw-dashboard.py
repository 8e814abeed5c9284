#!/usr/bin/env python3
"""Draw the dashboards as Grafana would: its own panels, a real Prometheus, a simulated fleet.

Usage: lab/draw-dashboard.py [--out DIR] [--state healthy|leaf-down|acceptance]

It needs what ci/setup test installs (Selenium, chromium-driver, Prometheus). Node's packages of
Grafana's panels (lab/grafana/package.json, some 600 MB) are installed into build/grafana the first
time. The colours of every panel are asked of Grafana at 0, at the edges of
its colours and above, and compared with the levels of fabric health; build/grafana/edges-*.png show
them. Exit code 1: a panel has no answer or more than 100 lines, or a colour is another.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

from PIL import Image

SUITE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SUITE))

from lab.grafana.fleet import DAY, HOUR, Span, State, write
from tests.monitor.conftest import promtool, query_of
from tests.monitor.test_loop import serving
from tests.report.chromium import opened, wait_until

from dashboard.render import BOARDS
from fabricheck.fabric.counters import BANDS, Band

PLACE = SUITE / "lab" / "grafana"
BUILD = SUITE / "build" / "grafana"
BY_BAND = {"ECN marks": "ecn", "Pauses at the nodes": "pfc", "Pauses at the switch (PFC)": "pfc"}
MAY_BE_EMPTY = {"Alerts that fire", "Links that are down", "Alerts", "Cases that are not good",
                "How marks and latency go together"}  # fmt: skip
MOST = 100
WIDTH = 1456


def install() -> None:
    """Grafana's panels, and what puts them into one file."""
    BUILD.mkdir(parents=True, exist_ok=True)
    wanted = (PLACE / "package.json").read_text()
    stamp = BUILD / "installed.json"
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.copy(PLACE / "package.json", BUILD)
        npm = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run(npm, cwd=BUILD, check=True)
        stamp.write_text(wanted)


def ask(board: dict[str, Any], state: State) -> dict[str, Any]:
    """What Prometheus answers to each query of each panel, over the simulated time."""
    nights = board["time"]["from"] == "now-30d"
    length, step = (30 * DAY, 3 * HOUR) if nights else (HOUR, 60)
    end = int(time.time()) // step * step
    span = Span(end - length, end, step)
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        root = Path(scratch)
        with (root / "fleet.om").open("w") as file:
            write(file, state, span, nights=nights)
        made = promtool("tsdb", "create-blocks-from", "openmetrics", "--max-block-duration=744h",
                        root / "fleet.om", root / "prometheus")  # fmt: skip
        assert made.returncode == 0, made.stderr
        kept = "--storage.tsdb.retention.time=60d"
        port, _ = serving("prometheus", {}, root, stack, kept)
        slowest: list[tuple[float, str]] = []

        def query(expression: str, *, instant: bool) -> list[dict[str, Any]]:
            asked = {"query": query_of(expression, f"{length}s"), "time": end}
            if not instant:
                asked |= {"start": span.begin, "end": end, "step": step}
            path = "query" if instant else "query_range"
            url = f"http://127.0.0.1:{port}/api/v1/{path}?{urlencode(asked)}"
            began = time.perf_counter()
            with urlopen(url, timeout=300) as answer:
                found = json.load(answer)["data"]["result"]
            slowest.append((time.perf_counter() - began, expression))
            return found  # type: ignore[no-any-return]

        answers = {
            panel["id"]: {
                each["refId"]: query(each["expr"], instant=bool(each.get("instant")))
                for each in panel["targets"]
            }
            for panel in board["panels"]
            if "targets" in panel
        }
        marks = [
            {"time": at, "colour": each["iconColor"], "name": each["name"]}
            for each in board["annotations"]["list"]
            if each["enable"]
            for at in marked(each, query(each["expr"], instant=False), span)
        ]
    seconds, expression = max(slowest)
    sys.stdout.write(f"{state}: {seconds:.2f} s for the slowest query: {expression}\n")
    drawn = {"dashboard": board, "answers": answers, "marks": marks}
    return {**drawn, "start": span.begin, "end": end}


def marked(annotation: dict[str, Any], found: list[dict[str, Any]], span: Span) -> set[float]:
    """When something happened, as Grafana marks it: a value that is a time, or a series' begin."""
    if annotation["useValueForTime"]:
        values = {float(value) / 1000 for each in found for _, value in each["values"]}
        return {at for at in values if span.begin <= at <= span.end}
    begins: set[float] = set()
    for each in found:
        times = {float(at) for at, _ in each["values"]}
        begins |= {at for at in times if at - span.step not in times}
    return begins


def edges(board: dict[str, Any]) -> Iterator[tuple[str, float | None, str]]:
    """Title, value and expected colour of each panel with colours, at and around each edge."""
    for panel in board["panels"]:
        steps = panel.get("fieldConfig", {}).get("defaults", {}).get("thresholds", {}).get("steps")
        if not steps or len(steps) == 1:
            continue
        title = panel["title"]
        colour = of_band(BANDS[BY_BAND[title]]) if title in BY_BAND else of_steps(steps)
        values = {0.0}
        for step in steps[1:]:
            values |= {float(round(step["value"])), step["value"] - 1, step["value"] + 1}
        for value in sorted(values):
            yield title, value, colour(value)
        yield title, None, "none"


def of_band(band: Band) -> Callable[[float], str]:
    """The colour of a rate, as fabric health judges it."""
    assert band.warning is not None
    assert band.critical is not None
    warning, critical = band.warning, band.critical
    return lambda rate: "red" if rate > critical else "yellow" if rate >= warning else "green"


def of_steps(steps: list[dict[str, Any]]) -> Callable[[float], str]:
    """The colour of the last step that a value reaches."""
    return lambda value: [s["color"] for s in steps if s["value"] is None or s["value"] <= value][
        -1
    ]


def draw(data: dict[str, Any], out: Path) -> list[str]:
    """Write the picture; the colours that Grafana gives the edges."""
    for name in ("main.jsx", "page.html"):
        shutil.copy(PLACE / name, BUILD)
    (BUILD / "data.js").write_text(f"window.drawn = {json.dumps(data)};\n")
    subprocess.run(
        ["node_modules/.bin/esbuild", "main.jsx", "--bundle", "--minify", "--outfile=main.js",
         "--define:process.env.NODE_ENV=\"production\"", "--define:global=window",
         "--loader:.svg=dataurl", "--log-level=error"],
        cwd=BUILD, check=True,
    )  # fmt: skip
    with (
        tempfile.TemporaryDirectory() as profile,
        opened(Path(profile), BUILD / "page.html") as driver,
    ):
        wait_until(driver, lambda found: found.execute_script("return window.names"))
        height = driver.execute_script("return document.documentElement.scrollHeight")
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": WIDTH, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )
        time.sleep(3)
        driver.save_screenshot(str(out))
        # A third of the size, and all colours that people see stay.
        Image.open(out).convert("RGB").quantize(128).save(out, optimize=True)
        names = {v: k for k, v in driver.execute_script("return window.names").items()}
        return [names.get(each, each) for each in driver.execute_script("return window.colours")]


def lines_of(data: dict[str, Any], allowed: set[str]) -> Iterator[str]:
    """Panels that have no answer, and those that have too many lines."""
    for panel in data["dashboard"]["panels"]:
        found = data["answers"].get(panel["id"], {})
        count = sum(map(len, found.values()))
        if count > MOST:
            yield f"{panel['title']}: {count} lines, more than {MOST}"
        if found and not count and panel["title"] not in allowed:
            yield f"{panel['title']}: no answer"


def main() -> int:
    """Draw, compare, and say what is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", default=SUITE / "docs" / "images" / "grafana"
    )
    parser.add_argument("--state", type=State, action="append", choices=list(State))
    given = parser.parse_args()
    install()
    given.out.mkdir(parents=True, exist_ok=True)
    problems: list[str] = []
    compared = 0
    for file, name in ((file, each.title.split()[-1]) for file, each in BOARDS.items()):
        board = json.loads(file.read_text())
        for state in given.state or State:
            data = ask(board, state)
            expected = list(edges(board))
            data["edges"] = [{"title": title, "value": value} for title, value, _ in expected]
            found = draw({**data, "show": "edges"}, BUILD / f"edges-{name}.png")
            draw({**data, "show": "panels"}, given.out / f"{name}-{state}.png")
            compared += len(expected)
            problems += [f"{name}, {state}: {each}" for each in lines_of(data, MAY_BE_EMPTY)]
            problems += [
                f"{title} at {value}: expected {colour}, found {drawn}"
                for (title, value, colour), drawn in zip(expected, found, strict=True)
                if drawn != colour
            ]
    sys.stdout.write("\n".join([*problems, f"{compared} colours, {given.out}"]) + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
