"""Is a record of an acceptance what its pairs give? Everything is computed again from them."""

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from fabricheck.acceptance import judging
from fabricheck.acceptance.answers import Answer, Question, Scope
from fabricheck.acceptance.pairs import SIDES
from fabricheck.acceptance.settings import Settings
from fabricheck.errors import FabricheckError

_ENDS: Final = ("lower end of the interval", "upper end of the interval")
_ASKED: Final = ("margin", "tail_margin", "error_rate", "pairs")

Wrong = tuple[str, str, object, dict[str, Any]]
"""What is wrong, of what, what was expected, and the part of the record that says otherwise."""


def check_figures(record: dict[str, Any], path: Path) -> None:
    """Make sure that margins, figures and verdicts are those of the record's pairs and settings.

    Args:
        record: one that meets the schema.
        path: where it stands.

    Raises:
        FabricheckError: for the first that differs.
    """
    settings = Settings(**{name: record["settings"][name] for name in _ASKED})
    try:
        answers = judging.judge([_question(each) for each in record["answers"]], settings)
        whole = judging.verdict(answers, complete=not record["missing"])
        wrong: list[Wrong] = []
        if record["verdict"] != whole:
            wrong.append(("verdict", "the whole", whole, record))
        for told, answer in zip(record["answers"], answers, strict=True):
            wrong += _differences(told, answer, settings)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise FabricheckError(
            f"expected figures of an acceptance at {path}, found some that can't be ({error}): it "
            "is damaged, or was changed by hand; make it anew"
        ) from error
    for what, name, expected, told in wrong:
        raise FabricheckError(
            f"expected the {what} {expected} on {name} from the figures at {path}, found "
            f"{told[what]}: it was changed by hand; make the acceptance anew"
        )


def check_settings(record: dict[str, Any], settings: Settings, path: Path) -> None:
    """Make sure that the record was made with the margins and error rate of its site.

    Raises:
        FabricheckError: for the first that differs.
    """
    for name, expected in asdict(settings).items():
        if record["settings"][name] != expected:
            raise FabricheckError(
                f"expected {path} with the site's acceptance > {name} {expected:g}, found "
                f"{record['settings'][name]:g}: make the acceptance anew, or name the --sites that "
                "it was made with"
            )


def _question(told: dict[str, Any]) -> Question:
    failed = told["failed"] and tuple(
        told["failed"][side][count] for side in SIDES for count in ("failed", "runs")
    )
    before, after = (np.array(told["runs"][side], dtype=float) for side in SIDES)
    return Question(
        Scope(told["scope"]),
        told["fields"],
        before,
        after,
        told["margin"],
        told["two_sided"],
        failed=failed,
        critical=told["critical"],
        spread=told["spread"],
    )


def _differences(told: dict[str, Any], answer: Answer, settings: Settings) -> list[Wrong]:
    """What of an answer is not what its pairs give."""
    wrong: list[Wrong] = []
    if (margin := _margin(answer.question, settings)) is not None:
        wrong.append(("margin", told["name"], margin, told))
    if told["verdict"] != answer.verdict:
        wrong.append(("verdict", told["name"], answer.verdict, told))
    found = {**told, **dict(zip(_ENDS, told["interval"] or (None, None), strict=True))}
    computed = {
        "pairs": answer.question.pairs,
        "change": answer.shift,
        **dict(zip(_ENDS, (answer.low, answer.high), strict=True)),
        "p_worse": answer.p_worse,
        "q_worse": answer.q_worse,
        "p_fine": answer.p_fine,
        "sees": answer.sees,
    }
    wrong += [
        (name, told["name"], value, found)
        for name, value in computed.items()
        if not _is_same(found[name], value)
    ]
    return wrong


def _is_same(told: float | None, computed: float | None) -> bool:
    if told is None or computed is None:
        return told is computed
    # Another version of SciPy may round in another way.
    return math.isclose(told, computed, rel_tol=1e-6, abs_tol=1e-9)


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
