"""What history and trend see of a stress: the medians of each hour, in the record of all cases."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Final

from fabricheck.judge.levels import Level, worst
from fabricheck.record.entries import Case, Sample
from fabricheck.record.write import append, file_of, locked
from fabricheck.stress.state import Place

_HOUR: Final = 3600


def settle(place: Place, session: str, perflogs: Path, *, ended: bool) -> int:
    """Record the medians of each hour that is over and not recorded yet.

    Each hour is a session of its own. What is recorded follows from the blocks alone, and what
    stands in the record already is not written again: whoever is killed here, the next one goes on.

    Args:
        place: of the stress.
        session: which stress.
        perflogs: where the record is.
        ended: whether the last hour is over, too.

    Returns:
        How many lines were written.

    Raises:
        FabricheckError: if the record can't be written.
    """
    made = list(of_hours(place.read(session), ended=ended))
    written = 0
    with locked(place.path / "medians"):
        for case in made:
            if not _stands(file_of(perflogs, case), case):
                append(perflogs, [case])
                written += 1
    return written


def of_hours(blocks: Iterable[Case], *, ended: bool) -> Iterator[Case]:
    """A case for each hour and benchmark, with the medians of what was measured."""
    hours: dict[int, list[Case]] = defaultdict(list)
    for block in blocks:
        hours[_hour(block)].append(block)
    over = sorted(hours)[: None if ended else -1]
    for hour in over:
        kinds: dict[str, list[Case]] = defaultdict(list)
        for block in hours[hour]:
            kinds[block.benchmark].append(block)
        last = max(each.time for each in hours[hour])
        for kind in kinds.values():
            yield _median(kind, last)


def session_of(block: Case) -> str:
    """The session of the hour that a block belongs to."""
    return f"{block.session}-{datetime.fromtimestamp(_hour(block) * _HOUR, UTC):%Y%m%dT%HZ}"


def _hour(block: Case) -> int:
    return int(datetime.fromisoformat(block.time).timestamp()) // _HOUR


def _median(blocks: list[Case], time: str) -> Case:
    # What was disturbed says nothing, unless nothing else was measured.
    blocks = [each for each in blocks if each.level != Level.DISTURBED] or blocks
    values: dict[tuple[str, str, int | None], list[Sample]] = defaultdict(list)
    for block in blocks:
        for each in block.samples:
            if each.value is not None:
                values[(each.metric, each.statistic, each.size)].append(each)
    newest, level = blocks[-1], worst([Level(each.level) for each in blocks])
    return replace(
        newest,
        time=time,
        session=session_of(newest),
        id=f"{session_of(newest)}-{newest.benchmark}",
        name=f"Stress {newest.benchmark}, medians of {len(blocks)} blocks",
        repeat=None,
        result="pass" if level.passes else "fail",
        level=str(level),
        findings=tuple(dict.fromkeys(f for each in blocks for f in each.findings))[:5],
        nodes=tuple(sorted({node for each in blocks for node in each.nodes})),
        output="",
        samples=tuple(
            # Judged as the one in the middle is.
            replace(sorted(found, key=_value)[len(found) // 2], value=median(map(_value, found)))
            for found in values.values()
        ),
    )


def _value(sample: Sample) -> float:
    return sample.value or 0.0


def _stands(path: Path, case: Case) -> bool:
    """Whether a line of this id is in a file of the record, as it would be written."""
    mark = f'"id":"{case.id}"'
    if not path.is_file():
        return False
    with path.open(errors="replace") as file:
        return any(mark in line and line.endswith("\n") for line in file)
