"""A night: run, history, trend, coverage, page, summary. Each is a command, none stops the next.

It may be killed at any point. The perflogs hold whole lines only, the history takes all of a
refresh or nothing, and a night is complete when its last file is there: the next one goes on.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from fabricheck.errors import FabricheckError
from fabricheck.events import emit
from fabricheck.locks import BusyError, held
from fabricheck.provenance import home
from fabricheck.record.entries import NIGHT, Session
from fabricheck.record.sessions import last
from fabricheck.report.files import write_whole
from fabricheck.report.status import Status
from fabricheck.runner import morning
from fabricheck.runner.nights import COVERAGE, STEPS, Night, Nights, failed_steps

LINES: Final = 20
"""Most lines of a summary."""
SUMMARY: Final = "summary.txt"
PAGE: Final = "page.html"
JUNIT: Final = "junit.xml"

_PROGRAM: Final = Path(sys.executable).with_name("fabricheck")
_BAD: Final = 2
_MAIL_SECONDS: Final = 120
_NOTES: Final = 5
_HEAD_BYTES: Final = 4096
_RUN_REPORT: Final = re.compile(r"run-[0-9]+\.json")


class MailOn(StrEnum):
    """Which nights are delivered.

    ``wrong`` are those that are not fine. ``change`` are those that ended otherwise than the night
    before, or with a new regression, and each in which something is not proved or not judged.
    """

    WRONG = "wrong"
    CHANGE = "change"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class NightPlan:
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
        exit_code: 0 if all is well, 1 if something is critical or a regression holds, 2 if a step
            could not do its work.
        summary: what was delivered, in lines.
    """

    directory: Path
    codes: Mapping[str, int]
    exit_code: int
    summary: Sequence[str]


def run_night(plan: NightPlan) -> Done:
    """Run a night and deliver its summary.

    Raises:
        FabricheckError: if another night is under way (which is delivered too), or what it leaves
            can't be written or delivered.
    """
    root = plan.nights.root
    lock = root / ".lock"
    busy = (
        f"FC0414 expected no other night under way, found one that holds {lock}: wait for its end, "
        "or end its processes (fuser shows them)"
    )
    try:
        root.mkdir(parents=True, exist_ok=True)
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
            f"FC0405 expected a place for the nights at {root}, found: {error}: make room or give "
            "write permission; what was measured is kept"
        ) from error


def check_nights(plan: NightPlan) -> list[str]:
    """Notes on missing and failed nights, delivered if there are any; for who watches the nights.

    Raises:
        FabricheckError: if there is no night at all, or the notes can't be delivered.
    """
    if not plan.nights.all():
        raise FabricheckError(
            f"FC0406 expected nights in {plan.nights.root}, found none: run bin/nightly.sh first"
        )
    # What is under way may still come to its end.
    found = plan.nights.missing(datetime.now(UTC), plan.every)
    notes = [note for note in found if note.startswith("NIGHT ")]
    if notes:
        deliver(plan, notes[0].partition(":")[0], notes)
    return notes


def deliver(plan: NightPlan, subject: str, lines: Sequence[str]) -> None:
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
            env={**os.environ, "SUBJECT": f"fabricheck: {subject}", "FABRICHECK_MAIL": plan.mail},
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
            "FC0407 expected the mail command (--mail, FABRICHECK_MAIL) to take the summary, "
            f"found: {why}: correct it; the summary is in {plan.nights.root}"
        )


class _Sequence:
    """The steps of one night."""

    def __init__(self, plan: NightPlan, night: Night, notes: Sequence[str], lock: int) -> None:
        self._plan = plan
        self._night = night
        self._notes = notes
        self._lock = lock
        self._codes: dict[str, int] = {}

    def run(self) -> Done:
        """Every step, whatever becomes of those before it."""
        store, perflogs = self._plan.reports / "history", home(self._plan.suite) / "perflogs"
        record = f"--perflogs={perflogs}"
        junit = self._night.directory / JUNIT
        self._step("run", "run", *self._plan.run, "--mode=nightly", f"--junit={junit}")
        self._step("history", "history", "refresh", record, f"--store={store}", "--json")
        self._step("trend", "trend", f"--store={store}")
        if found := self._session(perflogs):
            of_system = f"--system={found.system}"
            self._step(COVERAGE, "coverage", of_system, f"--store={store}", "--json")
            page = f"--html={self._night.directory / PAGE}"
            history = [f"--history={store}"] if store.is_dir() else []
            self._step(
                "page", "report", f"--session={found.session}", record, page, *history, "--json"
            )
        failed = failed_steps(self._codes)
        code = _BAD if failed else max(self._codes.values())
        summary = self._summary(failed)
        write_whole(self._night.directory / SUMMARY, "\n".join(summary) + "\n")
        self._begin("mail")
        if self._is_news(code):
            deliver(self._plan, summary[0], summary)
        self._begin("retention")
        kept = self._remove_old()
        ended = datetime.now(UTC)
        self._plan.nights.complete(self._night, self._codes, ended, self._plan.every)
        emit("night_ended", self._plan.reports, exit_code=code, why=summary[0])
        if kept:
            raise FabricheckError(
                f"FC0408 expected to remove what is older than {self._plan.keep.days} days, found: "
                f"{kept[0]}: remove it; the night itself is complete"
            )
        return Done(self._night.directory, self._codes, code, summary)

    def _is_news(self, code: int) -> bool:
        """Whether the night is one of those that are delivered."""
        wrong = bool(code or self._notes)
        if self._plan.mail_on is not MailOn.CHANGE:
            return wrong or self._plan.mail_on is MailOn.ALWAYS
        before = self._plan.nights.last_good(self._night.began)
        told = self._told("page")
        statuses = {Status(each["status"]) for each in told.get("problems", ())}
        changes = told.get("history") or {"slow": 1}
        return bool(
            code == _BAD
            or self._notes
            or (self._codes["trend"] and (changes["slow"] or changes["regressions"].get("new")))
            or before is None
            or before.codes != self._codes
            or (wrong and not told)
            or not all(each.judged or each.passes for each in statuses)
        )

    def _session(self, perflogs: Path) -> Session | None:
        """Tonight's session in the record; ``None`` if it has none."""
        began = f"{self._night.began:%Y-%m-%dT%H:%M:%S}"
        with suppress(FabricheckError):
            if (found := last(perflogs, NIGHT)) and found.time >= began:
                return found
        return None

    def _begin(self, step: str) -> None:
        with (self._night.directory / STEPS).open("a") as file:
            file.write(f"{step}\n")

    def _step(self, name: str, *arguments: str) -> None:
        """Run a command of ours; what it says goes to files, and its exit code is kept."""
        self._begin(name)
        kind = "json" if "--json" in arguments else "txt"
        with self._output(name).open("a") as words, self._output(name, kind).open("a") as output:
            self._codes[name] = subprocess.run(
                [self._plan.program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=words,
                check=False,
                pass_fds=[self._lock],
            ).returncode
        code = self._codes[name]
        level = "error" if code >= _BAD else "info"
        emit("night_step", self._plan.reports, level=level, step=name, exit_code=code)

    def _output(self, step: str, kind: str = "txt") -> Path:
        return self._night.directory / f"{step}.{kind}"

    def _said(self, step: str) -> list[str]:
        path = self._output(step)
        return path.read_text(errors="replace").splitlines() if path.exists() else []

    def _told(self, step: str) -> dict[str, Any]:
        """What a step printed for machines; empty if that is nothing."""
        with suppress(OSError, ValueError):
            return dict(json.loads(self._output(step, "json").read_bytes()))
        return {}

    def _summary(self, failed: Sequence[str]) -> list[str]:
        """What an operator reads in the morning: verdict, what went wrong, run, and trend."""
        verdict = "LOOK" if any(self._codes.values()) else "FINE"
        if failed:
            verdict = f"FAILED in {', '.join(failed)}"
        found = self._told("page")
        night = f"night of {self._night.began:%Y-%m-%d %H:%M} UTC"
        head = [f"{verdict}: {morning.counted(found)}{night}{morning.first_cause(found)}"]
        for step in failed:
            last = [line for line in self._said(step) if line.strip()][-1:] or ["no output"]
            head.append(f"{step} ended with exit code {self._codes[step]}: {last[0]}")
        head += self._notes[:_NOTES]
        if len(self._notes) > _NOTES:
            head.append(f"... and {len(self._notes) - _NOTES} more of such nights")
        if not self._output("page").exists():
            head.append("no page: the record has no session of tonight")
        # A page whose history could not be read says what was run all the same.
        head += morning.of_page(found, PAGE) if found else []
        head += morning.lost(self._told("history"))
        head += morning.overdue(self._told(COVERAGE))
        trend = self._said("trend") if "trend" not in failed else []
        if trend and "history" in failed:
            head.append("the history does not hold tonight; what follows is of the nights before:")
        tail = [f"all of it: {self._night.directory}"]
        room = max(LINES - len(head) - len(tail), 0)
        if len(trend) > room:
            trend = [*trend[: max(room - 1, 0)], "... and more: see trend.txt"]
        return [*head, *trend, *tail]

    def _remove_old(self) -> list[OSError]:
        """Nights and run reports that are older than asked; the record itself stays.

        A clock that is wrong makes all of them old, so the newest stay whatever it says.
        """
        plan, now = self._plan, self._night.began
        most = max(int(plan.keep / plan.every), 1)
        problems = plan.nights.remove_old(now, plan.keep, most)
        ages = {
            path: now.timestamp() - path.lstat().st_mtime
            for path in plan.reports.glob("run-*.json")
            if _RUN_REPORT.fullmatch(path.name)
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
