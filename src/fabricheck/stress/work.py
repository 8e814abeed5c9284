"""The worker: runs the blocks of a stress inside its job, one after the other, and records each.

Whatever kills it, the next worker of the job goes on behind the last block that was recorded: a
block counts when its line stands, and not before.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Final

import msgspec

from fabricheck.errors import FabricheckError
from fabricheck.events import emit
from fabricheck.judge.levels import Level
from fabricheck.launch.cases import measurement_of
from fabricheck.launch.measurement import Evidence, Measurement, Setting
from fabricheck.locks import BusyError, of_block
from fabricheck.nodes.machine import read_machines
from fabricheck.nodes.names import fold, unfold
from fabricheck.provenance import home
from fabricheck.record.entries import CaseEntry
from fabricheck.record.facts import alike
from fabricheck.record.write import append
from fabricheck.schedulers import scheduler_of
from fabricheck.schedulers.local import birth
from fabricheck.stress.judged import (
    fabric_below,
    judge_block,
    links_of,
    session_of,
    settle,
    words_of,
)
from fabricheck.stress.mix import Block, following, mix_of
from fabricheck.stress.plan import setting_of
from fabricheck.stress.state import StressDirectory, dead_nodes
from fabricheck.stress.turns import length, submit

PERFLOGS: Final = home() / "perflogs"
_KEPT: Final = 20
_BAD_KEPT: Final = 100
_BAD: Final = "bad"
_TERM_GRACE: Final = 20
# After a stop or a preemption, a scheduler takes a moment to tell.
_ASK_PREEMPTED: Final = 5
_POLL: Final = 0.2
_WATCH: Final = 5.0
# Seconds after which a stress asks again whether a run has ended.
_AGAIN: Final = 300.0
_HOOK: Final = 60
_PAUSED: Final = "a run measures in this checkout"
_LEVELS: Final = ("info", "warn")
_NO_WORD: Final = (Level.UNTRUSTED, Level.DISTURBED)


class _OverError(Exception):
    """No block begins any more: why, or nothing where the next job goes on."""


class Worker:
    """One run of the worker of a stress.

    Args:
        place: of the stress.

    Raises:
        FabricheckError: if there is no plan.
    """

    def __init__(self, place: StressDirectory) -> None:
        self._place = place
        self._plan = place.read_plan()
        self._blocks = msgspec.convert(self._plan["blocks"], list[Block])
        self._stop = threading.Event()
        self._hour, self._told, self._bad = 0, "", False
        self._scheduler = scheduler_of(self._plan["scheduler"])
        self._job, self._restarts = self._scheduler.job(os.environ)
        self._nodes = unfold(os.environ.get(self._scheduler.nodes_variable, ""))

    def run(self) -> None:
        """Run blocks until the time is over, a stop is asked for, or another job goes on.

        Raises:
            FabricheckError: if another worker of this stress runs, or nothing can be recorded.
        """
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._asked)
        with self._place.alone("worker"):
            now = time.time()
            state = self._place.state()
            if not state.session:
                raise FabricheckError(
                    f"FC2317 expected a stress that was started in {self._place.path}, found none: "
                    "use 'fabricheck stress start'"
                )
            if not state.began:
                until = now + self._plan["seconds"]
                state = self._place.change(began=now, until=until)
            if self._restarts:
                _tell(f"the job was taken back and goes on, restart {self._restarts}")
            here = self._job or f"{os.getpid()}.{birth(os.getpid())}"
            self._place.change(restarts=self._restarts, job=here, resumed=now)
            self._event("stress_began", job=here, nodes=fold(self._nodes), restarts=self._restarts)
            self._session, self._until = state.session, state.until
            self._turn = now + length(self._plan, state)
            done = self._place.recent(self._session)
            # A node may have taken the job before this one along.
            nodes = done[-1].nodes if done else ()
            self._lose(dead_nodes(nodes, (), self._scheduler, self._states() if nodes else {}))
            try:
                self._iterate(*following(done, self._plan["mixes"]))
            except _OverError as over:
                if why := str(over):
                    settle(self._place, self._session, PERFLOGS, ended=True)
                    self._place.change(ended=time.time(), why=why, paused="")
                    self._event("stress_ended", why=why)
                    _tell(f"ended: {why}")

    def _iterate(self, iteration: int, begin: int) -> None:
        """All blocks from this one on.

        Raises:
            _OverError: with the reason why no more begin.
        """
        most = self._plan.get("most_iterations") or sys.maxsize
        while iteration <= most:
            mix = mix_of(self._plan, begin)
            if begin <= mix["first"]:
                now = f"{datetime.now(UTC):%a %b %d %H:%M:%S UTC %Y}"
                _tell(f"\n=== Iteration {iteration} - {now} ===")
            for number in range(max(begin, mix["first"]), mix["first"] + mix["count"]):
                with ExitStack() as fabric:
                    while not self._enter(fabric):
                        self._pause()
                    began = time.monotonic()
                    dead = self._block(iteration, number)
                self._settle()
                if self._lose(dead):
                    self._hand_over()
                self._wait((time.monotonic() - began) * (1 / self._plan["duty"] - 1))
            _tell(f"Iteration {iteration} complete")
            iteration, begin = iteration + 1, 0
            if time.time() >= self._turn and iteration <= most:
                self._hand_over()
            self._wait(mix["pause"])
        raise _OverError(f"{most} iterations are done")

    def _enter(self, fabric: ExitStack) -> bool:
        """Hold the fabric for a block, unless a run does."""
        if why := self._over():
            raise _OverError(why)
        try:
            fabric.enter_context(of_block(self._place.reports))
        except BusyError:
            return False
        if self._place.state().paused:
            self._place.change(paused="")
        return True

    def _pause(self) -> None:
        """Leave the nodes to a run that measures, or at least the fabric."""
        if not self._place.state().paused:
            _tell(_PAUSED)
            self._event("stress_paused", why=_PAUSED)
        self._hand_over(begin=_AGAIN, paused=_PAUSED)
        self._place.change(paused=_PAUSED)
        self._wait(_WATCH)

    def _hand_over(self, *, begin: float = 0.0, paused: str = "") -> None:
        """Let a job on the nodes of the next turn go on, and end this one.

        Where the scheduler takes none, this one goes on.
        """
        if not self._job or self._over():
            return
        # Also those that died while it was not their turn.
        known = self._place.state().measured
        self._lose(dead_nodes(known, (), self._scheduler, self._states()))
        try:
            job = submit(self._place, self._scheduler, begin=begin, paused=paused)
        except FabricheckError as error:
            _tell(f"goes on with the same nodes: {error}")
            self._event("stress_turn_failed", level="warn", why=error)
            self._turn = time.time() + length(self._plan, self._place.state())
            return
        _tell(f"job {job} goes on with the nodes of the next turn")
        self._event("stress_turn", job=job)
        raise _OverError("")

    def _lose(self, dead: Mapping[str, str]) -> bool:
        """Leave nodes out from now on, and tell whom the operator named; whether any is new."""
        known = self._place.state().dead
        new = {node: why for node, why in dead.items() if node not in known}
        if new:
            self._place.change(dead={**known, **new})
        for node, why in new.items():
            _tell(f"left out: {node}: {why}")
            self._event("node_left_out", level="error", node=node, why=why)
            if command := self._plan.get("on_bad_node"):
                given = {**os.environ, "NODE": node, "REASON": why}
                words = ["timeout", str(_HOOK), "sh", "-c", command]
                code = subprocess.run(words, env=given, check=False).returncode
                self._event("on_bad_node", level="error" if code else "info", node=node, code=code)
        return bool(new)

    def _event(self, event: str, *, level: str = "info", **fields: object) -> None:
        emit(event, self._place.reports, level=level, stress=self._place.name, **fields)

    def _block(self, iteration: int, number: int) -> dict[str, str]:
        """Run one block, judge it and record it; a block that the scheduler cut off is none.

        Returns:
            The nodes that turned out dead, and why.
        """
        block, given = self._blocks[number], self._plan["blocks"][number]
        directory = self._place.blocks / f"{iteration:06d}-{number + 1:02d}-{block.benchmark}"
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        commands = "\n".join(given["commands"])
        (directory / "block.sh").write_text(f"#!/bin/bash\n{commands}\n")
        _tell(f"{block.words} ...", end=" ")
        setting = setting_of(given["setting"], directory)
        case = block.case(self._plan["placement"], number + 1)
        measurement = measurement_of(case)
        why, dead = self._execute(setting, measurement)
        evidence = measurement.examine(setting)
        if why:
            evidence = Evidence(hosts=evidence.hosts, objections=(why, *evidence.objections))
        if evidence.objections:
            self._yield_if_taken()
        judged = judge_block(
            self._plan,
            measurement,
            setting,
            evidence,
            {
                "session": self._session,
                "id": f"{iteration}.{number + 1}",
                "name": f"Stress {block.words}, iteration {iteration}",
                "repeat": iteration,
                "job": self._job,
                "commit": given["commit"],
                "output": str(directory),
            },
        )
        self._tell_nodes(judged, directory)
        self._place.append(judged)
        _tell(words_of(judged))
        for finding in judged.findings:
            _tell(f"  {finding}")
        links = map(" ".join, links_of(self._plan, judged).items())
        _tell(f"  link use: {'; '.join(links) or 'unknown'}")
        dead = self._note(judged, directory) | dead
        prune(self._place.blocks)
        return dead

    def _note(self, judged: CaseEntry, directory: Path) -> dict[str, str]:
        """Note what a block says of its nodes; which are dead, and why."""
        dead, is_bad = dict[str, str](), judged.result != "pass"
        nodes = self._nodes or judged.nodes
        if is_bad:
            (directory / _BAD).touch()
            dead = dead_nodes(nodes, [judged], self._scheduler, self._states())
        if is_bad != self._bad:
            words = {"block": judged.id, "verdict": judged.level, "why": "; ".join(judged.findings)}
            self._event("blocks_bad" if is_bad else "blocks_good", level=_LEVELS[is_bad], **words)
            self._bad = is_bad
        now, before = time.time(), self._place.state()
        trusted = {} if judged.level in _NO_WORD else dict.fromkeys(judged.nodes, now)
        tried = {**before.tried, **dict.fromkeys(nodes, now)}
        self._place.change(tried=tried, measured={**before.measured, **trusted})
        return dead

    def _tell_nodes(self, block: CaseEntry, directory: Path) -> None:
        """Record once an hour on what and with what it is measured, before its values."""
        session = session_of(block)
        if session == self._told or not block.nodes:
            return
        known = {
            **self._plan["blocks"][0]["software"],
            "mpi": block.mpi_version,
            "ucx": block.ucx_version,
            "program": f"{block.program} {block.program_version}".strip(),
        }
        where = {name: self._plan[name] for name in ("system", "partition", "environ")}
        append(
            PERFLOGS, alike(read_machines(directory), block.nodes, known, session=session, **where)
        )
        self._told = session

    def _execute(self, setting: Setting, measurement: Measurement) -> tuple[str, dict[str, str]]:
        """Run the script of a block: why it was ended, and the nodes that turned out dead in it."""
        limit, dead = self._plan["block_limit"], dict[str, str]()
        began = time.monotonic()
        with (setting.stage / "out").open("wb") as out, (setting.stage / "err").open("wb") as err:
            process = subprocess.Popen(
                ["timeout", f"--kill-after={_TERM_GRACE}", str(limit), "/bin/bash", "block.sh"],
                cwd=setting.stage,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
            while True:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_WATCH)
                    break
                # What has lost a node or a link would hang until its limit.
                if not dead and (dead := self._dead_in(setting, measurement)):
                    process.terminate()
        if dead:
            found = "; ".join(f"{node}: {why}" for node, why in dead.items())
            return f"expected all nodes and links to last, found {found}: it was ended", dead
        late = f"expected the block to end within {limit:g} s, found it running: it was ended"
        return (late if time.monotonic() - began >= limit else ""), {}

    def _dead_in(self, setting: Setting, measurement: Measurement) -> dict[str, str]:
        """The nodes of a block under way that are silent, or told of a dead link when it began."""
        causes = fabric_below(measurement, setting).causes
        return dead_nodes(self._nodes, (), self._scheduler, self._states(), causes)

    def _states(self) -> dict[str, str]:
        return self._scheduler.known_states() if self._job else {}

    def _asked(self, _number: int, _frame: FrameType | None) -> None:
        self._stop.set()

    def _settle(self) -> None:
        """Record the medians of the hour before, once."""
        hour = int(time.time()) // 3600
        if hour != self._hour:
            settle(self._place, self._session, PERFLOGS, ended=False)
            self._hour = hour

    def _over(self) -> str:
        """Why no more block may begin; empty if one may."""
        if self._place.stop_request.exists():
            return "a stop was asked for"
        if self._stop.is_set():
            self._yield_if_taken()
            return "the job was ended from outside"
        return "its time is over" if time.time() >= self._until else ""

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not self._over():
            self._stop.wait(min(left, 1.0))

    def _yield_if_taken(self) -> None:
        """Come back no more if the scheduler is taking the nodes away: it ends this process.

        A job that is preempted is put back into the queue at once, and starts again when its nodes
        are free; one that was cancelled is not.
        """
        end = time.monotonic() + _ASK_PREEMPTED
        while self._job and time.monotonic() < end:
            preempted = self._scheduler.is_preempted(self._job)
            if preempted is not None:
                _tell("not counted: the nodes are taken away")
                if preempted and not self._place.stop_request.exists():
                    self._place.change(yielded=time.time())
                    self._scheduler.requeue(self._job)
                while True:
                    time.sleep(1)
            time.sleep(_POLL)


def prune(blocks: Path) -> None:
    """Keep the directories of the last blocks, and of the last bad ones."""
    found = sorted(blocks.iterdir())
    bad = [each for each in found if (each / _BAD).exists()]
    kept = {*found[-_KEPT:], *bad[-_BAD_KEPT:]}
    for each in found:
        if each not in kept:
            shutil.rmtree(each, ignore_errors=True)


def _tell(words: str, end: str = "\n") -> None:
    sys.stdout.write(words + end)
    sys.stdout.flush()
