"""rdma_batch beside another program in the same job: the commands in turns, and what they tell."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.metrics import Metric
from fabricheck.programs.perftest import read as perftest
from fabricheck.programs.rdma_batch import read as rdma_batch
from fabricheck.programs.rdma_batch.entries import Comparison
from fabricheck.programs.rdma_batch.table import PROGRAM, TransferRow

ROUNDS = 3
"""How often both take turns: enough that one disturbed run is outvoted."""

PARTS = "cards"
"""The setting of a curve that tells, in words, what the parts of the other side measured."""

_MICRO = 1_000_000


@dataclass(frozen=True, slots=True)
class Setting:
    """Where both programs run.

    Attributes:
        program: path of ``rdma_batch``.
        own_options: its options for port and address.
        perftest_options: those of perftest.
        count: how many batches are measured at a size.
    """

    program: str
    own_options: Sequence[str]
    perftest_options: Sequence[str]
    count: Callable[[int], int]


@dataclass(frozen=True, slots=True)
class Turn:
    """One run: of which side, at which size in bytes, and its words.

    What the parts of a side measure, such as each card alone, is added.
    """

    is_own: bool
    size: int
    words: tuple[str, ...]
    part: str = ""


@dataclass(frozen=True, slots=True)
class Sides:
    """The medians of both sides.

    Attributes:
        own: us or MB/s of ours, by size in bytes.
        rival: the same of the other program.
        rows: every row that ours printed.
        mtu: the smallest path MTU of our runs, in bytes.
        parts: what the other side's parts measured, by their names.
    """

    own: Mapping[int, float]
    rival: Mapping[int, float]
    rows: tuple[TransferRow, ...]
    mtu: int
    parts: Mapping[str, float]


def turns(entry: Comparison, sizes: Sequence[int], setting: Setting) -> list[Turn]:
    """The runs of a comparison in their order."""
    return [
        turn
        for _ in range(ROUNDS)
        for size in sizes
        for turn in (
            Turn(is_own=False, size=size, words=_rival(entry, size, setting)),
            Turn(is_own=True, size=size, words=own(entry, entry.options, size, setting)),
        )
    ]


def read(entry: Comparison, runs: Sequence[Turn], outputs: Sequence[str], source: str) -> Sides:
    """What both sides measured.

    Raises:
        ParseError: if an output is damaged.
    """
    found: dict[tuple[bool, int, str], list[float]] = {}
    rows: list[TransferRow] = []
    mtus = []
    for number, (turn, text) in enumerate(zip(runs, outputs, strict=True), start=1):
        place = f"{source}: run {number}"
        if turn.words[0] == entry.rival:
            value = _of_perftest(entry, text, place)
        else:
            output = rdma_batch.read_result(text, place)
            here = [row for (row,) in output.tables]
            rows += here
            mtus.append(rdma_batch.path_mtu(output.settings))
            value = _of_rows(entry, here)
        found.setdefault((turn.is_own, turn.size, turn.part), []).append(value)
    sides: dict[bool, dict[int, float]] = {True: {}, False: {}}
    parts = {}
    for (is_own, size, part), values in found.items():
        sides[is_own][size] = sides[is_own].get(size, 0) + median(values)
        if part and not is_own:
            parts[part] = median(values)
    return Sides(sides[True], sides[False], tuple(rows), min(mtus), parts)


def ratios(entry: Comparison, sides: Sides) -> Curve:
    """How many times better ours is, at each size."""
    points = (Point(size, {(Metric.RATIO, "p50"): ratio(entry, sides, size)}) for size in sides.own)
    told = {}
    if sides.parts:
        alone = ", ".join(f"{name} {value:.0f}" for name, value in sides.parts.items())
        (together,) = sides.own.values()
        told[PARTS] = f"all cards at once {together:.0f} MB/s, one by one {alone} MB/s"
    return Curve(entry.name, PROGRAM, metadata=told, points=tuple(points))


def ratio(entry: Comparison, sides: Sides, size: int) -> float:
    """How many times better ours is at a size in bytes."""
    ours, theirs = sides.own[size], sides.rival[size]
    return theirs / ours if entry.of is Metric.LATENCY else ours / theirs


def own(entry: Comparison, options: Sequence[str], size: int, setting: Setting) -> tuple[str, ...]:
    """The words of a run of ours."""
    return (
        setting.program,
        *options,
        *("--buffer-size", str(size), "--transfer-batch-size", str(entry.batch)),
        *("--iters", str(setting.count(size)), "--no-validate", "--json", "-"),
        *setting.own_options,
    )


def _rival(entry: Comparison, size: int, setting: Setting) -> tuple[str, ...]:
    if entry.rival == entry.program:
        return own(entry, entry.rival_options, size, setting)
    messages = setting.count(size) * entry.batch
    return (
        entry.rival,
        *entry.rival_options,
        *setting.perftest_options,
        *("-s", str(size), "-n", str(messages)),
    )


def _of_rows(entry: Comparison, rows: Sequence[TransferRow]) -> float:
    if entry.of is Metric.BANDWIDTH:
        # Initiators begin a batch together; MB/s times us are bytes.
        return sum(row.total for row in rows) / max(row.latency["avg"] for row in rows)
    (row,) = rows
    return row.latency["avg" if _is_rate(entry) else "p50"]


def _of_perftest(entry: Comparison, text: str, source: str) -> float:
    (point,) = perftest.parse_runs([text], source).points
    if entry.of is Metric.BANDWIDTH:
        return point.values[Metric.BANDWIDTH, "avg"]
    if _is_rate(entry):
        return _MICRO / point.values[Metric.MESSAGE_RATE, "avg"]
    return point.values[Metric.LATENCY, "p50"]


def _is_rate(entry: Comparison) -> bool:
    """Whether the other program tells a latency as a rate, of one message at a time."""
    return entry.rival.endswith("_bw") and entry.of is Metric.LATENCY
