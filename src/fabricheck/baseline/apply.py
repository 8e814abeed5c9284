"""Bringing what is accepted into the files, whole or not at all, and nothing else with it."""

import contextlib
import difflib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fabricheck.baseline.proposal import Proposed, State, Step
from fabricheck.baseline.steps import as_text, missing, record
from fabricheck.errors import FabricheckError
from fabricheck.judge.reference_file import measured_path, read_measured, written
from fabricheck.judge.references import resolve
from fabricheck.locks import held
from fabricheck.report.files import write_whole
from fabricheck.trend.accepted import SUFFIX, read_accepted


@dataclass(frozen=True, slots=True)
class Change:
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
        f"expected to be alone with {directory}, found another fabricheck that changes it: wait "
        "for it, and run again"
    )
    if not directory.is_dir():
        raise FabricheckError(f"expected a directory of references at {directory}, found none")
    return held(directory, busy, os.O_RDONLY | os.O_DIRECTORY)


def references(path: Path, proposed: Sequence[Proposed]) -> Change:
    """The measured references of a system with those that differ; all others stay as they are.

    Args:
        path: the file of its rules, which need not exist.
        proposed: the references.

    Raises:
        FabricheckError: if a file is wrong, or would be wrong afterwards.
    """
    own = measured_path(path)
    text = read(own)
    wanted = [each for each in proposed if each.state is not State.SAME]
    if not wanted:
        return Change(own, text, text)
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
    return Change(own, text, new)


def expired(path: Path, marks: Mapping[int, str]) -> Change:
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
    return Change(own, text, written(known) if marks else text)


def steps(directory: Path, system: str, found: Sequence[Step], by: str, why: str) -> Change:
    """The file of accepted steps with those that it lacks.

    Raises:
        FabricheckError: if the file is wrong, or can't be added to.
    """
    path = directory / f"{system}{SUFFIX}"
    text = read(path)
    known = [each for each in read_accepted([directory]) if each.system == system]
    lacks = [record(step, series, by, why) for step, series in missing(found, known, system)]
    if not lacks:
        return Change(path, text, text)
    new = text + ("\n" if text and not text.endswith("\n") else "") + as_text(lacks)
    with _copied(new, path) as copy:
        try:
            enough = len(read_accepted([copy.parent])) == len(known) + len(lacks)
        except FabricheckError:
            enough = False
    if not enough:
        raise FabricheckError(
            f"expected a list with a line for each key in {path}, found another form: write it "
            "as in docs/explanation/detection.md"
        )
    return Change(path, text, new)


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
        raise FabricheckError(f"cannot read {path}: {error}") from error


@contextlib.contextmanager
def _copied(text: str, path: Path) -> Iterator[Path]:
    """A file of the same name with a text, elsewhere."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / path.name
        copy.write_text(text, encoding="utf-8")
        yield copy
