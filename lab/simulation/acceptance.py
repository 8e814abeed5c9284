"""How often an acceptance is right: on simulated runs, of which it is known what changed."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from fabricheck.acceptance.accept import accept
from fabricheck.acceptance.judging import judge
from fabricheck.acceptance.model import Answer, Question, Scope, Verdict
from fabricheck.acceptance.pairs import SIDES
from fabricheck.acceptance.settings import Settings
from fabricheck.history.frame import COLUMNS, KEY
from fabricheck.history.provenance import Provenance
from fabricheck.history.series import Series
from fabricheck.trend.robust import Array
from simulation.nights import World, latencies
from simulation.power import Rate

Row = dict[str, str]

CHANGES: Final = (0.0, 0.025, 0.05, 0.1)
PAIRS: Final = (6, 12, 20)
LOOKS: Final = {
    "at 20 pairs": (20,),
    "at 12 and 20 pairs": (12, 20),
    "at each from 6 to 20 pairs": range(6, 21),
}
SERIES: Final = 120
"""Series of a simulated campaign: ten cases of six sizes and two statistics."""

WORLDS: Final = {
    "2 %, normal": World(recorded=False),
    "5 %, normal": World(recorded=False, spread=0.05),
    "2 %, recorded": World(),
}
_OF_ONE_CASE: Final = 12
_FIRST_PAIRS: Final = 12


@dataclass(frozen=True, slots=True)
class Campaign:
    """Runs before and after a change.

    Attributes:
        pairs: runs on each side.
        change: relative change of the level; 0.05 is worse by 5 %.
        changed: number of series that change.
        world: the noise.
        interleaved: A-B-B-A; else first all runs before, then all after.
        drift: relative change from run to run that has nothing to do with the change.
    """

    pairs: int
    change: float = 0.0
    changed: int = SERIES
    world: World = WORLDS["2 %, normal"]
    interleaved: bool = True
    drift: float = 0.0

    @property
    def order(self) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Whether each run, in the order of time, is after the change."""
        runs = np.arange(2 * self.pairs)
        return runs % 4 % 3 > 0 if self.interleaved else runs >= self.pairs

    def made(self, noise: Sequence[Array], count: int, seed: int) -> list[Series]:
        """What the runs measure."""
        quiet = latencies(self.world, None, noise, nights=2 * self.pairs, count=count, seed=seed)
        after, course = self.order, (1 + self.drift) ** np.arange(2 * self.pairs)
        return [
            Series(
                each.key,
                each.times,
                each.values * course * np.where(after, 1 + self.change * (place < self.changed), 1),
                each.sessions,
            )
            for place, each in enumerate(quiet)
        ]


def tables(
    noise: Sequence[Array], settings: Settings, *, count: int, rounds: int, seed: int
) -> Iterator[tuple[str, Iterator[Row]]]:
    """The tables of docs/acceptance.md, each with its title.

    Args:
        noise: recorded noise.
        settings: margins and error rate.
        count: series for a figure on single series.
        rounds: campaigns for a figure on campaigns.
        seed: all values follow from it.
    """
    yield "one series", _one_series(noise, settings, count, seed)
    yield f"campaigns of {SERIES} series", _campaigns(noise, settings, rounds, seed)
    yield (
        "order of the runs, where each run is slower by 0.5 %",
        _orders(noise, settings, rounds, seed),
    )
    yield "further runs", _advice(noise, settings, count, seed)
    yield "a verdict after each pair, until there is one", _looks(noise, settings, count, seed)


def _one_series(noise: Sequence[Array], settings: Settings, count: int, seed: int) -> Iterator[Row]:
    for name, world in WORLDS.items():
        for change in CHANGES:
            row = {"noise": name, "worse by": f"{100 * change:g} %"}
            for pairs in PAIRS:
                campaign = Campaign(pairs, change, world=world, changed=count)
                answers = _answers(campaign, noise, settings, count, seed)
                row[f"{pairs} pairs"] = _shares(each.verdict for each in answers)
            yield row


def _answers(
    campaign: Campaign, noise: Sequence[Array], settings: Settings, count: int, seed: int
) -> list[Answer]:
    """Verdicts on single series, none of which knows of the others."""
    return [_judged(each, settings) for each in _differences(campaign, noise, count, seed)]


def _differences(campaign: Campaign, noise: Sequence[Array], count: int, seed: int) -> list[Array]:
    after = campaign.order
    return [
        np.log(each.values[after] / each.values[~after])
        for each in campaign.made(noise, count, seed)
    ]


def _judged(differences: Array, settings: Settings) -> Answer:
    question = Question(Scope.SERIES, dict.fromkeys(KEY), differences, settings.margin_of("p50"))
    return judge([question], settings)[0]


def _campaigns(noise: Sequence[Array], settings: Settings, rounds: int, seed: int) -> Iterator[Row]:
    what = {
        "nothing": (0.0, SERIES),
        "everything by 10 %": (0.1, SERIES),
        "one case by 10 %": (0.1, _OF_ONE_CASE),
        "one case by 20 %": (0.2, _OF_ONE_CASE),
        "one series by 10 %": (0.1, 1),
        "one series by the margin": (settings.margin, 1),
    }
    for words, (change, changed) in what.items():
        row = {"what is worse": words}
        for pairs in PAIRS:
            campaign = Campaign(pairs, change, changed)
            row[f"{pairs} pairs"] = _verdicts(campaign, noise, settings, rounds, seed)
        yield row


def _orders(noise: Sequence[Array], settings: Settings, rounds: int, seed: int) -> Iterator[Row]:
    for words, interleaved in (("A-B-B-A", True), ("first all before, then all after", False)):
        row = {"order": words}
        for pairs in PAIRS:
            campaign = Campaign(pairs, interleaved=interleaved, drift=0.005)
            row[f"{pairs} pairs"] = _verdicts(campaign, noise, settings, rounds, seed)
        yield row


def _verdicts(
    campaign: Campaign, noise: Sequence[Array], settings: Settings, rounds: int, seed: int
) -> str:
    found = []
    for number in range(rounds):
        values = as_values(campaign.made(noise, SERIES, seed + number), campaign)
        found.append(accept(values, settings, Provenance()).verdict)
    return _shares(found)


def as_values(series: Sequence[Series], campaign: Campaign) -> pl.DataFrame:
    """The series of a campaign as values of the history, with their side."""
    sides = np.where(campaign.order, SIDES[1], SIDES[0])
    keys = pl.DataFrame(
        [[getattr(each.key, name) for name in KEY] for each in series], schema=KEY, orient="row"
    )
    values = pl.concat(
        pl.DataFrame(
            {
                "place": np.full(len(each), place, dtype=np.uint32),
                "session": each.sessions,
                "time": each.times.astype("datetime64[us]"),
                "value": each.values,
                "side": sides,
            }
        )
        for place, each in enumerate(series)
    )
    missing = {name: kind for name, kind in COLUMNS.items() if name not in values.columns}
    return values.join(keys.with_row_index("place"), on="place").with_columns(
        pl.col("time").dt.replace_time_zone("UTC"),
        *(
            pl.lit("" if kind == pl.String else None, dtype=kind).alias(name)
            for name, kind in missing.items()
            if name not in KEY
        ),
    )


def _advice(noise: Sequence[Array], settings: Settings, count: int, seed: int) -> Iterator[Row]:
    """What becomes of series that were open, when as many runs as were advised are made."""
    for name, world in WORLDS.items():
        for change in (0.0, 0.025, 0.1):
            whole = _differences(
                Campaign(settings.most_pairs, change, world=world, changed=count),
                noise,
                count,
                seed,
            )
            first = [(each, _judged(each[:_FIRST_PAIRS], settings)) for each in whole]
            still = [
                (each, answer.further)
                for each, answer in first
                if answer.verdict is Verdict.INCONCLUSIVE
            ]
            advised = [(each, number) for each, number in still if number is not None]
            later = [_judged(each[: _FIRST_PAIRS + number], settings) for each, number in advised]
            settled = sum(each.verdict is not Verdict.INCONCLUSIVE for each in later)
            numbers = [number for _, number in advised]
            yield {
                "noise": name,
                "worse by": f"{100 * change:g} %",
                f"open after {_FIRST_PAIRS} pairs": _share(len(still), count),
                "more runs advised": _share(len(advised), len(still)),
                "median advice": f"{np.median(numbers):.0f}" if numbers else "",
                "settled with them": _share(settled, len(advised)),
            }


def _looks(noise: Sequence[Array], settings: Settings, count: int, seed: int) -> Iterator[Row]:
    """What it costs to look again and again, and to stop at the first verdict."""
    for change in (0.0, settings.margin):
        made = _differences(Campaign(max(PAIRS), change, changed=count), noise, count, seed)
        row = {"worse by": f"{100 * change:g} %"}
        for words, looks in LOOKS.items():
            found = [[_judged(each[:pairs], settings).verdict for pairs in looks] for each in made]
            row[words] = _shares(
                next((each for each in verdicts if each is not Verdict.INCONCLUSIVE), verdicts[-1])
                for verdicts in found
            )
        yield row


def _shares(verdicts: Iterable[Verdict]) -> str:
    """Shares of accept, reject and inconclusive."""
    counts = Counter(verdicts)
    order = (Verdict.ACCEPT, Verdict.REJECT, Verdict.INCONCLUSIVE)
    total = counts.total()
    return " / ".join(f"{100 * counts[verdict] / total:.1f}" for verdict in order)


def _share(hits: int, trials: int) -> str:
    if not trials:
        return "-"
    rate = Rate(hits, trials)
    low, high = rate.interval
    return f"{100 * rate.value:.1f} % ({100 * low:.1f} to {100 * high:.1f})"
