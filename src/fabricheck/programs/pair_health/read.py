"""Curves of ``pair_probe``: the median over all pairs and rounds."""

from statistics import median

from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.metrics import Metric
from fabricheck.measures.program_result import ProgramResult
from fabricheck.programs.pair_health.entries import MESSAGE, NCCL, PING, PROGRAM


def curve(result: ProgramResult, name: str = "") -> Curve:
    """The curve of one run.

    Raises:
        ParseError: if a round has no pairs.
    """
    latencies: list[float] = []
    rates: list[float] = []
    for each in result.results:
        latencies += result.need(each, "latencies", list)
        rates += result.need(each, "there", list) + result.need(each, "back", list)
    if not latencies or not rates:
        result.refuse("expected pairs in each round, found none")
    valid = all(each.get("valid") for each in result.results)
    rounds = len(result.results)
    points = (
        Point(PING, {(Metric.LATENCY, "p50"): median(latencies) * 1e6}, rounds, valid),
        Point(MESSAGE, {(Metric.BANDWIDTH, "p50"): median(rates) * 1e-6}, rounds, valid),
    )
    return result.curve(NCCL if result.benchmark == "nccl" else "pair_health", points)


RESULTS = {PROGRAM: curve}
