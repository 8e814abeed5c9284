"""What an acceptance says: in words, for terminal and page alike, and as data of its record."""

from collections.abc import Mapping
from typing import Any

from fabricheck.acceptance.answers import (
    Acceptance,
    AcceptanceVerdict,
    Answer,
    Scope,
    Value,
    most_further,
)
from fabricheck.measures.metrics import point_label
from fabricheck.transports.placement import written
from fabricheck.units import percent, share, times, with_unit

HEADINGS = {
    Scope.TRANSPORT: "Transports",
    Scope.NODES: "Sets of nodes",
    Scope.CASE: "Cases",
    Scope.SERIES: "Series",
    Scope.FAILURES: "Failures",
}


def name(scope: Scope, fields: Mapping[str, Value]) -> str:
    """What it is, short."""
    if scope is Scope.TRANSPORT:
        return f"{fields['system']} {fields['transport']}"
    if scope is Scope.NODES:
        return f"{fields['system']} {fields['nodes']}"
    place = f"{fields['system']}:{fields['partition']}+{fields['environ']}"
    # A record of before has no ports.
    names = ("transport", "layout", "port")
    transport, layout, port = (str(fields.get(name) or "") for name in names)
    placement = written(transport, int(fields["num_nodes"] or 0), layout, port)
    words = [place, str(fields["benchmark"]), placement]
    if scope is Scope.SERIES:
        metric, size = str(fields["metric"]), fields["size"]
        point = point_label(metric, size) if isinstance(size, int) else ""
        words.append("_".join(filter(None, (metric, str(fields["statistic"]), point))))
    return " ".join(filter(None, words))


def shift(answer: Answer) -> str:
    """By how much it changed, with the interval; or in how many runs it failed."""
    failed = answer.question.failed
    if failed is not None:
        return f"failed in {failed[0]} of {failed[1]} runs before, {failed[2]} of {failed[3]} after"
    if answer.shift is None:
        return "no pair"
    ends = "too few pairs for an interval"
    if answer.low is not None and answer.high is not None:
        ends = f"{change(answer.low)} to {change(answer.high)}"
    return f"{change(answer.shift)} ({ends})"


def change(share: float) -> str:
    """A relative change with its sign, a large one as a factor."""
    return times(1 + share) if share >= 1 else percent(share)


def values(answer: Answer) -> str:
    """Medians before and after, with unit; empty where there is no single unit."""
    question = answer.question
    if question.before is None or question.after is None:
        return ""
    return (
        f"{with_unit(question.before, question.unit)} → {with_unit(question.after, question.unit)}"
    )


def advice(answer: Answer) -> str:
    """What would settle it; empty where it is settled."""
    if answer.verdict is not AcceptanceVerdict.INCONCLUSIVE:
        return ""
    if answer.further is None:
        return "more runs will hardly settle it"
    return f"{_pairs(answer.further)} more"


def sentence(found: Acceptance) -> str:
    """The verdict, and what it rests on."""
    series = found.of(Scope.SERIES)
    counts = {
        verdict: sum(each.verdict is verdict for each in series) for verdict in AcceptanceVerdict
    }
    parts = [
        f"{counts[AcceptanceVerdict.ACCEPT]} of {len(series)} series as good as before",
        f"{counts[AcceptanceVerdict.REJECT]} worse",
        f"{counts[AcceptanceVerdict.INCONCLUSIVE]} open",
    ]
    if failing := _failing(found):
        parts.append(f"{len(failing)} cases fail more often")
    if found.missing:
        parts.append(f"{sum(each.series for each in found.missing)} series on one side only")
    return ", ".join(parts)


def _failing(found: Acceptance) -> list[Answer]:
    return [each for each in found.of(Scope.FAILURES) if each.verdict is AcceptanceVerdict.REJECT]


def next_step(found: Acceptance) -> str:
    """What an operator does now."""
    if found.control:
        return _after_control(found)
    if found.verdict is AcceptanceVerdict.REJECT:
        return "go back to the state before, and look at what is named first"
    if found.verdict is AcceptanceVerdict.ACCEPT:
        return "the change may stay"
    further = most_further(found.answers)
    steps = []
    if further is None:
        steps.append(
            "some series scatter so much, or lie so near the margin, that more runs will hardly "
            "settle them: quiet the machine, set another margin in the site file, or leave them out"
        )
    elif further:
        steps.append(f"make {_pairs(further)} more")
    if found.missing:
        steps.append("measure on both sides what was on one only, or leave it out")
    return "; ".join(steps)


def _after_control(found: Acceptance) -> str:
    if found.verdict is AcceptanceVerdict.REJECT:
        return (
            "nothing was changed, and yet the sides differ: find out what else takes turns with "
            "the runs before you trust an acceptance here"
        )
    if found.verdict is AcceptanceVerdict.ACCEPT:
        return "nothing was changed and nothing was found: acceptances here can be trusted"
    return "nothing was found, but some series scatter too much to be accepted: see those open"


def _pairs(number: int) -> str:
    return f"{number} pair{'' if number == 1 else 's'} of runs"


def worst(found: Acceptance) -> list[str]:
    """The worst transport and the worst series with their figures; the least that can be seen."""
    lines = []
    for scope in (Scope.TRANSPORT, Scope.SERIES):
        shown = [each for each in found.of(scope) if each.shift is not None]
        first = min(shown, key=lambda each: (each.verdict.place, -(each.shift or 0)), default=None)
        if first is not None:
            texts = (name(scope, first.question.fields), shift(first), values(first), first.why)
            lines.append(f"worst {scope}: {', '.join(filter(None, texts))}")
    if failing := _failing(found):
        first = max(failing, key=lambda each: (each.question.failed or (0, 0, 0, 0))[2])
        lines.append(f"fails more often: {name(Scope.CASE, first.question.fields)}, {shift(first)}")
    sees = sorted(each.sees for each in found.of(Scope.SERIES) if each.sees is not None)
    if sees:
        lines.append(
            f"these runs see changes of {share(sees[len(sees) // 2])} or more in half of the "
            f"series, of {share(sees[-1])} in all of them"
        )
    return lines


def cautions(found: Acceptance) -> list[str]:
    """What else may have made a difference, or was not looked at."""
    lines = [
        f"{each.field} of {_few(each.places)} differs: {_few(each.before)} before, "
        f"{_few(each.after)} after"
        for each in found.differences
    ]
    if not found.interleaved:
        lines.append(
            "the runs before and after did not take turns: what else changed in between, such as "
            "load or temperature, cannot be separated from the change"
        )
    numbers = {side: len(names) for side, names in found.sessions.items()}
    if numbers["before"] != numbers["after"]:
        lines.append(
            f"{numbers['before']} runs before and {numbers['after']} after: those without partner "
            "were left out"
        )
    if found.without_run:
        lines.append(f"{found.without_run} values that name no run")
    if found.not_compared:
        metrics = ", ".join(f"{name} ({count})" for name, count in found.not_compared.items())
        lines.append(f"values not compared, since their levels judge them, by metric: {metrics}")
    return lines


def _few(values: tuple[str, ...]) -> str:
    shown = ", ".join(values[:3])
    return shown + (f" and {len(values) - 3} more" if len(values) > 3 else "")  # noqa: PLR2004


def summary_data(found: Acceptance) -> dict[str, Any]:
    """The whole in a few words, and how many questions it rests on."""
    return {
        "verdict": found.verdict,
        "sentence": sentence(found),
        "next_step": next_step(found),
        "worst": worst(found),
        "questions": len(found.answers),
    }


def answer_data(answer: Answer) -> dict[str, Any]:
    """The answer to a question, with what each run measured."""
    question = answer.question
    failed = question.failed
    return {
        "scope": question.scope,
        "name": name(question.scope, question.fields),
        "fields": dict(question.fields),
        "verdict": answer.verdict,
        "pairs": question.pairs,
        "runs": {"before": question.runs_before.tolist(), "after": question.runs_after.tolist()},
        **{name: getattr(question, name) for name in ("spread", "margin", "two_sided")},
        "change": answer.shift,
        "interval": None if answer.low is None else [answer.low, answer.high],
        "words": shift(answer),
        **{name: getattr(question, name) for name in ("before", "after", "unit")},
        "values": values(answer),
        "failed": failed
        and {
            "before": {"failed": failed[0], "runs": failed[1]},
            "after": {"failed": failed[2], "runs": failed[3]},
        },
        "critical": question.critical,
        **{name: getattr(answer, name) for name in ("sees", "p_worse", "q_worse", "p_fine")},
        "further_pairs": answer.further,
        "to_settle": advice(answer),
        "why": answer.why,
    }
