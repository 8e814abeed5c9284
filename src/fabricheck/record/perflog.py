"""Perflogs as cases of the record: ReFrame's own, of version 3 on.

ReFrame's header says how a site wants its lines: it is the site's format with the names of
attributes in place of their values. A line is a case, with five columns for each performance
variable, or, where the format names ``check_perf_var``, one variable. A field may hold several
attributes and text around them, such as ``perf_var=perf_value``, the line of ReFrame 3 and of most
sites.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from fabricheck.errors import FabricheckError
from fabricheck.judge.levels import Level, worst
from fabricheck.record.entries import CaseEntry, Sample, moment
from fabricheck.record.read import Problem, ProblemKind
from fabricheck.record.reframe_report import ODD, case_of, in_words

_TIMES: Final = ("job_completion_time_unix", "job_completion_time", "asctime")
_TITLES: Final = ("name", "display_name", "info")
_ATTRIBUTES: Final = (
    *(*_TIMES, *_TITLES),
    *("system", "partition", "environ", "jobid", "result", "num_tasks", "job_nodelist"),
    *("perf_var", "perf_value", "perf_unit", "perf_ref", "perf_lower_thres", "perf_upper_thres"),
)
_ATTRIBUTE: Final = re.compile(rf"\b(?:{'|'.join(_ATTRIBUTES)})\b")
_REFERENCE: Final = "ref=perf_ref (l=perf_lower_thres, u=perf_upper_thres)|perf_unit"
# In a header of ReFrame 4.2 only the first character is left of the text between two attributes.
_SHORT_REFERENCE: Final = "perf_ref perf_lower_thres,perf_upper_thres)perf_unit"
_NAMED: Final = re.compile(r"\|(jobid|num_tasks)(?=\|)")
# ReFrame 3 writes no header.
_WITHOUT_HEADER: Final = re.compile(
    r"\d[^|]+\|reframe [^|]+\|[^|]+\|jobid=[^|]*(\|num_tasks=\d+)?\|[^|]+=[^|]+\|ref=[^|]*\|[^|]*"
)
_ENVIRONMENT: Final = re.compile(r"(?:@\S+:\S+\+| on \S+:\S+ using )(\S+)$")
_NOTHING: Final = ("null", "None", "")
_SHOWN: Final = 80
_UNTIL: Final = datetime(9999, 12, 30, tzinfo=UTC)

Fields = Mapping[str, str]
Reader = Callable[[str], Iterable[CaseEntry]]


def cases_of(lines: Sequence[bytes], path: Path) -> tuple[list[CaseEntry], list[Problem]]:
    """The cases of a perflog's lines, and what is wrong with lines.

    Lines of one case, each with a value of its own, become one again.

    Args:
        lines: all lines of the file.
        path: the file; ReFrame's layouts leave to it what the columns don't say.
    """
    if not lines:
        return [], []
    header = lines[0].decode(errors="replace").rstrip("\r")
    read, first = _reframes(header, path)
    if read is None:
        shown = header if len(header) <= _SHOWN else f"{header[: _SHOWN - 3]}..."
        detail = f"expected the header of a perflog in line 1, found {shown!r}: none of it is read"
        return [], [Problem(ProblemKind.UNREAD, path, 0, detail)]
    cases: dict[CaseEntry, list[Sample]] = {}
    problems = []
    for number, line in enumerate(lines[first:], start=first + 1):
        try:
            for case in read(line.decode()):
                samples = cases.setdefault(replace(case, samples=()), [])
                if again := [each for each in case.samples if _stands(each, samples)]:
                    detail = f"expected {again[0].variable} once for a case, found it again"
                    problems.append(Problem(ProblemKind.DUPLICATE, path, number, detail))
                samples += [each for each in case.samples if each not in again]
        except (*ODD, FabricheckError) as error:
            problems.append(Problem(ProblemKind.DAMAGED, path, number, in_words(error)))
    return [_whole(case, samples) for case, samples in cases.items()], problems


def _whole(case: CaseEntry, samples: Sequence[Sample]) -> CaseEntry:
    """A case with its samples: it is what the worst of them is."""
    if case.result:
        return replace(case, samples=tuple(samples))
    results = {each.result for each in samples}
    result = next((each for each in ("fail", "xpass", "xfail", "pass") if each in results), "")
    plain = (replace(each, result="") if each.result == result else each for each in samples)
    return replace(case, result=result, level=_worst(samples), samples=tuple(plain))


def _stands(sample: Sample, samples: Iterable[Sample]) -> bool:
    point = (sample.metric, sample.statistic, sample.size)
    return any(point == (each.metric, each.statistic, each.size) for each in samples)


def _worst(samples: Iterable[Sample]) -> str:
    found = [Level(each.level) for each in samples if each.level in set(Level)]
    return str(worst(found)) if found else ""


def _named(columns: Sequence[str], values: Sequence[str], delimiter: str) -> dict[str, str]:
    if len(values) != len(columns):
        raise ValueError(
            f"expected {len(columns)} fields separated by {delimiter!r}, found {len(values)}"
        )
    return dict(zip(columns, values, strict=True))


def _reframes(first: str, path: Path) -> tuple[Reader | None, int]:
    """The reader of ReFrame's lines, and how many lines are the header."""
    header = first
    if _SHORT_REFERENCE in first:
        header = _NAMED.sub(r"|\1=\1", first.replace(_SHORT_REFERENCE, _REFERENCE))
    match = _WITHOUT_HEADER.fullmatch(first)
    if match:
        tasks = "num_tasks=num_tasks|" if match[1] else ""
        header = (
            "job_completion_time|reframe version|info|jobid=jobid|"
            f"{tasks}perf_var=perf_value|{_REFERENCE}"
        )
    delimiter = "|" if "|" in header else ","
    names = header.split(delimiter)
    # A test without variables leaves a field without name, and a format may say a thing twice.
    columns = [
        name if name and name not in names[:place] else f"field {place + 1}"
        for place, name in enumerate(names)
    ]
    composed = {name: pattern for name in columns if (pattern := _pattern(name))}
    fields = {*columns, *(each for pattern in composed.values() for each in pattern.groupindex)}
    if fields.isdisjoint(_TIMES):
        return None, 0
    variables = _variables(columns, fields)

    def read(line: str) -> Iterator[CaseEntry]:
        values = _named(columns, line.split(delimiter), delimiter)
        for name, pattern in composed.items():
            parts = pattern.fullmatch(values[name])
            if not parts:
                raise ValueError(f"expected a field {name!r}, found {values[name]!r:.80}")
            values |= {each: text or "" for each, text in parts.groupdict().items()}
        if variables:
            yield _foreign_case(values, variables, path)

    return read, 0 if match else 1


def _pattern(column: str) -> re.Pattern[str] | None:
    """How the attributes of a field are found, if it holds more than the value of one."""
    found = list(_ATTRIBUTE.finditer(column))
    # In "jobid=jobid" the first is text.
    last = {match[0]: match for match in found}
    parts = [match for match in found if last[match[0]] is match]
    if not parts or column in _ATTRIBUTES:
        return None
    pattern, end = "", 0
    for match in parts:
        text = re.escape(column[end : match.start()])
        # ReFrame leaves the text before the first attribute of a line out of its header.
        pattern += f"(?:{text}){'' if end else '?'}(?P<{match[0]}>.*?)"
        end = match.end()
    return re.compile(pattern + re.escape(column[end:]))


def _variables(columns: Sequence[str], known: set[str]) -> tuple[str, ...]:
    """Prefixes of the columns that hold performance variables."""
    if {"perf_var", "perf_value"} <= known:
        return ("perf",)
    names = [name.removesuffix("_value") for name in columns if name.endswith("_value")]
    return tuple(name for name in names if name and f"{name}_unit" in columns)


def _foreign_case(line: Fields, variables: Sequence[str], path: Path) -> CaseEntry:
    """What a line says, as ReFrame's run report would say it."""
    given = {name: "" if each in _NOTHING else each for name, each in line.items()}
    info = given.get("info", "")
    environ = _ENVIRONMENT.search(info)
    ended = next(given[name] for name in _TIMES if name in given)
    time = _seconds(ended) if "job_completion_time_unix" in given else _moment(ended)
    values: dict[str, list[Any]] = {}
    for prefix in variables:
        value, reference, lower, upper = (
            _number(given.get(f"{prefix}_{part}", ""), f"{prefix}_{part}")
            for part in ("value", "ref", "lower_thres", "upper_thres")
        )
        name = given.get("perf_var", "") if prefix == "perf" else prefix
        # A test without variables has a line all the same.
        if name or value is not None:
            unit = given.get(f"{prefix}_unit", "")
            values[name] = [value, reference, lower, upper, unit, given.get("result", "")]
    entry = {
        "name": next((given[each] for each in _TITLES if each in given), path.name.split(".")[0]),
        # <prefix>/<system>/<partition>/<check>.log, by default.
        "system": given.get("system", path.parent.parent.name),
        "partition": given.get("partition", path.parent.name),
        "environ": given.get("environ", environ[1] if environ else "") or "unknown",
        "jobid": given.get("jobid"),
        "result": given.get("result"),
        "num_tasks": _count(given.get("num_tasks", "").lstrip("-"), "num_tasks"),
        "job_nodelist": [each for each in given.get("job_nodelist", "").split(",") if each],
        "perfvalues": values,
    }
    return case_of(entry, "", time)


def _number(text: str, name: str) -> float | None:
    try:
        found = float(text) if text else None
    except ValueError:
        raise ValueError(f"expected a number as {name}, found {text!r:.80}") from None
    if found is not None and math.isnan(found):
        raise ValueError(f"expected a number as {name}, found {text!r:.80}")
    return found


def _count(text: str, name: str) -> int:
    if text and not (text.isascii() and text.isdigit() and len(text) < len("1" * 19)):
        raise ValueError(f"expected a whole number as {name}, found {text!r:.80}")
    return int(text) if text else 0


def _moment(text: str) -> str:
    """A point of time; one without zone is this machine's, as ReFrame writes it by default."""
    try:
        return _seconds(str(datetime.fromisoformat(text).astimezone(UTC).timestamp()))
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"expected a time as in RFC 3339, found {text!r:.80}") from None


def _seconds(text: str) -> str:
    seconds = _number(text, "time") or 0
    if not datetime(2000, 1, 1, tzinfo=UTC).timestamp() <= seconds < _UNTIL.timestamp():
        raise ValueError(f"expected a time after 2000, found {text!r:.80}")
    return moment(int(seconds))
