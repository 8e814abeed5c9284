"""Nodes of Slurm that a process holds or was started in, and steps on a part of them."""

import atexit
import contextlib
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ClusterShell.NodeSet import NodeSet

from fabricheck.asking import told
from fabricheck.nodes.names import fold
from fabricheck.schedulers.slurm import SLURM, SRUN

_HOLD: Final = 'echo "$SLURM_JOB_ID $SLURM_JOB_NODELIST $SLURM_JOB_CPUS_PER_NODE"; exec cat >&2'
_GRACE_SECONDS: Final = 5
_KEPT: Final = ("SLURM_CONF",)


class Held:
    """Nodes of a job of Slurm.

    Attributes:
        job: its number; empty until it is granted.
        nodes: its nodes.
        cpus: the CPUs of its nodes, as Slurm writes them.
        asked: when it was asked for, in seconds since the epoch.
        ends: when its time is over, likewise.
    """

    job = cpus = ""
    nodes: tuple[str, ...] = ()
    asked, ends = 0.0, float("inf")

    def granted(self) -> bool:
        """Whether the nodes are there."""
        return bool(self.job)

    def alive(self) -> bool:
        """Whether it is asked for or held; Slurm takes it back when a node dies."""
        return not self.job or _runs(self.job)

    def words(self) -> str:
        """Why it ended, as far as anything says it."""
        return "it is the one that ReFrame was started in: start again in another"

    def variables(self, job: Any) -> dict[str, str]:
        """What the script of a job of ReFrame on some of the nodes finds in its environment."""
        return step_variables(job, self)

    def signal(self, job: Any, name: str) -> None:
        """Send a signal to all ranks of a job of ReFrame."""
        signal_steps(self.job, job.nodes, name)

    def release(self) -> None:
        """Give back what is not another's."""


class Given(Held):
    """The allocation that ReFrame was started in, which is not ours to give back."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.job = environment["SLURM_JOB_ID"]
        self.nodes = tuple(NodeSet(environment["SLURM_JOB_NODELIST"]))
        self.cpus = environment.get("SLURM_JOB_CPUS_PER_NODE", "")


class Allocation(Held):
    """Nodes that ``salloc`` holds for as long as a pipe from this process is open.

    However this process ends, the kernel closes the pipe, and the nodes are given back.
    """

    def __init__(
        self, options: Sequence[str], nodes: int, seconds: float, names: Sequence[str] = ()
    ) -> None:
        """Ask for nodes, by their names if any; ``granted`` says whether they are there."""
        self._names = list(names)
        options = [*options, f"{SLURM.by_name}{fold(names)}"] if names else options
        self._words = tempfile.TemporaryFile("w+")  # noqa: SIM115 - as long as the allocation
        command = ["salloc", f"--nodes={nodes}", f"--time={max(1, int(seconds // 60))}"]
        self._salloc = subprocess.Popen(
            [*command, "--exclusive", *options, "sh", "-c", _HOLD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words,
            env=without_job(os.environ),
            start_new_session=True,
        )
        self.asked, self._seconds = time.time(), seconds
        atexit.register(self.release)

    def granted(self) -> bool:
        """Whether the nodes are there."""
        if not self.job and self._salloc.stdout and _is_readable(self._salloc.stdout.fileno()):
            words = self._salloc.stdout.readline().decode().split()
            if words:
                self.job, listed, self.cpus = words
                given = set(NodeSet(listed))
                named = [each for each in self._names if each in given]
                self.nodes = (*named, *sorted(given.difference(named)))
                self.ends = time.time() + self._seconds
        return super().granted()

    def alive(self) -> bool:
        """Whether it is asked for or held; Slurm takes it back when a node dies."""
        return self._salloc.poll() is None and super().alive()

    def words(self) -> str:
        """What salloc said last, without that the allocation is gone."""
        self._words.seek(0)
        lines = [line for line in self._words.read().splitlines() if "revoked" not in line]
        return "; ".join(lines[-2:]) or "nothing"

    def release(self) -> None:
        """Give the nodes back, and wait until they are."""
        atexit.unregister(self.release)
        if self._salloc.stdin:
            self._salloc.stdin.close()
        if self._salloc.poll() is None and not self.job:
            self._salloc.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._salloc.wait(_GRACE_SECONDS)


def inside(environment: Mapping[str, str]) -> bool:
    """Whether this process was started in an allocation."""
    return "SLURM_JOB_ID" in environment and "SLURM_JOB_NODELIST" in environment


def without_job(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment without what Slurm says of the job that this process may be part of."""
    return {
        name: value
        for name, value in environment.items()
        if name in _KEPT or not name.startswith(("SLURM_", "SBATCH_", "SALLOC_", "SRUN_"))
    }


def step_variables(job: Any, held: Held) -> dict[str, str]:
    """What Slurm would say to the script of a job of ReFrame of this size on these nodes.

    A step on a part of the allocation reads its nodes from a file, for which ``srun`` has a
    variable; other launchers read the list.
    """
    count, per_node = job.num_nodes, job.num_tasks_per_node or 1
    words = {
        "JOB_ID JOBID": held.job,
        "JOB_NAME": job.name,
        "JOB_NODELIST NODELIST": NodeSet.fromlist(job.nodes),
        "JOB_NUM_NODES NNODES": count,
        "NTASKS NPROCS": job.num_tasks or count,
        "TASKS_PER_NODE": f"{per_node}(x{count})" if count > 1 else per_node,
        "NTASKS_PER_NODE": per_node,
        "JOB_CPUS_PER_NODE": held.cpus,
        "SUBMIT_DIR": job.place,
        **({"CPUS_PER_TASK": job.num_cpus_per_task} if job.num_cpus_per_task else {}),
    }
    variables = {f"SLURM_{name}": str(words[names]) for names in words for name in names.split()}
    if job.launcher.registered_name == SRUN.name and count < len(held.nodes):
        listing = job.place / "hosts.txt"
        listing.write_text("".join(f"{node}\n" * per_node for node in job.nodes))
        variables[SRUN.list_variable] = str(listing)
    return variables


def signal_steps(allocation: str, nodes: Iterable[str], name: str) -> None:
    """Send a signal to all ranks on some nodes of an allocation."""
    listed = told(["squeue", "--steps", "--noheader", f"--jobs={allocation}", "-o", "%i %N"])
    steps = [
        step
        for step, _, where in (line.partition(" ") for line in listed.splitlines())
        if step.rpartition(".")[2].isdecimal() and set(NodeSet(where)) & set(nodes)
    ]
    if steps:
        told(["scancel", f"--signal={name}", *steps])


def _runs(job: str) -> bool:
    return told(["squeue", "--noheader", f"--jobs={job}", "--format=%T"]).strip() == "RUNNING"


def _is_readable(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 0)[0])
