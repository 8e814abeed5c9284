"""Is a record of an acceptance what its pairs give? Everything is computed again from them."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from fabricheck.acceptance import judging
from fabricheck.acceptance.answers import Acceptance, Missing, Question, Scope
from fabricheck.acceptance.pairs import SIDES
from fabricheck.acceptance.settings import Settings
from fabricheck.acceptance.wording import answer_data, summary_data
from fabricheck.errors import FabricheckError

_ASKED: Final = ("margin", "tail_margin", "error_rate", "pairs")
_AS_IN_THE_RECORD: Final = (
    *("margin", "two_sided", "before", "after", "unit", "critical", "spread"),
)

Wrong = tuple[str, str, object, object]
"""What is wrong, of what, what was expected, and what the record says."""


def check_figures(record: dict[str, Any], path: Path) -> None:
    """Make sure that all that is computed is what the record's pairs and settings give.

    Margins, figures, verdicts and words are; medians in units and the spread of former nights
    stand beside the pairs and are believed.

    Args:
        record: one that meets the schema.
        path: where it stands.

    Raises:
        FabricheckError: for the first that differs.
    """
    settings = Settings(**{name: record["settings"][name] for name in _ASKED})
    try:
        # Margins and verdicts first: what else differs may follow from them.
        wrong = min(
            _wrong(record, settings),
            key=lambda each: {"margin": 0, "verdict": 1}.get(each[0], 2),
            default=None,
        )
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise FabricheckError(
            f"FC2010 expected figures of an acceptance at {path}, found some that can't be "
            f"({error}): it is damaged, or was changed by hand; make the acceptance again"
        ) from error
    if wrong:
        what, name, expected, told = wrong
        raise FabricheckError(
            f"FC2011 expected the {what} {expected} on {name} from the figures at {path}, found "
            f"{told}: it was changed by hand; make the acceptance again"
        )


def check_settings(record: dict[str, Any], settings: Settings, path: Path) -> None:
    """Make sure that the record was made with the margins and error rate of its site.

    Raises:
        FabricheckError: for the first that differs.
    """
    for name, expected in asdict(settings).items():
        if record["settings"][name] != expected:
            raise FabricheckError(
                f"FC2012 expected {path} with the site's acceptance > {name} {expected:g}, found "
                f"{record['settings'][name]:g}: make the acceptance again, or name the --sites "
                "that it was made with"
            )


def _question(told: dict[str, Any]) -> Question:
    if (told["scope"] == Scope.FAILURES) != (told["failed"] is not None):
        raise ValueError(f"{told['name']} with failed {told['failed']}")
    failed = told["failed"] and tuple(
        told["failed"][side][count] for side in SIDES for count in ("failed", "runs")
    )
    before, after = (np.array(told["runs"][side], dtype=float) for side in SIDES)
    same = {name: told[name] for name in _AS_IN_THE_RECORD}
    return Question(Scope(told["scope"]), told["fields"], before, after, failed=failed, **same)


def _wrong(record: dict[str, Any], settings: Settings) -> Iterator[Wrong]:
    """What is not what the pairs give."""
    answers = judging.judge([_question(each) for each in record["answers"]], settings)
    for told, answer in zip(record["answers"], answers, strict=True):
        if (margin := _margin(answer.question, settings)) is not None:
            yield "margin", told["name"], margin, told["margin"]
        yield from _differences(told, answer_data(answer), told["name"])
    whole = judging.verdict(answers, complete=not record["missing"])
    missing = [Missing(**each) for each in record["missing"]]
    sides = (record["sessions"], record["interleaved"])
    found = Acceptance(whole, answers, missing, [], *sides, control=record["control"])
    yield from _differences(record, summary_data(found), "the whole")


def _differences(told: Mapping[str, Any], computed: Mapping[str, Any], name: str) -> list[Wrong]:
    return [
        (what, name, value, told[what])
        for what, value in computed.items()
        if not _is_same(told[what], value)
    ]


def _is_same(told: Any, computed: Any) -> bool:
    if isinstance(told, list) and isinstance(computed, list):
        return len(told) == len(computed) and all(map(_is_same, told, computed))
    if isinstance(told, float | int) and isinstance(computed, float):
        # Another version of SciPy may round in another way.
        return math.isclose(told, computed, rel_tol=1e-6, abs_tol=1e-9)
    return bool(told == computed)


def _margin(question: Question, settings: Settings) -> float | None:
    """The margin that a question should have; none where it has it.

    What is made of several series has the margin of one of them.
    """
    if question.scope is Scope.FAILURES:
        allowed = [0.0]
    elif question.scope is Scope.SERIES:
        allowed = [settings.margin_of(str(question.fields["statistic"]))]
    else:
        allowed = [settings.margin_of("p50"), settings.margin_of("max")]
    return None if question.margin in allowed else allowed[0]
