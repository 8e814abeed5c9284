#!/usr/bin/env python3
"""Measure how long the trend of many series takes, and how much memory.

The series are simulated: normal noise, a step in every tenth, and a step four nights ago in every
fiftieth. Reading them is the history's part (lab/measure-history.py).

example:
    lab/measure-trend.py                       # 10000 series of 1000 nights
    lab/measure-trend.py --series 1000
"""

import argparse
import resource
import sys
import time

import numpy as np

from fabricheck.trend.detect import analyse
from simulation.nights import Injected, Shape, World, latencies


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--series", type=int, default=10_000)
    parser.add_argument("--nights", type=int, default=1000)
    arguments = parser.parse_args()
    nights, count = arguments.nights, arguments.series
    world = World(recorded=False)
    old = Injected(Shape.STEP, 0.05, nights * 2 // 3)
    new = Injected(Shape.STEP, 0.1, nights - 4)
    made = [(None, count * 88 // 100), (old, count // 10), (new, count // 50)]
    parts = [
        latencies(world, change, [np.zeros(1)], nights=nights, count=part, seed=number)
        for number, (change, part) in enumerate(made)
    ]
    series = [each for part in parts for each in part]
    begin, used = time.perf_counter(), time.process_time()
    trend = analyse(series, {})
    seconds, processor = time.perf_counter() - begin, time.process_time() - used
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    sys.stdout.write("| series | nights | seconds | processor seconds | memory | events |\n")
    sys.stdout.write("|---|---|---|---|---|---|\n")
    sys.stdout.write(
        f"| {len(series)} | {nights} | {seconds:.1f} | {processor:.1f} | {memory:.2f} GiB "
        f"| {len(trend.events)} |\n"
    )


if __name__ == "__main__":
    main()
