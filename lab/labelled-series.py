#!/usr/bin/env python3
"""Measure how well change points agree with people, on the Turing Change Point Dataset.

The dataset (van den Burg and Williams 2020, *An evaluation of change point detection algorithms*)
is a clone of github.com/alan-turing-institute/TCPD. Its series come in JSON, each with the change
points that five people marked; only those of one dimension without a missing value are taken. The
figure is the paper's F1 with a margin of 5: precision over all marks, recall averaged over people.
Beside the change points of "fabricheck trend", with the defaults, stand those of ruptures and, with
--with-otava, of Apache Otava.

example:
    lab/labelled-series.py TCPD --with-otava otava/bin/python
"""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from fabricheck.history.series import Series
from fabricheck.trend.segments import change_points
from fabricheck.trend.settings import Settings
from simulation.nights import DAY, FIRST_NIGHT, World, latencies
from simulation.rivals import rivals

MARGIN = 5


def ours(series: Sequence[Series]) -> list[list[int]]:
    """The change points of each series."""
    rows = [np.log(each.values) if (each.values > 0).all() else each.values for each in series]
    found = change_points(rows, Settings(), [0.0] * len(rows))
    return [[step.index for step in steps] for steps in found]


def never(series: Sequence[Series]) -> list[list[int]]:
    """No change point at all, which the figure likes where people marked none."""
    return [[] for _ in series]


def matched(points: set[int], marks: Iterable[int]) -> int:
    """How many marks have a point of their own within the margin."""
    left, hits = set(points), 0
    for mark in sorted(marks):
        near = min(
            (each for each in left if abs(each - mark) <= MARGIN),
            key=lambda each: abs(each - mark),
            default=None,
        )
        if near is not None:
            left.remove(near)
            hits += 1
    return hits


def agreement(points: Sequence[int], people: Sequence[Sequence[int]]) -> tuple[float, float]:
    """Precision and recall; the first value counts as a mark and as a point, as in the paper."""
    own = {0, *points}
    marks = [{0, *each} for each in people]
    precision = matched(own, set().union(*marks)) / len(own)
    recall = float(np.mean([matched(own, each) / len(each) for each in marks]))
    return precision, recall


def read(directory: Path) -> tuple[list[Series], list[list[list[int]]]]:
    """The series, and what people marked in each."""
    marks = json.loads((directory / "annotations.json").read_text())
    (like,) = latencies(World(recorded=False), None, [], nights=1, count=1, seed=1)
    series, people = [], []
    for path in sorted(directory.glob("datasets/*/*.json")):
        data = json.loads(path.read_text())
        values = np.array(data["series"][0]["raw"], dtype=float)
        if data["n_dim"] != 1 or not np.isfinite(values).all():
            continue
        times = FIRST_NIGHT + np.arange(len(values)) * DAY
        sessions = np.arange(len(values)).astype(str)
        series.append(Series(like.key, times, values, sessions))
        people.append(list(marks[data["name"]].values()))
    return series, people


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path, metavar="TCPD", help="the clone")
    parser.add_argument("--with-otava", type=Path, metavar="PYTHON")
    arguments = parser.parse_args()
    series, people = read(arguments.directory)
    if not series:
        parser.error(f"expected datasets/*/*.json in {arguments.directory}, found none")
    others = rivals(arguments.with_otava, recent=max(map(len, series)))
    sys.stdout.write("| detector | series | F1 | precision | recall | points |\n")
    sys.stdout.write("|---|---|---|---|---|---|\n")
    for name, detector in {"fabricheck trend": ours, **others, "nothing ever": never}.items():
        found = detector(series)
        rates = np.array([agreement(*each) for each in zip(found, people, strict=True)])
        precision, recall = rates.T
        f1 = float(np.mean(2 * precision * recall / (precision + recall)))
        sys.stdout.write(
            f"| {name} | {len(series)} | {f1:.3f} | {precision.mean():.2f} | {recall.mean():.2f} "
            f"| {sum(map(len, found))} |\n"
        )


if __name__ == "__main__":
    main()
