"""One line on a terminal that says how a run stands, in place of ReFrame's lines."""

import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

from fabricheck.errors import Terminated
from fabricheck.provenance import home
from fabricheck.record.costs import Cost, Key, key_of_name

_PLACE: Final = r"(?P<name>[^/@~\n]+?) (?:/\w+ )?@[^:\s]+:(?P<partition>[^+\s]+)\+(?P<environ>\S+)"
_BEGUN: Final = re.compile(r"\[ +RUN +\] " + _PLACE)
_ENDED: Final = re.compile(
    r"\[ +(?:OK|FAIL|XFAIL|XPASS|SKIP|ABORT) +\] \( *(\d+)/(\d+)\) " + _PLACE
)
_LEVEL: Final = re.compile(r"^\s+L: level (\S+)")
_RUNS: Final = re.compile(_PLACE + r": Entering stage: run")
_COLOUR: Final = re.compile(r"\x1b\[\d*m")
_TICK_SECONDS: Final = 1.0
_LAST_LINES: Final = 20
_MINUTE: Final = 60


class RunStanding:
    """How a run stands, from what ReFrame says."""

    def __init__(self, known: Mapping[Key, Cost]) -> None:
        """Begin with what cases cost so far."""
        self._known = known
        self._open: list[Key] = []
        self._levels: Counter[str] = Counter()
        self._begin = time.monotonic()
        self.done = self.all = 0
        self.running = ""

    def take(self, line: str) -> None:
        """Take a line of ReFrame's output."""
        line = _COLOUR.sub("", line)
        if match := _BEGUN.search(line):
            self._open.append(_key(match))
        elif match := _ENDED.search(line):
            self.done, self.all = int(match[1]), int(match[2])
            with contextlib.suppress(ValueError):
                self._open.remove(_key(match))
        elif match := _LEVEL.search(line):
            self._levels[match[1]] += 1

    def look(self, log: str) -> None:
        """Take what was added to ReFrame's log, which alone says what runs."""
        for match in _RUNS.finditer(log):
            key = _key(match)
            words = (key.benchmark or key.check, key.placement, key.environ)
            self.running = " ".join(filter(None, words))

    def left(self) -> float | None:
        """Seconds that the cases which have not ended will take; None if nobody knows."""
        found = [self._known[key].seconds for key in self._open if key in self._known]
        if not found:
            return None
        # Those that were never measured, or that wait for others, take as long as these.
        waiting = max(self.all - self.done, len(self._open))
        return sum(found) / len(found) * waiting

    def line(self) -> str:
        """The line."""
        parts = [f"{self.done} of {self.all or '?'} cases"]
        parts.append(_minutes(time.monotonic() - self._begin))
        parts += [f"{count} {level}" for level, count in self._levels.most_common()]
        if (left := self.left()) is not None:
            parts.append(f"about {_minutes(left)} left")
        return ", ".join(parts) + (f": {self.running}" if self.running else "")


def _key(match: re.Match[str]) -> Key:
    return key_of_name(*match.group("name", "partition", "environ"))


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // _MINUTE}:{int(seconds) % _MINUTE:02d} min"


def follow(
    suite: Path,
    command: Sequence[str],
    environment: Mapping[str, str],
    lock: int,
    *,
    known: Mapping[Key, Cost],
    terminal: TextIO,
) -> int:
    """Run ReFrame with one live line; its own lines go to ``reports/reframe.out``.

    Args:
        suite: root of the suite, in whose home it works.
        command: its command line.
        environment: its environment variables.
        lock: a descriptor that it holds, too.
        known: what cases cost so far.
        terminal: where the line is shown; a stream that sends control characters.

    Returns:
        Its exit code. Where that is not 0, what it said last is shown, if it left no case behind.
    """
    place = home(suite)
    standing, written = RunStanding(known), place / "reports" / "reframe.out"
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with (
        written.open("w") as output,
        started(command, cwd=place, env=environment, pass_fds=[lock], **streams) as reframe,
    ):
        assert reframe.stdout is not None, "it is a pipe"
        rest, log = "", Log(place / "reports" / "reframe.log")
        while said := _read(reframe.stdout.fileno()):
            if said != _NOTHING:
                output.write(said)
                output.flush()
                *lines, rest = (rest + said).split("\n")
                for each in lines:
                    standing.take(each)
            standing.look(log.added())
            width = shutil.get_terminal_size().columns - 1
            shown = "".join(filter(str.isprintable, standing.line()))
            terminal.write(f"\r\x1b[2K{shown[:width]}")
            terminal.flush()
        code = reframe.wait()
    terminal.write("\n")
    if code and not standing.done:
        terminal.write("\n".join(written.read_text().splitlines()[-_LAST_LINES:]) + "\n")
    return code


@contextlib.contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator["subprocess.Popen[bytes]"]:
    """Start ReFrame; where this process is interrupted or terminated, let it cancel its jobs.

    The terminal interrupts both; what terminates this process gets passed on. In the middle of the
    start it waits: nobody else knows of ReFrame, which would go on alone.

    Args:
        command: its command line.
        options: of ``subprocess.Popen``.

    Raises:
        KeyboardInterrupt: with what became of it.
        Terminated: likewise.
    """
    process: subprocess.Popen[bytes] | None = None
    early = list[int]()

    def passed_on(number: int, _: object) -> None:
        if process is None:
            early.append(number)
            return
        process.send_signal(number)
        raise Terminated

    before = signal.signal(signal.SIGTERM, passed_on)
    try:
        process = subprocess.Popen(command, **options)
        for number in early[:1]:
            passed_on(number, None)
        yield process
    except KeyboardInterrupt as ended:
        if process is None:
            raise
        process.communicate()
        raise type(ended)("ReFrame, which cancels its jobs then, has ended") from None
    finally:
        signal.signal(signal.SIGTERM, before)
        if process is not None:
            with process:
                pass


class Log:
    """A file that grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = path.stat().st_size if path.exists() else 0

    def added(self) -> str:
        """What was added since the last look; all of it where the file began again."""
        try:
            with self._path.open(errors="replace") as file:
                if file.seek(0, os.SEEK_END) < self._at:
                    self._at = 0
                file.seek(self._at)
                text = file.read()
                self._at = file.tell()
        except OSError:
            return ""
        return text


_NOTHING: Final = "\0"


def _read(descriptor: int) -> str:
    """What is there to read, ``_NOTHING`` after a moment without; empty at the end."""
    if not select.select([descriptor], [], [], _TICK_SECONDS)[0]:
        return _NOTHING
    return os.read(descriptor, 1 << 16).decode(errors="replace")
