"""Slurm: its commands, its words, and what its launcher takes."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from fabricheck.asking import UnansweredError, ask, told
from fabricheck.errors import FabricheckError
from fabricheck.nodes.names import fold, unfold
from fabricheck.schedulers.protocol import Launcher, Partition, Phase, Run, Scheduler, Standing

_ALLOCATION: Final = "--nodelist=$SLURM_JOB_NODELIST --ntasks-per-node=1 --ntasks=$SLURM_NNODES"

SRUN: Final = Launcher(
    name="srun",
    without_mpi=("--mpi=none",),
    with_mpi=("--mpi={pmi}", "--kill-on-bad-exit=1"),
    pmis="srun --mpi=list",
    shares_input=True,
    on_one_node="-u SLURM_HOSTFILE srun --mpi=none --nodes=1 --ntasks=1",
    on_each_node=f"-u SLURM_HOSTFILE srun --mpi=none {_ALLOCATION}",
    leaving_out="--exclude=%s --nodes=%d --ntasks=%d",
    # "arbitrary" is Slurm's word for the order of SLURM_HOSTFILE (srun(1), --distribution).
    listed=("--ntasks={}", "--distribution=arbitrary"),
    list_variable="SLURM_HOSTFILE",
    of_job_gpus="--gpus-per-node={}",
    of_job_nodes="--nodes={}",
    of_partition="--partition={}",
    # It gives up where no node is free, instead of waiting longer than we do.
    at_once="--immediate=50",
    example="srun -N1",
    # ReFrame writes ranks and nodes into the options of sbatch, and none behind this srun.
    elsewhere=", or inside salloc the scheduler allocation: nothing else gives srun a case's ranks",
)

# Signals go to the batch shell alone: the block under way comes to its end.
_STRESS: Final = (
    *("--dependency=singleton", "--requeue", "--open-mode=append", "--exclusive", "--nice"),
    "--signal=B:TERM@60",
)
# Of a batch step that has ended scancel prints nothing: 229 is the last byte of 2021,
# ESLURM_ALREADY_DONE.
_JOB_IS_GONE: Final = re.compile(r"Invalid job id|already complet|^exit code 229$")


@dataclass(frozen=True, kw_only=True)
class Slurm(Scheduler):
    """Slurm by its own commands; nothing needs accounting."""

    name: str = "Slurm"
    command: str = "sbatch"
    once: tuple[str, ...] = ("--no-requeue",)

    lists_nodes: ClassVar[bool] = True
    holds_nodes: ClassVar[bool] = True
    launcher: ClassVar[Launcher] = SRUN
    # Partition, nodes, whether it is up, time limit, names of the nodes.
    lists: ClassVar[tuple[str, ...]] = ("sinfo", "-h", "-o", "%R|%D|%a|%l|%N")
    topology: ClassVar[tuple[str, ...]] = ("scontrol", "show", "topology")
    says_version: ClassVar[tuple[str, ...]] = ("sinfo", "--version")
    job_variable: ClassVar[str] = "SLURM_JOB_ID"
    restarts_variable: ClassVar[str] = "SLURM_RESTART_COUNT"
    nodes_variable: ClassVar[str] = "SLURM_JOB_NODELIST"
    keep_off: ClassVar[tuple[str, ...]] = (
        "without: --exclude={nodes}",
        "as an administrator: scontrol update nodename={nodes} state=drain reason='{reason}'",
    )
    words: ClassVar[Mapping[str, str]] = {
        # sbatch refuses a list of more nodes than a job has.
        "nodelist": "--exclude={}",
        **{key: f"--{key}={{}}" for key in ("exclude", "reservation", "account")},
    }
    by_name: ClassVar[str] = "--nodelist="
    # A node that has just ended a job is as good as idle; one of a reservation is only asked for by
    # who names that.
    idle: ClassVar[str] = "idle|idle+completing|idle+reserved|idle+maintenance+reserved"

    # "JOB 7 ON n1 CANCELLED ... DUE TO NODE FAILURE" names the node that ran the batch script, not
    # the one that failed; srun names that one.
    node_fault: ClassVar[re.Pattern[str]] = re.compile(r"DUE TO NODE FAILURE|NODE_FAIL", re.I)
    lost_node: ClassVar[re.Pattern[str]] = re.compile(
        r"(?:Node failure on|Task launch for \S+ failed on node(?= \S+: Communication)) ([^\s:]+)"
    )
    # srun may see a node's end before Slurm does; it counts the nodes of the step from 0 then.
    lost_place: ClassVar[re.Pattern[str]] = re.compile(r"io error with slurmstepd on node (\d+)")
    time_limit: ClassVar[re.Pattern[str]] = re.compile(r"DUE TO TIME LIMIT", re.I)
    own_line: ClassVar[re.Pattern[str]] = re.compile(r"(srun|slurmstepd)\b.*:")

    def asked(self, key: str, value: str) -> str:
        """Its option; that only some nodes will do, it takes as that others won't."""
        if key == "nodelist":
            value = fold(set(self.node_states()) - set(unfold(value)))
        return super().asked(key, value) if value else ""

    def node_states(self) -> dict[str, str]:
        """Its word for the state of each node, as in sinfo(1)."""
        listed = self._ask("sinfo", "--noheader", "--Node", "--format=%N %T")
        return dict(line.split() for line in listed.splitlines())

    def nodes_for(self, options: Sequence[str]) -> dict[str, str]:
        """The same, of those in service: of the partition that options name, or of the default."""
        named = [each.partition("=")[2] for each in options if each.startswith("--partition=")]
        wanted = named[-1].split(",") if named else []
        listed = self._ask("sinfo", "--noheader", "--Node", "--format=%N %T %P").splitlines()
        rows = [line.split() for line in listed]
        return {
            node: state
            for node, state, partition in rows
            if (partition.rstrip("*") in wanted if named else partition.endswith("*"))
            and not (self.is_silent(state) or state.startswith(("drain", "maint", "reserved")))
        }

    def is_free(self, state: str) -> bool:
        """Whether a whole node in this state can run a job now, or in a moment."""
        return state in ("idle", "completing")

    def is_silent(self, state: str) -> bool:
        """Whether a node in this state is down or failing; a ``*`` says that it doesn't respond."""
        return state.endswith("*") or state.startswith(("down", "fail"))

    def running(self, name: str) -> str:
        """The job of a name that waits or runs; empty if there is none."""
        listed = self._ask("squeue", "--noheader", f"--name={name}", "--format=%i").split()
        return listed[0] if listed else ""

    def submit(self, name: str, script: Path, log: Path, plan: Mapping[str, Any]) -> str:
        """Submit the job: one by name, that yields to others and comes back after them."""
        minutes = -(-int(plan["seconds"] + plan["block_limit"] + 120) // 60)
        # A job that submits the next one would hand its own variables on.
        own = [each for each in os.environ if each.startswith("SLURM_") and each != "SLURM_CONF"]
        clean = ["env", *(word for each in own for word in ("-u", each))] if own else []
        exclude = [f"--exclude={','.join(plan['exclude'])}"] if plan["exclude"] else []
        ranks = max(each["ranks"][0] for each in plan["blocks"])
        wanted = [f"--nodes={plan['nodes']}", f"--ntasks={ranks}", f"--time={minutes}", *exclude]
        files = [f"--output={log}", f"--error={log}"]
        begin = [f"--begin=now+{plan['begin']:.0f}"] if plan.get("begin") else []
        named = (f"--job-name={name}", *_STRESS, *wanted, *begin, *files)
        words = [*named, *plan["options"], str(script)]
        return self._ask("sbatch", "--parsable", *words, clean=clean).split(";")[0]

    def standing(self, name: str, job: str) -> Standing:
        """What the job of a name and number is doing."""
        if not job:
            return Standing(Phase.GONE)
        which = (f"--jobs={job}", f"--name={name}", "--states=all", "--format=%T|%r|%N")
        listed = self._ask("squeue", "--noheader", *which, of_job=True)
        if not listed:
            return Standing(Phase.GONE)
        state, why, nodes = listed.splitlines()[0].split("|")
        if state in ("RUNNING", "COMPLETING"):
            return Standing(Phase.RUNNING, state, nodes)
        waiting = state in ("PENDING", "REQUEUED", "SUSPENDED", "CONFIGURING", "REQUEUE_HOLD")
        return Standing(Phase.WAITING, why, nodes) if waiting else Standing(Phase.GONE, state)

    def is_preempted(self, job: str) -> bool | None:
        """Whether another job takes the nodes of one; ``None`` where nobody does and it goes on."""
        shown = told(["scontrol", "-o", "show", "job", job])
        words = dict(word.partition("=")[::2] for word in shown.split())
        if words.get("PreemptTime", "None") != "None":
            return True
        return None if words.get("JobState", "RUNNING") == "RUNNING" else False

    def requeue(self, job: str) -> None:
        """Let a job wait again from its beginning."""
        told(["scontrol", "requeue", job])

    def stop(self, name: str, job: str, *, now: bool = False) -> None:
        """TERM to the batch shell; a job that waits has no block to wait for, and is cancelled."""
        now = now or self.standing(name, job).phase is Phase.WAITING
        self._ask("scancel", *(() if now else ("--batch", "--signal=TERM")), job, of_job=True)

    def partitions(self, run: Run) -> list[Partition]:
        """The partitions that are up."""
        nodes: dict[str, list[tuple[int, str]]] = {}
        for line in filter(None, map(str.strip, run(self.lists).splitlines())):
            fields = line.split("|")
            if len(fields) != len(self.lists[-1].split("|")) or not fields[1].isdecimal():
                raise FabricheckError(
                    "FC2402 expected lines of sinfo as partition|nodes|state|limit|names, found "
                    f"{line!r}: see whether this sinfo is Slurm's"
                )
            # One partition has a line for each group of nodes with another limit or state.
            if fields[2] == "up":
                nodes.setdefault(fields[0], []).append((int(fields[1]), fields[4]))
        return [
            Partition(name, sum(count for count, _ in groups), ",".join(each for _, each in groups))
            for name, groups in nodes.items()
        ]

    def partition_settings(self, name: str) -> dict[str, Any]:
        """What the site file says of a partition: scheduler, launcher, access, options."""
        return {
            "scheduler": "squeue",
            "launcher": SRUN.name,
            "access": [SRUN.of_partition.format(name)],
            "sched_options": {"use_nodes_option": True},
        }

    def _ask(self, *command: str, of_job: bool = False, clean: Sequence[str] = ()) -> str:
        """What a command prints; nothing where it says that the job is gone.

        Raises:
            FabricheckError: if it fails.
        """
        try:
            return ask([*self.before, *clean, *command], self.patience).strip()
        except UnansweredError as error:
            if of_job and _JOB_IS_GONE.search(str(error)):
                return ""
            raise FabricheckError(
                f"FC2403 expected an answer of {command[0]}, found: {error}: run it where Slurm "
                "is, with a partition and options that Slurm takes (stress.options in the site "
                "file)"
            ) from None


SLURM: Final = Slurm()
ROWS: Final = {
    **dict.fromkeys(("slurm", "squeue"), SLURM),
    "allocation": Slurm(command="salloc", once=()),
}
"""By ReFrame's names of them; ``allocation`` is the suite's own, which asks for nodes by salloc."""
