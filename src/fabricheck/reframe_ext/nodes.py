"""Which nodes of a partition can run a job now, and a test on all of them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import reframe as rfm
from reframe.core.builtins import run_before
from reframe.core.exceptions import ReframeError

from fabricheck.reframe_ext.reframe import flexible_nodes, nodes_in_state, nodes_of
from fabricheck.reframe_ext.rota import TURNS
from fabricheck.schedulers import SCHEDULERS, scheduler_of


def lacking_of_scheduler(test: Any, partition: Any) -> tuple[str, ...]:
    """What the scheduler of a partition lacks for a test, in words."""
    lists_nodes = scheduler_of(partition.scheduler.registered_name).lists_nodes
    surveys = getattr(test, "surveys_nodes", False)
    return ("a scheduler that lists its nodes",) if surveys and not lists_nodes else ()


def usable_nodes(job: Any, partition: str, check: str) -> tuple[int, dict[str, str]]:
    """How many nodes of a job's partition can run it now, and the state of every one.

    ReFrame's ``--flex-alloc-nodes`` says which nodes are meant, by default those that are idle.
    Without a scheduler it is this machine, of no state.

    Raises:
        ReframeError: if the scheduler can't list its nodes, or if no node can run a job.
    """
    name = job.scheduler.registered_name
    scheduler, option = scheduler_of(name), flexible_nodes(job)
    if scheduler.is_alone:
        return 1, {}
    try:
        nodes = nodes_of(job)
    except NotImplementedError:
        listing = ", ".join(each for each, row in SCHEDULERS.items() if row.lists_nodes)
        raise ReframeError(
            f"expected a scheduler that lists its nodes ({listing}), found {name}: leave the check "
            f"out with -x {check}"
        ) from None
    reported = scheduler.known_states()
    states = {node.name: reported.get(node.name, "unknown") for node in nodes}
    if isinstance(option, int):
        return option, states
    state = scheduler.idle if option.lower() == "idle" else option.lower()
    usable = nodes_in_state(job, nodes, state)
    if not usable:
        listed = ", ".join(f"{node} {state}" for node, state in sorted(states.items()))
        raise ReframeError(
            f"expected a node in state {option!r} in partition {partition}, found "
            f"{listed or 'no node'}: wait, or bring one back"
        )
    return len(usable), states


class EveryNode(rfm.RegressionTestPlugin):
    """A test with one task on each node of the partition that can run a job."""

    surveys_nodes = True
    states: Mapping[str, str] = MappingProxyType({})
    """The scheduler's word for the state of every node of the partition."""

    @run_before("run")
    def reach_every_node(self) -> None:
        """One task on each node that can run a job."""
        self.num_tasks_per_node = 1
        if not self.is_dry_run():
            partition = self.current_partition
            self.num_tasks, self.states = usable_nodes(
                self.job, partition.fullname, type(self).__name__
            )
            idle = scheduler_of(self.job.scheduler.registered_name).idle.split("|")
            TURNS.note(partition.name, {name: s in idle for name, s in self.states.items()})
