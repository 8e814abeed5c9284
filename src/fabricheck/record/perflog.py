"""Perflogs as cases of the record: ReFrame's own, of version 3 on.

ReFrame's header says how a site wants its lines: it is the site's format with the names of
attributes in place of their values. A line is a case, with five columns for each performance
variable, or, where the format names ``check_perf_var``, one variable. A field may hold several
attributes and text around them, such as ``perf_var=perf_value``, the line of ReFrame 3 and of most
sites.

Lines without a header are read by the format itself, as it stands in a site's configuration of
ReFrame.
"""

import functools
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
    *("system", "partition", "environ", "jobid", "result", "num_tasks", "job_nodelist", "tags"),
    *("perf_var", "perf_value", "perf_unit", "perf_ref", "perf_lower_thres", "perf_upper_thres"),
)
_ATTRIBUTE: Final = re.compile(rf"\b(?:{'|'.join(_ATTRIBUTES)})\b")
_REFERENCE: Final = "ref=perf_ref (l=perf_lower_thres, u=perf_upper_thres)|perf_unit"
# In a header of ReFrame 4.2 only the first character is left of the text between two attributes.
_SHORT_REFERENCE: Final = "perf_ref perf_lower_thres,perf_upper_thres)perf_unit"
_NAMED: Final = re.compile(r"\|(jobid|num_tasks)(?=\|)")
_SPECIFIER: Final = re.compile(r"%\((?:check_)?(\w+)\)[^a-z%]*s")
_JOB: Final = (
    "%(check_job_completion_time)s|reframe %(version)s|%(check_info)s|jobid=%(check_jobid)s|"
)
_VALUE: Final = "%(check_perf_var)s=%(check_perf_value)s|"
_BOUNDS: Final = (
    "ref=%(check_perf_ref)s (l=%(check_perf_lower_thres)s, u=%(check_perf_upper_thres)s)|"
)
# ReFrame 3 writes no header: its own format, with the number of tasks, and that of excalibur-tests.
_KNOWN: Final = (
    f"{_JOB}{_VALUE}{_BOUNDS}%(check_perf_unit)s",
    f"{_JOB}num_tasks=%(check_num_tasks)s|{_VALUE}{_BOUNDS}%(check_perf_unit)s",
    f"{_JOB}{_VALUE}%(check_perf_unit)s|{_BOUNDS}%(check_tags)s",
)
_FIRST: Final = 20
"""Lines at the top of a file without a header, of which one must be known."""
_PLACE: Final = re.compile(
    r"(?:@| on )(?P<system>[^\s:]+):(?P<partition>\S+?)(?:\+| using )(?P<environ>\S+)$"
)
_NOTHING: Final = ("null", "None", "")
_SHOWN: Final = 80
_UNTIL: Final = datetime(9999, 12, 30, tzinfo=UTC)

Fields = Mapping[str, str]
Reader = Callable[[str], Iterable[CaseEntry]]


def cases_of(
    lines: Sequence[bytes], path: Path, formats: Sequence[str] = ()
) -> tuple[list[CaseEntry], list[Problem]]:
    """The cases of a perflog's lines, and what is wrong with lines.

    Lines of one case, each with a value of its own, become one again.

    Args:
        lines: all lines of the file.
        path: the file; ReFrame's layouts leave to it what the columns don't say.
        formats: as ReFrame's configuration has them, for lines below no header.

    Raises:
        FabricheckError: for a format by which lines can't be read.
    """
    if not lines:
        return [], []
    header = lines[0].decode(errors="replace").rstrip("\r")
    if read := _reframes(header, path):
        first = 1
    elif read := _headerless(lines, path, formats):
        first = 0
    else:
        shown = header if len(header) <= _SHOWN else f"{header[: _SHOWN - 3]}..."
        detail = (
            f"expected the header of a perflog in line 1, found {shown!r}: none of it is read; "
            "give the format of the site's ReFrame configuration with --format"
        )
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


def _reframes(first: str, path: Path) -> Reader | None:
    """The reader of lines below ReFrame's header."""
    header = first
    if _SHORT_REFERENCE in first:
        header = _NAMED.sub(r"|\1=\1", first.replace(_SHORT_REFERENCE, _REFERENCE))
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
        return None
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

    return read


def _headerless(lines: Sequence[bytes], path: Path, formats: Sequence[str]) -> Reader | None:
    """The reader of lines of these formats; of what ReFrame 3 wrote, if none is given."""
    patterns = [_line_pattern(each) for each in formats or _KNOWN]
    heads = [line.decode(errors="replace").rstrip("\r") for line in lines[:_FIRST]]
    if not formats and not any(each.fullmatch(head) for each in patterns for head in heads):
        return None

    def read(line: str) -> Iterator[CaseEntry]:
        found = next(filter(None, (each.fullmatch(line.rstrip("\r")) for each in patterns)), None)
        if not found:
            known = max((_known_part(each, line) for each in formats or _KNOWN), key=len)
            raise ValueError(
                f"expected a line of the format, found {line!r:.160}, which fits until {known!r}"
            )
        yield _foreign_case(found.groupdict(), ("perf",), path)

    return read


def _known_part(given: str, line: str) -> str:
    """As much of a format as a line begins with."""
    ends = [*(match.start() for match in _SPECIFIER.finditer(given)), len(given)]
    fits = (given[:end] for end in reversed(ends) if re.match(_fields(given[:end]), line))
    return next(fits, "")


@functools.cache
def _line_pattern(given: str) -> re.Pattern[str]:
    """The lines of a format of ReFrame's."""
    named = [match[1] for match in _SPECIFIER.finditer(given)]
    needed = {"perf_var", "perf_value"}.issubset(named) and not set(_TIMES).isdisjoint(named)
    if not needed or len(set(named)) < len(named):
        raise FabricheckError(
            "FC3601 expected a format of ReFrame's perflog with a time, %(check_perf_var)s and "
            f"%(check_perf_value)s, each once, found {given!r}: copy 'format' of handlers_perflog "
            "from the site's configuration; with %(check_perfvalues)s the file's header is needed, "
            "which is read without --format"
        )
    return re.compile(_fields(given))


def _fields(given: str) -> str:
    value = "[^|]*?" if "|" in given else "[^,]*?"
    pattern, end = "", 0
    for match in _SPECIFIER.finditer(given):
        pattern += rf"{re.escape(given[end : match.start()])}\s*(?P<{match[1]}>{value})\s*"
        end = match.end()
    return pattern + re.escape(given[end:])


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
    # <prefix>/<system>/<partition>/<check>.log, by default.
    place = {"system": path.parent.parent.name, "partition": path.parent.name, "environ": "unknown"}
    place |= found.groupdict() if (found := _PLACE.search(info)) else {}
    ended = next(given[name] for name in _TIMES if name in given)
    time = _seconds(ended) if "job_completion_time_unix" in given else _moment(ended)
    values: dict[str, list[Any]] = {}
    for prefix in variables:
        value, reference, lower, upper = (
            _number(given.get(f"{prefix}_{part}", ""), f"{prefix}_{part}")
            for part in ("value", "ref", "lower_thres", "upper_thres")
        )
        # ReFrame heads a file once: where variants of a test have other variables, lines name them.
        name = given.get(f"{prefix}_var", "") or ("" if prefix == "perf" else prefix)
        # A test without variables has a line all the same.
        if name or value is not None:
            unit = given.get(f"{prefix}_unit", "")
            values[name] = [value, reference, lower, upper, unit, given.get("result", "")]
    entry = {
        "name": next((given[each] for each in _TITLES if each in given), path.name.split(".")[0]),
        **{name: given.get(name) or each for name, each in place.items()},
        "jobid": given.get("jobid"),
        "result": given.get("result"),
        "num_tasks": _count(given.get("num_tasks", "").lstrip("-"), "num_tasks"),
        "job_nodelist": [each for each in given.get("job_nodelist", "").split(",") if each],
        "tags": [each for each in re.split(r"[,\s]+", given.get("tags", "")) if each],
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
