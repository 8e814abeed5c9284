"""The plan of a system: the cases that will run, and what keeps each other one from running."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fabricheck.errors import FabricheckError
from fabricheck.reframe_ext.config import lacking_environments, site_configuration
from fabricheck.reframe_ext.matrix import Case, read_cases


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Cases that won't run, and why.

    Attributes:
        case: the case.
        reason: in words.
    """

    case: Case
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run on a system measures.

    Attributes:
        system: name of the system.
        cases: what will run.
        left_out: what won't, each with its reason.
        absent: a sentence for each environment that is not installed and each partition that
            doesn't run: nothing is even considered there.
    """

    system: str
    cases: tuple[Case, ...]
    left_out: tuple[LeftOut, ...]
    absent: tuple[str, ...]


def make(suite: Path, system: str, tags: Sequence[str] = ()) -> Plan:
    """The plan of a system.

    Args:
        suite: root of the suite.
        system: name of the system.
        tags: runs such as ``nightly``; a case that lacks one of them is left out for that.

    Raises:
        FabricheckError: for an unknown system and a bad site file, or a check that can't be loaded.
    """
    known = [each["name"] for each in site_configuration(suite)["systems"]]
    if system not in known:
        raise FabricheckError(
            f"expected a system of sites/ ({', '.join(sorted(known))}), found {system!r}: use one "
            "of these, or write a site file (docs/sites.md)"
        )
    cases, left_out = [], []
    for case in read_cases(suite, system):
        if reason := _reason(case, tags):
            left_out.append(LeftOut(case, reason))
        else:
            cases.append(case)
    return Plan(system, tuple(cases), tuple(left_out), tuple(_absent(suite, system)))


def _reason(case: Case, tags: Sequence[str]) -> str:
    if case.lacking:
        holder = f"environment {case.environ}" if case.environ else f"partition {case.partition}"
        return f"{holder} lacks {', '.join(case.lacking)}"
    missing = [tag for tag in tags if tag not in case.tags]
    return f"not in the run {', '.join(missing)}" if missing else ""


def _absent(suite: Path, system: str) -> list[str]:
    return [
        f"environment {each['name']}: the variable {each['prefix_variable']} names no installation "
        "prefix"
        for each in lacking_environments(suite, system)
    ]
