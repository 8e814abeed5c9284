"""A proposal as text of a few lines."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from fabricheck.baseline.proposal import Proposal, Proposed, ReferenceState
from fabricheck.judge.reference import Reference
from fabricheck.measures.curve import Variable
from fabricheck.measures.metrics import Direction
from fabricheck.units import percent, share

_REFUSED = 20
"""Most refused cases that are named."""


def lines(proposal: Proposal) -> Iterator[str]:
    """What is proposed, what was refused and why, and which steps come with it."""
    counts = Counter(each.state for each in proposal.proposed)
    words = [f"{counts[state]} {state}" for state in ReferenceState if counts[state]]
    words.append(f"{len(proposal.refused)} refused")
    yield f"{proposal.system}: references of {', '.join(words)}"
    for each in proposal.proposed:
        yield f"  {each.state:8}{each.case}: {_figures(each)}"
    for refused in proposal.refused[:_REFUSED]:
        yield f"  refused {refused.case}: {'; '.join(refused.reasons)}"
    if len(proposal.refused) > _REFUSED:
        yield f"  refused {len(proposal.refused) - _REFUSED} more: select fewer, or see --json"
    for step in proposal.steps:
        yield f"  step of {step.date} is accepted with them: {step.words}"


def _figures(proposed: Proposed) -> str:
    bounds = [_worse(name, each) for name, each in proposed.variables.items()]
    text = (
        f"{len(bounds)} variables, {proposed.samples} nights, critical at "
        f"{share(float(np.median(bounds)))} in the middle, {share(max(bounds))} at most"
    )
    moved = [
        new.value / proposed.before[name] - 1
        for name, new in proposed.variables.items()
        if proposed.before.get(name)
    ]
    if moved and proposed.state is not ReferenceState.NEW:
        text += f", values {percent(min(moved))} to {percent(max(moved))}"
    return text


def _worse(variable: str, reference: Reference) -> float:
    """The tolerance towards the worse."""
    bound = (
        reference.upper
        if Variable.read(variable).metric.row.direction is Direction.LOWER
        else reference.lower
    )
    return abs(bound or 0.0)
