"""From pairs to a verdict.

Each question is tested in both directions. It is fine if the test refuses "worse by the margin or
more", and worse if the test refuses "no worse than the margin" (two one-sided tests, Schuirmann
1987). The whole is accepted only if every series is fine; this needs no adjustment for their number
(intersection-union test, Berger 1982). It is rejected if anything is worse; this does, and gets
Benjamini and Hochberg's over all questions: where nothing is worse, it rejects at most at the error
rate.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist

import numpy as np
from scipy import stats

from fabricheck.acceptance import signed_rank
from fabricheck.acceptance.model import Answer, Question, Scope, Verdict, most_further, together
from fabricheck.acceptance.pairs import CASE, TRANSPORT
from fabricheck.acceptance.settings import Settings

_SETTLED = 0.8
"""Probability with which the advised number of runs settles a question."""

_HALF = 0.5


def judge(questions: Sequence[Question], settings: Settings) -> list[Answer]:
    """Answer all questions of an acceptance."""
    asked = [_ask(each, settings) for each in questions]
    q = stats.false_discovery_control(np.array([each.p_worse for each in asked]))
    answers = [
        _decide(replace(each, q_worse=float(value)), settings, len(asked))
        for each, value in zip(asked, q, strict=True)
    ]
    return _with_parts(answers)


def verdict(answers: Sequence[Answer], *, complete: bool) -> Verdict:
    """The verdict on everything.

    Whatever is worse rejects it. Accepted it is if every series is fine, and no case fails more
    often; transports and sets of nodes may have too few pairs of their own.

    Args:
        answers: all answers.
        complete: every case has pairs.
    """
    return whole([(each.question.scope, each.verdict) for each in answers], complete=complete)


def whole(verdicts: Sequence[tuple[Scope, Verdict]], *, complete: bool) -> Verdict:
    """The verdict on everything, from the verdicts on each scope."""
    parts = [found for scope, found in verdicts if scope in _DECIDING]
    worse = [found for _, found in verdicts if found is Verdict.REJECT]
    return together(worse + parts + ([] if complete else [Verdict.INCONCLUSIVE]))


def of_chances(q_worse: float, p_fine: float, rate: float) -> Verdict:
    """The verdict of an answer's own chances at an error rate."""
    if q_worse <= rate:
        return Verdict.REJECT
    return Verdict.ACCEPT if p_fine <= rate else Verdict.INCONCLUSIVE


_DECIDING = frozenset({Scope.SERIES, Scope.FAILURES})
_WHOLE = {Scope.CASE: CASE, Scope.TRANSPORT: TRANSPORT}


def _ask(question: Question, settings: Settings) -> Answer:
    if question.failed is not None:
        failed_before, before, failed_after, after = question.failed
        p_worse = _fisher(failed_before, before, failed_after, after)
        more = failed_after * max(before, 1) > failed_before * max(after, 1)
        return _unsettled(question, p_worse=p_worse, p_fine=1.0 if more else 0.0)
    averages = signed_rank.walsh(question.differences)
    margin = question.margin
    p_worse, p_fine = signed_rank.p_greater(averages, margin), signed_rank.p_less(averages, margin)
    if question.two_sided:
        p_worse = min(1.0, 2 * min(p_worse, signed_rank.p_less(averages, -margin)))
        p_fine = max(p_fine, signed_rank.p_greater(averages, -margin))
    answer = _unsettled(question, p_worse=p_worse, p_fine=p_fine)
    if not len(averages):
        return answer
    low, high = signed_rank.interval(averages, settings.rate) or (None, None)
    return replace(
        answer,
        shift=math.expm1(float(np.median(averages))),
        low=None if low is None else math.expm1(low),
        high=None if high is None else math.expm1(high),
    )


def _unsettled(question: Question, *, p_worse: float, p_fine: float) -> Answer:
    return Answer(
        question, Verdict.INCONCLUSIVE, None, None, None, p_worse, q_worse=1.0, p_fine=p_fine
    )


def _fisher(failed_before: int, before: int, failed_after: int, after: int) -> float:
    """p-value that runs fail no more often after than before: Fisher's exact test (1922)."""
    table = [[failed_after, after - failed_after], [failed_before, before - failed_before]]
    return float(stats.fisher_exact(table, alternative="greater").pvalue)


def _decide(answer: Answer, settings: Settings, asked: int) -> Answer:
    found = of_chances(answer.q_worse, answer.p_fine, settings.rate)
    if found is not Verdict.INCONCLUSIVE:
        return replace(answer, verdict=found)
    return replace(answer, further=_further(answer, settings, settings.rate / asked))


def _further(answer: Answer, settings: Settings, strict: float) -> int | None:
    """Pairs of runs that would probably settle it, if the rest is like what there is.

    For shifts, the sample size of the signed-rank test for power 0.8 after Noether (1987), from the
    share of Walsh averages on one side of the margin, with one more counted on each side; for
    failures, as many as make the same shares significant.

    Args:
        answer: what the pairs say until now.
        settings: error rate and bound.
        strict: error rate for a rejection, if nothing else is worse.
    """
    question = answer.question
    if question.failed is not None:
        return _further_failures(question.failed, strict, settings.most_pairs)
    pairs = len(question.differences)
    least = signed_rank.least_pairs(settings.rate)
    if pairs < least:
        return least - pairs
    averages = signed_rank.walsh(question.differences)
    fine = np.abs(averages) if question.two_sided else averages
    share = (np.sum(fine < question.margin) + 1) / (len(averages) + 2)
    rate = settings.rate if share > _HALF else strict
    quantiles = NormalDist().inv_cdf(1 - rate) + NormalDist().inv_cdf(_SETTLED)
    bound = quantiles**2 / 3 / settings.most_pairs
    if (share - _HALF) ** 2 <= bound:
        return None
    wanted = math.ceil(quantiles**2 / 3 / (share - _HALF) ** 2)
    return max(signed_rank.least_pairs(rate), wanted, pairs + 1) - pairs


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
        for verdict, words in ((Verdict.REJECT, "worse"), (Verdict.INCONCLUSIVE, "open"))
        if counts[verdict]
    ]
    own = [answer.verdict] if answer.verdict is Verdict.REJECT else []
    return replace(
        answer,
        verdict=together([*own, *(part.verdict for part in parts)]),
        further=most_further(parts),
        why=", ".join(words),
    )
