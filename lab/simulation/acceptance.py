"""How often an acceptance is right: on simulated runs, of which it is known what changed."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl

from fabricheck.acceptance.accept import accept
from fabricheck.acceptance.answers import AcceptanceVerdict, Answer, Question, Scope
from fabricheck.acceptance.judging import judge, verdict
from fabricheck.acceptance.pairs import SIDES, compared
from fabricheck.acceptance.questions import questions
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
    "at 12 pairs": (12,),
    "at each from 3 to 12": range(3, 13),
    "at each from 3 to 36": range(3, 37),
}
SERIES: Final = 204
"""Series of a simulated campaign: seventeen cases of six sizes and two statistics."""

WORLDS: Final = {
    "2 %, normal": World(recorded=False),
    "5 %, normal": World(recorded=False, spread=0.05),
    "2 %, recorded": World(),
}
TAILS: Final = World(recorded=False, tails=3)
TWO_MODES: Final = World(recorded=False, modes=0.04)
_OF_ONE_CASE: Final = 12
_FIRST_LOOK: Final = 3
_FIRST_PAIRS: Final = 12
_MOST: Final = 36
_OPEN: Final = AcceptanceVerdict.INCONCLUSIVE
NOTHING_KNOWN: Final = pl.DataFrame(schema={**KEY, "spread": pl.Float64})
"""No night before the campaign."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """Runs before and after a change.

    Attributes:
        pairs: runs on each side.
        change: relative change of the level; 0.05 is worse by 5 %.
        changed: number of series that change.
        world: the noise.
        interleaved: A-B-B-A; else first all runs before, then all after.
        runs: share of the runs after the change that have it, by lot.
        drift: relative change from run to run that has nothing to do with the change.
    """

    pairs: int
    change: float = 0.0
    changed: int = SERIES
    world: World = WORLDS["2 %, normal"]
    interleaved: bool = True
    runs: float = 1.0
    drift: float = 0.0

    @property
    def order(self) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
        """Whether each run, in the order of time, is after the change."""
        runs = np.arange(2 * self.pairs)
        return runs % 4 % 3 > 0 if self.interleaved else runs >= self.pairs

    def made(self, noise: Sequence[Array], count: int, seed: int) -> list[Series]:
        """What the runs measure."""
        quiet = latencies(self.world, None, noise, nights=2 * self.pairs, count=count, seed=seed)
        course = (1 + self.drift) ** np.arange(2 * self.pairs)
        after = self.order & (np.random.default_rng(seed).random(2 * self.pairs) < self.runs)
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
    """The tables of docs/explanation/acceptance-errors.md, each with its title.

    Args:
        noise: recorded noise.
        settings: margins and error rate.
        count: series for a figure on single series.
        rounds: campaigns for a figure on campaigns.
        seed: all values follow from it.
    """
    yield "one series", _one_series(noise, settings, count, seed)
    yield (
        f"campaigns of {SERIES} series, looked at after each pair from the third to the twelfth",
        _campaigns(noise, settings, rounds, seed),
    )
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
    return [_judged(each, settings) for each in _sides(campaign, noise, count, seed)]


def _sides(
    campaign: Campaign, noise: Sequence[Array], count: int, seed: int
) -> list[tuple[Array, Array]]:
    after = campaign.order
    logs = [np.log(each.values) for each in campaign.made(noise, count, seed)]
    return [(each[~after], each[after]) for each in logs]


def _judged(sides: tuple[Array, Array], settings: Settings) -> Answer:
    question = Question(Scope.SERIES, dict.fromkeys(KEY), *sides, settings.margin_of("p50"))
    return judge([question], settings)[0]


def _first(sides: tuple[Array, Array], pairs: int) -> tuple[Array, Array]:
    return sides[0][:pairs], sides[1][:pairs]


def _campaigns(noise: Sequence[Array], settings: Settings, rounds: int, seed: int) -> Iterator[Row]:
    two, ten, recorded = WORLDS["2 %, normal"], World(recorded=False, spread=0.1), World()
    what = {
        "nothing, in 2 % noise": (0.0, SERIES, two),
        "nothing, in heavy tails (Student's t, 3)": (0.0, SERIES, TAILS),
        "nothing, with outliers": (0.0, SERIES, World(recorded=False, outliers=0.05)),
        "nothing, in two modes 4 % apart": (0.0, SERIES, TWO_MODES),
        "nothing, in recorded noise of 2 %": (0.0, SERIES, recorded),
        "everything by the margin": (settings.margin, SERIES, two),
        "one series by the margin": (settings.margin, 1, two),
        "one series by the margin, in heavy tails": (settings.margin, 1, TAILS),
        "one series by 10 %": (0.1, 1, two),
        "one series 40 times as slow": (39.0, 1, two),
        "one case by 10 %": (0.1, _OF_ONE_CASE, two),
        "everything by 10 %": (0.1, SERIES, two),
        "everything by 10 %, in recorded noise of 2 %": (0.1, SERIES, recorded),
        "everything twice as slow, in 10 % noise": (1.0, SERIES, ten),
        "everything 75 times as slow, in 10 % noise": (74.0, SERIES, ten),
        "one case twice as slow, in 10 % noise": (1.0, _OF_ONE_CASE, ten),
    }
    campaigns = {
        words: Campaign(_FIRST_PAIRS, change, changed, world)
        for words, (change, changed, world) in what.items()
    }
    half = Campaign(_FIRST_PAIRS, 0.3, runs=0.5)
    campaigns["everything by 30 % in half of the runs, by lot"] = half
    for words, campaign in campaigns.items():
        found = [_until_clear(campaign, noise, settings, seed + number) for number in range(rounds)]
        needed = sorted(pairs for verdict, pairs in found if verdict is not _OPEN)
        yield {
            "what is worse": words,
            "accept / reject / inconclusive": _shares(verdict for verdict, _ in found),
            "pairs, half": f"{needed[(len(needed) - 1) // 2]}" if needed else "-",
            "nine of ten": f"{needed[9 * (len(needed) - 1) // 10]}" if needed else "-",
        }


def _until_clear(
    campaign: Campaign, noise: Sequence[Array], settings: Settings, seed: int
) -> tuple[AcceptanceVerdict, int]:
    """The verdict of a campaign that stops when it is clear, and after how many pairs it does."""
    values = as_values(campaign.made(noise, SERIES, seed), campaign)
    asked = questions(values, compared(values, settings), NOTHING_KNOWN)
    for pairs in range(_FIRST_LOOK, campaign.pairs + 1):
        seen = [_seen(each, pairs) for each in asked]
        found = verdict(judge(seen, settings), complete=True)
        if found is not _OPEN:
            return found, pairs
    return _OPEN, campaign.pairs


def _seen(question: Question, pairs: int) -> Question:
    """A question after so many pairs."""
    if question.failed is not None:
        return replace(question, failed=(0, pairs, 0, pairs))
    before, after = _first((question.runs_before, question.runs_after), pairs)
    return replace(question, runs_before=before, runs_after=after)


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
        found.append(accept(values, settings, Provenance(), NOTHING_KNOWN).verdict)
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
            whole = _sides(
                Campaign(settings.most_pairs, change, world=world, changed=count),
                noise,
                count,
                seed,
            )
            first = [(each, _judged(_first(each, _FIRST_PAIRS), settings)) for each in whole]
            still = [
                (each, answer.further)
                for each, answer in first
                if answer.verdict is AcceptanceVerdict.INCONCLUSIVE
            ]
            advised = [(each, number) for each, number in still if number is not None]
            later = [
                _judged(_first(each, _FIRST_PAIRS + number), settings) for each, number in advised
            ]
            settled = sum(each.verdict is not AcceptanceVerdict.INCONCLUSIVE for each in later)
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
        made = _sides(Campaign(_MOST, change, changed=count), noise, count, seed)
        row = {"worse by": f"{100 * change:g} %"}
        for words, looks in LOOKS.items():
            row[words] = _shares(_stopped(each, looks, settings) for each in made)
        yield row


def _stopped(
    sides: tuple[Array, Array], looks: Iterable[int], settings: Settings
) -> AcceptanceVerdict:
    """The first verdict of several looks."""
    verdicts = (_judged(_first(sides, pairs), settings).verdict for pairs in looks)
    return next((each for each in verdicts if each is not _OPEN), _OPEN)


def _shares(verdicts: Iterable[AcceptanceVerdict]) -> str:
    """Shares of accept, reject and inconclusive."""
    counts = Counter(verdicts)
    order = (AcceptanceVerdict.ACCEPT, AcceptanceVerdict.REJECT, AcceptanceVerdict.INCONCLUSIVE)
    total = counts.total()
    return " / ".join(f"{100 * counts[verdict] / total:.1f}" for verdict in order)


def _share(hits: int, trials: int) -> str:
    if not trials:
        return "-"
    rate = Rate(hits, trials)
    low, high = rate.interval
    return f"{100 * rate.value:.1f} % ({100 * low:.1f} to {100 * high:.1f})"
