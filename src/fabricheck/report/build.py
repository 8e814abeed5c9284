"""From one entry of a run report to a case: its samples, its status, and why."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from reframe.utility.sanity import reference_bounds

from fabricheck.benchmarks.curve import split_variable
from fabricheck.errors import FabricheckError
from fabricheck.judge.levels import Level
from fabricheck.report.explain import explain, named
from fabricheck.report.model import Case, Sample
from fabricheck.report.status import Status

_PROVENANCE = (
    "mpi",
    "mpi_version",
    "program",
    "program_version",
    "ucx_version",
    "commit",
    "session",
)
_LARGEST = 1e18
_NOT_RUN = {
    "skip": Status.SKIPPED,
    "abort": Status.ABORTED,
    "fail_deps": Status.NOT_RUN,
}


def build_case(
    entry: Mapping[str, Any], failures: Sequence[str] = (), blockers: Sequence[str] = ()
) -> Case:
    """The case of a test case entry.

    ``failures`` are the causes of earlier attempts; ``blockers`` are the tests that it depends on
    and that did not pass.
    """
    fixture = bool(entry.get("fixture"))
    samples = tuple(_samples(entry))
    notes = [] if fixture else _omissions(entry, samples)
    status = _fixture_status(entry) if fixture else _status(entry, samples, notes)
    if failures:
        notes.append(f"attempt {len(failures) + 1}; earlier: {'; '.join(failures)}")
        if status is Status.GOOD and not fixture:
            status = Status.WARNING
    return Case(
        name=entry.get("display_name") or entry.get("name") or "unnamed check",
        status=status,
        result=entry["result"],
        system=entry.get("system") or "unknown",
        partition=entry["partition"],
        environ=entry["environ"],
        benchmark=entry.get("benchmark") or None,
        placement=entry.get("placement") or None,
        transport=entry.get("transport") or None,
        num_nodes=entry.get("num_nodes"),
        num_tasks=entry.get("num_tasks"),
        fixture=fixture,
        samples=samples,
        causes=explain(status, entry, samples, notes, blockers),
        fabric_causes=tuple(entry.get("fabric_causes") or ()),
        nodes=_nodes(entry),
        jobid=str(entry["jobid"]) if entry.get("jobid") else None,
        evidence=entry.get("evidence") or None,
        reference_kind=entry.get("reference_kind") or None,
        reference_source=entry.get("reference_source") or None,
        provenance={key: str(entry[key]) for key in _PROVENANCE if entry.get(key)},
        output=entry.get("outputdir") or entry.get("stagedir") or None,
        prerequisites=tuple(entry.get("prerequisites") or ()),
    )


def _nodes(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Nodes that the job itself reported; else those that the scheduler told ReFrame."""
    listed = entry.get("node_list") or entry.get("job_nodelist") or ()
    # ReFrame's squeue back end writes the word None for a job that it has lost sight of.
    return tuple(node for node in listed if node != "None")


def _samples(entry: Mapping[str, Any]) -> list[Sample]:
    levels = entry.get("levels") or {}
    warnings = entry.get("warning_bounds") or {}
    samples = []
    for key, values in (entry.get("perfvalues") or {}).items():
        variable = key.split(":")[-1]
        samples.append(
            _sample(variable, values, levels.get(variable), warnings.get(variable, (None, None)))
        )
    return samples


def _sample(
    variable: str,
    values: Sequence[Any],
    level: str | None,
    warning: Sequence[float | None],
) -> Sample:
    value, reference, lower, upper, unit, result = values[:6]
    judged = Level(level) if level in list(Level) else None
    value, reference = _figure(value), _figure(reference)
    if reference is None or (lower, upper) == (None, None):
        reference = lower = upper = None
    else:
        try:
            lower, upper = map(_figure, reference_bounds(reference, _figure(lower), _figure(upper)))
        except ValueError:
            # ReFrame never judged by such thresholds.
            reference = lower = upper = judged = None
    good_from, good_to = map(_figure, warning)
    if any(isinstance(each, float) and math.isnan(each) for each in (*values[2:4], *warning)):
        # Nothing lies beyond such a bound, so nothing was judged by it.
        judged = None
    if judged is not None and judged.passes and result != "xfail":
        if result == "fail" or _outside(value, lower, upper):
            judged = Level.CRITICAL
        elif _outside(value, good_from, good_to):
            judged = Level.WARNING
    elif result == "fail" and judged is None:
        judged = Level.CRITICAL
    metric, statistic, size = _split(variable)
    return Sample(
        variable=variable,
        metric=metric,
        statistic=statistic,
        size=size,
        value=value,
        unit=unit or "",
        level=judged,
        reference=reference,
        lower=lower,
        upper=upper,
        warning_lower=good_from,
        warning_upper=good_to,
    )


def _figure(number: float | None) -> float | None:
    """The number if it can be one of a measurement; none of ours is as large in any unit."""
    return number if number is not None and abs(number) <= _LARGEST else None


def _outside(value: float | None, lower: float | None, upper: float | None) -> bool:
    """Whether a value lies outside the bounds that it was recorded with."""
    if value is None:
        return False
    return (lower is not None and value < lower) or (upper is not None and value > upper)


def _split(variable: str) -> tuple[str, str, int | None]:
    """Metric, statistic and size; a variable that is no point of a curve is its own metric."""
    try:
        return split_variable(variable)
    except FabricheckError:
        return variable, "", None


def _omissions(entry: Mapping[str, Any], samples: Sequence[Sample]) -> list[str]:
    """What a case that says it was measured does not have."""
    if entry["result"] not in ("pass", "fail"):
        return []
    notes = []
    level = entry.get("level")
    if not level and entry["result"] == "pass":
        notes.append("the case carries no level: nobody judged it")
    elif level and level not in list(Level):
        notes.append(f"the case carries the unknown level {level!r}")
    if level not in (Level.GOOD, Level.WARNING, Level.CRITICAL):
        return notes
    missing = [sample.variable for sample in samples if sample.value is None]
    unjudged = [s.variable for s in samples if s.value is not None and s.level is None]
    if not samples:
        notes.append("the case records no value at all")
    if missing:
        notes.append(f"{len(missing)} of {len(samples)} values have no figure: {named(missing)}")
    if unjudged:
        notes.append(f"{len(unjudged)} of {len(samples)} values carry no level: {named(unjudged)}")
    return notes


def _fixture_status(entry: Mapping[str, Any]) -> Status:
    if entry["result"] == "pass":
        return Status.GOOD
    return _NOT_RUN.get(entry["result"], Status.BUILD_FAILED)


def _status(entry: Mapping[str, Any], samples: Sequence[Sample], notes: Sequence[str]) -> Status:
    result = entry["result"]
    if result not in ("pass", "fail"):
        return _NOT_RUN.get(result, Status.UNJUDGED)
    level = entry.get("level")
    if level not in list(Level):
        return Status.UNJUDGED if result == "pass" else Status.FAILED
    found = [Status(level), *(Status(sample.level) for sample in samples if sample.level)]
    if notes and result == "pass":
        found.append(Status.UNJUDGED)
    worst = max(found, key=lambda status: status.severity)
    return Status.FAILED if result == "fail" and worst.passes else worst
