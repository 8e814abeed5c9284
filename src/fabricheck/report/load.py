"""Reading of a ReFrame run report into the model, with validation and without benefit of doubt."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema

from fabricheck.errors import FabricheckError
from fabricheck.inputs import read_file
from fabricheck.report.build import build_case
from fabricheck.report.model import Case, Run
from fabricheck.report.status import Status

_UNDEFINED = "<undefined>"


def newest_report(directory: Path) -> Path:
    """The ``*.json`` file of the directory that was written last.

    Raises:
        FabricheckError: if there is no such directory or no such file in it.
    """
    try:
        found = [(path.stat().st_mtime, path) for path in directory.glob("*.json")]
    except OSError as error:
        raise FabricheckError(f"cannot list {directory}: {error.strerror}") from error
    if not found:
        raise FabricheckError(
            f"expected a ReFrame run report (*.json) in {directory.resolve()}, found none: "
            "run the checks first, or name the file"
        )
    return max(found)[1]


def load(path: Path) -> Run:
    """The run that the file records.

    Later attempts of a retried case replace earlier ones, and say so. Whatever the record lacks
    becomes a defect of the run or a note of the case.

    Raises:
        FabricheckError: if the file cannot be read, is not JSON, or is not a run report.
    """
    document = _read(path)
    session = document["session_info"]
    cases = tuple(_latest_attempts(document["runs"]))
    return Run(
        path=path.resolve(),
        uuid=session.get("uuid", "unknown"),
        hostname=session.get("hostname", "unknown"),
        user=session.get("user", "unknown"),
        reframe_version=session.get("version", "unknown"),
        command_line=session.get("cmdline", "unknown"),
        started=_readable(session.get("time_start", "unknown")),
        ended=_readable(session.get("time_end", "unknown")),
        elapsed=session.get("time_elapsed"),
        cases=tuple(case for case in cases if not case.fixture),
        failed_builds=tuple(c for c in cases if c.fixture and c.status is not Status.GOOD),
        defects=tuple(_defects(document, cases)),
        lacking=unquote(session["lacking"]) if "lacking" in session else None,
    )


def _readable(time: str) -> str:
    """ReFrame's compact time stamp as ISO 8601; anything else as it is."""
    try:
        return datetime.strptime(time, "%Y%m%dT%H%M%S%z").isoformat(" ")
    except ValueError:
        return time


def _read(path: Path) -> dict[str, Any]:
    try:
        document = _defined(json.loads(read_file(path).decode()))
        problem = jsonschema.exceptions.best_match(_validator().iter_errors(document))
    except OSError as error:
        raise FabricheckError(
            f"cannot read the run report {path}: {error.strerror or error}"
        ) from error
    except UnicodeDecodeError as error:
        raise FabricheckError(
            f"expected a ReFrame run report in UTF-8 in {path}, found other bytes at "
            f"offset {error.start}: the file is damaged or not a run report"
        ) from error
    except json.JSONDecodeError as error:
        raise FabricheckError(
            f"expected a ReFrame run report (JSON) in {path}, found {error.msg.lower()} at line "
            f"{error.lineno}, column {error.colno}: the file is cut or damaged; run again"
        ) from error
    except (RecursionError, ValueError) as error:
        # Python's reader of JSON refuses numbers of more than 4300 digits with a ValueError.
        what = (
            "a number of thousands of digits" if isinstance(error, ValueError) else "deep nesting"
        )
        raise FabricheckError(
            f"expected a ReFrame run report in {path}, found {what}: the file is damaged or not a "
            "run report"
        ) from error
    if problem is not None:
        raise FabricheckError(
            f"expected a ReFrame run report in {path}, found at "
            f"{problem.json_path}: {_shortened(problem.message)}"
        )
    return dict(document)


@cache
def _validator() -> jsonschema.Draft202012Validator:
    text = resources.files("fabricheck.report").joinpath("run_report.schema.json").read_text()
    return jsonschema.Draft202012Validator(json.loads(text))


def _shortened(message: str) -> str:
    return message if len(message) <= 200 else f"{message[:99]} … {message[-99:]}"  # noqa: PLR2004


def _defined(value: Any) -> Any:
    """The value without the keys that ReFrame could not fill in, its text as UTF-8 can have it."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_defined(key): _defined(v) for key, v in value.items() if v != _UNDEFINED}
    if isinstance(value, list):
        return [_defined(item) for item in value]
    return value


def _latest_attempts(runs: Sequence[Mapping[str, Any]]) -> list[Case]:
    latest: dict[tuple[Any, ...], tuple[Mapping[str, Any], tuple[str, ...]]] = {}
    for run in runs:
        for number, entry in enumerate(run["testcases"]):
            name = entry.get("unique_name") or entry.get("name") or number
            key = (name, entry.get("system"), entry["partition"], entry["environ"])
            earlier = latest.get(key)
            failures = (*earlier[1], _attempt(earlier[0])) if earlier else ()
            latest[key] = (entry, failures)
    titles = {}
    for entry, failures in latest.values():
        case = build_case(entry, failures)
        if case.result != "pass":
            titles[entry.get("unique_name"), case.environ] = case.title
    return [
        build_case(entry, failures, _blockers(entry, titles)) for entry, failures in latest.values()
    ]


def _blockers(entry: Mapping[str, Any], failed: Mapping[tuple[Any, str], str]) -> list[str]:
    """Titles of the tests that the entry depends on and that did not pass."""
    needed = [(name, environ) for name, _, environ in entry.get("dependencies_actual") or ()]
    return [failed[key] for key in needed if key in failed]


def _attempt(entry: Mapping[str, Any]) -> str:
    return str(entry.get("fail_reason") or f"ReFrame result {entry['result']!r}")


def _defects(document: Mapping[str, Any], cases: Sequence[Case]) -> list[str]:
    defects = []
    runs = document["runs"]
    announced = document["session_info"]["num_cases"]
    if not runs:
        defects.append("the record holds no run: ReFrame ran nothing")
    elif announced != len(runs[0]["testcases"]):
        defects.append(
            f"the session announces {announced} cases, the record lists "
            f"{len(runs[0]['testcases'])}: the record is incomplete"
        )
    for number, run in enumerate(runs):
        defects.extend(_run_defects(number, run))
    if not any(not case.fixture for case in cases):
        defects.append("no test case was run: nothing was measured, nothing was judged")
    return defects


def _run_defects(number: int, run: Mapping[str, Any]) -> list[str]:
    listed = run["testcases"]
    failed = sum(entry["result"] in ("fail", "xpass") for entry in listed)
    defects = []
    if run["num_cases"] != len(listed):
        defects.append(
            f"run {number} announces {run['num_cases']} cases, the record lists {len(listed)}: "
            "the record is incomplete"
        )
    elif run.get("num_failures", failed) > failed:
        defects.append(
            f"run {number} counts {run['num_failures']} failures, the record lists {failed}: "
            "the record contradicts itself"
        )
    aborted = sum(entry["result"] == "abort" for entry in listed)
    if run.get("num_aborted", 0) > aborted:
        defects.append(
            f"run {number} counts {run['num_aborted']} aborted, the record lists {aborted}: "
            "ReFrame stopped before everything was recorded; its last words say why"
        )
    return defects
