"""What of an acceptance is computed from its pairs, as data: written, and checked when read."""

from typing import Any

from fabricheck.acceptance import wording
from fabricheck.acceptance.answers import Acceptance, Answer


def summary_data(found: Acceptance) -> dict[str, Any]:
    """The whole in a few words, and how many questions it rests on."""
    return {
        "verdict": found.verdict,
        "sentence": wording.sentence(found),
        "next_step": wording.next_step(found),
        "worst": wording.worst(found),
        "questions": len(found.answers),
    }


def answer_data(answer: Answer) -> dict[str, Any]:
    """The answer to a question, with what each run measured."""
    question = answer.question
    failed = question.failed
    return {
        "scope": question.scope,
        "name": wording.name(question.scope, question.fields),
        "fields": dict(question.fields),
        "verdict": answer.verdict,
        "pairs": question.pairs,
        "runs": {"before": question.runs_before.tolist(), "after": question.runs_after.tolist()},
        "spread": question.spread,
        "margin": question.margin,
        "two_sided": question.two_sided,
        "change": answer.shift,
        "interval": None if answer.low is None else [answer.low, answer.high],
        "words": wording.shift(answer),
        "before": question.before,
        "after": question.after,
        "unit": question.unit,
        "values": wording.values(answer),
        "failed": failed
        and {
            "before": {"failed": failed[0], "runs": failed[1]},
            "after": {"failed": failed[2], "runs": failed[3]},
        },
        "critical": question.critical,
        "sees": answer.sees,
        "p_worse": answer.p_worse,
        "q_worse": answer.q_worse,
        "p_fine": answer.p_fine,
        "further_pairs": answer.further,
        "to_settle": wording.advice(answer),
        "why": answer.why,
    }
