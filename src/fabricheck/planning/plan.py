"""The plan of a system: the cases that will run, and what keeps each other one from running."""

import itertools
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fabricheck.errors import FabricheckError
from fabricheck.measures.registry import FAMILIES, REGISTRY
from fabricheck.planning.traffic_classes import differences
from fabricheck.reframe_ext.config import find_system, lacking_environments, why_lacking
from fabricheck.reframe_ext.matrix import CheckCase, read_cases
from fabricheck.schedulers import scheduler_of
from fabricheck.transports.placement import SWITCH_GROUPS

_GPU = "gpu"
_WORDS = {SWITCH_GROUPS: "a topology with two leaf switches or more (extra topology)"}
"""What features that no site file names stand for."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Cases that won't run, and why.

    Attributes:
        case: the case.
        reason: in words.
    """

    case: CheckCase
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
        remarks: a sentence for each program that cases start and that is not here, for each
            partition whose cases travel in several traffic classes, and for what of fabricheck
            cannot run in a partition.
    """

    system: str
    cases: tuple[CheckCase, ...]
    left_out: tuple[LeftOut, ...]
    absent: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def make(
    suite: Path,
    system: str,
    tags: Sequence[str] = (),
    holds: Callable[[str, str, str], bool] = lambda *_: True,
) -> Plan:
    """The plan of a system.

    Args:
        suite: root of the suite.
        system: name of the system.
        tags: runs such as ``nightly``; a case that lacks one of them is left out for that.
        holds: whether a benchmark, a placement and an environment are asked for at all.

    Raises:
        FabricheckError: for an unknown system or tag, a bad site file, and a check that can't be
            loaded.
    """
    configuration, found = find_system(suite, system)
    cases = [
        case
        for case in read_cases(suite, system)
        if holds(case.benchmark, case.placement, case.environ)
    ]
    absent = [
        f"environment {each['name']}: {why_lacking(each)}"
        for each in lacking_environments(suite, system)
    ]
    made = divide(system, cases, tags, absent)
    classes = differences(made.cases, found["partitions"], configuration["environments"])
    refused = (
        f"partition {each['name']}: with the scheduler {each['scheduler']} cannot run: {what}"
        for each in found["partitions"]
        for what in scheduler_of(each["scheduler"]).refuses
    )
    return replace(made, remarks=(*_not_here(made.cases), *classes, *refused))


def divide(
    system: str, cases: Sequence[CheckCase], tags: Sequence[str] = (), absent: Sequence[str] = ()
) -> Plan:
    """What of a system's cases will run, and what is left out.

    Raises:
        FabricheckError: for a tag that no check has.
    """
    known = sorted({tag for case in cases for tag in case.tags})
    for tag in tags:
        if tag not in known:
            raise FabricheckError(
                f"FC0302 expected a tag of the checks ({', '.join(known)}), found {tag!r}: use one"
            )
    left_out = tuple(LeftOut(case, reason) for case in cases if (reason := _reason(case, tags)))
    run = tuple(case for case in cases if not _reason(case, tags))
    return Plan(system, run, left_out, tuple(absent))


def _reason(case: CheckCase, tags: Sequence[str]) -> str:
    if case.lacking:
        holder = f"environment {case.environ}" if case.environ else f"partition {case.partition}"
        # Without GPUs, what else lacks for them is no news.
        lacking = (_GPU,) if _GPU in case.lacking else case.lacking
        return f"{holder} lacks {', '.join(_WORDS.get(each, each) for each in lacking)}"
    missing = [tag for tag in tags if tag not in case.tags]
    return f"not in the run {', '.join(missing)}" if missing else ""


def _not_here(cases: Sequence[CheckCase]) -> Iterator[str]:
    """A sentence for each program that cases start and that is not on PATH of this machine."""
    used = [REGISTRY[each.benchmark].family for each in cases if each.benchmark in REGISTRY]
    for family in filter(used.count, FAMILIES):
        for program in itertools.filterfalse(shutil.which, FAMILIES[family].starts):
            yield (
                f"{used.count(family)} cases of {family} start {program}, which is not on PATH "
                f"here, and fail without it: install it on the nodes (Debian: {program})"
            )
