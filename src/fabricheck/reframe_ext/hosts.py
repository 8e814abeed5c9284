"""A scheduler of ReFrame for hosts without one, and a launcher of what is no program of MPI.

A partition asks for it with ``scheduler: hosts``, and lists them in its extra ``hosts``. The
script of each case runs where ReFrame runs, one at a time; its ``mpirun`` or ``mpiexec`` finds the
hosts of the case in its environment. All hosts must see the suite and its stage directory.
"""

from collections.abc import Iterable
from typing import Any

from ClusterShell.NodeSet import NodeSet

from fabricheck.reframe_ext.allocation import AllocationScheduler, CaseJob
from fabricheck.reframe_ext.reframe import (
    JobLauncher,
    NamedNodes,
    register_launcher,
    register_scheduler,
)
from fabricheck.schedulers.hosts import EACH_HOST, HOSTS, Listed
from fabricheck.sites.extras import AllocationExtra, PartitionExtras

NAME = "hosts"


@register_launcher(EACH_HOST.name)
class EachHostLauncher(JobLauncher):
    """Ranks by the remote shell; they know themselves, and nothing of each other."""

    def command(self, job: Any) -> list[str]:
        """What starts them."""
        return [*EACH_HOST.on_each_node.split()[:-1], str(job.num_tasks_per_node or 1)]


@register_scheduler(NAME)
class HostsScheduler(NamedNodes, AllocationScheduler):
    """Cases on the hosts of a list."""

    _held: Listed | None

    def wanted(self, extras: PartitionExtras) -> AllocationExtra:
        """As the site says; else all of them, one case at a time, for ever."""
        self._hosts, self._shell = tuple(NodeSet.fromlist(extras.hosts)), extras.remote_shell
        HOSTS.shells.update(dict.fromkeys(self._hosts, self._shell))
        return extras.allocation or AllocationExtra(nodes=len(self._hosts), time="8760h")

    def emit_preamble(self, job: CaseJob) -> list[str]:
        """Nothing: nobody reads options in the script."""
        return []

    def allowed(self, job: CaseJob | None) -> NodeSet:
        """The hosts that a job may have by its options and those of the command line."""
        allowed = NodeSet.fromlist(self._hosts)
        for option in (*job.asked, *job.options) if job else ():
            key, _, names = option.partition("=")
            if key == "--nodelist":
                allowed &= NodeSet(names)
            elif key == "--exclude":
                allowed -= NodeSet(names)
        return allowed

    def filternodes_by_state(self, nodelist: Iterable[Any], state: str) -> set[Any]:
        """Those that answer; all of them for ``all``."""
        states = {} if state == "all" else HOSTS.node_states()
        return {node for node in nodelist if HOSTS.is_free(states.get(node.name, HOSTS.idle))}

    def held_nodes(self) -> tuple[str, ...]:
        """The hosts that answered last; none before they were asked."""
        return self._held.nodes if self._held else ()

    def _fits(self, job: CaseJob) -> bool:
        # Who else has them can't be asked, and no time is given.
        return True

    def _hold(self, job: CaseJob) -> Listed:
        return Listed(self._hosts, self._shell, self._size)

    def _may_begin(self, job: CaseJob) -> bool:
        if not super()._may_begin(job) or self._held is None:
            return False
        if not self.running:
            self._held.refresh()
        if not (has_room := self._has_room(job)) and not self.running:
            self._submit_alone(job)
        return has_room

    def _has_room(self, job: CaseJob) -> bool:
        free = self._free(job)
        return len(free) >= job.num_nodes and {*job.named} <= {*free}

    def _free(self, job: CaseJob) -> list[str]:
        allowed = self.allowed(job)
        return [host for host in super()._free(job) if host in allowed]

    def _submit_alone(self, job: CaseJob) -> None:
        """There is no other way than on the hosts that answer, of which one may be back."""
        assert self._held is not None, "they were asked"
        self._held.refresh()
        if self._has_room(job):
            return
        asked = ", ".join(job.named) or f"{job.num_nodes} hosts"
        lost = (f"{each} does not answer: {words}" for each, words in self._held.silent.items())
        wanted = f"{asked} of {NodeSet.fromlist(self._hosts)} were wanted"
        self._never_began(job, "; ".join([wanted, *lost]))
