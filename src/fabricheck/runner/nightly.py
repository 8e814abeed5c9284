"""A night: run, history, trend, page, summary. Each step is a command, and none stops the next.

It may be killed at any point. The perflogs hold whole lines only, the history takes all of a
refresh or nothing, and a night is complete when its last file is there: the next one goes on.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Final

from fabricheck.errors import FabricheckError
from fabricheck.locks import BusyError, held
from fabricheck.provenance import home
from fabricheck.report.files import write_whole
from fabricheck.runner.nights import STEPS, Night, Nights, failed_steps

LINES: Final = 20
"""Most lines of a summary."""
SUMMARY: Final = "summary.txt"
PAGE: Final = "page.html"
JUNIT: Final = "junit.xml"

_PROGRAM: Final = Path(sys.executable).with_name("fabricheck")
_BAD: Final = 2
_MAIL_SECONDS: Final = 120
_REPORT_LINES: Final = 5
_NOTES: Final = 5
_HEAD_BYTES: Final = 4096
_RUN_REPORT: Final = re.compile(r"run-[0-9]+\.json")


# A number of cases that say nothing, or nothing that can be believed, in the words of the report.
_UNPROVED: Final = re.compile(
    r"\b[1-9]\d* (untrusted|no-reference|disturbed|not judged|not run|aborted|failed|build failed"
    r"|incomplete)\b"
)


class MailOn(StrEnum):
    """Which nights are delivered.

    ``wrong`` are those that are not fine. ``change`` are those that ended otherwise than the night
    before, or with a new regression, and each in which something is not proved or not judged.
    """

    WRONG = "wrong"
    CHANGE = "change"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a night is to do.

    Attributes:
        suite: root of the suite.
        run: options of ``fabricheck run``.
        mail: shell command that gets the summary on its standard input, and the subject as
            ``$SUBJECT``; empty for none.
        mail_on: which nights it gets.
        keep: how long nights and run reports are kept.
        every: how often a night is to come.
        program: the command line of the suite.
    """

    suite: Path
    run: Sequence[str] = ()
    mail: str = ""
    mail_on: MailOn = MailOn.ALWAYS
    keep: timedelta = timedelta(days=90)
    every: timedelta = timedelta(days=1)
    program: Path = _PROGRAM

    @property
    def reports(self) -> Path:
        """Where everything is written."""
        return home(self.suite) / "reports"

    @property
    def nights(self) -> Nights:
        """The nights so far."""
        return Nights(self.reports / "nights")


@dataclass(frozen=True, slots=True)
class Done:
    """A night that came to its end.

    Attributes:
        directory: what it left behind.
        codes: exit code of each step.
        exit_code: 0 if all is well, 1 if something is critical or a regression is new, 2 if a step
            could not do its work.
        summary: what was delivered, in lines.
    """

    directory: Path
    codes: Mapping[str, int]
    exit_code: int
    summary: Sequence[str]


def run_night(plan: Plan) -> Done:
    """Run a night and deliver its summary.

    Raises:
        FabricheckError: if another night is under way (which is delivered too), or what it leaves
            can't be written or delivered.
    """
    root = plan.nights.root
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FabricheckError(
            f"expected a place for the nights at {root}, found: {error.strerror}: give write "
            "permission"
        ) from error
    lock = root / ".lock"
    busy = (
        f"expected no other night under way, found one that holds {lock}: wait for its end, or end "
        "its processes (fuser shows them)"
    )
    try:
        # The programs that a night starts hold the lock as well.
        with held(lock, busy) as descriptor:
            now = datetime.now(UTC)
            notes = plan.nights.missing(now, plan.every)
            return _Sequence(plan, plan.nights.begin(now), notes, descriptor).run()
    except BusyError as error:
        deliver(plan, "the night did not begin", [str(error)])
        raise
    except OSError as error:
        raise FabricheckError(
            f"expected to write the night into {plan.nights.root}, found: {error}: make room or "
            "give write permission; what was measured is kept"
        ) from error


def check_nights(plan: Plan) -> list[str]:
    """Notes on missing and failed nights, delivered if there are any; for who watches the nights.

    Raises:
        FabricheckError: if there is no night at all, or the notes can't be delivered.
    """
    if not plan.nights.all():
        raise FabricheckError(
            f"expected nights in {plan.nights.root}, found none: run ci/nightly.sh first"
        )
    # What is under way may still come to its end.
    notes = [
        note
        for note in plan.nights.missing(datetime.now(UTC), plan.every)
        if note.startswith("NIGHT ")
    ]
    if notes:
        deliver(plan, notes[0].partition(":")[0], notes)
    return notes


def deliver(plan: Plan, subject: str, lines: Sequence[str]) -> None:
    """Give lines to the mail command.

    Raises:
        FabricheckError: if it fails.
    """
    if not plan.mail:
        return
    try:
        # It may hold a secret, which is nobody's to see: not in the list of processes, and not in
        # the sentence.
        ended = subprocess.run(
            ["sh", "-c", 'eval "$FABRICHECK_MAIL"'],
            input="\n".join(lines) + "\n",
            env={
                **os.environ,
                "SUBJECT": f"fabricheck: {subject}",
                "FABRICHECK_MAIL": plan.mail,
            },
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
            timeout=_MAIL_SECONDS,
        ).returncode
        why = f"exit code {ended}"
    except subprocess.TimeoutExpired:
        ended, why = _BAD, f"no end after {_MAIL_SECONDS} s"
    except (OSError, ValueError) as error:
        ended, why = _BAD, str(error)
    if ended:
        raise FabricheckError(
            f"expected the mail command (--mail, FABRICHECK_MAIL) to take the summary, found: "
            f"{why}: correct it; the summary is in {plan.nights.root}"
        )


class _Sequence:
    """The steps of one night."""

    def __init__(self, plan: Plan, night: Night, notes: Sequence[str], lock: int) -> None:
        self._plan = plan
        self._night = night
        self._notes = notes
        self._lock = lock
        self._codes: dict[str, int] = {}

    def run(self) -> Done:
        """Every step, whatever becomes of those before it."""
        reports, store = self._plan.reports, self._plan.reports / "history"
        before = set(reports.glob("run-*.json"))
        junit = self._night.directory / JUNIT
        self._step("run", "run", *self._plan.run, "--mode=nightly", f"--junit={junit}")
        perflogs = f"--perflogs={home(self._plan.suite) / 'perflogs'}"
        self._step("history", "history", "refresh", perflogs, f"--store={store}")
        self._step("trend", "trend", f"--store={store}")
        written = set(reports.glob("run-*.json")) - before
        if written:
            newest = max(written, key=lambda path: path.stat().st_mtime)
            page = f"--html={self._night.directory / PAGE}"
            history = [f"--history={store}"] if store.is_dir() else []
            self._step("page", "report", str(newest), page, *history, "--no-table")
        failed = failed_steps(self._codes)
        code = _BAD if failed else max(self._codes.values())
        summary = self._summary(failed)
        write_whole(self._night.directory / SUMMARY, "\n".join(summary) + "\n")
        self._begin("mail")
        if self._is_news(code):
            deliver(self._plan, summary[0], summary)
        self._begin("retention")
        kept = self._remove_old(written)
        ended = datetime.now(UTC)
        self._plan.nights.complete(self._night, self._codes, ended, self._plan.every)
        if kept:
            raise FabricheckError(
                f"expected to remove what is older than {self._plan.keep.days} days, found: "
                f"{kept[0]}: remove it; the night itself is complete"
            )
        return Done(self._night.directory, self._codes, code, summary)

    def _is_news(self, code: int) -> bool:
        """Whether the night is one of those that are delivered."""
        wrong = bool(code or self._notes)
        if self._plan.mail_on is not MailOn.CHANGE:
            return wrong or self._plan.mail_on is MailOn.ALWAYS
        before = self._plan.nights.last_good(self._night.began)
        told = self._said("page")
        return bool(
            code == _BAD
            or self._notes
            or self._codes["trend"]
            or before is None
            or before.codes != self._codes
            or (wrong and (not told or _UNPROVED.search("\n".join(told))))
        )

    def _begin(self, step: str) -> None:
        with (self._night.directory / STEPS).open("a") as file:
            file.write(f"{step}\n")

    def _step(self, name: str, *arguments: str) -> None:
        """Run a command of ours; what it says goes to a file, and its exit code is kept."""
        self._begin(name)
        with self._output(name).open("w") as output:
            self._codes[name] = subprocess.run(
                [self._plan.program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
                pass_fds=[self._lock],
            ).returncode

    def _output(self, step: str) -> Path:
        return self._night.directory / f"{step}.txt"

    def _said(self, step: str) -> list[str]:
        path = self._output(step)
        return path.read_text(errors="replace").splitlines() if path.exists() else []

    def _summary(self, failed: Sequence[str]) -> list[str]:
        """What an operator reads in the morning: verdict, what went wrong, run, and trend."""
        verdict = "LOOK" if any(self._codes.values()) else "FINE"
        if failed:
            verdict = f"FAILED in {', '.join(failed)}"
        head = [f"{verdict}: night of {self._night.began:%Y-%m-%d %H:%M} UTC"]
        for step in failed:
            last = [line for line in self._said(step) if line.strip()][-1:] or ["it said nothing"]
            head.append(f"{step} ended with exit code {self._codes[step]}: {last[0]}")
        head += self._notes[:_NOTES]
        if len(self._notes) > _NOTES:
            head.append(f"... and {len(self._notes) - _NOTES} more of such nights")
        if not self._output("page").exists():
            head.append("no page: the run left no report")
        # A page whose history could not be read says what was run all the same.
        head += (
            self._said("page")[:_REPORT_LINES] if (self._night.directory / PAGE).exists() else []
        )
        trend = self._said("trend") if "trend" not in failed else []
        if trend and "history" in failed:
            head.append("the history does not hold tonight; what follows is of the nights before:")
        tail = [f"all of it: {self._night.directory}"]
        room = max(LINES - len(head) - len(tail), 0)
        if len(trend) > room:
            trend = [*trend[: max(room - 1, 0)], "... and more: see trend.txt"]
        return [*head, *trend, *tail]

    def _remove_old(self, written: set[Path]) -> list[OSError]:
        """Nights and run reports that are older than asked; the record itself stays.

        A clock that is wrong makes all of them old, so the newest stay whatever it says.
        """
        plan, now = self._plan, self._night.began
        most = max(int(plan.keep / plan.every), 1)
        problems = plan.nights.remove_old(now, plan.keep, most)
        ages = {
            path: now.timestamp() - path.lstat().st_mtime
            for path in plan.reports.glob("run-*.json")
            if _RUN_REPORT.fullmatch(path.name) and path not in written
        }
        for path in sorted(ages, key=ages.__getitem__)[most:]:
            try:
                if ages[path] > plan.keep.total_seconds() and _is_run_report(path):
                    path.unlink()
            except OSError as error:
                problems.append(error)
        return problems


def _is_run_report(path: Path) -> bool:
    """Whether ReFrame wrote this file: it begins with what it says of the session."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return b'"session_info"' in file.read(_HEAD_BYTES)
