"""How collectives scale: the same operation on ever more nodes, beside two of them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fabricheck.measures.metrics import Metric
from fabricheck.measures.wire import effective_bandwidth, has_wire, wire_bytes
from fabricheck.report.run import ReportedCase, ReportedRun

BASE_NODES = 2
"""What the efficiency is held against: the fewest nodes with a network between them."""


@dataclass(frozen=True, slots=True)
class ScalingCurve:
    """What stays the same as nodes are added.

    Attributes:
        system: name of the system.
        partition: name of the partition.
        environ: name of the environment.
        benchmark: name in the registry.
        transport: name of the transport.
        full: whether every core of the nodes has a rank.
    """

    system: str
    partition: str
    environ: str
    benchmark: str
    transport: str
    full: bool


@dataclass(frozen=True, slots=True)
class ScalingStep:
    """One number of nodes at one message size.

    Attributes:
        nodes: number of nodes.
        ranks: number of ranks.
        size: message size in bytes.
        latency: average time in us.
        wire: bytes that the busiest rank must move in one direction.
        bandwidth: effective bandwidth in MB/s: those bytes over the time.
        efficiency: effective bandwidth over that of two nodes; ``None`` where these were not
            measured.
    """

    nodes: int
    ranks: int
    size: int
    latency: float
    wire: float
    bandwidth: float
    efficiency: float | None


def scaling(run: ReportedRun) -> dict[ScalingCurve, tuple[ScalingStep, ...]]:
    """The steps of each collective between nodes, by size and then by nodes.

    Of the run's cases those count that have a trusted average and whose bytes are known. What one
    job measured is compared with what another did: on a machine that others share it tells little.
    """
    cases: dict[ScalingCurve, list[ReportedCase]] = defaultdict(list)
    for case in run.cases:
        between_nodes = case.transport and case.num_nodes >= BASE_NODES
        if between_nodes and has_wire(case.benchmark) and _latencies(case):
            where = case.system, case.partition, case.environ
            full = case.layout == "full"
            cases[ScalingCurve(*where, case.benchmark, case.transport, full)].append(case)
    return {
        curve: tuple(sorted(_steps(found), key=lambda step: (step.size, step.nodes)))
        for curve, found in cases.items()
    }


def _latencies(case: ReportedCase) -> dict[int, float]:
    return {
        sample.size: sample.value
        for sample in case.samples
        if (sample.metric, sample.statistic) == (Metric.LATENCY, "avg")
        if sample.size and sample.value
    }


def _steps(cases: Iterable[ReportedCase]) -> Iterator[ScalingStep]:
    in_order = sorted(cases, key=lambda case: case.num_nodes)
    at_base = _bandwidths(in_order[0]) if in_order[0].num_nodes == BASE_NODES else {}
    for case in in_order:
        latencies = _latencies(case)
        for size, bandwidth in _bandwidths(case).items():
            yield ScalingStep(
                nodes=case.num_nodes,
                ranks=case.ranks,
                size=size,
                latency=latencies[size],
                wire=wire_bytes(case.benchmark, size, case.ranks),
                bandwidth=bandwidth,
                efficiency=bandwidth / at_base[size] if size in at_base else None,
            )


def _bandwidths(case: ReportedCase) -> dict[int, float]:
    return {
        size: effective_bandwidth(case.benchmark, size, case.ranks, latency)
        for size, latency in _latencies(case).items()
    }
