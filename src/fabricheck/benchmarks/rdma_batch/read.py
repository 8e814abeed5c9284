"""Curves of ``rdma_batch``, and of MORI-IO's benchmark, from their tables."""

from collections.abc import Mapping
from types import MappingProxyType

from fabricheck.benchmarks.curve import Curve, Point
from fabricheck.benchmarks.metrics import Metric
from fabricheck.benchmarks.parser import ParseError
from fabricheck.benchmarks.rdma_batch.entries import BENCHMARKS, SWEEPS
from fabricheck.benchmarks.rdma_batch.table import (
    PROGRAM,
    WHOLE_NUMBER,
    Output,
    Row,
    is_output,
    read,
)

__all__ = [
    "PROGRAM",
    "Output",
    "Row",
    "confirm_case",
    "curve",
    "is_output",
    "parse",
    "path_mtu",
    "read",
]

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
    output = read(text, source)
    rows = output.tables[0]
    by_total = len(rows) > 1 and len({row.size for row in rows}) == 1
    operation = output.settings.get("op_type")
    if operation is None and not name:
        raise ParseError(
            f"{source}: expected op_type in the configuration, found none: the table doesn't tell "
            "reads from writes, so name the benchmark (--benchmark)"
        )
    for sweep in SWEEPS:
        is_it = (operation or sweep.options[-1]) in sweep.options
        if is_it and (sweep.name == name if name else bool(sweep.transfer) == by_total):
            break
    else:
        raise ParseError(
            f"{source}: expected {name or 'a sweep of the registry'} ("
            f"{', '.join(sweep.name for sweep in SWEEPS)} are known), found one of "
            f"{operation or 'unknown operation'}s over {'batches' if by_total else 'sizes'}"
        )
    if sweep.transfer and {row.size for row in rows} != {sweep.transfer}:
        raise ParseError(
            f"{source}: expected transfers of {sweep.transfer} B as in {sweep.name}, found others: "
            "the table is of another sweep"
        )
    return curve(output, sweep.name, by_total=bool(sweep.transfer))


def confirm_case(curve: Curve, placement: str, source: str) -> None:
    """Make sure that a run had the options of its benchmark, as far as its configuration tells.

    Raises:
        ParseError: naming the option and what it was.
    """
    del placement
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
                f"{source}: expected {key}: {wanted} as in {curve.benchmark}, found {value}: its "
                "figures belong to another test"
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
                values=MappingProxyType(values),
                iterations=rows[0].iterations,
                valid=True if checked else None,
            )
        )
    return Curve(
        benchmark=benchmark,
        program=PROGRAM,
        version=output.version,
        datatype=None,
        metadata=output.settings,
        points=tuple(points),
        # Our program tells how many rows it has; MORI-IO's sweeps always have the same ends.
        is_whole=bool(output.version) or (points[0].size, points[-1].size) == (least, most),
    )
