"""A sweep: one case with several settings of environment variables, in turns, in one allocation.

Its record lies in ``reports/sweeps/``, where nothing looks for nights: no value of it comes into
history, trend, references, page or exporter.
"""

import itertools
import math
import os
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from fabricheck.errors import FabricheckError
from fabricheck.launch.varied import shown
from fabricheck.provenance import home
from fabricheck.provenance import session as name_of_session
from fabricheck.record.costs import Key, costs
from fabricheck.record.entries import SWEEP, CaseEntry
from fabricheck.record.read import read_session
from fabricheck.reframe_ext.config import find_system
from fabricheck.reframe_ext.matrix import CheckCase
from fabricheck.reframe_ext.varied import Plan, place_in_order
from fabricheck.report.files import write_whole
from fabricheck.runner import session
from fabricheck.runner.selection import RunSelection
from fabricheck.schedulers import scheduler_of
from fabricheck.transports.placement import parts

Setting = Mapping[str, str]
_VARIED: Final = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<values>.*[^,].*)", re.ASCII | re.DOTALL)
_OURS: Final = ("FABRICHECK_", "RFM_")
_GUESSED_SECONDS: Final = 30.0
_SPARE: Final = 2
_LEAST_MINUTES: Final = 30


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a sweep runs.

    Attributes:
        system: of ``sites/``.
        case: the one case.
        settings: the variables of each setting, the first the default.
        order: which setting each run has.
        seconds: how long all runs take; ``None`` where the record does not know the case.
        plan: the same for ReFrame.
    """

    system: str
    case: CheckCase
    settings: tuple[Setting, ...]
    order: tuple[int, ...]
    seconds: float | None
    plan: Plan

    @property
    def where(self) -> dict[str, str]:
        """What is swept."""
        names = ("partition", "environ", "benchmark", "placement")
        return {"system": self.system, **{name: getattr(self.case, name) for name in names}}


def settings_of(varied: Sequence[str]) -> list[Setting]:
    """The settings: first the default, which sets nothing, then each combination of the values.

    Args:
        varied: such as ``UCX_RNDV_THRESH=8k,64k``; ``\\,`` is a comma within a value, and an empty
            value leaves the variable unset.

    Raises:
        FabricheckError: for what is none, for one variable twice, for one of the suite's own, and
            for one that is set already, so that the default would have it too.
    """
    values: dict[str, list[str]] = {}
    for each in varied:
        match = _VARIED.fullmatch(each)
        if not match or match["name"] in values or match["name"].startswith(_OURS):
            raise FabricheckError(
                "FC2901 expected --vary NAME=VALUE[,VALUE]..., each variable once and none of "
                f"{' or '.join(_OURS)}, found {each!r}: correct it, as in UCX_RNDV_THRESH=8k,64k"
            )
        if match["name"] in os.environ:
            raise FabricheckError(
                f"FC2902 expected {match['name']} not to be set where the sweep starts, since the "
                f"default is without it, found {os.environ[match['name']]!r}: unset it"
            )
        words = re.split(r"(?<!\\),", match["values"])
        values[match["name"]] = [word.replace("\\,", ",") for word in words]
    combined = itertools.product(*([(name, v) for v in each] for name, each in values.items()))
    found: list[Setting] = [{}]
    found += ({name: value for name, value in each if value} for each in combined)
    return [each for place, each in enumerate(found) if each not in found[:place]]


def order_of(settings: int, rounds: int, seed: str) -> list[int]:
    """Which setting each run has, round by round.

    A round has each setting once, in an order of chance; the next one has the reverse order, so
    that a drift in time is the same for all of them over two rounds.
    """
    chance, order = random.Random(seed), list[int]()  # noqa: S311 - no secret
    for number in range(rounds):
        turn = order[-settings:][::-1] if number % 2 else chance.sample(range(settings), settings)
        order += turn
    return order


def one_of(cases: Sequence[CheckCase], system: str) -> CheckCase:
    """The one case that is swept.

    Raises:
        FabricheckError: if there is none, or several, or one that reads what others measured.
    """
    if len(cases) == 1 and not cases[0].needs:
        return cases[0]
    names = "; ".join(
        f"--partition {each.partition} --environ {each.environ} {each.name}" for each in cases[:9]
    )
    raise FabricheckError(
        f"FC2903 expected one case of system {system} that measures something itself, found "
        f"{len(cases)}: {names or 'see fabricheck plan'}: choose one by --benchmark, --transport, "
        "--nodes, --environ and --partition"
    )


def made(
    suite: Path, system: str, case: CheckCase, settings: Sequence[Setting], rounds: int
) -> Sweep:
    """What a sweep of a case runs, and how long that takes, by what the case took before."""
    _require_one_allocation(suite, system, case.partition)
    order = order_of(len(settings), rounds, name_of_session())
    key = Key(case.partition, case.environ, case.check, case.benchmark, case.placement)
    cost = costs(home(suite) / "perflogs", system).get(key)
    seconds = len(order) * cost.seconds if cost else None
    minutes = _SPARE * (seconds or len(order) * _GUESSED_SECONDS) / 60 + _LEAST_MINUTES
    plan = Plan(
        runs=tuple(settings[each] for each in order),
        nodes=parts(case.placement)[1] if case.placement else 1,
        time=f"{math.ceil(minutes)}m",
    )
    return Sweep(system, case, tuple(settings), tuple(order), seconds, plan)


def _require_one_allocation(suite: Path, system: str, partition: str) -> None:
    _, found = find_system(suite, system)
    name = next(p["scheduler"] for p in found["partitions"] if p["name"] == partition)
    scheduler = scheduler_of(name)
    if not scheduler.holds_nodes:
        raise FabricheckError(
            "FC2905 expected a partition of Slurm, of hosts, or of one machine alone, found "
            f"{partition}, whose scheduler {name} makes a job of each run: sweep on another"
        )


def words(sweep: Sweep) -> list[str]:
    """What a sweep runs, for who decides whether to start it."""
    case, runs = sweep.case, len(sweep.order)
    took = "nobody knows yet how long" if sweep.seconds is None else f"{sweep.seconds / 60:.0f} min"
    return [
        f"{case.name} on {sweep.system}:{case.partition} with {case.environ}, "
        f"{runs // len(sweep.settings)} rounds of",
        *(f"  {shown(each)}" for each in sweep.settings),
        f"{runs} runs, {took}; of Slurm {sweep.plan.nodes} nodes for {sweep.plan.time}",
    ]


def measure(suite: Path, sweep: Sweep, *, aside: bool) -> tuple[Path, list[CaseEntry]]:
    """Make the runs; the directory of the sweep, and its runs in the order of the plan.

    Args:
        suite: root of the suite.
        sweep: what to run.
        aside: as for ``session.run``.

    Raises:
        FabricheckError: as of ``session.run``, and if the runs had another order than the plan:
            then settings are not compared in turns.
    """
    place = home(suite) / "reports" / "sweeps" / name_of_session()
    place.mkdir(parents=True, exist_ok=True)
    written, runs, case = place / "plan.json", len(sweep.order), sweep.case
    write_whole(written, msgspec.json.encode(sweep.plan).decode())
    chosen = {"systems": [f"{sweep.system}:{case.partition}"], "environs": [case.environ]}
    wanted = RunSelection(sweep.system, (case.benchmark,), chosen={case.name: chosen})
    options = [f"--repeat={runs}", "--exec-order=name", f"--session-extras=kind={SWEEP}"]
    _, recorded = session.run(suite, wanted, None, options, aside=aside, sweep=written)
    cases = [c for c in read_session(place / "perflogs", recorded).cases if c.repeat is not None]
    ran = [place_in_order(each.repeat or 0, runs) for each in cases]
    if ran != list(range(runs)):
        raise FabricheckError(
            f"FC2904 expected runs 0 to {runs - 1} of the sweep in their order, found {ran} in "
            f"{place / 'perflogs'}: it was stopped, or ReFrame ran them in another order; sweep "
            "again"
        )
    return place, cases
