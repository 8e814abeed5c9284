"""From runs to a verdict, after any pair of them.

Each question is tested in both directions. It is fine if the test refuses "worse by the margin or
more", and worse if a test refuses "no worse than the margin" (two one-sided tests, Schuirmann
1987). The whole is accepted only if every series is fine; this needs no adjustment for their number
(intersection-union test, Berger 1982). It is rejected if anything is worse; this does, and gets
Benjamini and Hochberg's. What is made of many series, and single series with failures, are two
families with half of the error rate each, so that a transport need not wait for what its series are
too many to show.

Three runs can't show by their order alone that anything is worse. So what is made of many series,
and series whose nights before the campaign are known, are also judged by a t test, whose spread is
at least that of those nights; where there are none, 10 %.
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
from fabricheck.trend.robust import Array

_SETTLED = 0.8
"""Probability with which the advised number of runs settles a question."""

_HALF = 0.5

_UNKNOWN_SPREAD = 0.1
"""Granted where no night before the campaign tells how far two modes, or a busy hour, lie apart."""

_LEAST_FOR_T = 3

_CRITICAL_BY_CHANCE = 0.01
"""Largest share of runs in which a sound case is critical; references allow far less."""


def judge(questions: Sequence[Question], settings: Settings) -> list[Answer]:
    """Answer all questions of an acceptance."""
    asked = [_ask(each, settings) for each in questions]
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


def _ask(question: Question, settings: Settings) -> Answer:
    if question.failed is not None:
        failed_before, before, failed_after, after = question.failed
        more = failed_after * max(before, 1) > failed_before * max(after, 1)
        return _unsettled(question, p_worse=_p_failing(question), p_fine=1.0 if more else 0.0)
    sides = two_samples.without_drift(question.runs_before, question.runs_after)
    found, margin = two_samples.differences(*sides), question.margin
    p_worse, p_fine = _p_worse(question, *sides), two_samples.p_less(found, margin)
    if question.two_sided:
        p_worse = min(1.0, 2 * min(p_worse, _p_worse(question, *reversed(sides))))
        p_fine = max(p_fine, two_samples.p_greater(found, -margin))
    answer = _unsettled(question, p_worse=p_worse, p_fine=p_fine)
    if not len(found):
        return answer
    answer = replace(answer, shift=math.expm1(float(np.median(found))))
    rate = settings.accepting(question.pairs)
    if (ends := two_samples.interval(found, rate)) is None:
        return answer
    low, high = ends
    quantile = NormalDist().inv_cdf(1 - rate)
    sees = (high - low) / 2 * (1 + NormalDist().inv_cdf(_SETTLED) / quantile)
    return replace(answer, low=math.expm1(low), high=math.expm1(high), sees=math.expm1(sees))


def _p_worse(question: Question, before: Array, after: Array) -> float:
    """p-value that it is no worse than the margin: of the rank test, and of t where it is apt."""
    p = two_samples.p_greater(two_samples.differences(before, after), question.margin)
    known = question.scope in _POOLED or question.spread > 0
    if not known or question.pairs < _LEAST_FOR_T:
        return p
    spread = question.spread or _UNKNOWN_SPREAD
    return min(1.0, 2 * min(p, two_samples.t_greater(before, after, question.margin, spread)))


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

    For shifts, the sample size of the rank test for power 0.8 after Noether (1987), from the share
    of differences on one side of the margin, with one more counted on each side; for failures, as
    many as make the same shares significant.

    Args:
        answer: what the pairs say until now.
        settings: error rate and bound.
        strict: error rate for a rejection, if nothing else is worse.
    """
    question = answer.question
    if question.failed is not None:
        return _further_failures(question.failed, strict, settings.most_pairs)
    pairs, planned = question.pairs, settings.accepting(settings.pairs)
    least = two_samples.least_pairs(planned)
    if pairs < least:
        return least - pairs
    found = two_samples.differences(question.runs_before, question.runs_after)
    fine = np.abs(found) if question.two_sided else found
    share = (np.sum(fine < question.margin) + 1) / (len(found) + 2)
    rate = planned if share > _HALF else strict
    quantiles = NormalDist().inv_cdf(1 - rate) + NormalDist().inv_cdf(_SETTLED)
    bound = quantiles**2 / 6 / settings.most_pairs
    if (share - _HALF) ** 2 <= bound:
        return None
    wanted = math.ceil(quantiles**2 / 6 / (share - _HALF) ** 2)
    return max(two_samples.least_pairs(rate), wanted, pairs + 1) - pairs


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
