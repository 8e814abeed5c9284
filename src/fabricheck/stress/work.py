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
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Final

import msgspec

from fabricheck.errors import FabricheckError
from fabricheck.launch.cases import measurement_of
from fabricheck.launch.measurement import Evidence
from fabricheck.nodes.machine import read_machines
from fabricheck.provenance import home
from fabricheck.record.entries import CaseEntry
from fabricheck.record.facts import alike
from fabricheck.record.write import append
from fabricheck.schedulers import scheduler_of
from fabricheck.schedulers.local import birth
from fabricheck.stress.judged import judge_block, links_of, session_of, settle, words_of
from fabricheck.stress.mix import Block
from fabricheck.stress.plan import setting_of
from fabricheck.stress.state import StressDirectory

PERFLOGS: Final = home() / "perflogs"
_KEPT: Final = 20
_BAD_KEPT: Final = 100
_BAD: Final = "bad"
_TERM_GRACE: Final = 20
# After a stop or a preemption, a scheduler takes a moment to tell.
_ASK_PREEMPTED: Final = 5
_POLL: Final = 0.2


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
        self._hour, self._told = 0, ""
        self._scheduler = scheduler_of(self._plan["scheduler"])
        self._job, self._restarts = self._scheduler.job(os.environ)

    def run(self) -> None:
        """Run blocks until the time is over, a stop is asked for, or the job is preempted.

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
            self._session, self._until = state.session, state.until
            done = self._place.recent(self._session)
            iteration, block = following(done, len(self._blocks))
            why = self._iterate(iteration, block)
            settle(self._place, self._session, PERFLOGS, ended=True)
            self._place.change(ended=time.time(), why=why)
            _tell(f"ended: {why}")

    def _iterate(self, iteration: int, block: int) -> str:
        """All blocks from this one on; why no more began."""
        most = self._plan.get("most_iterations") or sys.maxsize
        while iteration <= most:
            if block == 0:
                now = f"{datetime.now(UTC):%a %b %d %H:%M:%S UTC %Y}"
                _tell(f"\n=== Iteration {iteration} - {now} ===")
            for number in range(block, len(self._blocks)):
                if why := self._over():
                    return why
                began = time.monotonic()
                self._block(iteration, number)
                self._settle()
                self._wait((time.monotonic() - began) * (1 / self._plan["duty"] - 1))
            _tell(f"Iteration {iteration} complete")
            iteration, block = iteration + 1, 0
            self._wait(self._plan["pause"])
        return f"{most} iterations are done"

    def _block(self, iteration: int, number: int) -> None:
        """Run one block, judge it and record it; a block that the scheduler cut off is none."""
        block, given = self._blocks[number], self._plan["blocks"][number]
        directory = self._place.blocks / f"{iteration:06d}-{number + 1:02d}-{block.benchmark}"
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        commands = "\n".join(given["commands"])
        (directory / "block.sh").write_text(f"#!/bin/bash\n{commands}\n")
        _tell(f"{block.words} ...", end=" ")
        limit = self._plan["block_limit"]
        ended = self._execute(directory, limit)
        setting = setting_of(given["setting"], directory)
        case = block.case(self._plan["placement"], number + 1)
        measurement = measurement_of(case)
        evidence = measurement.examine(setting)
        if not ended:
            late = f"expected the block to end within {limit:g} s, found it running: it was ended"
            evidence = Evidence(hosts=evidence.hosts, objections=(late, *evidence.objections))
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
        if judged.result != "pass":
            (directory / _BAD).touch()
        prune(self._place.blocks)

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

    def _execute(self, directory: Path, limit: float) -> bool:
        """Run the script of a block; whether it came to its end in time."""
        with (directory / "out").open("wb") as out, (directory / "err").open("wb") as err:
            began = time.monotonic()
            subprocess.run(
                ["timeout", f"--kill-after={_TERM_GRACE}", str(limit), "/bin/bash", "block.sh"],
                cwd=directory,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                check=False,
            )
        return time.monotonic() - began < limit

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


def following(done: list[CaseEntry], blocks: int) -> tuple[int, int]:
    """Iteration and number of the block behind the last one that was recorded.

    Args:
        done: the blocks that were recorded.
        blocks: how many make an iteration.
    """
    if not done:
        return 1, 0
    iteration, number = max(tuple(map(int, each.id.split("."))) for each in done)
    return (iteration, number) if number < blocks else (iteration + 1, 0)


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
