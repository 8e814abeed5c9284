"""What is asked of a scheduler and of a launcher, and what holds of one that only ReFrame knows."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Final

from fabricheck.asking import PATIENCE, UnansweredError, ask, told
from fabricheck.errors import FabricheckError

Run = Callable[[Sequence[str]], str]
"""Runs a tool and gives its output (``asking.ask``)."""

ASKED: Final = ("nodelist", "exclude", "reservation", "account")
"""What a run may ask of a scheduler, beside what its cases need."""

_NEVER: Final = re.compile(r"(?!)")


class Phase(StrEnum):
    """What a job is doing, in the scheduler's sense."""

    WAITING = "waiting"
    RUNNING = "running"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Standing:
    """What the scheduler says of a job.

    Attributes:
        phase: what it is doing.
        why: the scheduler's reason, or the state that it ended in.
        nodes: where it runs, as the scheduler writes it.
    """

    phase: Phase
    why: str = ""
    nodes: str = ""


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition of the scheduler.

    Attributes:
        name: its name.
        nodes: how many nodes it has.
        names: theirs.
    """

    name: str
    nodes: int
    names: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """A launcher, and the options that it takes beside those that ReFrame gives it.

    What is empty it can't do; of one that is not known it is all but the name.

    Attributes:
        name: ReFrame's.
        without_mpi: options for a program that is none of MPI.
        with_mpi: options for one that is; ``{pmi}`` is what the MPI speaks.
        pmis: prints what it can speak to an MPI, on standard error too.
        starts_mpi: whether its ranks know of each other, as those of an MPI must.
        shares_input: whether every rank reads its standard input.
        on_one_node: behind ``env``, what runs a command on one node of the job.
        on_each_node: behind ``env``, what runs a command once on each node of the job.
        leaving_out: options that leave nodes out, for ``printf``: nodes, how many are left, twice.
        listed: options for ranks on the nodes of a list of so many lines.
        list_variable: the environment variable that names the file with that list.
        of_job_gpus: option of the job for GPUs of each node.
        of_job_nodes: option of the job for its nodes.
        of_partition: option for a partition.
        at_once: option that makes it give up where no node is free.
        example: a command that runs on a node what stands behind it.
        elsewhere: what to take where the scheduler is another one, and why.
    """

    name: str
    without_mpi: tuple[str, ...] = ()
    with_mpi: tuple[str, ...] = ()
    pmis: str = ""
    starts_mpi: bool = True
    shares_input: bool = False
    on_one_node: str = ""
    on_each_node: str = ""
    leaving_out: str = ""
    listed: tuple[str, ...] = ()
    list_variable: str = ""
    of_job_gpus: str = ""
    of_job_nodes: str = ""
    of_partition: str = ""
    at_once: str = ""
    example: str = ""
    elsewhere: str = ""


@dataclass(frozen=True, kw_only=True)
class Scheduler:
    """A scheduler; this class is one that starts ReFrame's jobs, and of which no more is known.

    Attributes:
        name: what people call it.
        command: what must be on PATH to start a job.
        lists_nodes: whether its nodes are known, as checks of every node (``surveys_nodes``) need.
        shares_nodes: whether its cases are on the same nodes, one after the other, anyway.
        holds_nodes: whether a session may hold nodes for many cases, as ``sweep`` does.
        shortcoming: what it can't do for cases, as far as ReFrame goes, in a sentence.
        condition: what of it ReFrame's jobs need, in a sentence.
        is_alone: whether this machine is all there is.
        once: options by which a job whose node died ends, and is not begun again on others.
        launcher: what starts a program without MPI once on each node; empty: the partition's.
        lists: prints its partitions.
        topology: prints what it knows of the switches.
        says_version: prints its version.
        asks_states: prints the states of its nodes, for ``read_states``.
        silent: in the state of a node, that it is down or doesn't respond.
        job_variable: the environment variable with the number of a job.
        restarts_variable: and the one with how often it began again.
        nodes_variable: and the one with its nodes.
        keep_off: lines for an administrator: what leaves nodes out, what keeps users off them.
        words: its options for what a run may ask for (``ASKED``), with ``{}`` for the value.
        by_name: the option that names the nodes of a job; empty for one that takes no names.
        idle: ReFrame's word for the states of nodes that can run a job now.
        before: what to put before a command of it.
        patience: seconds for an answer.
    """

    name: str
    command: str = ""
    before: tuple[str, ...] = ()
    patience: float = PATIENCE
    once: tuple[str, ...] = ()
    lists_nodes: ClassVar[bool] = False
    shares_nodes: ClassVar[bool] = False
    holds_nodes: ClassVar[bool] = False
    shortcoming: ClassVar[str] = ""
    condition: ClassVar[str] = ""
    is_alone: ClassVar[bool] = False
    launcher: ClassVar[Launcher] = Launcher(name="")
    lists: ClassVar[tuple[str, ...]] = ()
    topology: ClassVar[tuple[str, ...]] = ()
    says_version: ClassVar[tuple[str, ...]] = ()
    asks_states: ClassVar[tuple[str, ...]] = ()
    silent: ClassVar[re.Pattern[str]] = _NEVER
    job_variable: ClassVar[str] = ""
    restarts_variable: ClassVar[str] = ""
    nodes_variable: ClassVar[str] = ""
    keep_off: ClassVar[tuple[str, ...]] = ("without: {nodes}",)
    words: ClassVar[Mapping[str, str]] = {}
    by_name: ClassVar[str] = ""
    idle: ClassVar[str] = "idle"

    node_fault: ClassVar[re.Pattern[str]] = _NEVER
    """In a job's errors, that a node failed."""
    lost_node: ClassVar[re.Pattern[str]] = _NEVER
    """In them, which one, by its name."""
    lost_place: ClassVar[re.Pattern[str]] = _NEVER
    """In them, which one, by its place among the job's nodes, from 0."""
    time_limit: ClassVar[re.Pattern[str]] = _NEVER
    """In them, that the scheduler ended the job."""
    own_line: ClassVar[re.Pattern[str]] = _NEVER
    """A line of them that is its own, not the program's."""

    def asked(self, key: str, value: str) -> str:
        """Its option for one of ``ASKED``; empty where it can't do that, or nothing need be said.

        Raises:
            FabricheckError: if it does not answer.
        """
        return self.words.get(key, "").format(value)

    def version(self) -> str:
        """What it says of its version; empty where it says nothing."""
        return told(self.says_version).partition("\n")[0] if self.says_version else ""

    def node_states(self) -> dict[str, str]:
        """Its word for the state of each node; empty for one that knows of none.

        Raises:
            FabricheckError: if it does not answer.
        """
        if not self.asks_states:
            return {}
        try:
            return self.read_states(ask([*self.before, *self.asks_states], self.patience))
        except UnansweredError as error:
            raise FabricheckError(
                f"FC3607 expected an answer of {self.asks_states[0]}, found: {error}: run it where "
                f"{self.name} is"
            ) from None

    def read_states(self, text: str) -> dict[str, str]:
        """The states that its command printed."""
        return {}

    def nodes_for(self, options: Sequence[str]) -> dict[str, str]:
        """Its word for the state of each node in service that a job with these options may get.

        Raises:
            FabricheckError: if it does not answer.
        """
        return {}

    def is_silent(self, state: str) -> bool:
        """Whether a node in this state is down, failing or doesn't respond."""
        return bool(self.silent.search(state))

    def is_free(self, state: str) -> bool:
        """Whether a whole node in this state can run a job now."""
        return False

    @property
    def reports(self) -> str:
        """How a sentence begins that has its word for a node's state."""
        return f"{self.name} reports "

    def known_states(self) -> dict[str, str]:
        """As ``node_states``; empty where it does not answer."""
        try:
            return self.node_states()
        except FabricheckError:
            return {}

    def silent_nodes(self, hosts: Iterable[str]) -> tuple[str, ...]:
        """Those of the hosts that it holds for dead.

        A node that dies takes the job's error output with it when it was the one that ran the batch
        script; the scheduler then is the only witness.
        """
        states = self.known_states()
        return tuple(host for host in sorted(set(hosts)) if self.is_silent(states.get(host, "")))

    def job(self, environment: Mapping[str, str]) -> tuple[str, int]:
        """The number of the job that a process is part of, and how often that began again.

        The number is empty outside of one.
        """
        number = environment.get(self.job_variable, "")
        return number, int(environment.get(self.restarts_variable, 0))

    @property
    def can_stress(self) -> bool:
        """Whether it starts jobs of a stress."""
        return type(self).submit is not Scheduler.submit

    @property
    def refuses(self) -> tuple[str, ...]:
        """What of fabricheck cannot run with it, each with the reason."""
        found = {
            "checks of health, which ask every node": self.lists_nodes,
            "fabricheck sweep, whose runs need the same nodes": self.holds_nodes,
            "fabricheck stress, whose jobs yield their nodes to others": self.can_stress,
        }
        return tuple(what for what, can in found.items() if not can)

    def running(self, name: str) -> str:
        """The job of a name that waits or runs; empty if there is none."""
        return ""

    def submit(self, name: str, script: Path, log: Path, plan: Mapping[str, Any]) -> str:
        """Start the job of a stress, one by name, that yields to others; its number.

        Args:
            name: of the job.
            script: what it runs.
            log: where its output goes.
            plan: of the stress.

        Raises:
            FabricheckError: if it can't be.
        """
        raise FabricheckError(
            "FC2401 expected a partition with a scheduler to which fabricheck can submit a "
            f"stress, found {self.name}: run it on another partition"
        )

    def standing(self, name: str, job: str) -> Standing:
        """What the job of a name and number is doing; numbers come again, names say whose.

        Raises:
            FabricheckError: if the scheduler does not answer.
        """
        return Standing(Phase.GONE)

    def is_preempted(self, job: str) -> bool | None:
        """Whether another job takes the nodes of one; ``None`` where nobody does and it goes on."""
        return None

    def requeue(self, job: str) -> None:
        """Let a job wait again from its beginning."""

    def stop(self, name: str, job: str, *, now: bool = False) -> None:
        """Ask a job to end after what it is doing, or end it at once."""

    def partitions(self, run: Run) -> list[Partition]:
        """The partitions that are up.

        Raises:
            UnansweredError: if it does not answer.
            FabricheckError: for an answer that can't be read.
        """
        return []

    def partition_settings(self, name: str) -> dict[str, Any]:
        """What the site file says of a partition: scheduler, launcher, access, options."""
        raise NotImplementedError(name)


UNKNOWN: Final = Scheduler(name="no scheduler that is known")
