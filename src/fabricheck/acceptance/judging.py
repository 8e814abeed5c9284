"""From runs to a verdict, after any pair of them.

Each question is tested in both directions. It is fine if the test refuses "worse by the margin or
more", and worse if a test refuses "no worse than the margin" (two one-sided tests, Schuirmann
1987). The whole is accepted only if every series is fine; this needs no adjustment for their number
(intersection-union test, Berger 1982). It is rejected if anything is worse; this does, and gets
Benjamini and Hochberg's. What is made of many series, and single series with failures, are two
families with half of the error rate each, so that a transport need not wait for what its series are
too many to show.

Three runs can't show by their order alone that anything is worse. So all is also judged by a t
test, whose spread is at least that of the nights before the campaign. Where there are none it is
10 % for what is made of many series, and for a single one at least the largest distance of two runs
of one side, over all series: no like runs were further apart.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist

import numpy as np
from scipy import stats

from fabricheck.acceptance import two_samples
from fabricheck.acceptance.answers import (
    AcceptanceVerdict,
    Answer,
    Question,
    Scope,
    most_further,
    together,
)
from fabricheck.acceptance.pairs import CASE, TRANSPORT
from fabricheck.acceptance.settings import Settings
from fabricheck.acceptance.two_samples import Shift
from fabricheck.trend.robust import Array

_SETTLED = 0.8
"""Probability with which the advised number of runs settles a question."""

_UNKNOWN_SPREAD = 0.1
"""Granted where no night before the campaign tells how far two modes, or a busy hour, lie apart."""

_LEAST_FOR_T = 3

_MANY = 20
"""So many series show how far like runs lie apart; few don't show a second mode."""

_CRITICAL_BY_CHANCE = 0.01
"""Largest share of runs in which a sound case is critical; references allow far less."""


def judge(questions: Sequence[Question], settings: Settings) -> list[Answer]:
    """Answer all questions of an acceptance."""
    apart, shifts = _largest_distance(questions), _shifts(questions)
    # So many pairs of one series among these can show by their order that it is worse.
    enough = two_samples.least_pairs(settings.rejecting / _FAMILIES / max(len(questions), 1))
    asked = [
        _ask(each, settings, apart if each.pairs < enough else np.inf, shift)
        for each, shift in zip(questions, shifts, strict=True)
    ]
    pooled = np.array([each.question.scope in _POOLED for each in asked], dtype=bool)
    q = np.array([each.p_worse for each in asked])
    for family in filter(np.any, (pooled, ~pooled)):
        q[family] = np.minimum(_FAMILIES * stats.false_discovery_control(q[family]), 1.0)
    answers = [
        _decide(replace(each, q_worse=float(value)), settings, len(asked))
        for each, value in zip(asked, q, strict=True)
    ]
    return _with_parts(answers)


def verdict(answers: Sequence[Answer], *, complete: bool) -> AcceptanceVerdict:
    """The verdict on everything.

    Whatever is worse rejects it. Accepted it is if every series is fine, and no case fails more
    often; transports and sets of nodes may have too few pairs of their own.

    Args:
        answers: all answers.
        complete: every case has pairs.
    """
    deciding = [
        each.verdict
        for each in answers
        if each.question.scope in _DECIDING or each.verdict is AcceptanceVerdict.REJECT
    ]
    return together(deciding + ([] if complete else [AcceptanceVerdict.INCONCLUSIVE]))


_FAMILIES = 2
_POOLED = frozenset({Scope.TRANSPORT, Scope.NODES, Scope.CASE})
_DECIDING = frozenset({Scope.SERIES, Scope.FAILURES})
_WHOLE = {Scope.CASE: CASE, Scope.TRANSPORT: TRANSPORT}


def _largest_distance(questions: Sequence[Question]) -> float:
    """The largest distance of two runs of one side, over all series; infinite for few series."""
    sides = [
        side
        for each in questions
        if each.scope is Scope.SERIES and each.pairs >= _LEAST_FOR_T
        for side in (each.runs_before, each.runs_after)
    ]
    return max(map(np.ptp, sides)) if len(sides) >= 2 * _MANY else np.inf


def _shifts(questions: Sequence[Question]) -> list[Shift | None]:
    """The shift of each question with two pairs; series share their scatter, tails another one."""
    kinds = defaultdict[tuple[Scope, float], list[int]](list)
    for place, each in enumerate(questions):
        if each.pairs > 1:
            kinds[each.scope, each.margin].append(place)
    found: list[Shift | None] = [None] * len(questions)
    for places in kinds.values():
        sides = [_without_drift(questions[place]) for place in places]
        for place, shift in zip(places, two_samples.shifts(sides), strict=True):
            found[place] = shift
    return found


def _without_drift(question: Question) -> tuple[Array, Array]:
    return two_samples.without_drift(question.runs_before, question.runs_after)


def _ask(question: Question, settings: Settings, apart: float, shift: Shift | None) -> Answer:
    if question.failed is not None:
        failed_before, before, failed_after, after = question.failed
        more = failed_after * max(before, 1) > failed_before * max(after, 1)
        return _unsettled(question, p_worse=_p_failing(question), p_fine=1.0 if more else 0.0)
    sides = _without_drift(question)
    p_worse = _p_worse(question, apart, *sides)
    if question.two_sided:
        p_worse = min(1.0, 2 * min(p_worse, _p_worse(question, apart, *reversed(sides))))
    answer = _unsettled(question, p_worse=p_worse, p_fine=1.0)
    if not question.pairs:
        return answer
    found = two_samples.differences(*sides)
    answer = replace(answer, shift=math.expm1(shift.estimate if shift else float(found[0])))
    rate = settings.accepting(question.pairs)
    if shift is None or question.pairs < two_samples.least_pairs(rate):
        return answer
    estimate, (low, high) = shift.estimate, shift.interval(rate)
    far = abs(estimate) if question.two_sided else estimate
    p_fine = replace(shift, estimate=far).p_less(question.margin)
    sees = high - estimate + NormalDist().inv_cdf(_SETTLED) * shift.error
    return replace(
        answer,
        p_fine=p_fine,
        low=math.expm1(low),
        high=math.expm1(high),
        sees=math.expm1(sees),
    )


def _p_worse(question: Question, apart: float, before: Array, after: Array) -> float:
    """p-value that it is no worse than the margin: of the rank test, and of t where it is apt.

    Of a series that nothing is known of, t alone while its pairs are too few for the other.
    """
    p = two_samples.p_greater(two_samples.differences(before, after), question.margin)
    pooled = question.scope in _POOLED
    known = pooled or question.spread > 0
    if question.pairs < _LEAST_FOR_T or not (known or apart < np.inf):
        return p
    spread = question.spread or (_UNKNOWN_SPREAD if pooled else max(apart, _UNKNOWN_SPREAD))
    p_of_t = two_samples.t_greater(before, after, question.margin, spread)
    return min(1.0, 2 * min(p, p_of_t)) if known else p_of_t


def _p_failing(question: Question) -> float:
    """p-value that it fails no more often: Fisher's test, or levels that turn critical."""
    failed_before, before, failed_after, after = question.failed or (0, 0, 0, 0)
    p = _fisher(failed_before, before, failed_after, after)
    if failed_before or before < _LEAST_FOR_T:
        return p
    by_chance = float(stats.binom.sf(question.critical - 1, after, _CRITICAL_BY_CHANCE))
    return min(1.0, 2 * min(p, by_chance))


def _unsettled(question: Question, *, p_worse: float, p_fine: float) -> Answer:
    return Answer(
        question,
        AcceptanceVerdict.INCONCLUSIVE,
        None,
        None,
        None,
        p_worse,
        q_worse=1.0,
        p_fine=p_fine,
    )


def _fisher(failed_before: int, before: int, failed_after: int, after: int) -> float:
    """p-value that runs fail no more often after than before: Fisher's exact test (1922)."""
    table = [[failed_after, after - failed_after], [failed_before, before - failed_before]]
    return float(stats.fisher_exact(table, alternative="greater").pvalue)


def _decide(answer: Answer, settings: Settings, asked: int) -> Answer:
    if answer.q_worse <= settings.rejecting:
        return replace(answer, verdict=AcceptanceVerdict.REJECT)
    if answer.p_fine <= settings.accepting(answer.question.pairs):
        return replace(answer, verdict=AcceptanceVerdict.ACCEPT)
    return replace(answer, further=_further(answer, settings, settings.rejecting / asked))


def _further(answer: Answer, settings: Settings, strict: float) -> int | None:
    """Pairs of runs that would probably settle it, if the rest is like what there is.

    For shifts, as many as bring the standard error so low that the test has power 0.8; for
    failures, as many as make the same shares significant.

    Args:
        answer: what the pairs say until now.
        settings: error rate and bound.
        strict: error rate for a rejection, if nothing else is worse.
    """
    question = answer.question
    if question.failed is not None:
        return _further_failures(question.failed, strict, settings.most_pairs)
    pairs, rate = question.pairs, settings.accepting(question.pairs)
    if answer.shift is None or answer.low is None or answer.high is None:
        return max(two_samples.least_pairs(rate) - pairs, 1)
    reach = (math.log1p(answer.high) - math.log1p(answer.low)) / 2
    estimate = math.log1p(answer.shift)
    left = question.margin - (abs(estimate) if question.two_sided else estimate)
    wanted_rate = settings.accepting(settings.pairs) if left > 0 else strict
    quantiles = NormalDist().inv_cdf(1 - wanted_rate) + NormalDist().inv_cdf(_SETTLED)
    error = reach / NormalDist().inv_cdf(1 - rate)
    if quantiles * error * math.sqrt(pairs / settings.most_pairs) >= abs(left):
        return None
    wanted = math.ceil(pairs * (quantiles * error / left) ** 2)
    return max(two_samples.least_pairs(wanted_rate), wanted, pairs + 1) - pairs


def _further_failures(failed: tuple[int, int, int, int], strict: float, most: int) -> int | None:
    failed_before, before, failed_after, after = failed
    for pairs in range(after + 1, most + 1):
        counts = (
            round(failed_before * pairs / max(before, 1)),
            round(failed_after * pairs / max(after, 1)),
        )
        if _fisher(counts[0], pairs, counts[1], pairs) <= strict:
            return pairs - after
    return None


def _with_parts(answers: Sequence[Answer]) -> list[Answer]:
    """Give cases and transports the verdict of their parts, unless they are worse themselves."""
    parts = defaultdict[tuple[object, ...], list[Answer]](list)
    for each in answers:
        if each.question.scope in _DECIDING:
            for scope, names in _WHOLE.items():
                parts[scope, *_named(each, names)].append(each)
    return [
        _as_its_parts(each, parts[scope, *_named(each, _WHOLE[scope])])
        if (scope := each.question.scope) in _WHOLE
        else each
        for each in answers
    ]


def _named(answer: Answer, names: Sequence[str]) -> tuple[object, ...]:
    return tuple(answer.question.fields[name] for name in names)


def _as_its_parts(answer: Answer, parts: Sequence[Answer]) -> Answer:
    counts = Counter(part.verdict for part in parts)
    words = [
        f"{counts[verdict]} of {len(parts)} parts {words}"
        for verdict, words in (
            (AcceptanceVerdict.REJECT, "worse"),
            (AcceptanceVerdict.INCONCLUSIVE, "open"),
        )
        if counts[verdict]
    ]
    own = [answer.verdict] if answer.verdict is AcceptanceVerdict.REJECT else []
    return replace(
        answer,
        verdict=together([*own, *(part.verdict for part in parts)]),
        further=most_further(parts),
        why=", ".join(words),
    )
