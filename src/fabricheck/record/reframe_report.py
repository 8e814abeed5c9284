"""What the run reports and results databases of ReFrame say of cases, those of other suites.

Nothing is believed of it: reports outlive the versions of ReFrame that wrote them, and what a check
logs of itself may be anything that JSON can say. Of a run of this suite the record says more.
"""

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from fabricheck.errors import FabricheckError
from fabricheck.judge.reference import Reference
from fabricheck.record.entries import CaseEntry, Entry, Sample, Session, moment
from fabricheck.record.read import Problem, ProblemKind

ODD: Final = (ValueError, TypeError, KeyError, AttributeError, OverflowError, OSError)
"""What an entry raises that is not as ReFrame writes it."""

_EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC).timestamp()
_LATEST: Final = datetime(9999, 12, 30, tzinfo=UTC).timestamp()
_SHOWN: Final = 80
_MOST: Final = 2**31 - 1
_DIGITS: Final = 20
_PARTS_OF_OLD: Final = 5
_PARTS: Final = ("value", "reference", "lower threshold", "upper threshold")
_UNDEFINED: Final = "<undefined>"
_PLACE: Final = re.compile(r"\s+[@~/]\S*(\s.*)?$|\s+on \S+:\S+ using \S+$")
_REPETITION: Final = re.compile(r"\s*%\.repeat_no=(\d{1,9})")


def title(name: str) -> str:
    """Name and parameters of a test; the number of its repetition makes it no other test."""
    return _REPETITION.sub("", _PLACE.sub("", name)).strip()


def repetition(name: str) -> int | None:
    """Number of a test's repetition within a session, if ReFrame was asked for some."""
    match = _REPETITION.search(name)
    return int(match[1]) if match else None


def case_of(given: Mapping[str, Any], session: str, time: str, attempt: int = 1) -> CaseEntry:
    """The case of an entry of a run report.

    Args:
        given: the entry.
        session: its session.
        time: when it ended, if it says nothing of a job.
        attempt: which attempt it is.

    Raises:
        FabricheckError, ValueError, TypeError, KeyError, AttributeError, OverflowError, OSError: if
            the entry is none.
    """
    given = {name: each for name, each in given.items() if each != _UNDEFINED}
    name = (title(_text(given, "name")) and _text(given, "name")) or "unnamed check"
    nodes = _texts(given, "job_nodelist")
    ranks = _ranks(given, "num_tasks")
    result = _text(given, "result")
    system, partition, environ = (
        _text(given, each, needed=True) for each in ("system", "partition", "environ")
    )
    return CaseEntry(
        system=system,
        partition=partition,
        environ=environ,
        time=_time(given.get("job_completion_time_unix")) or time,
        session=session,
        check=title(name).split()[0],
        benchmark=title(name),
        num_nodes=len(nodes),
        ranks=ranks,
        ranks_per_node=_ranks(given, "num_tasks_per_node") or math.ceil(ranks / (len(nodes) or 1)),
        name=_text(given, "display_name") or name,
        id=_text(given, "unique_name") or name,
        result=result,
        fail_phase=_text(given, "fail_phase"),
        fail_reason=_text(given, "fail_reason"),
        needs=tuple(str(each[0]) for each in given.get("dependencies_actual") or ()),
        fixture=bool(given.get("fixture")),
        attempt=attempt,
        repeat=repetition(name),
        # ReFrame's squeue back end writes the word None for a job that it has lost sight of.
        nodes=tuple(node for node in nodes if node != "None"),
        job=_text(given, "jobid"),
        output=_text(given, "outputdir") or _text(given, "stagedir"),
        # ReFrame's is a set: a line and the next have it in another order.
        tags=tuple(sorted(_texts(given, "tags"))),
        samples=samples_of(given.get("perfvalues") or {}, result),
    )


def samples_of(values: Mapping[str, Any], result: str) -> tuple[Sample, ...]:
    """The values of a case of another suite, as ReFrame has judged them.

    Args:
        values: ReFrame's ``perfvalues``.
        result: of the case.

    Raises:
        ValueError: if they are none.
    """
    return tuple(_sample(key.rpartition(":")[2], parts, result) for key, parts in values.items())


def _sample(variable: str, parts: Any, result: str) -> Sample:
    if not isinstance(parts, list | tuple) or len(parts) not in (5, 6):
        raise _odd(variable, "a list of 5 or 6 parts", parts)
    # ReFrame 4.7 knew the result of the case only.
    *numbers, unit, outcome = parts if len(parts) > _PARTS_OF_OLD else [*parts, result]
    value, reference, lower, upper = (
        _number(each, f"{part} of {variable}", finite=part == "value")
        for each, part in zip(numbers, _PARTS, strict=True)
    )
    if reference is None or (lower, upper) == (None, None):
        reference = lower = upper = None
    else:
        lower, upper = Reference(reference, lower, upper, unit or "").bounds()
    return Sample(
        metric=_text({"variable": variable}, "variable", needed=True),
        value=value,
        unit=_text({"unit": unit}, "unit"),
        result="" if outcome == result else _text({"result": outcome}, "result"),
        reference=reference,
        lower=lower,
        upper=upper,
    )


def _time(given: Any) -> str:
    if given is None:
        return ""
    seconds = _number(given, "job_completion_time_unix", finite=True) or 0
    if not _EARLIEST <= seconds < _LATEST:
        raise _odd("job_completion_time_unix", "seconds since 1970, after 2000", given)
    return moment(int(seconds))


def _text(given: Mapping[str, Any], name: str, *, needed: bool = False) -> str:
    found = given.get(name)
    if isinstance(found, int) and not isinstance(found, bool):
        found = str(found)
    if found is not None and not isinstance(found, str):
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
    found = given.get(name) or 0
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= _MOST:
        raise _odd(name, "a whole number from 0 on", found)
    return found


def _ranks(given: Mapping[str, Any], name: str) -> int:
    """Number of ranks; 0 or less is ReFrame's word for as many as there are nodes free."""
    found = given.get(name)
    return 0 if isinstance(found, int) and found < 0 else _count(given, name)


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
    said = ascii(found)
    if len(said) > _SHOWN:
        said = f"{said[: _SHOWN - 3]}..."
    return ValueError(f"expected {expected} as {ascii(name)[1:-1]}, found {said}")


def entries_of_report(text: str | bytes, path: Path) -> tuple[list[Entry], list[Problem]]:
    """The cases and the session of a run report; each of its attempts is a case.

    Raises:
        ValueError: if it is no run report, in words.
    """
    try:
        report = json.loads(text, parse_int=_integer)
        info, runs = report["session_info"], [list(run["testcases"]) for run in report["runs"]]
        ended = _time(info.get("time_end_unix")) or moment()
        listed = [given for run in runs for given in run]
        systems = [str(given["system"]) for given in listed if given.get("system")]
    except (*ODD, RecursionError) as error:
        raise ValueError(f"expected a ReFrame run report, found {in_words(error)}") from error
    session = str(info.get("uuid"))
    system = next(iter(systems), "unknown")
    cases: list[Entry] = []
    problems: list[Problem] = []
    for attempt, run in enumerate(runs, start=1):
        for given in run:
            try:
                case = {**given, "system": given.get("system") or system}
                cases.append(case_of(case, session, ended, attempt))
            except (*ODD, FabricheckError) as error:
                number = len(cases) + len(problems) + 1
                detail = f"case {number}: {in_words(error)}"
                problems.append(Problem(ProblemKind.DAMAGED, path, 0, detail))
    end = Session(
        time=ended,
        session=session,
        system=system,
        announced=_count(info, "num_cases"),
        info=info,
    )
    return [*cases, end], problems


def _integer(digits: str) -> float:
    # Python refuses thousands of digits; as a float they cost their field alone.
    return int(digits) if len(digits) < _DIGITS else float(digits)


def in_words(error: BaseException) -> str:
    """What is wrong with an entry."""
    if isinstance(error, KeyError):
        return f"expected the key {error}, found none"
    if isinstance(error, TypeError | AttributeError):
        return f"expected a run report's fields, found others: {error}"
    return str(error)
