"""``lab/simulate``: histories with known changes, and how well they are found and judged."""

import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Annotated

import typer

from fabricheck.acceptance.settings import Settings as AcceptanceSettings
from fabricheck.cli import guarded
from fabricheck.errors import FabricheckError
from fabricheck.history import frame
from fabricheck.history.series import Series
from fabricheck.record.entries import CaseEntry, Sample
from fabricheck.record.write import append
from fabricheck.trend.robust import Array
from fabricheck.trend.settings import Settings
from simulation.acceptance import tables as acceptance_tables
from simulation.alarms import alarms
from simulation.allreduce import allreduce
from simulation.best import best
from simulation.budget_command import night
from simulation.compare import compare
from simulation.events import events
from simulation.lemons import tables as lemon_tables
from simulation.locate_command import locate
from simulation.nights import Injected, Shape, World, latencies
from simulation.noise import RECORDED, read_noise
from simulation.power import (
    BEFORE,
    Detector,
    Rate,
    detection,
    false_alarms,
    fleet,
    our_detector,
    pooled,
)
from simulation.rivals import rivals
from simulation.tables import (
    JsonOption,
    OtavaOption,
    Row,
    SeedOption,
    per_thousand,
    share,
    show,
    write,
)
from simulation.worlds import WORDS, WORLDS

app = typer.Typer(
    help="Histories with known changes, and how well they are found.", no_args_is_help=True
)

SIZES = (0.02, 0.03, 0.05, 0.1)
NIGHTS = (3, 5, 7, 10)
SHAPES = (Shape.RAMP, Shape.BIMODAL, Shape.TAIL, Shape.ONE_SIZE, Shape.ONE_NODE)
SHAPE_SIZE = 0.1
SHAPE_NIGHTS = (5, 10, 20)
GOAL_SIZE, GOAL_NIGHTS = 0.05, 5
FLEET = 1200
_RARE = 4
"""False alarms are rare: for a good figure, as many more series as for a change that is found."""
_PER_FAMILY = 12
"""Series that belong together, so that a share of them can change: six sizes, two statistics."""

NoiseOption = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="Record, or file of one, whose noise is taken.",
        show_default="rounds recorded on a shared machine",
    ),
]


@app.command()
def history(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="New directory for the record.")],
    *,
    change: Annotated[Shape, typer.Option(help="What changes.")] = Shape.STEP,
    size: Annotated[float, typer.Option(help="By how much, relative, for the worse.")] = 0.05,
    nights: Annotated[int, typer.Option(min=1, help="Length of the history.")] = 110,
    at: Annotated[int, typer.Option(min=0, help="The first night after the change.")] = 100,
    series: Annotated[int, typer.Option(min=1, help="Number of series.")] = 24,
    spread: Annotated[float, typer.Option(min=0, help="Noise, relative.")] = 0.02,
    outliers: Annotated[float, typer.Option(min=0, max=1, help="Share of nights.")] = 0.0,
    drift: Annotated[float, typer.Option(min=0, help="Random walk, relative, a night.")] = 0.0,
    weekday: Annotated[float, typer.Option(help="By how much weekends are better.")] = 0.0,
    missing: Annotated[float, typer.Option(min=0, max=0.9, help="Share of nights.")] = 0.0,
    normal: Annotated[
        bool, typer.Option("--normal", help="Normal noise instead of recorded noise.")
    ] = False,
    noise: NoiseOption = None,
    seed: SeedOption = 1,
    machine: JsonOption = False,
) -> None:
    """Write a simulated history as a record, for "fabricheck history refresh".

    Exit code 0: written. 2: bad input.

    Examples:

        lab/simulate history /tmp/simulated --change step --size 0.05

        fabricheck history refresh --perflogs /tmp/simulated --store /tmp/store

        fabricheck trend --store /tmp/store
    """
    path = directory / "simulated"
    if path.exists():
        raise FabricheckError(f"expected no record at {path}, found one: name another directory")
    if size <= -1:
        raise FabricheckError(f"expected a size greater than -1, found {size:g}: 0.05 is 5 %")
    world = World(
        spread=spread,
        recorded=not normal,
        outliers=outliers,
        drift=drift,
        weekday=weekday,
        missing=missing,
    )
    made = latencies(
        world, Injected(change, size, at), _noise(noise), nights=nights, count=series, seed=seed
    )
    cases = _cases(made)
    values = sum(len(case.samples) for case in cases)
    append(directory, cases)
    if machine:
        write({"path": str(path), "series": len(made), "values": values})
    else:
        typer.echo(f"{path}: {len(made)} series, {values} values")


@app.command()
def power(
    *,
    count: Annotated[
        int, typer.Option(min=12, help="Series for each figure; for false alarms four times.")
    ] = 1000,
    only: Annotated[
        list[str] | None,
        typer.Option("--world", help=f"Only this noise: {', '.join(WORLDS)}; may be repeated."),
    ] = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Only other detectors, on the same data.")
    ] = False,
    before: Annotated[
        int, typer.Option("--history", min=20, help="Nights before a change.")
    ] = BEFORE,
    with_otava: OtavaOption = None,
    noise: NoiseOption = None,
    seeds: Annotated[
        list[int] | None,
        typer.Option(
            "--seed",
            min=0,
            help="All values follow from it; may be repeated: the figures are then pooled.",
            show_default="20261121",
        ),
    ] = None,
    machine: JsonOption = False,
) -> None:
    """Measure how often changes are found, how soon, and how many alarms are false.

    Prints the tables of docs/explanation/detection.md. The detectors were tuned on other seeds.

    Exit code 0: measured. 2: bad input.

    Examples:

        lab/simulate power --world normal --count 300

        lab/simulate power --noise /srv/perflogs --seed 1 --seed 2 --json

        lab/simulate power --compare --with-otava otava/bin/python
    """
    unknown = set(only or ()) - set(WORLDS)
    if unknown:
        raise FabricheckError(
            f"expected --world of {', '.join(WORLDS)}, found {', '.join(sorted(unknown))}"
        )
    if with_otava and not compare:
        raise FabricheckError("expected --compare with --with-otava: add it")
    worlds = {name: world for name, world in WORLDS.items() if not only or name in only}
    bench = _Bench(_noise(noise), count, seeds or [20261121], before)
    tables = _tables(bench, worlds, compare=compare, otava=with_otava)
    show({"count": count, "seeds": bench.seeds}, tables, machine=machine)


@app.command()
def acceptance(
    *,
    count: Annotated[
        int, typer.Option(min=20, help="Series for each figure on single series.")
    ] = 1000,
    rounds: Annotated[
        int, typer.Option(min=2, help="Campaigns for each figure on campaigns.")
    ] = 100,
    noise: NoiseOption = None,
    seed: SeedOption = 20261121,
    machine: JsonOption = False,
) -> None:
    """Measure how often "fabricheck accept" is right, on runs of which it is known what changed.

    Prints the tables of docs/explanation/acceptance-errors.md.

    Exit code 0: measured. 2: bad input.

    Examples:

        lab/simulate acceptance --count 200 --rounds 10

        lab/simulate acceptance --noise /srv/perflogs --json
    """
    tables = acceptance_tables(
        _noise(noise), AcceptanceSettings(), count=count, rounds=rounds, seed=seed
    )
    show({"count": count, "rounds": rounds, "seed": seed}, tables, machine=machine)


@app.command()
def nodes(
    *,
    rounds: Annotated[int, typer.Option(min=1, help="Histories for each figure.")] = 100,
    seed: SeedOption = 20261122,
    machine: JsonOption = False,
) -> None:
    """Measure how soon "fabricheck trend" names a slow node, and how often a healthy one.

    Prints the table of docs/how-to/localisation.md.

    Exit code 0: measured. 2: bad input.

    Examples:

        lab/simulate nodes --rounds 20
    """
    show({"rounds": rounds, "seed": seed}, lemon_tables(rounds, seed), machine=machine)


class _Bench:
    """What all measurements have in common."""

    def __init__(self, noise: list[Array], count: int, seeds: list[int], before: int) -> None:
        self.noise, self.count, self.seeds, self.before = noise, count, seeds, before
        self.settings = Settings()
        self.ours = our_detector(self.settings)

    def detection(
        self, detector: Detector, world: World, shape: Shape, size: float, nights: int
    ) -> list[Rate]:
        change = Injected(shape, size, self.before)
        return pooled(
            detection(
                detector, world, change, self.noise, nights=nights, count=self.count, seed=seed
            )
            for seed in self.seeds
        )

    def false_alarms(self, detector: Detector, world: World) -> Rate:
        (rate,) = pooled(
            [
                false_alarms(
                    detector,
                    world,
                    self.noise,
                    count=_RARE * self.count,
                    seed=seed + 1,
                    history=self.before,
                )
            ]
            for seed in self.seeds
        )
        return rate

    def fleet(self, changed: int) -> list[Rate]:
        """Of a step of some series among many, adjusted for their number."""
        rounds = max(1, self.count // max(FLEET // 10, changed))
        return pooled(
            fleet(
                self.settings, WORLDS["normal"], self.noise, size=GOAL_SIZE, changed=changed,
                count=FLEET, rounds=rounds, nights=max(NIGHTS), seed=seed,
            )
            for seed in self.seeds
        )  # fmt: skip


def _tables(
    bench: _Bench, worlds: dict[str, World], *, compare: bool, otava: Path | None
) -> Iterator[tuple[str, Iterator[Row]]]:
    if compare:
        yield "detectors beside each other", _compared(bench, worlds, otava)
        return
    yield "steps", _steps(bench, worlds)
    yield "false alarms per 1000 series and nights", _false(bench, worlds)
    yield "other changes", _shapes(bench)
    yield f"steps in {FLEET} series judged together", _fleet(bench)


def _steps(bench: _Bench, worlds: dict[str, World]) -> Iterator[Row]:
    for name, world in worlds.items():
        for size in SIZES:
            rates = bench.detection(bench.ours, world, Shape.STEP, size, max(NIGHTS))
            cells = {f"{night} nights": share(rates[night - 1]) for night in NIGHTS}
            yield {"noise of 2 %": WORDS[name], "step": f"{100 * size:g} %", **cells}


def _false(bench: _Bench, worlds: dict[str, World]) -> Iterator[Row]:
    for name, world in worlds.items():
        rate = bench.false_alarms(bench.ours, world)
        yield {"noise of 2 %": WORDS[name], "false alarms": per_thousand(rate)}


def _shapes(bench: _Bench) -> Iterator[Row]:
    for shape in SHAPES:
        rates = bench.detection(bench.ours, WORLDS["normal"], shape, SHAPE_SIZE, max(SHAPE_NIGHTS))
        cells = {f"{night} nights": share(rates[night - 1]) for night in SHAPE_NIGHTS}
        yield {"change of 10 %": shape.value, **cells}


def _fleet(bench: _Bench) -> Iterator[Row]:
    for changed in (_PER_FAMILY, FLEET // 10):
        rates = bench.fleet(changed)
        cells = {f"{night} nights": share(rates[night - 1]) for night in NIGHTS}
        yield {"series that step by 5 %": str(changed), **cells}


def _compared(bench: _Bench, worlds: dict[str, World], otava: Path | None) -> Iterator[Row]:
    detectors = {"fabricheck trend": bench.ours, **rivals(otava)}
    for name, world in worlds.items():
        for words, detector in detectors.items():
            rates = bench.detection(detector, world, Shape.STEP, GOAL_SIZE, GOAL_NIGHTS)
            yield {
                "noise of 2 %": WORDS[name],
                "detector": words,
                "5 % step in 5 nights": share(rates[-1]),
                "false alarms": per_thousand(bench.false_alarms(detector, world)),
            }


def _cases(made: list[Series]) -> list[CaseEntry]:
    """The cases that series belong to, with the samples of each of them."""
    samples: dict[CaseEntry, list[Sample]] = defaultdict(list)
    for series in made:
        key = series.key
        for time, value, session in zip(series.times, series.values, series.sessions, strict=True):
            case = CaseEntry(
                time=time.item().replace(tzinfo=UTC).isoformat(timespec="seconds"),
                session=str(session),
                **{name: getattr(key, name) for name in frame.CASE},
                level="good",
                result="pass",
            )
            point = {name: getattr(key, name) for name in frame.POINT}
            samples[case].append(Sample(value=float(f"{value:.6g}"), level="good", **point))
    cases = (replace(case, samples=tuple(each)) for case, each in samples.items())
    return sorted(cases, key=lambda case: case.time)


def _noise(path: Path | None) -> list[Array]:
    return read_noise(path or RECORDED)


app.command()(locate)
app.command()(night)
app.command()(events)
app.command()(alarms)
app.command()(best)
app.command()(compare)
app.command()(allreduce)


def main() -> None:
    """Run the command line, and end as fabricheck does."""
    sys.exit(guarded(lambda: app(prog_name="lab/simulate")))
