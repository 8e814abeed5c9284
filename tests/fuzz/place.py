"""A place in which commands run, and the rule that all of them keep.

Every command ends with 0, with 1 or 3 if it has verdicts, or with 2 and one sentence; it ends in
time, prints no traceback, and changes nothing outside the directories that it is given.
"""

import contextlib
import errno
import functools
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import typer.main

from fabricheck.cli import _dispatch, application, guarded

VERDICTS = {
    "judge": {1}, "report": {1}, "explain": {1}, "trend": {1}, "accept": {1, 3}, "nightly": {1},
    "baseline expire": {1}, "references check": {1}, "site check": {1}, "testbed status": {1},
    "testbed doctor": {1}, "history import": {1},
}  # fmt: skip
"""What commands may end with besides 0 and 2."""

_MOST_SECONDS = 10
"""Of the processor; a command that waits has as many times more."""
_WAITING = 6
_LOG = re.compile(r"; (\S+\.log) has the traceback")


class Broken(Exception):  # noqa: N818
    """A command broke the rule."""


class _Hang(BaseException):
    """Raised within a command that does not end."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str

    def json(self) -> Any:
        """What it printed as JSON."""
        return json.loads(self.stdout)


class Place:
    """Directories of one input: ``inside`` belongs to the commands, ``outside`` to somebody else.

    Args:
        root: directory of both.
        separate: each command is a process of its own, as an operator starts it.
    """

    def __init__(self, root: Path, *, separate: bool) -> None:
        self.separate = separate
        self.inside, self.outside = root / "inside", root / "outside"
        self.inside.mkdir(parents=True)
        (self.outside / "store").mkdir(parents=True)
        (self.outside / "precious.json").write_text("{}")
        (self.outside / "store" / "data.parquet").write_text("precious")
        (self.outside / "store" / "catalog.sqlite").write_text("precious")
        self.commands: list[list[str]] = []
        self._before = _listing(self.outside)

    def write(self, name: str, content: str | bytes) -> Path:
        """A file inside."""
        path = self.inside / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            content = content.encode("utf-8", "surrogateescape")
        path.write_bytes(content)
        return path

    def run(self, *given: str | Path) -> Ended:
        """Run a command, and hold it to the rule.

        Raises:
            Broken: if it breaks the rule.
        """
        arguments = [str(word) for word in given]
        self.commands.append(arguments)
        ended = (_in_a_process if self.separate else _in_this_process)(arguments, self.inside)
        if words := wrong(arguments, ended):
            raise Broken(words)
        if _listing(self.outside) != self._before:
            raise Broken("it changed what lies outside its directories")
        return ended

    def must(self, *words: str | Path) -> Ended:
        """Run a command that has nothing to refuse."""
        ended = self.run(*words)
        expect(ended.code != 2, f"refused what is right: {ended.stderr}")
        return ended


def expect(fine: object, words: str) -> None:
    """Hold a command to a reading of our own.

    Raises:
        Broken: if it is not fine.
    """
    if not fine:
        raise Broken(words)


def wrong(arguments: list[str], ended: Ended) -> str:
    """How a command broke the rule, empty if it did not."""
    name = " ".join(arguments[: 2 if arguments and arguments[0] in _GROUPS else 1])
    printed = ended.stdout + ended.stderr
    if "Traceback (most recent call last)" in printed:
        return f"a traceback on the terminal: {printed[-600:]}"
    if ended.code == 70:
        return f"a fault of ours: {_fault(ended.stderr)}"
    if ended.code not in {0, 2} | VERDICTS.get(name, set()):
        return f"ended with {ended.code}: {ended.stderr[-600:]}"
    said = [line for line in ended.stderr.splitlines() if line.startswith("fabricheck: ")]
    usage = ended.stderr.startswith("Usage: ")
    if ended.code == 2 and not usage and len(ended.stderr.splitlines()) != 1:
        return f"ended with 2 and not one sentence: {ended.stderr[-600:]!r}"
    if ended.code != 2 and said:
        return f"ended with {ended.code} and {said[0]!r}"
    return ""


_GROUPS = ("testbed", "history", "baseline", "references", "site", "metrics")


def _fault(stderr: str) -> str:
    found = _LOG.search(stderr)
    if found is None:
        return stderr[-600:]
    log = Path(found[1])
    lines = log.read_text(errors="replace").splitlines()
    log.unlink()
    ours = [line.strip() for line in lines if "/src/fabricheck/" in line]
    return f"{ours[-1] if ours else ''} {lines[-1][:300]}"


def _listing(directory: Path) -> dict[str, bytes | None]:
    return {
        str(path): path.read_bytes() if path.is_file() else None
        for path in sorted(directory.rglob("*"))
    }


def _in_a_process(arguments: list[str], cwd: Path) -> Ended:
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "fabricheck", *arguments],
            cwd=cwd, capture_output=True, stdin=subprocess.DEVNULL, check=False,
            timeout=_WAITING * _MOST_SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Broken(f"it did not end in {_WAITING * _MOST_SECONDS} s") from None
    except ValueError:
        # No system can start a command with such words.
        return Ended(2, "", "fabricheck: refused by the system\n")
    out, err = (text.decode(errors="replace") for text in (ended.stdout, ended.stderr))
    return Ended(ended.returncode, out, err)


class _NoProgram:
    """Starts nothing: what an input names must not run here."""

    def __class_getitem__(cls, _item: object) -> type:
        return cls

    def __init__(self, command: Sequence[str], **_options: object) -> None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(command[0]))


@functools.cache
def _command(*wanted: str) -> Callable[[], None]:
    """The command line, made once: that takes longer than most commands."""
    return typer.main.get_command(_BUILD(list(wanted)))


_BUILD = application.build


def _in_this_process(arguments: list[str], cwd: Path) -> Ended:
    out, err = (
        io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", write_through=True)
        for _ in range(2)
    )
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        _in_time(),
        open(os.devnull) as nothing,  # noqa: PTH123
    ):
        before = sys.stdin, sys.argv, subprocess.Popen
        sys.stdin, sys.argv = nothing, ["fabricheck", *arguments]
        subprocess.Popen = _NoProgram
        application.build = lambda wanted: _command(*wanted)
        try:
            code = guarded(lambda: _dispatch(arguments))
        except _Hang:
            where = traceback.format_exc().splitlines()[-3:]
            raise Broken(f"it did not end in time: {' '.join(where)}") from None
        finally:
            sys.stdin, sys.argv, subprocess.Popen = before
            application.build = _BUILD
    texts = [stream.buffer.getvalue().decode() for stream in (out, err)]
    return Ended(code, *texts)


@contextlib.contextmanager
def _in_time() -> Iterator[None]:
    def stop(_number: int, _frame: FrameType | None) -> NoReturn:
        raise _Hang

    timers = (
        (signal.ITIMER_PROF, signal.SIGPROF, _MOST_SECONDS),
        (signal.ITIMER_REAL, signal.SIGALRM, _WAITING * _MOST_SECONDS),
    )
    before = [signal.signal(number, stop) for _, number, _ in timers]
    for timer, _, seconds in timers:
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for (timer, number, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def cleared(root: Path) -> Path:
    """An empty place for the next input."""
    shutil.rmtree(root, ignore_errors=True)
    return root
