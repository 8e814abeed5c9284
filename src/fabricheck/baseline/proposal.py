"""A proposal: references of cases, what was refused and why, and steps that come with them.

It is kept as JSON between the commands, so that what is accepted is what was looked at.
"""

import datetime
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import msgspec

from fabricheck.errors import FabricheckError
from fabricheck.judge.reference import CaseKey, Reference
from fabricheck.report.files import write_whole

_CASE = ("check", "partition", "environ", "benchmark", "placement")


class ReferenceState(StrEnum):
    """How a proposed reference differs from the one that holds."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class ReferenceCase:
    """A case of a check, which has references of its own."""

    check: str
    key: CaseKey

    def __str__(self) -> str:
        return f"{self.check} {self.key}"

    def fields(self) -> dict[str, str | int]:
        """The fields that all its series share."""
        return {
            "system": self.key.system,
            "partition": self.key.partition.partition(":")[2],
            "environ": self.key.environ,
            "check": self.check,
            "benchmark": self.key.benchmark,
            "placement": self.key.placement,
            "transport": self.key.transport,
            "num_nodes": self.key.num_nodes,
        }

    def has(self, fields: Mapping[str, Sequence[str | int]]) -> bool:
        """Whether its fields have these values.

        Raises:
            FabricheckError: for a field that a case has not, since its references go together.
        """
        own = self.fields()
        if unknown := fields.keys() - own.keys():
            raise FabricheckError(
                f"FC1906 expected fields of {', '.join(own)}, found {', '.join(sorted(unknown))}: "
                "the references of a case are proposed together"
            )
        return all(own[name] in values for name, values in fields.items())


@dataclass(frozen=True, slots=True)
class Proposed:
    """References of a case.

    Attributes:
        case: whose they are.
        state: how they differ from those that hold.
        variables: the references by variable.
        before: values of the references that hold, by variable.
        warning: share of the critical bounds at which to warn.
        samples: nights of the variable with the fewest.
        first: day of the first night, ISO.
        last: day of the last night.
        commit: the suite's commit on the last night.
        software: with what all of it was measured.
        steps: numbers of the proposal's steps after which it was measured.
    """

    case: ReferenceCase
    state: ReferenceState
    variables: Mapping[str, Reference]
    before: Mapping[str, float]
    warning: float
    samples: int
    first: str
    last: str
    commit: str
    software: str
    steps: tuple[int, ...]

    def entry(self) -> dict[str, Any]:
        """The entry of a file of measured references."""
        fields = self.case.fields()
        origin = {"commit": self.commit, "software": self.software}
        return {
            "case": {name: fields[name] for name in _CASE},
            "warning": self.warning,
            "samples": self.samples,
            "source": f"medians of {self.samples} nights, {self.first} to {self.last}; "
            "tolerances from their noise",
            "date": datetime.date.fromisoformat(self.last),
            **{name: text for name, text in origin.items() if text},
            "values": {
                name: [each.value, each.lower, each.upper] for name, each in self.variables.items()
            },
        }


@dataclass(frozen=True, slots=True)
class Refused:
    """A case that gets no references, and why."""

    case: ReferenceCase
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnacceptedStep:
    """A step that nobody has accepted.

    Attributes:
        date: first night at the new level, ISO.
        words: what happened.
        series: records of the series: for their fields the values.
    """

    date: str
    words: str
    series: tuple[Mapping[str, Any], ...]

    def of_cases(self, cases: Iterable[ReferenceCase]) -> "UnacceptedStep":
        """The step for the series of some cases alone."""
        fields = [
            {name: [value] for name, value in case.fields().items() if name in _CASE}
            for case in cases
        ]
        narrow = tuple(
            {**record, **case}
            for case in fields
            for record in self.series
            if all(case[name][0] in record.get(name, case[name]) for name in case)
        )
        return replace(self, series=narrow)


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is proposed for a system.

    Attributes:
        system: its name.
        proposed: references of cases.
        refused: cases that get none.
        steps: steps that are accepted with the references.
        others: all other cases of the history that can have references.
        format: of the file.
    """

    system: str
    proposed: tuple[Proposed, ...]
    refused: tuple[Refused, ...]
    steps: tuple[UnacceptedStep, ...]
    others: tuple[ReferenceCase, ...]
    format: Literal[1] = 1

    def part(self, fields: Mapping[str, Sequence[str | int]]) -> "Proposal":
        """The part for cases whose fields have these values."""
        wanted = tuple(each for each in self.proposed if each.case.has(fields))
        rest = tuple(each.case for each in self.proposed if not each.case.has(fields))
        steps: dict[int, UnacceptedStep] = {}
        for number, step in enumerate(self.steps):
            own = [each.case for each in wanted if number in each.steps]
            all_of_it = len(own) == sum(number in each.steps for each in self.proposed)
            if own:
                steps[number] = step if all_of_it else step.of_cases(own)
        places = list(steps)
        wanted = tuple(
            replace(each, steps=tuple(places.index(number) for number in each.steps))
            for each in wanted
        )
        return replace(
            self, proposed=wanted, steps=tuple(steps.values()), others=(*self.others, *rest)
        )


def as_json(proposal: Proposal) -> dict[str, Any]:
    """The proposal as data."""
    return asdict(proposal)


def path_of(directory: Path, system: str) -> Path:
    """Where the proposal of a system is kept."""
    return directory / f"{system}.json"


def write(directory: Path, proposal: Proposal) -> Path:
    """Keep a proposal, in the place of the one before.

    Raises:
        FabricheckError: if it can't be written.
    """
    path = path_of(directory, proposal.system)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FabricheckError(f"FC1907 cannot make {directory}: {error.strerror}") from error
    write_whole(path, json.dumps(as_json(proposal), indent=1, allow_nan=False) + "\n")
    return path


def read(directory: Path, system: str) -> Proposal:
    """The proposal of a system.

    Raises:
        FabricheckError: if there is none, or it can't be read.
    """
    path = path_of(directory, system)
    try:
        return msgspec.json.decode(path.read_bytes(), type=Proposal)
    except FileNotFoundError:
        raise FabricheckError(
            f"FC1908 expected a proposal at {path}, found none: make one with fabricheck baseline "
            "propose"
        ) from None
    except OSError as error:
        raise FabricheckError(f"FC1909 cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise FabricheckError(
            f"FC1910 expected a proposal at {path}, found something else ({error}): propose again"
        ) from error
