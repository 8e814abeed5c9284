"""A campaign of acceptance: runs before and after a change that take turns, until it is clear.

The record is its only memory: each session carries the campaign's name and the side, so that a
campaign that was stopped goes on with the runs that lack.
"""

import math
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median_low
from typing import Final

import typer

from fabricheck.errors import FabricheckError
from fabricheck.locks import BusyError, held, of_run
from fabricheck.provenance import home
from fabricheck.record.entries import Session, moment
from fabricheck.record.sessions import ended
from fabricheck.reframe_ext import command as reframe
from fabricheck.runner.session import command, start

SIDES: Final = ("before", "after")

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_FIRST_LOOK: Final = 3
"""Pairs after which the answer may be clear."""
_LAST: Final = 9
"""So many of the last runs say how long one takes."""


@dataclass(frozen=True, slots=True)
class Campaign:
    """What a campaign is to measure.

    Attributes:
        name: its name, which its sessions carry.
        pairs: runs on each side at most.
        before: the command that puts the fabric into the state before the change; empty for none.
        after: likewise after it.
        only: the one side that is measured, where no command can switch; empty for both.
        options: options of ReFrame, which choose the checks and their nodes.
        control: nothing is changed between the sides.
    """

    name: str
    pairs: int = 12
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    only: str = ""
    options: tuple[str, ...] = ()
    control: bool = False

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise FabricheckError(
                "FC0401 expected a name of letters, digits, '.', '_' and '-' for the campaign, "
                f"found {self.name!r}: choose another"
            )
        given = (len(self.before), len(self.after), self.only, self.control)
        one_side = ((0, 0, side, False) for side in SIDES)
        if given not in ((1, 1, "", False), (0, 0, "", True), *one_side):
            raise FabricheckError(
                "FC0402 expected --before CMD and --after CMD, or --only before, --only after or "
                "--control, found something else: see fabricheck accept --help"
            )

    def selection(self, side: str) -> str:
        """The runs of a side, as ReFrame selects sessions."""
        return f'?campaign=="{self.name}" and state=="{side}" and num_aborted==0'


def measure(campaign: Campaign, suite: Path, is_clear: Callable[[], bool]) -> list[int]:
    """Make the runs that lack; in the end the state before the change is restored.

    Args:
        campaign: what is measured.
        suite: root of the suite.
        is_clear: whether the runs so far have a clear answer.

    Returns:
        How many runs of each side the record has.

    Raises:
        FabricheckError: if another campaign is under way, a command that switches failed, or a run
            is not in the record.
    """
    folder = home(suite) / "reports" / "acceptance"
    folder.mkdir(parents=True, exist_ok=True)
    lock = folder / ".lock"
    busy = (
        f"FC0415 expected no other campaign in this checkout, found one that holds {lock}: wait "
        "for its end"
    )
    # What a killed campaign left behind may hold it for a moment.
    with held(lock, busy, patience=2.0):
        running = _Running(campaign, suite)
        try:
            running.run(is_clear)
        finally:
            if running.state:
                running.turn_to(SIDES[0])
        return [len(running.runs(side)) for side in SIDES]


def _say(line: str) -> None:
    typer.echo(f"acceptance: {line}")


class _Running:
    """A campaign while it measures."""

    def __init__(self, campaign: Campaign, suite: Path) -> None:
        self._campaign, self._suite, self.state = campaign, suite, ""

    def run(self, is_clear: Callable[[], bool]) -> None:
        plan = self._campaign
        stored = {side: len(self.runs(side)) for side in (plan.only and [plan.only]) or SIDES}
        left = sum(max(plan.pairs - number, 0) for number in stored.values())
        is_told = not left or self._foretell(left)
        for pair in range(1, plan.pairs + 1):
            lacking = [side for side in stored if stored[side] < pair]
            for side in lacking if pair % 2 else reversed(lacking):
                self._run(side, pair)
                left -= 1
                is_told = is_told or self._foretell(left)
            if lacking and not plan.only and _FIRST_LOOK <= pair < plan.pairs and is_clear():
                return

    def runs(self, side: str = "") -> list[Session]:
        """The runs of a side in the record; without one, of this campaign, else of any."""
        whole = [
            each for each in ended(home(self._suite) / "perflogs") if each.info.get("campaign")
        ]
        found = [each for each in whole if each.info.get("num_aborted") == 0]
        own = [each for each in found if each.info["campaign"] == self._campaign.name]
        return [e for e in own if e.info.get("state") == side] if side else own or found

    def _foretell(self, left: int) -> bool:
        """Say how long the campaign will take, for who decides whether to start it now."""
        took = [float(each.info.get("time_elapsed", 0)) for each in self.runs()[-_LAST:]]
        if not took:
            _say(f"{left} runs at most; how long one takes is known after the first")
            return False
        one = median_low(took)
        end = datetime.now().astimezone() + timedelta(seconds=left * one)
        latest = f"until {end:%F %H:%M} at the latest, sooner if it is clear"
        _say(f"{left} runs at most, {math.ceil(one / 60)} min each: {latest}")
        return True

    def _run(self, side: str, number: int) -> None:
        plan, reports = self._campaign, home(self._suite) / "reports"
        try:
            with held(reports / ".lock"):
                pass
        except BusyError:
            _say("waiting for another run in this checkout")
        with of_run(reports, "", patience=math.inf) as lock:
            # One that was left behind may have ended meanwhile.
            if len(self.runs(side)) >= number:
                return
            self.turn_to(side)
            _say(f"{plan.name}, run {number} of {plan.pairs} {side} the change")
            code = start(self._suite, self._command(side), reframe.environment(self._suite), lock)
            if len(self.runs(side)) < number:
                raise FabricheckError(
                    f"FC0403 expected the end of run {number} {side} the change in the record, "
                    f"found none; ReFrame ended with {code}: its last output is above"
                )
        with (reports / "acceptance" / f"{plan.name}.log").open("a") as log:
            log.write(f"{moment()} {side} {number} exit code {code}\n")

    def _command(self, side: str) -> list[str]:
        plan = self._campaign
        # Streams are long here, as in the source of their benchmark; the caller's own -S wins.
        options = ("-S", "RdmaStream.messages=1000000", *plan.options)
        extras = f"--session-extras=campaign={plan.name},state={side}"
        return [*command(self._suite, *options), extras]

    def turn_to(self, side: str) -> None:
        """Put the fabric into a state."""
        commands = self._campaign.before + self._campaign.after
        if not commands or self.state == side:
            return
        _say(f"switching to the state {side} the change")
        # Until it has ended nobody knows which state it is.
        self.state = "unknown"
        switch = commands[SIDES.index(side)]
        if code := subprocess.run(["bash", "-c", switch], check=False).returncode:
            raise FabricheckError(
                f"FC0404 expected the command for the state {side} to end with 0, found {code}: "
                f"{switch}"
            )
        self.state = side
