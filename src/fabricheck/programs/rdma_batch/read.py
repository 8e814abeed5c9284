"""Curves of ``rdma_batch``, from its results, and of MORI-IO's benchmark, from its tables."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from fabricheck.errors import ParseError
from fabricheck.measures import program_result
from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.metrics import Metric
from fabricheck.measures.program_result import ProgramResult
from fabricheck.programs.rdma_batch import table
from fabricheck.programs.rdma_batch.entries import BENCHMARKS, SWEEPS
from fabricheck.programs.rdma_batch.table import (
    PROGRAM,
    WHOLE_NUMBER,
    Output,
    TransferRow,
    check_sweeps,
    read,
)

is_output = table.is_output
_TOLD = (
    "buffer_size",
    "transfer_batch_size",
    "enable_batch_transfer",
    "enable_sess",
    "num_qp_per_transfer",
    "num_worker_threads",
    "poll_cq_mode",
    "validate",
)
"""Options that are told with a curve."""
_ROUNDING = 1e-6

_SWITCHES = ("--enable-batch-transfer", "--enable-sess")


def parse(text: str, source: str, name: str = "") -> Curve:
    """The curve of the sweep that ran; a single row is one size of a sweep of sizes.

    Args:
        text: the whole output of the run.
        source: what to call it in messages.
        name: the benchmark that ran, for output whose configuration doesn't tell.

    Raises:
        ParseError: as for ``read``, or if the output is of no sweep, or of another than ``name``.
    """
    return _of_sweep(read(text, source), source, name)


def from_result(result: ProgramResult, name: str = "") -> Curve:
    """The same of a run of ``rdma_batch``."""
    return _of_sweep(_output(result), result.source, name)


RESULTS = {PROGRAM: from_result}


def read_result(text: str, source: str) -> Output:
    """What one run of ``rdma_batch`` wrote as JSON.

    Raises:
        ParseError: if it is damaged, cut, incomplete or of another program.
    """
    return _output(program_result.read(text, source))


def _output(result: ProgramResult) -> Output:
    if result.program != PROGRAM:
        result.refuse(f"expected results of {PROGRAM}, found those of {result.program}")
    tables: dict[int, list[TransferRow]] = defaultdict(list)
    for each in result.results:
        if each.get("initiator") is not None:
            tables[result.need(each, "initiator", int)].append(_row(result, each))
    if len(tables) != result.environment["ranks"]:
        result.refuse(
            f"expected the rows of all {result.environment['ranks']} initiators, found "
            f"{len(tables)}"
        )
    check_sweeps(list(tables.values()), result.source, doubling=False)
    told = {key: str(result.options[key]) for key in _TOLD if key in result.options}
    settings = {**told, "op_type": result.benchmark, **result.metadata()}
    return Output(result.version, settings, tuple(map(tuple, tables.values())))


def _row(result: ProgramResult, each: Mapping[str, Any]) -> TransferRow:
    size, batch, total = (result.need(each, name, int) for name in ("size", "batch", "bytes"))
    latency, bandwidth = (
        {statistic: value for (_, statistic), value in result.values(each, metric, metric)}
        for metric in (Metric.LATENCY, Metric.BANDWIDTH)
    )
    if not {"min", "avg", "p50"} <= latency.keys() or not {"max", "avg"} <= bandwidth.keys():
        result.refuse("expected latency and bandwidth of each batch, found not all: it is damaged")
    # MB/s times us are bytes.
    moved = {total, bandwidth["max"] * latency["min"], bandwidth["avg"] * latency["avg"]}
    if any(abs(each - size * batch) > _ROUNDING * total for each in moved):
        result.refuse(
            f"expected {size * batch} bytes from size and batch, found "
            f"{', '.join(f'{each:.9g}' for each in sorted(moved))} from bytes, bandwidth and "
            "latency: the file is damaged, or the program miscounts"
        )
    return TransferRow(size, batch, latency, bandwidth, result.need(each, "iterations", int))


def _of_sweep(output: Output, source: str, name: str) -> Curve:
    rows = output.tables[0]
    by_total = len(rows) > 1 and len({row.size for row in rows}) == 1
    operation = output.settings.get("op_type")
    if operation is None and not name:
        raise ParseError(
            f"FC1228 {source}: expected op_type in the configuration, found none: the table "
            "does not separate reads from writes, so name the benchmark (--benchmark)"
        )
    for sweep in SWEEPS.values():
        is_it = (operation or sweep.options[-1]) in sweep.options
        if is_it and (sweep.name == name if name else bool(sweep.transfer) == by_total):
            break
    else:
        raise ParseError(
            f"FC1229 {source}: expected {name or 'a sweep of the registry'} ({', '.join(SWEEPS)} "
            f"are known), found one of {operation or 'unknown operation'}s over "
            f"{'batches' if by_total else 'sizes'}"
        )
    if sweep.transfer and {row.size for row in rows} != {sweep.transfer}:
        raise ParseError(
            f"FC1230 {source}: expected transfers of {sweep.transfer} B as in {sweep.name}, found "
            "others: the table is of another sweep"
        )
    return curve(output, sweep.name, by_total=bool(sweep.transfer))


def confirm_case(curve: Curve, placement: str, source: str) -> None:
    """Make sure that a run had the options of its benchmark, as far as its configuration tells.

    Raises:
        ParseError: naming the option and what it was.
    """
    options = BENCHMARKS[curve.benchmark].options
    for key, value in curve.metadata.items():
        option = "--" + key.replace("_", "-")
        if option in _SWITCHES:
            wanted = str(option in options)
        elif option in options:
            wanted = options[options.index(option) + 1]
        else:
            continue
        if value != wanted:
            raise ParseError(
                f"FC1231 {source}: expected {key}: {wanted} as in {curve.benchmark}, found "
                f"{value}: its figures belong to another test"
            )


def path_mtu(settings: Mapping[str, str]) -> int:
    """Bytes of payload of a packet on the connection; 0 where the configuration doesn't tell."""
    told = settings.get("mtu", "")
    return int(told) if WHOLE_NUMBER.fullmatch(told) else 0


def curve(output: Output, benchmark: str, *, by_total: bool) -> Curve:
    """The curve of the slowest initiator: at each point the longest time and the least bandwidth.

    Args:
        output: what was read.
        benchmark: its name in the registry.
        by_total: whether the size of a point is that of the whole batch (a sweep of batches), not
            of one transfer.
    """
    checked = output.settings.get("validate") == "True"
    least, most = BENCHMARKS[benchmark].min_size, BENCHMARKS[benchmark].max_size
    points = []
    for rows in zip(*output.tables, strict=True):
        values: dict[tuple[Metric, str], float] = {}
        for name in rows[0].latency:
            values[Metric.LATENCY, name] = max(row.latency[name] for row in rows)
        for name in rows[0].bandwidth:
            values[Metric.BANDWIDTH, name] = min(row.bandwidth[name] for row in rows)
        points.append(
            Point(
                size=rows[0].total if by_total else rows[0].size,
                values=values,
                iterations=rows[0].iterations,
                valid=True if checked else None,
            )
        )
    return Curve(
        benchmark=benchmark,
        program=PROGRAM,
        version=output.version,
        metadata=output.settings,
        points=tuple(points),
        # Our program tells how many rows it has; MORI-IO's sweeps always have the same ends.
        is_whole=bool(output.version) or (points[0].size, points[-1].size) == (least, most),
    )
