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
    """One run: of which side, at which size in bytes, and its words."""

    is_own: bool
    size: int
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sides:
    """The medians of both sides.

    Attributes:
        own: us or MB/s of ours, by size in bytes.
        rival: the same of the other program.
        rows: every row that ours printed.
        mtu: the smallest path MTU of our runs, in bytes.
    """

    own: Mapping[int, float]
    rival: Mapping[int, float]
    rows: tuple[TransferRow, ...]
    mtu: int


def turns(entry: Comparison, sizes: Sequence[int], setting: Setting) -> list[Turn]:
    """The runs of a comparison in their order."""
    return [
        turn
        for _ in range(ROUNDS)
        for size in sizes
        for turn in (
            Turn(is_own=False, size=size, words=_rival(entry, size, setting)),
            Turn(is_own=True, size=size, words=_own(entry, entry.options, size, setting)),
        )
    ]


def read(entry: Comparison, runs: Sequence[Turn], outputs: Sequence[str], source: str) -> Sides:
    """What both sides measured.

    Raises:
        ParseError: if an output is damaged.
    """
    found: dict[tuple[bool, int], list[float]] = {}
    rows, mtus = [], []
    for number, (turn, text) in enumerate(zip(runs, outputs, strict=True), start=1):
        place = f"{source}: run {number}"
        if turn.words[0] == entry.rival:
            value = _of_perftest(entry, text, place)
        else:
            output = rdma_batch.read_result(text, place)
            (row,) = output.tables[0]
            rows.append(row)
            mtus.append(rdma_batch.path_mtu(output.settings))
            value = _of_row(entry, row)
        found.setdefault((turn.is_own, turn.size), []).append(value)
    medians = {key: median(values) for key, values in found.items()}
    own, rival = (
        {size: value for (o, size), value in medians.items() if o is is_own}
        for is_own in (True, False)
    )
    return Sides(own, rival, tuple(rows), min(mtus))


def ratios(entry: Comparison, sides: Sides) -> Curve:
    """How many times better ours is, at each size."""
    points = (Point(size, {(Metric.RATIO, "p50"): ratio(entry, sides, size)}) for size in sides.own)
    return Curve(entry.name, PROGRAM, points=tuple(points))


def ratio(entry: Comparison, sides: Sides, size: int) -> float:
    """How many times better ours is at a size in bytes."""
    own, rival = sides.own[size], sides.rival[size]
    return rival / own if entry.of is Metric.LATENCY else own / rival


def _own(entry: Comparison, options: Sequence[str], size: int, setting: Setting) -> tuple[str, ...]:
    return (
        setting.program,
        *options,
        *("--buffer-size", str(size), "--transfer-batch-size", str(entry.batch)),
        *("--iters", str(setting.count(size)), "--no-validate", "--json", "-"),
        *setting.own_options,
    )


def _rival(entry: Comparison, size: int, setting: Setting) -> tuple[str, ...]:
    if entry.rival == entry.program:
        return _own(entry, entry.rival_options, size, setting)
    messages = setting.count(size) * entry.batch
    return (
        entry.rival,
        *entry.rival_options,
        *setting.perftest_options,
        *("-s", str(size), "-n", str(messages)),
    )


def _of_row(entry: Comparison, row: TransferRow) -> float:
    if entry.of is Metric.BANDWIDTH:
        return row.bandwidth["avg"]
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
