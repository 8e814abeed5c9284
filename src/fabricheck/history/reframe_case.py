"""The values of a case as a run report of ReFrame has them (docs/perflog.md).

Nothing is believed of it: a database outlives the versions of ReFrame that wrote it, and what a
check logs of itself may be anything that JSON can say.
"""

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from fabricheck.benchmarks.curve import split_variable
from fabricheck.history.frame import PROVENANCE
from fabricheck.history.reframe_perflog import repetition, title

_EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC).timestamp()
_LATEST: Final = datetime(9999, 12, 30, tzinfo=UTC).timestamp()
_SHOWN: Final = 80
_MOST_NODES: Final = 2**31 - 1
_PARTS_OF_OLD: Final = 5
_PARTS: Final = ("value", "reference", "lower threshold", "upper threshold")


def rows_of_case(case: Mapping[str, Any], uuid: str) -> list[dict[str, Any]]:
    """The rows of a case, one for each performance variable.

    Args:
        case: as the run report has it.
        uuid: identity of the session.

    Raises:
        ValueError, TypeError, KeyError, AttributeError, OverflowError, OSError: if a field is none.
    """
    variables = case["perfvalues"] if case.get("perfvalues") else {}
    if case["job_completion_time_unix"] is None or not variables:
        return []
    return list(_rows(case, _common(case, uuid), variables))


def _common(case: Mapping[str, Any], uuid: str) -> dict[str, Any]:
    ours = _is_ours(case)
    name = title(_text(case, "name", needed=True))
    nodes = _texts(case, "node_list") or _texts(case, "job_nodelist")
    return {
        "line": 0,
        **{each: _text(case, each, needed=True) for each in ("system", "partition", "environ")},
        "check": name.split()[0],
        "benchmark": _text(case, "benchmark", needed=True) if ours else name,
        "placement": _placement(case) if ours else "",
        "transport": _text(case, "transport") if ours else "",
        "num_nodes": _count(case, "num_nodes") if ours else len(nodes),
        "session": _text(case, "session") or uuid,
        "time": _time(case["job_completion_time_unix"]),
        "job": _text(case, "jobid"),
        "repeat": repetition(case["name"]),
        "finding": "; ".join(_texts(case, "findings")),
        **{each: _text(case, each) for each in PROVENANCE if each != "node_list"},
        "ranks": _ranks(case),
        "program": _text(case, "program") if ours else "",
        "node_list": ",".join(nodes),
    }


def _rows(
    case: Mapping[str, Any], common: dict[str, Any], variables: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    ours = _is_ours(case)
    for key, (*numbers, unit, result) in _whole(case, variables):
        variable = key.rpartition(":")[2]
        metric, statistic, size = split_variable(variable) if ours else (variable, "", None)
        value, reference, lower, upper = (
            _number(given, f"{part} of {variable}", finite=part == "value")
            for given, part in zip(numbers, _PARTS, strict=True)
        )
        if ours and value is not None and value < 0:
            raise _odd(f"value of {variable}", "a number from 0 on", value)
        warning = (case.get("warning_bounds") or {}).get(variable) or (None, None)
        below, above = (_number(each, f"warning bound of {variable}") for each in warning)
        yield {
            **common,
            "metric": _text({"variable": str(metric)}, "variable", needed=True),
            "statistic": statistic,
            "size": size,
            "unit": _text({"unit": unit}, "unit"),
            "value": value,
            "level": _text(case.get("levels") or {}, variable),
            "result": _text({"result": result}, "result"),
            **_bounds(reference, lower, upper),
            "warning_lower": below,
            "warning_upper": above,
        }


def _is_ours(case: Mapping[str, Any]) -> bool:
    return "benchmark" in case and "transport" in case


def _whole(
    case: Mapping[str, Any], variables: Mapping[str, Any]
) -> Iterator[tuple[str, list[Any]]]:
    """Six parts of each variable; ReFrame 4.7 knew the result of the case only."""
    for key, parts in variables.items():
        if not isinstance(parts, list) or len(parts) not in (_PARTS_OF_OLD, _PARTS_OF_OLD + 1):
            raise _odd(key, "a list of 5 or 6 parts", parts)
        yield key, [*parts, case.get("result")] if len(parts) == _PARTS_OF_OLD else parts


def _placement(case: Mapping[str, Any]) -> str:
    if stated := _text(case, "placement"):
        return stated
    transport = _text(case, "transport")
    return f"{transport}-{_count(case, 'num_nodes')}n" if transport else ""


def _bounds(
    reference: float | None, lower: float | None, upper: float | None
) -> dict[str, float | None]:
    """Bounds from ReFrame's thresholds, which are fractions of the reference."""
    if reference is None or (lower, upper) == (None, None):
        return dict.fromkeys(("reference", "lower", "upper"))
    span = abs(reference)
    bounds = (None if by is None else reference + by * span for by in (lower, upper))
    return dict(zip(("reference", "lower", "upper"), (reference, *bounds), strict=True))


def _time(given: Any) -> datetime:
    seconds = _number(given, "job_completion_time_unix", finite=True) or 0
    if not _EARLIEST <= seconds < _LATEST:
        raise _odd("job_completion_time_unix", "seconds since 1970, after 2000", given)
    return datetime.fromtimestamp(int(seconds), UTC)


def _text(given: Mapping[str, Any], name: str, *, needed: bool = False) -> str:
    found = given.get(name)
    if isinstance(found, int) and not isinstance(found, bool):
        found = str(found)
    if found is not None and not isinstance(found, str):
        raise _odd(name, "text", found)
    # Half a surrogate pair is JSON, but no text.
    if (found or "").encode(errors="replace").decode() != (found or ""):
        raise _odd(name, "text", found)
    if needed and not (found or "").strip():
        raise _odd(name, "text", found)
    return found or ""


def _texts(given: Mapping[str, Any], name: str) -> list[str]:
    found = given.get(name) or []
    if not isinstance(found, list | tuple):
        raise _odd(name, "a list of texts", found)
    return [_text({name: each}, name) for each in found]


def _count(given: Mapping[str, Any], name: str) -> int:
    found = given[name]
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= _MOST_NODES:
        raise _odd(name, "a whole number from 0 on", found)
    return found


def _ranks(case: Mapping[str, Any]) -> int:
    """Number of ranks; 0 or less is ReFrame's word for as many as there are nodes free."""
    found = case.get("num_tasks")
    if found is None or (isinstance(found, int) and found < 0):
        return 0
    return _count(case, "num_tasks")


def _number(given: Any, name: str, *, finite: bool = False) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise _odd(name, "a number", given)
    found = float(given)
    if math.isnan(found) or (finite and math.isinf(found)):
        raise _odd(name, "a finite number" if finite else "a number", given)
    return found


def _odd(name: str, expected: str, found: Any) -> ValueError:
    shown = ascii(found)
    if len(shown) > _SHOWN:
        shown = f"{shown[: _SHOWN - 3]}..."
    return ValueError(f"expected {expected} as {ascii(name)[1:-1]}, found {shown}")
