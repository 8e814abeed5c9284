"""Bringing what is accepted into the files, whole or not at all, and nothing else with it."""

import contextlib
import difflib
import fcntl
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from fabricheck.baseline.proposal import Case, Proposed, State, Step
from fabricheck.baseline.reference_text import NEW_INDEX, ReferenceText, lacking, path_of
from fabricheck.baseline.steps import as_text, missing, record
from fabricheck.baseline.yaml_text import scalar
from fabricheck.errors import FabricheckError
from fabricheck.judge.model import Reference, Tolerance
from fabricheck.judge.reference_file import LEVELS_SUFFIX, load
from fabricheck.judge.references import resolve
from fabricheck.report.files import write_whole
from fabricheck.trend.accepted import SUFFIX, read_accepted

Held = tuple[Mapping[str, Reference], Tolerance | None]


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


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Nobody else changes files of this directory meanwhile.

    Raises:
        FabricheckError: if there is no such directory, or somebody else is at it.
    """
    try:
        handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise FabricheckError(
            f"expected a directory of references at {directory}, found: {error.strerror}"
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise FabricheckError(
            f"expected to be alone with {directory}, found another fabricheck that changes it: "
            "wait for it, and run again"
        ) from error
    finally:
        os.close(handle)


def references(
    path: Path, proposed: Sequence[Proposed], cases: Sequence[Case], *, reindex: bool
) -> Change:
    """The reference file with the references that differ.

    Args:
        path: the reference file, which need not exist.
        proposed: the references.
        cases: every case known of the system: those not proposed keep what they have.
        reindex: let indices be extended where cases would share an entry.

    Raises:
        FabricheckError: if the file is wrong, if cases would share an entry, or if the change
            would be more than it should.
    """
    text = _read(path)
    wanted = [each for each in proposed if each.state is not State.SAME]
    if not wanted:
        return Change(path, text, text)
    known = sorted({*cases, *(each.case for each in proposed)}, key=str)
    before = {case: _held(path, case) for case in known}
    file = _parsed(text or f"# References of system {wanted[0].case.key.system}.\n", path)
    checks = {each.case.check for each in wanted}
    file = _apart(file, path, [each for each in known if each.check in checks], reindex=reindex)
    _write(file, wanted, before)
    new = file.result()
    _verify(new, path, wanted, before)
    return Change(path, text, new)


def expired(path: Path, marks: Mapping[tuple[str, ...], str]) -> Change:
    """The reference file with marks on levels that have expired.

    Args:
        path: the reference file.
        marks: for the keys of a level, from the top of the file, why it has expired.
    """
    text = _read(path)
    file = _parsed(text, path)
    for (section, *keys), reason in marks.items():
        file.write(section, keys, {"expired": scalar(reason)})
    new = file.result()
    with _copied(new, path) as copy:
        load(copy)
    return Change(path, text, new)


def steps(directory: Path, system: str, found: Sequence[Step], by: str, why: str) -> Change:
    """The file of accepted steps with those that it lacks.

    Raises:
        FabricheckError: if the file is wrong, or can't be added to.
    """
    path = directory / f"{system}{SUFFIX}"
    text = _read(path)
    known = [each for each in read_accepted(directory) if each.system == system]
    lacks = [record(step, series, by, why) for step, series in missing(found, known, system)]
    if not lacks:
        return Change(path, text, text)
    new = text + ("\n" if text and not text.endswith("\n") else "") + as_text(lacks)
    with _copied(new, path) as copy:
        try:
            enough = len(read_accepted(copy.parent)) == len(known) + len(lacks)
        except FabricheckError:
            enough = False
    if not enough:
        raise FabricheckError(
            f"expected a list with a line for each key in {path}, found another form: write it "
            "as in docs/detection.md"
        )
    return Change(path, text, new)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise FabricheckError(f"cannot read {path}: {error}") from error


def _parsed(text: str, path: Path) -> ReferenceText:
    try:
        return ReferenceText(text, path)
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise FabricheckError(f"{path}: malformed YAML: {reason}") from error


def _apart(
    file: ReferenceText, path: Path, cases: Sequence[Case], *, reindex: bool
) -> ReferenceText:
    """The file with indices that keep the cases of each check apart."""
    for check in sorted({each.check for each in cases}):
        for section in (check, check + LEVELS_SUFFIX):
            index = file.index(section)
            keys = [each.key for each in cases if each.check == check]
            names = lacking(index, keys) if index else ()
            if names and not reindex:
                raise FabricheckError(
                    f"{path}: expected {', '.join(names)} in the {section} $index, found "
                    f"[{', '.join(index or ())}], with which cases would share references: "
                    "--reindex adds it"
                )
            for name in names:
                file.extend_index(section, name)
                file = _parsed(file.result(), path)
    return file


def _write(file: ReferenceText, proposed: Sequence[Proposed], before: Mapping[Case, Held]) -> None:
    for each in proposed:
        check, key = each.case.check, each.case.key
        levels = each.levels(before[each.case][1])
        for section, entry in ((check, each.entry()), (check + LEVELS_SUFFIX, levels)):
            keys = path_of(key, file.index(section) or NEW_INDEX)
            file.write(section, keys, entry)
            if section != check:
                file.remove(section, keys, "expired")


def _held(path: Path, case: Case) -> Held:
    return resolve(path, case.check, case.key) if path.exists() else ({}, None)


@contextlib.contextmanager
def _copied(text: str, path: Path) -> Iterator[Path]:
    """A file of the same name with a text, elsewhere."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / path.name
        copy.write_text(text, encoding="utf-8")
        yield copy


def _verify(
    text: str, path: Path, proposed: Sequence[Proposed], before: Mapping[Case, Held]
) -> None:
    """Every case gets what was proposed for it, and all others what they had."""
    wanted = {each.case: each.variables for each in proposed}
    with _copied(text, path) as copy:
        for case, held in before.items():
            found, tolerance = _held(copy, case)
            right = (found, tolerance) == held
            if case in wanted:
                right = bool(tolerance and tolerance.kind == "measured") and all(
                    found.get(name) == new or _is_known_failure(held[0].get(name))
                    for name, new in wanted[case].items()
                )
            if not right:
                raise FabricheckError(
                    f"expected {path} to give {case} {'its new' if case in wanted else 'its old'} "
                    "references afterwards, found others: the file is too intricate, edit it by "
                    "hand"
                )


def _is_known_failure(reference: Reference | None) -> bool:
    return bool(reference and reference.expected_failure)
