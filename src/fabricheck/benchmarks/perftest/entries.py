"""The benchmarks of perftest: a variant differs from the plain benchmark in one option."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from fabricheck.benchmarks.metrics import Metric
from fabricheck.benchmarks.model import (
    ACCEPTANCE,
    LATENCY_STATISTICS,
    NIGHTLY,
    SMOKE,
    Family,
    ProgramBenchmark,
)
from fabricheck.units import MIB

FAMILIES: Final = (Family("verbs", "without MPI and UCX", ("VerbsPerftest",), "verbs"),)

_BANDWIDTH_AND_RATE = (Metric.BANDWIDTH, Metric.MESSAGE_RATE)
_ATOMIC_SIZE = 8
_INLINE_SIZE = 64
"""Bytes that a request itself can carry on any card."""

# What each operation can run over: the table in ibv_post_send(3).
_VERBS_TRANSPORTS: Mapping[str, tuple[str, ...]] = {
    "send": ("rc", "uc", "ud"),
    "write": ("rc", "uc"),
    "read": ("rc",),
    "atomic": ("rc",),
}


@dataclass(frozen=True, slots=True)
class _Variant:
    """One option that changes a verbs benchmark, and which of them it changes."""

    suffix: str
    title: str
    options: tuple[str, ...]
    changes: tuple[str, ...]
    nightly: tuple[str, ...] = ()
    largest: int = 8 * MIB
    needs: tuple[str, ...] = ()


_BW = tuple(f"{operation}_bw" for operation in _VERBS_TRANSPORTS)
# A write leaves no completion at its target that could wake it, so perftest's write tests have no
# -e; requests of reads and atomics carry no data, so theirs have no -I.
_VERBS_VARIANTS = (
    *(
        _Variant(
            f"_qp{count}",
            f", {count} queue pairs",
            ("-q", str(count)),
            _BW,
            nightly=("write_bw",) if count in (4, 16) else (),
        )
        for count in (2, 4, 8, 16)
    ),
    _Variant("_post16", ", 16 requests posted at once", ("-l", "16"), _BW, nightly=("write_bw",)),
    _Variant(
        "_inline",
        ", data inside the request",
        ("-I", str(_INLINE_SIZE)),
        ("send_bw", "send_lat", "write_bw", "write_lat"),
        nightly=("send_lat",),
        largest=_INLINE_SIZE,
        needs=("inline",),
    ),
    _Variant(
        "_events",
        ", sleeping on events instead of polling",
        ("-e",),
        ("send_bw", "send_lat", "read_bw", "read_lat", "atomic_bw", "atomic_lat"),
        nightly=("send_lat",),
    ),
    _Variant("_bidir", ", both directions at once", ("-b",), _BW, nightly=("write_bw",)),
)


_PLAIN = _Variant("", "", (), ())


def _verbs(test: str, variant: _Variant = _PLAIN) -> ProgramBenchmark:
    """A test of perftest; variants run over RC, to differ from the plain test in one thing."""
    operation, _, kind = test.partition("_")
    is_plain, is_latency = variant is _PLAIN, kind == "lat"
    if is_plain:
        runs = SMOKE if test == "write_bw" else NIGHTLY
    else:
        runs = NIGHTLY if test in variant.nightly else ACCEPTANCE
    is_atomic = operation == "atomic"
    return ProgramBenchmark(
        name=f"ib_{test}{variant.suffix}",
        family="verbs",
        title=f"verbs {operation} {'latency' if is_latency else 'bandwidth'}{variant.title}",
        metrics=(Metric.LATENCY,) if is_latency else _BANDWIDTH_AND_RATE,
        statistics=LATENCY_STATISTICS if is_latency else ("avg",),
        min_size=_ATOMIC_SIZE if is_atomic else 2,
        max_size=_ATOMIC_SIZE if is_atomic else variant.largest,
        program=f"ib_{test}",
        options=variant.options,
        transports=_VERBS_TRANSPORTS[operation] if is_plain else ("rc",),
        runs=runs,
        smoke_on=("rc",),
        needs=variant.needs,
    )


BENCHMARKS: Mapping[str, ProgramBenchmark] = MappingProxyType(
    {
        benchmark.name: benchmark
        for benchmark in (
            *(
                _verbs(f"{operation}_{kind}")
                for operation in _VERBS_TRANSPORTS
                for kind in ("lat", "bw")
            ),
            *(_verbs(test, variant) for variant in _VERBS_VARIANTS for test in variant.changes),
        )
    }
)
