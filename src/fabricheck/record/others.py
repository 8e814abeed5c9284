"""Results of other suites than ReFrame's: Ramble (Benchpark) and SuperBench.

Neither says when it ran, but in the name of its file or folder: else it is when the file was
written.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from fabricheck.errors import FabricheckError
from fabricheck.record.entries import CaseEntry, Entry, Sample, moment
from fabricheck.record.read import Problem, ProblemKind
from fabricheck.record.reframe_report import ODD, case_of, entries_of_report, in_words

_MOMENT: Final = re.compile(r"(\d{4}-\d\d-\d\d)_(\d\d)[.-](\d\d)[.-](\d\d)", re.ASCII)
_NO_CONTEXT: Final = "null"
_REPEATS: Final = "N_REPEATS"
_CODE: Final = "return_code"


def entries_of_json(data: bytes, path: Path) -> tuple[list[Entry], list[Problem]]:
    """The cases of a run report of ReFrame, or of the results of Ramble.

    Raises:
        ValueError: if it is neither, in words.
    """
    if b'"experiments"' not in data or b'"session_info"' in data:
        return entries_of_report(data, path)
    try:
        given = json.loads(data)
        experiments = list(given["experiments"])
        system = str(given.get("workspace_name") or "ramble")
    except (*ODD, RecursionError) as error:
        raise ValueError(f"expected results of Ramble, found {in_words(error)}") from error
    cases: list[Entry] = []
    problems: list[Problem] = []
    for number, each in enumerate(experiments, start=1):
        try:
            # The one that the repetitions belong to holds statistics of theirs.
            if not each.get(_REPEATS):
                cases.append(_experiment(each, system, _time(path)))
        except (*ODD, FabricheckError) as error:
            detail = f"experiment {number}: {in_words(error)}"
            problems.append(Problem(ProblemKind.DAMAGED, path, 0, detail))
    return cases, problems


def _experiment(given: Mapping[str, Any], system: str, time: str) -> CaseEntry:
    """An experiment of Ramble, its figures of merit by their context."""
    known = {**given.get("RAMBLE_VARIABLES", {}), **given}
    values = {
        # In ReFrame's reports a colon ends the name of the system.
        "/".join(
            part.replace(":", "") for part in (context["name"], fom["name"]) if part != _NO_CONTEXT
        ): [
            *(_number(fom), None, None, None),
            *(str(fom.get("units", "")), ""),
        ]
        for context in given["CONTEXTS"]
        for fom in context["foms"]
    }
    entry = {
        "name": given["name"],
        "system": system,
        "partition": str(known.get("batch_partition") or "default"),
        "environ": str(known.get("env_name") or "ramble"),
        "result": "pass" if given["RAMBLE_STATUS"] == "SUCCESS" else "fail",
        "num_tasks": int(known.get("n_ranks") or 0),
        "num_tasks_per_node": int(known.get("processes_per_node") or 0),
        "tags": list(map(str, given.get("TAGS", ()))),
        "perfvalues": values,
    }
    return case_of(entry, "", time)


def _number(fom: Mapping[str, Any]) -> float | None:
    """A figure of merit; ``None`` for one that is text, which has no unit."""
    try:
        found = float(fom["value"])
    except ValueError:
        if fom.get("units"):
            raise
        return None
    return found if math.isfinite(found) else None


def entries_of_node_lines(data: bytes, path: Path) -> tuple[list[Entry], list[Problem]]:
    """The cases of SuperBench's ``results-summary.jsonl``, a line for each node."""
    cases: list[Entry] = []
    problems: list[Problem] = []
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            given = json.loads(line)
            cases += _node(str(given.pop("node")), given, _time(path))
        except (*ODD, RecursionError) as error:
            problems.append(Problem(ProblemKind.DAMAGED, path, number, in_words(error)))
    return cases, problems


def _node(node: str, given: Mapping[str, Any], time: str) -> Iterator[CaseEntry]:
    """A case for each benchmark, its variables with the number of their process."""
    of: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, value in given.items():
        benchmark, _, variable = name.rpartition("/")
        of[benchmark or "monitor"][variable] = value
    for benchmark, values in of.items():
        codes = [value for name, value in values.items() if name.startswith(_CODE)]
        yield CaseEntry(
            system="superbench",
            partition="default",
            environ="superbench",
            check=benchmark.split(":")[0],
            benchmark=benchmark,
            name=benchmark,
            id=benchmark,
            num_nodes=1,
            nodes=(node,),
            time=time,
            result="fail" if any(codes) else "pass",
            samples=tuple(
                Sample(metric=name, value=None if value is None else float(value))
                for name, value in values.items()
                if not name.startswith(_CODE)
            ),
        )


def _time(path: Path) -> str:
    named = _MOMENT.findall(str(path.resolve()))
    if not named:
        return moment(path.stat().st_mtime)
    day, *clock = named[-1]
    return moment(datetime.fromisoformat(f"{day}T{':'.join(clock)}").astimezone().timestamp())
