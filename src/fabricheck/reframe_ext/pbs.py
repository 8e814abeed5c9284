"""A scheduler of ReFrame for OpenPBS and PBS Professional, which lists its nodes and names them.

It runs what a site file calls ``pbs`` or ``pbspro``. ReFrame's own, which it replaces, let chunks
of a job share a node, list no nodes, and fail on a server that keeps no history of jobs and on a
job that was deleted before it began (ReFrame 4.10, OpenPBS 23.06).
"""

import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from ClusterShell.NodeSet import NodeSet
from reframe.core.exceptions import JobSchedulerError

from fabricheck.reframe_ext.hosts import EachHostLauncher
from fabricheck.reframe_ext.reframe import (
    NamedNodes,
    PbsJob,
    PbsProJobScheduler,
    extras_of,
    register_launcher,
    register_scheduler,
)
from fabricheck.schedulers import scheduler_of
from fabricheck.schedulers.pbs import NAME, PBS, TM, preamble
from fabricheck.sites.extras import PartitionExtras

_STATES: Final = {"Q": "QUEUED", "H": "HELD", "W": "WAITING", "F": "COMPLETED", "X": "COMPLETED"}
_LOOK_SECONDS: Final = 20
_SAYS: Final = "=>> PBS: "
"""How a line of PBS begins in a job's errors."""
_OURS: Final = re.compile(r"--(nodelist|exclude)=(.*)")
"""PBS has no option for these: a job names its nodes instead."""


@register_launcher(TM.name)
class TmLauncher(EachHostLauncher):
    """Ranks of what is no program of MPI, by PBS itself."""


@register_scheduler(NAME)
class PbsScheduler(NamedNodes, PbsProJobScheduler):
    """Jobs of PBS."""

    def __init__(self) -> None:
        super().__init__()
        self._hosts = NodeSet.fromlist(PartitionExtras.of(extras_of(self)).hosts)
        self._looked = 0.0

    def make_job(self, *args: Any, **kwargs: Any) -> PbsJob:
        """A job."""
        return PbsJob(*args, **kwargs)

    def allowed(self, job: PbsJob | None) -> NodeSet:
        """The nodes that a job may have by its options and those of the command line."""
        allowed: NodeSet = self._hosts or NodeSet.fromlist(list(PBS.node_states()))
        for key, names in _named(job):
            allowed = allowed & NodeSet(names) if key == "nodelist" else allowed - NodeSet(names)
        return allowed

    def filternodes_by_state(self, nodelist: Iterable[Any], state: str) -> set[Any]:
        """Those in a state; all of them for ``all``."""
        if state == "all":
            return {*nodelist}
        states = PBS.node_states()
        wanted = PBS.idle if state in ("avail", "idle") else state
        return {node for node in nodelist if states.get(node.name) == wanted}

    def emit_preamble(self, job: PbsJob) -> list[str]:
        """Its options, and what launchers of MPIs need."""
        options = [f"-N {re.sub('[^A-Za-z0-9]', '', job.name)[:15]}"]
        options += [f"-o {job.stdout}", f"-e {job.stderr}"]
        options += [f"-l walltime={job.time_limit:.0f}"] if job.time_limit else []
        given = [each for each in (*job.asked, *job.options) if not _OURS.match(each)]
        more = "".join(f":{each}" for each in given if not each.startswith(("-", "#")))
        options.append(f"-l select={self._select(job, more)}")
        if not any("place=" in each for each in given):
            options.append("-l place=scatter:excl")
        options += [each for each in given if each.startswith("-")]
        lines = [f"#PBS {each}" for each in options]
        return [*lines, *(each for each in given if each.startswith("#")),
                f"cd {job.workdir}", *preamble()]  # fmt: skip

    def _select(self, job: PbsJob, more: str) -> str:
        """Its chunks, one a node: of nodes with names where not all will do."""
        per_node = job.num_tasks_per_node or 1
        chunk = f"mpiprocs={per_node}:ncpus={per_node * (job.num_cpus_per_task or 1)}{more}"
        count = max(1, -(-(job.num_tasks or 1) // per_node))
        if not (self._hosts or _named(job)):
            return f"{count}:{chunk}"
        states, allowed = PBS.known_states(), self.allowed(job)
        unknown = [each for each in allowed if states and each not in states]
        out = {*unknown, *(each for each, state in states.items() if _is_out(state))}
        names = [each for each in allowed if each not in out]
        if len(names) < count:
            nobody = f"; PBS knows no {NodeSet.fromlist(unknown)}" if unknown else ""
            raise JobSchedulerError(
                f"expected {count} nodes of {allowed} that answer, found "
                f"{NodeSet.fromlist(names) or 'none'}{_silent(states)}{nobody}: name others"
            )
        free_first = sorted(names, key=lambda name: not PBS.is_free(states.get(name, "")))
        return "+".join(f"1:host={name}:{chunk}" for name in free_first[:count])

    def poll(self, *jobs: PbsJob | None) -> None:
        """What ``qstat`` says of them; one of which it says nothing has ended."""
        there = [job for job in jobs if job is not None and not self.finished(job)]
        told = PBS.jobs([str(job.jobid) for job in there]) if there else None
        if told is None:
            return
        for job in there:
            found = told.get(str(job.jobid), {"job_state": "F"})
            state = _STATES.get(found["job_state"], "RUNNING")
            job.put(state=state)
            if "exec_host" in found:
                hosts = (each.partition("/")[0] for each in found["exec_host"].split("+"))
                job.put(nodelist=sorted({*hosts}))
            if state == "COMPLETED":
                job.put(completed=True, exitcode=found.get("Exit_status"))
                _keep_files(job)
            elif state != "RUNNING" and _is_late(job):
                why = found.get("comment", "PBS says nothing")
                job.why = f"it did not begin in time: {why}{_silent(PBS.known_states())}"
                self.cancel(job)
        self._look_at_nodes([job for job in there if job.state == "RUNNING"])

    def cancel(self, job: PbsJob) -> None:
        """End it."""
        PBS.end(str(job.jobid))

    def _look_at_nodes(self, jobs: list[PbsJob]) -> None:
        """End jobs whose nodes have died: PBS waits minutes for the one of the script."""
        if not jobs or time.time() - self._looked < _LOOK_SECONDS:
            return
        self._looked = time.time()
        states = PBS.known_states()
        for job in jobs:
            lost = [node for node in job.nodelist if PBS.is_silent(states.get(node, ""))]
            if lost:
                job.why = f"\n{_SAYS}".join(f"node {node} is {states[node]}" for node in lost)
                self.cancel(job)


def _is_late(job: PbsJob) -> bool:
    limit = job.max_pending_time
    return bool(limit) and time.time() - job.submit_time >= limit


def _silent(states: dict[str, str]) -> str:
    return "".join(f"; node {n} is {state}" for n, state in states.items() if PBS.is_silent(state))


def _is_out(state: str) -> bool:
    return PBS.is_silent(state) or "offline" in state


def own_name(scheduler: str) -> str:
    """The name of the scheduler that is used where a site file has one: this for ReFrame's."""
    return NAME if scheduler_of(scheduler) is PBS else scheduler


def _named(job: PbsJob | None) -> list[tuple[str, str]]:
    found = (_OURS.match(each) for each in (*job.asked, *job.options)) if job else ()
    return [(each[1], each[2]) for each in found if each]


def _keep_files(job: PbsJob) -> None:
    """Make files of a job that PBS has not, as of one that never began; say why we ended it."""
    Path(job.workdir, job.stdout).touch()
    with Path(job.workdir, job.stderr).open("a") as errors:
        errors.write(f"{_SAYS}{job.why}\n" if job.why else "")
