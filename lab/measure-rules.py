#!/usr/bin/env python3
"""What CPU the rules take on a fleet, each by itself: 400 nodes of 8 cards.

Usage: lab/measure-rules.py [--nodes N] [--cards N] [--times N]

A real Prometheus gets a quarter of an hour of every counter of recorded cards, and what it recorded
of the fleet in a day, and is asked each rule's expression so many times; its CPU is counted, which
other work on the machine does not change. Exit code 1: all rules take more than 1 s. Fewer nodes
take less time to write; rules read nodes one by one, so their CPU grows with the nodes.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import yaml

SUITE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SUITE))

from tests.fabric.conftest import unpack
from tests.monitor.conftest import promtool
from tests.monitor.test_loop import asked, serving

from fabricheck.monitor.catalog import MetricKind, Sample
from fabricheck.monitor.ports import Ports

SCRAPE, PAST, DAY = 15, 960, 86_400
MOST_CPU = 1.0
LEAF = 40
RULES = SUITE / "bin" / "prometheus" / "rules.yml"


def node_samples() -> tuple[str, list[Sample]]:
    """The name of a node with one card, and all that is served of it."""
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["FABRICHECK_NODE_ROOT"] = str(unpack("mlx5_roce", Path(scratch) / "node"))
        samples = list(Ports(Path(scratch) / "ports.json").read())
    place = samples[0].labels
    return place[0], samples


def write(file: IO[str], nodes: int, cards: int, end: int) -> int:
    """Write what was scraped, as OpenMetrics; how many series that is."""
    host, samples = node_samples()
    by_name: dict[str, list[Sample]] = {}
    for each in samples:
        by_name.setdefault(each.family.name, []).append(each)
    series = 0
    for name, found in by_name.items():
        file.write(f"# TYPE {name} unknown\n")
        for labels, each in _of_fleet(found, host, nodes, cards):
            series += 1
            grows = 7.0 if each.family.kind is MetricKind.COUNTER else 0.0
            for at in range(end - PAST, end + 1, SCRAPE):
                value = each.value + grows * (at - end + PAST)
                file.write(f"{name}{{{labels}}} {value:.12g} {at}\n")
    for name, step in (("up", SCRAPE), ("fabricheck:target:seen", 60)):
        file.write(f"# TYPE {name} unknown\n")
        past = PAST if name == "up" else DAY
        for node in range(nodes):
            labels = f'job="fabricheck-ports",instance="n{node}:9105"'
            for at in range(end - past, end + 1, step):
                value = 1 if name == "up" else at
                file.write(f"{name}{{{labels}}} {value} {at}\n")
    file.write("# EOF\n")
    return series


def _of_fleet(
    found: list[Sample], host: str, nodes: int, cards: int
) -> Iterator[tuple[str, Sample]]:
    for node in range(nodes):
        more = f'job="fabricheck-ports",instance="n{node}:9105",leaf="leaf{node // LEAF}"'
        for each in found:
            of_card = "mlx5_0" in each.labels
            for card in range(cards if of_card else 1):
                words = {host: f"n{node}", "mlx5_0": f"mlx5_{card}"}
                labels = zip(each.family.labels, each.labels, strict=True)
                told = ",".join(f'{name}="{words.get(word, word)}"' for name, word in labels)
                yield f"{more},{told}", each


def cpu(pid: int) -> float:
    """Seconds of a process."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, words[11:13])) / os.sysconf("SC_CLK_TCK")


def measure(given: argparse.Namespace) -> Iterator[tuple[float, str]]:
    """CPU in seconds of each rule in one evaluation, and what it is called."""
    end = int(time.time()) // SCRAPE * SCRAPE
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        root = Path(scratch)
        with (root / "fleet.om").open("w") as file:
            series = write(file, given.nodes, given.cards, end)
        sys.stdout.write(f"{given.nodes} nodes, {given.cards} cards, {series} series\n")
        sys.stdout.flush()
        made = promtool("tsdb", "create-blocks-from", "openmetrics", root / "fleet.om",
                        root / "prometheus")  # fmt: skip
        assert made.returncode == 0, made.stderr
        (root / "fleet.om").unlink()
        port, pid = serving("prometheus", {}, root, stack)
        for group in yaml.safe_load(RULES.read_text())["groups"]:
            often = 60 * int(group.get("interval", "0m")[:-1]) or SCRAPE
            for rule in group["rules"]:
                asked(port, f"count({rule['expr']})", end)
                before = cpu(pid)
                for _ in range(given.times):
                    asked(port, f"count({rule['expr']})", end)
                share = SCRAPE / often / given.times
                yield (cpu(pid) - before) * share, rule.get("alert") or rule["record"]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=400)
    parser.add_argument("--cards", type=int, default=8)
    parser.add_argument("--times", type=int, default=10)
    found = sorted(measure(parser.parse_args()), reverse=True)
    total = sum(spent for spent, _ in found)
    for spent, name in found:
        sys.stdout.write(f"{spent:8.4f} s  {name}\n")
    sys.stdout.write(f"{total:8.4f} s  of CPU each {SCRAPE} s, all rules\n")
    return 1 if total > MOST_CPU else 0


if __name__ == "__main__":
    sys.exit(main())
