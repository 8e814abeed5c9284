"""The benchmarks of ucx_perftest."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from fabricheck.benchmarks.metrics import Metric
from fabricheck.benchmarks.model import ACCEPTANCE, NIGHTLY, SMOKE, Family, ProgramBenchmark
from fabricheck.units import MIB

FAMILIES: Final = (Family("ucx", "without MPI", ("UcxPerftest",), "UCX"),)


def _ucx(
    name: str,
    test: str,
    title: str,
    *options: str,
    runs: frozenset[str] = ACCEPTANCE,
    smoke_on: tuple[str, ...] | None = None,
) -> ProgramBenchmark:
    """A test of ucx_perftest, which has one percentile in its table: the median."""
    is_latency = name.endswith("_lat")
    return ProgramBenchmark(
        name=f"ucx_{name}",
        family="ucx",
        title=f"UCX {title}",
        metrics=(Metric.LATENCY,) if is_latency else (Metric.BANDWIDTH, Metric.MESSAGE_RATE),
        statistics=("avg", "p50") if is_latency else ("avg",),
        min_size=1,
        max_size=4 * MIB,
        program="ucx_perftest",
        options=("-t", test, *options),
        transports=("rc", "ud", "dc", "tcp", "shm"),
        runs=runs,
        smoke_on=smoke_on,
    )


BENCHMARKS: Mapping[str, ProgramBenchmark] = MappingProxyType(
    {
        benchmark.name: benchmark
        for benchmark in (
            _ucx(
                "tag_lat",
                "tag_lat",
                "tagged message latency",
                runs=SMOKE,
                smoke_on=("rc", "tcp", "shm"),
            ),
            _ucx(
                "tag_bw",
                "tag_bw",
                "tagged message bandwidth",
                runs=SMOKE,
                smoke_on=("tcp", "shm"),
            ),
            _ucx("stream_lat", "stream_lat", "stream latency"),
            _ucx("stream_bw", "stream_bw", "stream bandwidth"),
            _ucx("am_lat", "ucp_am_lat", "active message latency"),
            _ucx("am_bw", "ucp_am_bw", "active message bandwidth"),
            _ucx("put_lat", "ucp_put_lat", "put latency"),
            _ucx("put_bw", "ucp_put_bw", "put bandwidth", runs=NIGHTLY),
            # One get at a time shows its latency, many at a time the bandwidth.
            _ucx("get_lat", "ucp_get", "get latency", "-O", "1", runs=NIGHTLY),
            _ucx("get_bw", "ucp_get", "get bandwidth", "-O", "32"),
        )
    }
)
