"""What a stress leaves on disk: its plan, its state, and a line of the record for each block.

Everything is written whole: files by a rename, lines under a lock. A line is a ``CaseEntry`` of the
record's own form, whose ``id`` is ``ITERATION.BLOCK``, so that none is there twice.
"""

import contextlib
import json
import os
import re
import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from fabricheck.asking import PATIENCE
from fabricheck.errors import FabricheckError
from fabricheck.locks import held
from fabricheck.provenance import home
from fabricheck.record.entries import CaseEntry, from_line, to_line
from fabricheck.record.write import append_whole, locked
from fabricheck.report.files import write_whole
from fabricheck.schedulers import on_login
from fabricheck.schedulers.protocol import Scheduler

_MOST_BYTES: Final = 64 << 20
_TAIL: Final = 1 << 20
_Read = TypeVar("_Read")
_PLANNED: Final = {"scheduler", "placement", "blocks", "mixes", "seconds", "duty", "every"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StressState:
    """What is going on.

    Attributes:
        session: identity of this stress; empty where nothing was ever started.
        job: number of its job, or of its process where there is no scheduler; empty before.
        started: Unix time at which it was submitted.
        began: Unix time at which its first block began; 0 before.
        until: Unix time after which no block begins.
        ended: Unix time at which it came to its end; 0 as long as it did not.
        why: how it ended.
        restarts: how often it began again.
        resumed: Unix time at which its job began, or came back; 0 before.
        yielded: Unix time at which it last gave its nodes to another job; 0 if it never did.
        paused: what it waits for before its next block; empty if for nothing.
        tried: Unix time at which a block last ran on each node.
        measured: of each node of its partition, that of the last block there which is trusted.
        dead: nodes that are left out, and why.
    """

    session: str
    job: str = ""
    started: float = 0.0
    began: float = 0.0
    until: float = 0.0
    ended: float = 0.0
    why: str = ""
    restarts: int = 0
    resumed: float = 0.0
    yielded: float = 0.0
    paused: str = ""
    tried: Mapping[str, float] = field(default_factory=dict)
    measured: Mapping[str, float] = field(default_factory=dict)
    dead: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StressDirectory:
    """The directory of one stress.

    Attributes:
        path: the directory.
    """

    path: Path

    @property
    def name(self) -> str:
        """What the stress is called."""
        return self.path.name

    @property
    def reports(self) -> Path:
        """The suite's directory of reports, which it is below."""
        return self.path.parent.parent

    @property
    def job_name(self) -> str:
        """What its job is called, of which there is one at a time."""
        return f"fabricheck-stress-{self.name}"

    @property
    def blocks(self) -> Path:
        """Where each block has its directory."""
        return self.path / "blocks"

    @property
    def lines(self) -> Path:
        """The record of the blocks."""
        return self.path / "blocks.jsonl"

    @property
    def log(self) -> Path:
        """What the job prints."""
        return self.path / "log"

    @property
    def stop_request(self) -> Path:
        """Is there when it is to end after the block under way."""
        return self.path / "stop"

    def alone(self, what: str) -> contextlib.AbstractContextManager[int]:
        """Hold one of the locks of this place; gives its descriptor, for processes that hold it on.

        Raises:
            FabricheckError: if another process holds it.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        lock = self.path / f".{what}.lock"
        busy = (
            f"FC2318 expected no other {what} of stress {self.name}, found one under way ({lock} "
            "is held): wait for its end"
        )
        return held(lock, busy)

    def state(self) -> StressState:
        """The last state.

        Raises:
            FabricheckError: if it is damaged.
        """
        return self._read("state.json", StressState(session=""))

    def change(self, **changes: Any) -> StressState:
        """Change the state, as one step that no other process comes between."""
        with locked(self.path / "state.json"):
            new = replace(self.state(), **changes)
            write_whole(self.path / "state.json", msgspec.json.encode(new).decode() + "\n")
        return new

    def read_plan(self) -> Mapping[str, Any]:
        """The plan.

        Raises:
            FabricheckError: if there is none, or something else.
        """
        given: dict[str, Any] = self._read("plan.json", {})
        if not given.keys() >= _PLANNED:
            found = "something else" if given else "none"
            raise FabricheckError(
                f"FC2314 expected the plan of a stress in {self.path / 'plan.json'}, found "
                f"{found}: start one"
            )
        return given

    def write_plan(self, plan: Mapping[str, Any]) -> None:
        """Write the plan, whole."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_whole(self.path / "plan.json", json.dumps(plan, indent=1) + "\n")

    def append(self, case: CaseEntry) -> None:
        """Record a block: its line is there whole, or not at all.

        Raises:
            FabricheckError: if there is no room.
        """
        try:
            with locked(self.lines):
                append_whole(self.lines, to_line(case))
        except OSError as error:
            raise FabricheckError(
                f"FC2315 expected to append a block to {self.lines}, found: {error.strerror}; "
                "nothing was written: make room or give write permission"
            ) from error

    def read(self, session: str, most: int | None = None) -> list[CaseEntry]:
        """The blocks of a stress in their order, each once; damaged lines are none.

        Args:
            session: which stress.
            most: read no more than so many bytes from the end; ``None`` for everything.
        """
        found: dict[str, CaseEntry] = {}
        with contextlib.suppress(FileNotFoundError), self.lines.open("rb") as file:
            if most is not None:
                file.seek(max(0, file.seek(0, os.SEEK_END) - most))
            for line in file.read().splitlines():
                with contextlib.suppress(ValueError):
                    entry = from_line(line)
                    if isinstance(entry, CaseEntry) and entry.session == session:
                        found.setdefault(entry.id, entry)
        return list(found.values())

    def recent(self, session: str) -> list[CaseEntry]:
        """The last blocks of a stress, some hundred of them."""
        return self.read(session, _TAIL)

    def rotate(self) -> None:
        """Put the record of earlier stress aside when it is large; the one before that goes."""
        with locked(self.lines), contextlib.suppress(FileNotFoundError):
            if self.lines.stat().st_size > _MOST_BYTES:
                self.lines.replace(self.lines.with_suffix(".jsonl.1"))

    def _read(self, name: str, empty: _Read) -> _Read:
        path = self.path / name
        try:
            return msgspec.json.decode(path.read_bytes(), type=type(empty))
        except FileNotFoundError:
            return empty
        except ValueError as error:
            raise FabricheckError(
                f"FC2316 expected what a stress wrote in {path}, found something else ({error}): "
                "remove the file and start again"
            ) from None


def places(reports: Path) -> list[StressDirectory]:
    """Every stress that was ever started.

    Args:
        reports: the suite's directory of reports.
    """
    root = reports / "stress"
    return [StressDirectory(each.parent) for each in sorted(root.glob("*/state.json"))]


def scheduler_for(plan: Mapping[str, Any], patience: float = PATIENCE) -> Scheduler:
    """The scheduler of a plan's partition, which has so many seconds for an answer."""
    return replace(on_login(plan["scheduler"], plan["system"]), patience=patience)


def dead_nodes(
    nodes: Collection[str],
    blocks: Sequence[CaseEntry],
    scheduler: Scheduler,
    states: Mapping[str, str],
    causes: Sequence[str] = (),
) -> dict[str, str]:
    """The nodes that a stress must not take again, and why: silent ones and those with dead ports.

    Args:
        nodes: of the last stress.
        blocks: of the last stress; what their ports counted.
        scheduler: of the stress.
        states: its word for the state of each node.
        causes: what is known to be wrong beside that.
    """
    silent = [
        node for node in sorted({*nodes} & states.keys()) if scheduler.is_silent(states[node])
    ]
    dead = {node: f"{scheduler.reports}{states[node]}" for node in silent}
    for cause in (*causes, *(cause for each in blocks for cause in each.fabric_causes)):
        # As ``Finding`` tells it: subject, node and port.
        if match := re.match(r"(link down|RDMA device) on (\S+)", cause):
            dead.setdefault(match[2].rstrip(":"), cause)
    return dead


def job_script(place: Path) -> str:
    """The script of the job: the worker, in the shell's own process, so that signals reach it."""
    worker = shlex.join([sys.executable, "-m", "fabricheck", "stress", "work", str(place)])
    return f"#!/bin/bash\ncd {shlex.quote(str(home()))} || exit\nexec {worker}\n"
