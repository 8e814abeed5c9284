#!/usr/bin/env python3
"""Measure how often proposed references raise nights in which nothing changed.

Cases of 6 sizes x 2 statistics are simulated as in "lab/simulate"; the first nights of each
give its references, and the 20 nights after them are judged. "as recorded" takes the recorded
rounds in their order instead, with whatever happened to the machine meanwhile; a window with a
change point is left out, as "fabricheck baseline propose" refuses it. Prints the table of
docs/explanation/tolerances.md.

example:
    . ./setup-env.sh && lab/measure-baseline.py --cases 500
"""

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from fabricheck.baseline.noise import Rates, estimates, is_too_noisy
from fabricheck.history.series import Series
from fabricheck.history.store import History
from fabricheck.measures.metrics import Direction
from fabricheck.trend.robust import Array
from fabricheck.trend.segments import change_points
from fabricheck.trend.settings import Settings
from simulation.command import WORDS, WORLDS
from simulation.nights import SIZES, STATISTICS, latencies
from simulation.noise import RECORDED, read_noise
from simulation.power import Rate

WINDOWS = (20, 40, 60)
JUDGED = 20
SEED = 20261121
_STEP = 20
WORLDS_TAKEN = [name for name, world in WORLDS.items() if not world.missing]

Case = dict[str, list[Array]]
"""The values of the sizes by statistic."""


def cases_of(series: Iterable[Series]) -> list[Case]:
    """The cases that series belong to."""
    found: dict[tuple[str, ...], Case] = defaultdict(lambda: defaultdict(list))
    for each in series:
        key = each.key
        case = (key.partition, key.environ, key.check, key.benchmark, key.placement, key.metric)
        found[case][key.statistic].append(each.values)
    return list(found.values())


def simulated(world: str, window: int, count: int, noise: Sequence[Array]) -> Iterator[Case]:
    """Cases in which nothing changes."""
    variables = len(SIZES) * len(STATISTICS)
    yield from cases_of(
        latencies(
            WORLDS[world],
            None,
            noise,
            nights=window + JUDGED,
            count=count * variables,
            seed=SEED,
        )
    )


def recorded(window: int) -> Iterator[Case]:
    """Stretches of the recorded rounds of latencies, in their order."""
    with tempfile.TemporaryDirectory() as directory, History.open(Path(directory)) as history:
        history.refresh(perflogs=[RECORDED])
        series = [each for each in history.series() if each.key.direction is Direction.LOWER]
    for case in cases_of(series):
        rounds = min(len(values) for group in case.values() for values in group)
        for start in range(0, rounds - window - JUDGED + 1, _STEP):
            part = slice(start, start + window + JUDGED)
            found = {name: [values[part] for values in group] for name, group in case.items()}
            if not any(changed(values[:window]) for group in found.values() for values in group):
                yield found


def changed(values: Array) -> bool:
    """Whether the level changed."""
    settings = Settings()
    (steps,) = change_points([np.log(values)], settings, [np.log1p(settings.smallest_change)])
    return bool(steps)


def judge(cases: Iterable[Case], window: int) -> tuple[int, dict[str, Rate]]:
    """The number of cases that get references, and the shares of their nights that are raised."""
    raised = np.zeros((2, 2), dtype=int)
    judged = np.zeros(2, dtype=int)
    count = 0
    for case in cases:
        variables = sum(len(group) for group in case.values())
        critical, warned = (np.zeros((variables, JUDGED), dtype=bool) for _ in range(2))
        share, bounds = 0.0, []
        for group in case.values():
            windows = [values[:window] for values in group]
            for each, values in zip(
                estimates(windows, Direction.LOWER, Rates(), variables), group, strict=True
            ):
                bounds.append((each, values[window:] / each.value - 1))
                share = max(share, each.warning)
        if is_too_noisy([each for each, _ in bounds]):
            continue
        count += 1
        for row, (each, later) in enumerate(bounds):
            critical[row] = (later > each.upper) | (later < each.lower)
            warned[row] = (later > share * each.upper) | (later < share * each.lower)
        raised += [[critical.sum(), critical.any(0).sum()], [warned.sum(), warned.any(0).sum()]]
        judged += [variables * JUDGED, JUDGED]
    return count, {
        f"{word} {what}": Rate(int(raised[place, kind]), int(judged[kind]))
        for kind, what in enumerate(("values", "cases"))
        for place, word in enumerate(("critical", "raised"))
    }


def cell(rate: Rate) -> str:
    """A rate for 1000 nights, with its interval."""
    if not rate.trials:
        return "-"
    low, high = rate.interval
    return f"{1000 * rate.value:.2f} ({1000 * low:.2f} to {1000 * high:.2f})"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=200, help="simulated cases of each row")
    count = parser.parse_args().cases
    noise = read_noise()
    rows = []
    for window in WINDOWS:
        worlds = {WORDS[name]: simulated(name, window, count, noise) for name in WORLDS_TAKEN}
        worlds["as recorded"] = recorded(window)
        rows += [(words, window, judge(cases, window)) for words, cases in worlds.items()]
    names = list(rows[0][2][1])
    sys.stdout.write(f"| noise | nights | cases | {' | '.join(names)} |\n")
    sys.stdout.write(f"{'|---' * (len(names) + 3)}|\n")
    for words, window, (cases, rates) in rows:
        cells = " | ".join(cell(rates[name]) for name in names)
        sys.stdout.write(f"| {words} | {window} | {cases} | {cells} |\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
