"""A year of nights within a budget: how soon faults are found, by several ways to choose cases."""

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from fabricheck.errors import FabricheckError
from fabricheck.planning.night_past import transport_of
from fabricheck.planning.night_rota import Array, Mask, Rota, waited
from fabricheck.reframe_ext.matrix import CheckCase
from fabricheck.sites.night import LONGEST_REST
from simulation.night_faults import Faults, faults_of, rules
from simulation.tables import Row

_TESTBED: Final = Path(__file__).with_name("testbed-night.json.gz")
_NAMES: Final = ("check", "benchmark", "placement", "partition", "environ")
_NIGHTS: Final = 365
_QUIET, _LAST = 30, 305
"""First and last night of faults: every rule has its rhythm by then, and time to find them."""

Rule = Callable[[int], Mask]
"""The cases that run in a night."""


@dataclass(frozen=True, slots=True)
class World:
    """What breaks.

    Attributes:
        words: in words.
        kinds: kinds of faults that come, as their names begin; empty for all.
        unlike: how far rates and chances are from those of the rules, as the standard deviation of
            their logarithm.
        after: the share of faults that begins with a change of an environment.
        alike: whether every case costs the same.
    """

    words: str
    kinds: tuple[str, ...] = ()
    unlike: float = 0.0
    after: float = 0.0
    alike: bool = False


_SOFTWARE = ("path", "benchmark", "case")
WORLDS = (
    World("faults by the rules"),
    World("the same, where every case costs the same", alike=True),
    World("rates and chances are others, each by a factor of about 3", unlike=1.0),
    World("only faults of the measured table", tuple(
        rule["name"] for rule in rules() if rule["name"] not in _SOFTWARE)),
    World("only faults that a single case sees", ("case",)),
    World("only software, of which 7 in 10 faults come with a new MPI", _SOFTWARE, after=0.7),
    World("the same, with other rates and chances", _SOFTWARE, unlike=1.0, after=0.7),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Night:
    """A night of a site: its cases, and what each costs in seconds and node-seconds."""

    cases: tuple[CheckCase, ...]
    costs: Array
    environs: tuple[str, ...]


def read_night(path: Path | None = None) -> Night:
    """The cases of a night, as ``fabricheck plan --night --json`` prints them.

    Raises:
        FabricheckError: if the file is something else.
    """
    try:
        told = json.loads(path.read_bytes() if path else gzip.decompress(_TESTBED.read_bytes()))
        rows = [*told["chosen"], *told["resting"]]
        cases = tuple(
            CheckCase(**{name: row["case"][name] for name in _NAMES},
                      tags=tuple(row["case"]["tags"]), lacking=())
            for row in rows
        )  # fmt: skip
        costs = [(row["cost"]["seconds"], row["cost"]["nodes"]) for row in rows]
        seconds, nodes = np.array(costs, dtype=float).T
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FabricheckError(
            f"expected what fabricheck plan --night --json prints in {path}, found: {error}"
        ) from error
    return Night(
        cases, np.array([seconds, seconds * nodes]).T, tuple(sorted({c.environ for c in cases}))
    )


def tables(
    night: Night, *, share: float, faults: int, seed: int
) -> Iterator[tuple[str, Iterator[Row]]]:
    """For each world and rule: nights to detection."""
    yield "nights to detection", _rows(night, share, faults, seed)


def _rows(night: Night, share: float, number: int, seed: int) -> Iterator[Row]:
    known = faults_of(night.cases)
    for place, world in enumerate(WORLDS):
        generator = np.random.default_rng([seed, place])
        costs = np.ones_like(night.costs) if world.alike else night.costs
        shares = costs / (share * costs.sum(axis=0))
        truth = _truth(known, world, generator)
        changes = _changes(night, generator)
        onsets = _faults(night, truth, world, changes, generator.random((2, number)))
        rules: dict[str, Rule] = {
            "full night": lambda _: np.ones(len(night.cases), dtype=bool),
            "the rota": _Rota(night, shares, changes),
            "the rota, changes unknown": _Rota(night, shares, {}),
            "round robin": _RoundRobin(shares),
            "random": _Random(shares, generator),
        }
        for words, rule in rules.items():
            ran = np.array([rule(each) for each in range(_NIGHTS)])
            found = _found(ran, truth, onsets, np.random.default_rng([seed, place, 1]))
            spent = (ran @ shares[:, 1]).mean() / shares[:, 1].sum()
            yield {
                "what breaks": world.words,
                "cases by": words,
                "node-seconds": f"{100 * spent:.0f} %",
                "median": f"{np.median(found):.0f}",
                "mean": f"{found.mean():.2f}",
                "9 of 10 within": f"{np.quantile(found, 0.9):.0f}",
            }


def _truth(known: Faults, world: World, generator: np.random.Generator) -> Faults:
    kept = [not world.kinds or name.split()[0] in world.kinds for name in known.names]
    sees, rate = known.sees[kept], known.rate[kept]
    if world.unlike:
        rate = rate * np.exp(world.unlike * generator.standard_normal(len(rate)))
        sees = np.clip(sees * np.exp(-world.unlike * generator.random(sees.shape) * 2), 0, 1)
    names = tuple(name for name, keep in zip(known.names, kept, strict=True) if keep)
    return Faults(names, sees, rate)


def _changes(night: Night, generator: np.random.Generator) -> dict[int, str]:
    """Nights on which an environment is new, about every third week."""
    nights = np.flatnonzero(generator.random(_NIGHTS) < 1 / 20)
    return {int(each): str(generator.choice(night.environs)) for each in nights}


def _faults(
    night: Night,
    truth: Faults,
    world: World,
    changes: dict[int, str],
    random: Array,
) -> tuple[np.ndarray, np.ndarray]:
    """Row and first night of each fault, from two random numbers of each."""
    rows = np.searchsorted(np.cumsum(truth.rate) / truth.rate.sum(), random[0])
    span = _LAST - _QUIET
    first = (_QUIET + span * random[1]).astype(int)
    # The second number is used up to its first digits: what is left of it tells the two apart.
    for place in np.flatnonzero((span * random[1]) % 1 < world.after):
        fitting = [
            each for each, environ in changes.items()
            if _QUIET <= each < _LAST
            and truth.sees[rows[place]] @ np.array([c.environ == environ for c in night.cases])
        ]  # fmt: skip
        if fitting:
            first[place] = fitting[place % len(fitting)]
    return rows, first


def _found(
    ran: np.ndarray,
    truth: Faults,
    onsets: tuple[np.ndarray, np.ndarray],
    generator: np.random.Generator,
) -> np.ndarray:
    """Nights until each fault is seen, 1 for the one that it begins with."""
    with np.errstate(divide="ignore"):
        missed = np.log1p(-np.minimum(truth.sees, 1 - 1e-12))
    seen = -np.expm1(ran.astype(float) @ missed.T)
    rows, first = onsets
    hits = generator.random((len(rows), _NIGHTS)) < seen[:, rows].T
    hits &= np.arange(_NIGHTS) >= first[:, None]
    nights: Array = np.where(hits.any(axis=1), hits.argmax(axis=1), _NIGHTS) - first + 1
    return nights


class _Rota:
    """As ``fabricheck plan --night``, without cases that always run."""

    def __init__(self, night: Night, shares: Array, changes: dict[int, str]) -> None:
        self._shares, self._changes = shares, changes
        self._environs = np.array([case.environ for case in night.cases])
        self._paths = [(case.partition, case.environ, transport_of(case)) for case in night.cases]
        self._nights = np.ones(len(shares))
        self._looks = np.full(len(shares), np.inf)

    def __call__(self, night: int) -> Mask:
        rota = Rota(waited(self._nights, self._looks), self._shares)
        everything = np.ones(len(self._shares), dtype=bool)
        rota.fill(self._nights >= LONGEST_REST)
        rota.reach(everything, self._paths)
        rota.fill(everything)
        # What the change is, the night's own cases tell: tonight is chosen without knowing it.
        if environ := self._changes.get(night):
            self._looks[self._environs == environ] = 0
        self._looks += rota.taken
        self._nights = np.where(rota.taken, 1, self._nights + 1)
        return rota.taken


class _RoundRobin:
    def __init__(self, shares: Array) -> None:
        self._shares, self._order = shares, list(range(len(shares)))

    def __call__(self, night: int) -> Mask:
        taken = _in_order(self._order, self._shares)
        self._order = [each for each in self._order if not taken[each]] + [
            each for each in self._order if taken[each]
        ]
        return taken


class _Random:
    def __init__(self, shares: Array, generator: np.random.Generator) -> None:
        self._shares, self._generator = shares, generator

    def __call__(self, night: int) -> Mask:
        return _in_order(list(self._generator.permutation(len(self._shares))), self._shares)


def _in_order(order: list[int], shares: Array) -> Mask:
    """The first that fit."""
    left, taken = np.ones(shares.shape[1]), np.zeros(len(shares), dtype=bool)
    for each in order:
        if (shares[each] <= left + 1e-12).all():
            left -= shares[each]
            taken[each] = True
    return taken
