"""Reading of what the suite's programs write with ``--json`` (docs/reference/programs/results.md).

One schema for all of them, ``src/bench/schema/result-1.json``. What the results mean is known to
the module of each program, which makes a curve of them.
"""

import functools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import pairwise
from typing import Any, NoReturn

import jsonschema

from fabricheck.errors import ParseError
from fabricheck.measures.curve import Curve, Point
from fabricheck.measures.gpu import program_name
from fabricheck.measures.metrics import Metric

_MOST_DIGITS = 18
_LONGEST = 200
_ENDS = {"min": -1.0, "max": 101.0}
# The programs write nine digits.
_ROUNDING = 1e-8

_FACTORS = {
    ("s", "s"): 1.0,
    ("s", "us"): 1e6,
    ("B/s", "MB/s"): 1e-6,
    ("bit/s", "MB/s"): 1e-6 / 8,
    ("1/s", "messages/s"): 1.0,
    ("1", "1"): 1.0,
}
"""From the unit of a result to that of a metric."""


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """A whole run of one of our programs.

    Attributes:
        source: what to call it in messages.
        program: its name.
        version: its version.
        benchmark: which of its measurements ran.
        options: every option by its long name.
        environment: where it ran, and what it found there.
        units: the unit of each number in a result.
        results: what was measured, in the order in which it was.
    """

    source: str
    program: str
    version: str
    benchmark: str
    options: Mapping[str, Any]
    environment: Mapping[str, Any]
    units: Mapping[str, str]
    results: Sequence[Mapping[str, Any]]

    def metadata(self) -> Mapping[str, str]:
        """The environment in words."""
        return {
            key: " ".join(map(str, value)) if isinstance(value, list) else str(value)
            for key, value in self.environment.items()
        }

    def values(
        self, result: Mapping[str, Any], field: str, metric: Metric
    ) -> Iterator[tuple[tuple[Metric, str], float]]:
        """The statistics of a field, or its only value as ``avg``, in the metric's unit."""
        found = self.need(result, field, int, float, dict)
        statistics = found if isinstance(found, dict) else {"avg": found}
        factor = _FACTORS.get((self.units.get(field, ""), metric.row.unit))
        if factor is None:
            self.refuse(
                f"expected {field} in a unit of {metric.row.unit}, found "
                f"{self.units.get(field, 'none')}"
            )
        _check_order(self, field, statistics)
        for name, value in statistics.items():
            if value is not None:
                yield (metric, name), value * factor

    def curve(self, benchmark: str, points: Iterable[Point], **more: str) -> Curve:
        """The whole curve of the run.

        Args:
            benchmark: its name in the registry.
            points: in the order of rising size.
            more: metadata beside the environment.
        """
        metadata = self.metadata()
        return Curve(
            benchmark=benchmark,
            program=program_name(self.program, metadata),
            version=self.version,
            datatype=self.environment.get("datatype"),
            metadata={**metadata, **more},
            points=tuple(points),
            is_whole=True,
        )

    def need(self, result: Mapping[str, Any], field: str, *kinds: type) -> Any:
        """The value of a field that each result of this program has."""
        value = result.get(field)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            self.refuse(f"expected {field} in each result of {self.program}, found {value!r}")
        return value

    def refuse(self, message: str) -> NoReturn:
        """Raise an error on this file."""
        raise ParseError(f"FC1112 {self.source}: {message}")


def is_result(text: str) -> bool:
    """Whether a text is meant to be the JSON of a program."""
    return text.lstrip().startswith("{")


def read(text: str, source: str) -> ProgramResult:
    """The results of a whole run.

    Args:
        text: the JSON.
        source: what to call it in messages.

    Raises:
        ParseError: if it is cut, damaged or none of our programs', or if the run was interrupted,
            failed, lacks results or found wrong data.
    """
    document = _load(text, source)
    problem = jsonschema.exceptions.best_match(_validator().iter_errors(document))
    if problem is not None:
        found = problem.message
        raise ParseError(
            f"FC1113 {source}: expected what a program of the suite writes with --json, found at "
            f"{problem.json_path}: {found[:_LONGEST]}: the file is damaged, of another program, or "
            "of another version"
        )
    result = ProgramResult(
        source=source,
        program=document["program"],
        version=document["version"],
        benchmark=document["benchmark"],
        options=document["options"],
        environment=document["environment"],
        units=document["units"],
        results=document["results"],
    )
    _refuse_incomplete(result, document)
    return result


def _load(text: str, source: str) -> Any:
    try:
        return json.loads(text, parse_float=_number, parse_int=_whole, parse_constant=_number)
    except (ValueError, RecursionError) as error:
        place = f"line {error.lineno}: " if isinstance(error, json.JSONDecodeError) else ""
        raise ParseError(
            f"FC1114 {source}: {place}expected JSON, found {error}: the file is cut or damaged"
        ) from error


@functools.cache
def _validator() -> jsonschema.Draft202012Validator:
    # Without `documents`: who reads a curve does not wait for YAML.
    text = resources.files("fabricheck.measures").joinpath("result-1.json").read_text()
    return jsonschema.Draft202012Validator(json.loads(text))


def _number(word: str) -> float:
    value = float(word)
    if not math.isfinite(value):
        raise ValueError(f"the number {word[:_MOST_DIGITS]}")
    return value


def _whole(word: str) -> int:
    if len(word) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(word)} digits")
    return int(word)


def _refuse_incomplete(result: ProgramResult, document: Mapping[str, Any]) -> None:
    found, expected = len(result.results), document["expected"]
    if document["validation"] == "failed" or any(
        each.get("valid") is False for each in result.results
    ):
        wrong = next((each for each in result.results if each.get("valid") is False), {})
        where = ", ".join(f"{key} {wrong[key]}" for key in list(wrong)[:2])
        result.refuse(
            f"data validation failed, the received data was wrong at {where or 'some result'}"
        )
    if signal := document["interrupted"]:
        result.refuse(
            f"expected a whole run, found that it was ended by {signal}, with {found} of "
            f"{expected} results"
        )
    if failures := document["failures"]:
        result.refuse(f"expected a run that came to its end, found: {'; '.join(failures)}")
    if not document["complete"] or found != expected:
        result.refuse(
            f"expected {expected} results, found {found}: results are missing, repeated, or the "
            "run was cut short"
        )


def _check_order(result: ProgramResult, field: str, statistics: Mapping[str, float | None]) -> None:
    """The percentiles rise, and lie between the least and the greatest."""
    rising = [
        value
        for _, value in sorted(
            (_ENDS.get(name) or float(name[1:]), value)
            for name, value in statistics.items()
            if value is not None and (name in _ENDS or name.startswith("p"))
        )
    ]
    if any(after < before * (1 - _ROUNDING) for before, after in pairwise(rising)):
        result.refuse(
            f"expected least, percentiles and greatest of {field} in rising order, found "
            f"{', '.join(f'{value:g}' for value in rising)}: the file is damaged"
        )
