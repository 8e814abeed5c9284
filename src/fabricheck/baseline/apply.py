"""Bringing what is accepted into the files, whole or not at all, and nothing else with it."""

import contextlib
import difflib
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabricheck.baseline.proposal import Proposed, ReferenceCase, ReferenceState, UnacceptedStep
from fabricheck.baseline.steps import as_text, missing, record
from fabricheck.errors import FabricheckError
from fabricheck.history.series import Series
from fabricheck.judge.reference_file import fields_of, load, measured_path, read_measured, written
from fabricheck.judge.references import resolve
from fabricheck.locks import held
from fabricheck.measures.metrics import Direction, Metric, point_label
from fabricheck.report.files import write_whole
from fabricheck.trend.accepted import SUFFIX, read_accepted

_CASE = ("check", "benchmark", "placement")
_ROBUST_FIRST = ("p50", "avg")
_Sizes = dict[int | None, float]


@dataclass(frozen=True, slots=True)
class ReferenceChange:
    """What becomes of a file.

    Attributes:
        path: the file.
        before: its text, empty where there is none.
        after: its text afterwards.
    """

    path: Path
    before: str
    after: str

    def diff(self) -> str:
        """The difference as patch takes it, empty if there is none."""
        lines = difflib.unified_diff(
            self.before.splitlines(keepends=True),
            self.after.splitlines(keepends=True),
            str(self.path),
            str(self.path),
        )
        return "".join(lines)

    def write(self) -> None:
        """Write the file if it changes.

        Raises:
            FabricheckError: if it can't be written; it is then as it was.
        """
        if self.after != self.before:
            write_whole(self.path, self.after)


def locked(directory: Path) -> contextlib.AbstractContextManager[int]:
    """Nobody else changes files of this directory meanwhile.

    Raises:
        FabricheckError: if there is no such directory, or somebody else is at it.
    """
    busy = (
        f"FC1912 expected no other fabricheck that changes {directory}, found one: wait for its "
        "end, and run again"
    )
    if not directory.is_dir():
        raise FabricheckError(
            f"FC1901 expected a directory of references at {directory}, found none"
        )
    return held(directory, busy, os.O_RDONLY | os.O_DIRECTORY)


def references(path: Path, proposed: Sequence[Proposed]) -> ReferenceChange:
    """The measured references of a system with those that differ; all others stay as they are.

    Args:
        path: the file of its rules, which need not exist.
        proposed: the references.

    Raises:
        FabricheckError: if a file is wrong, or would be wrong afterwards.
    """
    own = measured_path(path)
    text = read(own)
    wanted = [each for each in proposed if each.state is not ReferenceState.SAME]
    if not wanted:
        return ReferenceChange(own, text, text)
    known = read_measured(path)
    entries = {tuple(each["case"].values()): each for each in known["measured"]}
    for each in wanted:
        entry = each.entry()
        entries[tuple(entry["case"].values())] = entry
    new = written({**known, "measured": [entries[key] for key in sorted(entries)]})
    with _copied(new, own) as copy:
        rules = copy.with_name(path.name)
        if text_of_rules := read(path):
            rules.write_text(text_of_rules, encoding="utf-8")
        for each in wanted:
            resolve(rules, each.case.check, each.case.key)
    return ReferenceChange(own, text, new)


def expired(path: Path, marks: Mapping[int, str]) -> ReferenceChange:
    """The measured references of a system with marks on those that have expired.

    Args:
        path: the file of its rules.
        marks: for the numbers of entries, from 0, why they have expired.
    """
    known = read_measured(path)
    for number, reason in marks.items():
        known["measured"][number]["expired"] = reason
    own = measured_path(path)
    text = read(own)
    return ReferenceChange(own, text, written(known) if marks else text)


def steps(
    directory: Path, system: str, found: Sequence[UnacceptedStep], by: str, why: str
) -> ReferenceChange:
    """The file of accepted steps with those that it lacks.

    Raises:
        FabricheckError: if the file is wrong, or can't be added to.
    """
    path = directory / f"{system}{SUFFIX}"
    text = read(path)
    known = [each for each in read_accepted([directory]) if each.system == system]
    lacks = [record(step, series, by, why) for step, series in missing(found, known, system)]
    if not lacks:
        return ReferenceChange(path, text, text)
    new = text + ("\n" if text and not text.endswith("\n") else "") + as_text(lacks)
    with _copied(new, path) as copy:
        try:
            enough = len(read_accepted([copy.parent])) == len(known) + len(lacks)
        except FabricheckError:
            enough = False
    if not enough:
        raise FabricheckError(
            f"FC1902 expected a list with a line for each key in {path}, found another form: write "
            "it as in docs/explanation/detection.md"
        )
    return ReferenceChange(path, text, new)


def read(path: Path) -> str:
    """The text of a file, empty where there is none.

    Raises:
        FabricheckError: if it can't be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise FabricheckError(f"FC1903 cannot read {path}: {error}") from error


@contextlib.contextmanager
def _copied(text: str, path: Path) -> Iterator[Path]:
    """A file of the same name with a text, elsewhere."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / path.name
        copy.write_text(text, encoding="utf-8")
        yield copy


def best(path: Path, cases: Mapping[ReferenceCase, Sequence[Series]]) -> ReferenceChange:
    """The measured references of a system with the best values of these cases.

    They are for systems on which absolute times mean little, such as the embedded testbed: bounds
    that are large multiples catch what is absurd. Noise only ever makes things worse, so what they
    are multiples of is the best of all runs and environments: of the medians, or of the averages
    where there are no medians.

    Args:
        path: the file of its rules. Cases get a value where rules give them bounds, but none.
        cases: what the history has of the system.

    Raises:
        FabricheckError: if a file is wrong.
    """
    rules = load(path).rules
    series_of: dict[tuple[str, ...], list[Series]] = defaultdict(list)
    for case, series in cases.items():
        fields = fields_of(case.check, case.key)
        keys = {key for rule in rules if rule.is_for(fields) for key in rule.says}
        if "bound" in keys and "value" not in keys:
            series_of[tuple(fields[name].partition("@")[0] for name in _CASE)] += series
    document = read_measured(path)
    entries = {tuple(each[name] for name in _CASE): each for each in document["best"]}
    for names, series in sorted(series_of.items()):
        if values := _values(series):
            entries[names] = {**dict(zip(_CASE, names, strict=True)), "value": values}
    own = measured_path(path)
    return ReferenceChange(own, read(own), written({**document, "best": list(entries.values())}))


def _values(series: Iterable[Series]) -> dict[str, Any]:
    """The best value by metric and size."""
    of_metric: dict[Metric, list[Series]] = defaultdict(list)
    for each in series:
        of_metric[Metric(each.key.metric)].append(each)
    found: dict[str, Any] = {}
    for metric, those in of_metric.items():
        statistics = {each.key.statistic for each in those}
        statistic = next((name for name in _ROBUST_FIRST if name in statistics), None)
        sizes: _Sizes = {}
        for each in those:
            if statistic not in (each.key.statistic, None):
                continue
            values = [float(value) for value in each.values if value > 0]
            if values:
                size = each.key.size
                sizes[size] = _pick(metric)([*values, sizes.get(size, values[0])])
        if sizes:
            found[str(metric)] = _written(metric, sizes)
    return found


def _written(metric: Metric, sizes: _Sizes) -> float | dict[str, float]:
    """Values with three digits.

    Few runs may each have been stopped at one size or another, so other sizes have a say: a message
    takes no longer than a larger one, there are no fewer of them in a second, and a larger one
    carries no less.
    """
    if None in sizes:
        return float(f"{sizes[None]:.3g}")
    known = {size: value for size, value in sizes.items() if size is not None}
    return {
        point_label(metric, size): float(
            f"{_pick(metric)(v for at, v in known.items() if _counts(metric, at, size)):.3g}"
        )
        for size in sorted(known)
    }


def _pick(metric: Metric) -> Callable[[Iterable[float]], float]:
    return min if metric.row.direction is Direction.LOWER else max


def _counts(metric: Metric, at: int, size: int) -> bool:
    """Whether a value at one size bounds that of another."""
    grows_with_size = metric in (Metric.LATENCY, Metric.COMMUNICATION, Metric.MESSAGE_RATE)
    return at >= size if grows_with_size else at <= size
