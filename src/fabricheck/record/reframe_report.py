"""What ReFrame says of a case, as it logs it and as its run reports and results database keep it.

Nothing is believed of it: reports outlive the versions of ReFrame that wrote them, and what a check
logs of itself may be anything that JSON can say.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from fabricheck.benchmarks.curve import split_variable
from fabricheck.errors import FabricheckError
from fabricheck.inputs import read_file
from fabricheck.judge.reference import Reference
from fabricheck.record import resting
from fabricheck.record.entries import Case, Entry, Sample, Session, moment
from fabricheck.record.read import Kind, Problem, Run, read_session, run_of, shown
from fabricheck.record.write import append

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
_FULL: Final = "-full"
_PLACE: Final = re.compile(r"\s+[@~/]\S*(\s.*)?$|\s+on \S+:\S+ using \S+$")
_REPETITION: Final = re.compile(r"\s*%\.repeat_no=(\d{1,9})")


def title(name: str) -> str:
    """Name and parameters of a test; the number of its repetition makes it no other test."""
    return _REPETITION.sub("", _PLACE.sub("", name)).strip()


def repetition(name: str) -> int | None:
    """Number of a test's repetition within a session, if ReFrame was asked for some."""
    match = _REPETITION.search(name)
    return int(match[1]) if match else None


def case_of(given: Mapping[str, Any], session: str, time: str, attempt: int = 1) -> Case:
    """The case of an entry of a run report, or of what ReFrame logs of one.

    Args:
        given: the entry.
        session: the session of a case that names none.
        time: when it ended, if it says nothing of a job.
        attempt: which attempt it is.

    Raises:
        FabricheckError, ValueError, TypeError, KeyError, AttributeError, OverflowError, OSError: if
            the entry is none.
    """
    given = {name: each for name, each in given.items() if each != _UNDEFINED}
    ours = _is_ours(given)
    name = (title(_text(given, "name")) and _text(given, "name")) or "unnamed check"
    nodes = _texts(given, "node_list") or _texts(given, "job_nodelist")
    ranks = _ranks(given, "num_tasks")
    num_nodes = _count(given, "num_nodes") if ours else len(nodes)
    texts: dict[str, Any] = {
        **{each: _text(given, each, needed=True) for each in ("system", "partition", "environ")},
        **{each: _text(given, each) for each in _TEXTS},
        **{each: tuple(_texts(given, each)) for each in ("findings", "fabric_causes", "ports")},
    }
    return Case(
        **texts,
        time=_time(given.get("job_completion_time_unix")) or time,
        session=_text(given, "session") or session,
        check=title(name).split()[0],
        benchmark=_text(given, "benchmark") if ours else title(name),
        transport=_text(given, "transport") if ours else "",
        num_nodes=num_nodes,
        layout="full" if _text(given, "placement").endswith(_FULL) else _text(given, "layout"),
        ranks=ranks,
        ranks_per_node=_ranks(given, "num_tasks_per_node") or math.ceil(ranks / (num_nodes or 1)),
        binding=_text(given, "binding"),
        program=_text(given, "program") if ours else "",
        options=_text(given, "program_options"),
        name=_text(given, "display_name") or name,
        id=_text(given, "unique_name") or name,
        result=_text(given, "result"),
        needs=tuple(str(each[0]) for each in given.get("dependencies_actual") or ()),
        fixture=bool(given.get("fixture")),
        attempt=attempt,
        repeat=repetition(name),
        # ReFrame's squeue back end writes the word None for a job that it has lost sight of.
        nodes=tuple(node for node in nodes if node != "None"),
        job=_text(given, "jobid"),
        output=_text(given, "outputdir") or _text(given, "stagedir"),
        **_seconds(given),
        prerequisites=tuple(dict(each) for each in given.get("prerequisites") or ()),
        samples=tuple(_samples(given, ours=ours)),
    )


_TIMES: Final = ("waiting", "launch", "measuring", "judging")


def _seconds(given: Mapping[str, Any]) -> dict[str, Any]:
    found = given.get("seconds") or {}
    if not isinstance(found, Mapping):
        raise _odd("seconds", "times by their names", found)
    return {name: _number(each, name, finite=True) for name in _TIMES if (each := found.get(name))}


_TEXTS: Final = (
    *("level", "fail_phase", "fail_reason", "evidence", "reference_kind", "reference_source"),
    *("mpi", "mpi_version", "ucx_version", "program_version", "commit"),
)


def _is_ours(given: Mapping[str, Any]) -> bool:
    return "benchmark" in given and "transport" in given


def _samples(given: Mapping[str, Any], *, ours: bool) -> Iterator[Sample]:
    result = given.get("result")
    levels, warnings = given.get("levels") or {}, given.get("warning_bounds") or {}
    for key, parts in (given.get("perfvalues") or {}).items():
        if not isinstance(parts, list | tuple) or len(parts) not in (5, 6):
            raise _odd(key, "a list of 5 or 6 parts", parts)
        # ReFrame 4.7 knew the result of the case only.
        *numbers, unit, outcome = parts if len(parts) > _PARTS_OF_OLD else [*parts, result]
        variable = key.rpartition(":")[2]
        metric, statistic, size = split_variable(variable) if ours else (variable, "", None)
        value, reference, lower, upper = (
            _number(each, f"{part} of {variable}", finite=part == "value")
            for each, part in zip(numbers, _PARTS, strict=True)
        )
        if ours and value is not None and value < 0:
            raise _odd(f"value of {variable}", "a number from 0 on", value)
        below, above = warnings.get(variable) or (None, None)
        if reference is None or (lower, upper) == (None, None):
            reference = lower = upper = None
        else:
            lower, upper = Reference(reference, lower, upper, unit or "").bounds()
        yield Sample(
            metric=_text({"variable": str(metric)}, "variable", needed=True),
            statistic=statistic,
            size=size,
            value=value,
            unit=_text({"unit": unit}, "unit"),
            level=_text(levels, variable),
            result="" if outcome == result else _text({"result": outcome}, "result"),
            reference=reference,
            lower=lower,
            upper=upper,
            warning_lower=_number(below, f"warning bound of {variable}"),
            warning_upper=_number(above, f"warning bound of {variable}"),
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
        named = [str(given["session"]) for given in listed if given.get("session")]
        systems = [str(given["system"]) for given in listed if given.get("system")]
    except (*ODD, RecursionError) as error:
        raise ValueError(f"expected a ReFrame run report, found {in_words(error)}") from error
    session = next((each for each in named if each != _UNDEFINED), "") or str(info.get("uuid"))
    system = next(iter(systems), "unknown")
    cases: list[Entry] = []
    problems: list[Problem] = []
    for attempt, run in enumerate(runs, start=1):
        for given in run:
            try:
                fields = {**given, "system": given.get("system") or system}
                case = case_of(fields, session, ended, attempt)
                if attempt == 1 or adds(case):
                    cases.append(case)
            except (*ODD, FabricheckError) as error:
                number = len(cases) + len(problems) + 1
                detail = f"case {number}: {in_words(error)}"
                problems.append(Problem(Kind.DAMAGED, path, 0, detail))
    end = Session(
        time=ended,
        session=session,
        system=system,
        announced=_count(info, "num_cases"),
        lacking=unquote(_text(info, "lacking")),
        report=str(path),
        info={name: value for name, value in info.items() if name != resting.EXTRA},
        resting=resting.unpack(_text(info, resting.EXTRA)),
    )
    return [*cases, end], problems


def adds(retry: Case) -> bool:
    """Whether a retry came so far that it adds to the first run."""
    waited = retry.result in ("skip", "fail_deps")
    return not waited and retry.fail_phase not in ("startup", "setup")


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


def read_report(path: Path) -> tuple[list[Entry], list[Problem]]:
    """The cases and the session of a run report.

    Raises:
        FabricheckError: if it can't be read or is none.
    """
    try:
        return entries_of_report(read_file(path), path.resolve())
    except OSError as error:
        raise FabricheckError(
            f"cannot read the run report {shown(path)}: {error.strerror or error}"
        ) from error
    except ValueError as error:
        raise FabricheckError(
            f"{shown(path)}: {error}: the file is cut, damaged or no run report; run again"
        ) from error


def run_of_report(path: Path) -> Run:
    """The session that a run report holds; nothing is written.

    Raises:
        FabricheckError: if it can't be read or is none.
    """
    entries, problems = read_report(path)
    return run_of(entries[-1].session, [(entries, problems)], f"the run report {shown(path)}")


def complete(path: Path, perflogs: Path) -> str:
    """Record what a run report has and the record lacks: cases that never came to be logged, such
    as builds that failed and cases that were skipped, and the end of the session.

    Returns:
        The session.

    Raises:
        FabricheckError: if the report can't be read, or the record can't be written.
    """
    entries, _ = read_report(path)
    session = entries[-1].session
    known: set[object] = set()
    if perflogs.is_dir():
        try:
            run = read_session(perflogs, session)
        except FabricheckError:
            pass
        else:
            known = {_identity(case) for case in run.cases} | ({session} if run.end else set())
    append(perflogs, [each for each in entries if _identity(each) not in known])
    return session


def _identity(entry: Entry) -> object:
    if not isinstance(entry, Case):
        return entry.session
    return entry.id, entry.partition, entry.environ, entry.attempt
