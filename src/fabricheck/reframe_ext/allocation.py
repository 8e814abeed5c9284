"""A scheduler of ReFrame that runs many cases, one after the other, in one allocation of Slurm.

A partition asks for it with ``scheduler: allocation``, and says in its extra ``allocation`` how
many ``nodes`` it may take and for which ``time``. The first case gets the allocation; the script of
each case runs where ReFrame runs, as below ``salloc``, so that its ``srun`` or ``mpirun`` starts
steps on nodes of it. Where ReFrame itself was started inside an allocation, that one is used. A
case that needs more nodes, more time, or options of its own is a job of its own, as of ``squeue``.
"""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from ClusterShell.NodeSet import NodeSet
from reframe.core.exceptions import JobSchedulerError
from reframe.core.schedulers import Job
from reframe.utility.typecheck import Duration

from fabricheck.reframe_ext.reframe import (
    SlurmJob,
    SqueueJobScheduler,
    extras_of,
    nodes_in_state,
    nodes_of,
    partition_of,
    register_scheduler,
)
from fabricheck.reframe_ext.rota import TURNS, leaves_of
from fabricheck.schedulers import scheduler_of
from fabricheck.schedulers.allocation import (
    Allocation,
    Given,
    Held,
    inside,
    without_job,
)
from fabricheck.sites.extras import AllocationExtra, PartitionExtras

NAME: Final = "allocation"
ENDED: Final = "fabricheck: allocation"
"""How a line in a case's errors begins that says that the allocation did not last."""

_GRACE_SECONDS: Final = 5
_POLL_SECONDS: Final = 0.5
_BY_NAME: Final = scheduler_of(NAME).by_name
_PATIENCE: Final = 60
"""Seconds for nodes that were idle when they were asked for by name; then any will do."""


class CaseJob(SlurmJob):
    """A job of ReFrame: a job of Slurm of its own, or a script that starts steps."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.own = False
        self.allocation: Held | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.nodes: list[str] = []
        self.began = 0.0
        self.killed_at = 0.0
        self.place = Path()

    @property
    def nodelist(self) -> list[str]:
        """The nodes that it ran on."""
        return super().nodelist if self.own else self.nodes

    @property
    def num_nodes(self) -> int:
        """The nodes that it needs."""
        for option in self.options:
            if option.startswith("--nodes="):
                return int(option.removeprefix("--nodes="))
        return max(1, (self.num_tasks or 1) // (self.num_tasks_per_node or 1))

    @property
    def is_plain(self) -> bool:
        """Whether it asks Slurm for nothing but nodes."""
        return all(option.startswith(("--nodes=", _BY_NAME)) for option in self.options)

    @property
    def named(self) -> list[str]:
        """The nodes that it asks for by name; none where any will do."""
        words = [each for each in self.options if each.startswith(_BY_NAME)]
        return [node for each in words for node in NodeSet(each.removeprefix(_BY_NAME))]


@register_scheduler(NAME)
class AllocationScheduler(SqueueJobScheduler):
    """Cases as steps of one allocation of a partition."""

    running: ClassVar[list[CaseJob]] = []
    """Scripts that run now, of all partitions: by default one at a time."""
    builds: ClassVar[list[Job]] = []
    """Builds of this session, where ReFrame runs."""
    _count: ClassVar[int] = 0
    _begun: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        extras = PartitionExtras.of(extras_of(self))
        wanted = self.wanted(extras)
        self._partition, self._topology = partition_of(self), extras.topology
        self._takes_names = True
        self._size = wanted.nodes
        self._seconds = float(Duration(wanted.time))
        self._side_by_side = wanted.side_by_side
        self._after_builds = wanted.after_builds
        self._held: Held | None = None

    def wanted(self, extras: PartitionExtras) -> AllocationExtra:
        """What it may take, by the extras of its partition."""
        assert extras.allocation is not None, "sites without it are left out"
        return extras.allocation

    def make_job(self, *args: Any, **kwargs: Any) -> CaseJob:
        """A job that may run in the allocation."""
        return CaseJob(*args, **kwargs)

    def submit(self, job: CaseJob) -> None:
        """Run it in the allocation as soon as that is there and free, or as a job of its own."""
        job.place = Path.cwd()
        if not self._fits(job):
            self._submit_alone(job)
            return
        type(self)._count += 1
        job.put(submit_time=time.time(), state="PENDING", jobid=f"waits/{self._count}")
        self._advance(job)

    def poll(self, *jobs: CaseJob | None) -> None:
        """See what has ended, and start what can begin."""
        there = [job for job in jobs if job is not None]
        own = [job for job in there if job.own]
        super().poll(*own)
        held = [job for job in there if not job.own]
        if own and not held and not any(job.allocation is self._held for job in self.running):
            # It may wait for the very nodes that are held here.
            self._release()
        for job in held:
            self._advance(job)
        if watched := [job.process for job in held if job.process and not self.finished(job)]:
            _wait_for(watched)

    def finished(self, job: CaseJob) -> bool:
        """Whether it has ended."""
        if job.own:
            return bool(super().finished(job))
        return job.state in ("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED")

    def wait(self, job: CaseJob) -> None:
        """Wait for its end."""
        while not self.finished(job):
            self.poll(job)

    def cancel_many(self, jobs: Iterable[CaseJob]) -> None:
        """End jobs: their steps first, so that no rank is left."""
        own = [job for job in jobs if job.own]
        if own:
            super().cancel_many(own)
        for job in jobs:
            if job.own or self.finished(job):
                continue
            if job.process:
                self._end(job, "CANCELLED")
            job.put(state="CANCELLED")

    def filternodes_by_state(self, nodelist: Iterable[Any], state: str) -> set[Any]:
        """Nodes in a state; those of the allocation are as good as idle."""
        found: set[Any] = set(super().filternodes_by_state(set(nodelist), state))
        if state.startswith("idle") and self._held and self._held.granted():
            found |= {node for node in nodelist if node.name in self._held.nodes}
        return found

    def held_nodes(self) -> Sequence[str]:
        """The nodes that cases get; none before they are known."""
        if inside(os.environ):
            return Given(os.environ).nodes
        return self._held.nodes if self._held and self._held.granted() else ()

    def _fits(self, job: CaseJob) -> bool:
        held = self.held_nodes()
        most = len(held) if inside(os.environ) else self._size
        there = not held or {*job.named} <= {*held}
        limit = job.time_limit or 0
        return job.is_plain and there and job.num_nodes <= most and limit <= self._seconds

    def _submit_alone(self, job: CaseJob) -> None:
        """Make it a job of its own, as it can't run on the nodes that are held."""
        job.own = True
        with contextlib.chdir(job.place):
            super().submit(job)

    def _hold(self, job: CaseJob) -> Held:
        """The nodes of this session, or a request for them."""
        return Given(os.environ) if inside(os.environ) else self._ask(job)

    def _advance(self, job: CaseJob) -> None:
        if self.finished(job):
            return
        if job.process:
            self._look_after(job)
        elif self._may_begin(job):
            self._begin(job)

    def _may_begin(self, job: CaseJob) -> bool:
        """Whether the allocation is there, large and long enough, and nothing else runs."""
        if self._after_builds and any(build.state == "RUNNING" for build in self.builds):
            return False
        free = self._free(job)
        has_room = len(free) >= job.num_nodes and {*job.named} <= {*free}
        if self.running and not (self._side_by_side and has_room):
            return False
        held = self._held
        if held and (not held.alive() or held.ends - time.time() < (job.time_limit or 0)):
            self._lose(job, held)
        if job.state != "PENDING":
            return False
        if self._held is None:
            self._held = self._hold(job)
        if not self._held.granted():
            if job.max_pending_time and time.time() - self._held.asked > job.max_pending_time:
                self._never_began(job, f"no nodes in time, the last words: {self._held.words()}")
                self._release()
            elif self._takes_names and time.time() - self._held.asked > _PATIENCE:
                # Somebody was faster: what is busy is not waited for.
                self._takes_names = False
                self._release()
            return False
        held_nodes = self._held.nodes
        if job.num_nodes > len(held_nodes) or not {*job.named} <= {*held_nodes}:
            # Nodes were lost since it was asked for, or others were given.
            self._submit_alone(job)
            return False
        return True

    def _free(self, job: CaseJob) -> list[str]:
        taken = {node for each in self.running for node in each.nodes}
        return [node for node in self._held.nodes if node not in taken] if self._held else []

    def _lose(self, job: CaseJob, held: Held) -> None:
        """Forget an allocation that has ended or is too short; a new one is asked for."""
        words, was_there = held.words(), bool(held.job)
        gone = not held.alive()
        self._release()
        if gone and (isinstance(held, Given) or not was_there):
            self._never_began(
                job, f"{held.job} ended: {words}" if was_there else f"refused: {words}"
            )

    def _ask(self, job: CaseJob) -> Allocation:
        """Ask for the site's size, or for as many as there are."""
        names = self._in_turn(job)
        there = nodes_in_state(job, nodes_of(job), "avail")
        nodes = len(names) or max(job.num_nodes, min(self._size, len(there)))
        try:
            return Allocation(job.asked, nodes, self._seconds, names)
        except FileNotFoundError:
            needs = scheduler_of(NAME)
            raise JobSchedulerError(
                f"expected {needs.command} on PATH, found none: the scheduler {NAME!r} needs "
                f"{needs.name}"
            ) from None

    def _in_turn(self, job: CaseJob) -> list[str]:
        """The idle nodes whose turn it is; none where the scheduler may choose."""
        self._takes_names = self._takes_names and (TURNS.of_all or bool(job.named))
        if not self._takes_names:
            return []
        # ReFrame takes the others for no nodes of a job that has named some.
        told = TURNS.free(self._partition) if job.named else []
        idle = told or TURNS.idle(job, self._partition, scheduler_of(NAME).idle)
        order = [*job.named, *TURNS.order(idle, leaves_of(self._topology))]
        names = list(dict.fromkeys(order))[: max(self._size, len(job.named))]
        return names if len(names) >= job.num_nodes else []

    def _begin(self, job: CaseJob) -> None:
        held = self._held
        assert held is not None, "asked for before"
        # In turn, so that no case is always on the same nodes in a night of random order.
        free = self._free(job)
        first = type(self)._begun % len(free)
        turn = job.named or (free * 2)[first : first + job.num_nodes]
        nodes = sorted(turn, key=held.nodes.index)
        TURNS.hand_out(nodes)
        if self._takes_names:
            TURNS.choose(self._partition, held.nodes)
        type(self)._begun += 1
        job.nodes, job.allocation, job.began = nodes, held, time.time()
        job.put(jobid=f"{held.job}/{job.jobid.partition('/')[2]}")
        variables = held.variables(job)
        # Appended to: who looks after the job has words to add.
        with (
            (job.place / job.stdout).open("a") as out,
            (job.place / job.stderr).open("a") as errors,
        ):
            job.process = subprocess.Popen(
                [job.place / job.script],
                cwd=job.place,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                env={**without_job(os.environ), **variables},
                start_new_session=True,
            )
        job.put(state="RUNNING")
        self.running.append(job)

    def _look_after(self, job: CaseJob) -> None:
        assert job.process is not None and job.allocation is not None, "it runs"
        code = job.process.poll()
        if code is None:
            now = time.time()
            if job.time_limit and now - job.began > job.time_limit and not job.killed_at:
                _say(job, f"*** CASE {job.jobid} CANCELLED DUE TO TIME LIMIT ***")
                job.killed_at = now
                job.allocation.signal(job, "TERM")
            elif job.killed_at and now - job.killed_at > _GRACE_SECONDS:
                self._end(job, "TIMEOUT")
            return
        if code and not job.allocation.alive():
            _say(job, f"{ENDED} {job.allocation.job} ended: {job.allocation.words()}")
        state = "TIMEOUT" if job.killed_at else "FAILED" if code else "COMPLETED"
        job.put(exitcode=code)
        self._end(job, state)

    def _end(self, job: CaseJob, state: str) -> None:
        """Leave nothing of a case behind."""
        assert job.process is not None and job.allocation is not None, "it runs"
        running = job.process.poll() is None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(job.process.pid, signal.SIGKILL)
            running = True
        job.process.wait()
        if running:
            job.allocation.signal(job, "KILL")
        job.put(state=state, completion_time=time.time())
        self.running.remove(job)

    def _never_began(self, job: CaseJob, why: str) -> None:
        _say(job, f"{ENDED} {why}")
        job.put(state="CANCELLED")

    def _release(self) -> None:
        if self._held:
            self._held.release()
        self._held = None


def _say(job: CaseJob, words: str) -> None:
    with (job.place / job.stderr).open("a") as errors:
        errors.write(f"{words}\n")


def _wait_for(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Wait a moment for one of several processes to end, which takes nothing from what they do."""
    descriptors = []
    try:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                descriptors.append(os.pidfd_open(process.pid))
        if len(descriptors) == len(processes):
            select.select(descriptors, [], [], _POLL_SECONDS)
    finally:
        for each in descriptors:
            os.close(each)
