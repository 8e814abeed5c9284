"""Curves of ``allreduce_lab``: one point, with the times of each scheme.

A run whose own ring does not show the environment that it names is refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.metrics import Metric
from fabricheck.measures.program_result import ProgramResult
from fabricheck.programs.allreduce_lab.entries import BENCHMARKS, KNOWN, PROGRAM, Lab

LEAST_BYTES = "Least bytes"
"""Metadata: what each rank sent at least."""

Values = dict[tuple[Metric, str], float]
_NEAR_TAIL = 0.3
"""How far the ring's p99 over p50 may be from the one that bursts were to make: that of 200 sums is
the second of all, and that of a probe varies by a tenth from run to run (chosen by us)."""
_SHORT_TAIL = 1.3
_LEAST_BESIDE = 0.1
"""Of what flows take alone: they yield to sums, and never end."""


def curve(result: ProgramResult, name: str = "") -> Curve:
    """The curve of one run.

    Raises:
        ParseError: if it is not one of the benchmark, or if a scheme of that is missing.
    """
    entry = BENCHMARKS.get(name)
    if entry is None:
        result.refuse(
            f"expected the name of the benchmark (--benchmark) with results of {PROGRAM}, which "
            f"name no model, found {name or 'none'}: name one of {', '.join(BENCHMARKS)}"
        )
    what = "training" if entry.model else "allreduce"
    ran = [each.get("scheme") for each in result.results]
    network = entry.network
    asked = (what, network.kind, network.tail, entry.learns, list(map(str, entry.schemes)))
    given = [result.options.get(each) for each in ("environment", "tail", "train")]
    seen = (result.benchmark, *given, ran)
    if asked != seen or (network.kind == "elastic" and network.flows != result.options["flows"]):
        result.refuse(f"expected {name}, which is {_words(asked)}, found {_words(seen)}")
    ranks = int(result.environment["ranks"])
    values: Values = {}
    least = 0.0
    for row in result.results:
        scheme = Metric(row["scheme"])
        values |= dict(result.values(row, "time", scheme))
        count = result.need(row, "iterations", int)
        least += 2 * (ranks - 1) / ranks * result.need(row, "size", int) * count
        if row.get("valid") is not True:
            unchecked = row.get("sums_unchecked")
            unproved = f"{unchecked} of which nothing was compared" if unchecked else "none"
            result.refuse(f"expected checked sums of {scheme}, found {unproved}")
        if scheme is Metric.OPTIREDUCE:
            values |= dict(result.values(row, "loss", Metric.ERROR_RATIO))
            buckets = count * ranks * max(1, result.options.get("buckets") or 0)
            values[Metric.SKIPPED, "avg"] = result.need(row, "sums_skipped", int) / buckets
        elif entry.metrics == (Metric.TAIL,):
            values |= dict(result.values(row, "tail", Metric.TAIL))
    rows = {row["scheme"]: row for row in result.results}
    if not entry.model and entry.metrics != (Metric.TAIL,):
        values |= _compared(result, entry, rows["ring"], rows["optireduce"])
        for missing in _not_shown(result, entry, rows["ring"], values):
            result.refuse(f"expected the network of {name}, in which {missing}")
    point = Point(None, values, min(row["iterations"] for row in result.results), valid=True)
    return result.curve(name, [point], **{LEAST_BYTES: f"{least:.0f}"})


def _words(run: Sequence[Any]) -> str:
    what, network, tail, learns, schemes = run
    learning = " that learns" if learns else ""
    return f"{what}{learning} in {network} with p99/p50 of {tail} by {', '.join(map(str, schemes))}"


def _compared(
    result: ProgramResult, entry: Lab, ring: Mapping[str, Any], bounded: Mapping[str, Any]
) -> Values:
    """What the bounded transport is beside the ring of the same run."""
    found: Values = {(Metric.TAIL, "avg"): result.need(bounded, "tail", int, float)}
    found[Metric.HIT, "avg"] = result.need(ring, "hit", int, float)
    if not entry.learns:
        # Of the most that any scheme gains here: its sums would all take the median.
        found[Metric.RATIO, "avg"] = bounded["time"]["p50"] / bounded["time"]["avg"]
        return found
    found[Metric.ACCURACY, "avg"] = result.need(bounded, "accuracy", int, float)
    found[Metric.DRIFT, "avg"] = result.need(bounded, "drift", int, float)
    for scheme, row in ((Metric.RING, ring), (Metric.OPTIREDUCE, bounded)):
        for percent in KNOWN:
            time = time_to(row["accuracies"], row["learned_seconds"], percent / 100)
            if time is None:
                result.refuse(
                    f"expected an accuracy of {percent} % in the end with {scheme}, found "
                    f"{100 * max(row['accuracies'], default=0):.3g} % at most"
                )
            found[scheme, f"to{percent}"] = time
    half = f"to{KNOWN[-1]}"
    found[Metric.RATIO, "avg"] = found[Metric.RING, half] / found[Metric.OPTIREDUCE, half]
    return {key: value for key, value in found.items() if key[0] in entry.metrics}


def time_to(
    accuracies: Sequence[float], seconds: Sequence[float], target: float = KNOWN[-1] / 100
) -> float | None:
    """Seconds of sums until an accuracy, between two tests in proportion."""
    points = pairwise([(0.0, 0.0), *zip(accuracies, seconds, strict=True)])
    for (low, before), (high, after) in points:
        if high >= target:
            return before + (after - before) * (target - low) / (high - low)
    return None


def _not_shown(
    result: ProgramResult, entry: Lab, ring: Mapping[str, Any], values: Values
) -> Iterator[str]:
    """What the run lacks of its environment, by the ring's own times in it."""
    network, tail = entry.network, ring["tail"]
    off = tail / (network.tail or tail) - 1
    # A sum behind a pause of learning meets a burst with TCP's first window: its tail is longer.
    if network.kind == "long" and (off < -_NEAR_TAIL or (off > _NEAR_TAIL and not entry.learns)):
        yield f"the ring's p99 is {network.tail:g} medians, found {tail:.3g}"
    if network.kind == "short" and (tail < _SHORT_TAIL or not ring["hit"]):
        yield (
            f"the ring's p99 is {_SHORT_TAIL} medians at least, found {tail:.3g} with "
            f"{100 * ring['hit']:.2g} % of sums hit"
        )
    if network.kind == "elastic":
        alone = result.environment["background_alone"]
        if not ring["beside"] > _LEAST_BESIDE * alone:
            yield f"flows go on beside the ring, found {ring['beside']:.3g} of {alone:.3g} B/s"
    if network.dropped and values[Metric.ERROR_RATIO, "avg"] < network.dropped / 2:
        found = values[Metric.ERROR_RATIO, "avg"]
        yield f"{100 * network.dropped:g} % of frames are dropped, found {100 * found:.3g} %"


RESULTS = {PROGRAM: curve}
