"""What Slurm knows about nodes, asked when they don't speak for themselves."""

import subprocess
from collections.abc import Iterable
from typing import Any

from reframe.core.exceptions import ReframeError

# A node that has just ended a job is as good as idle.
_IDLE = "idle|idle+completing"


def silent_nodes(hosts: Iterable[str]) -> tuple[str, ...]:
    """Those of the hosts that Slurm holds for down, failing or not responding.

    A node that dies takes the job's error output with it when it was the one that ran the batch
    script; ``sinfo`` then is the only witness. No hosts where there is no Slurm to ask.
    """
    states = node_states()
    return tuple(host for host in sorted(set(hosts)) if is_silent(states.get(host, "")))


def node_states() -> dict[str, str]:
    """Slurm's word for the state of each node, as in sinfo(1); empty without Slurm."""
    try:
        listed = subprocess.run(
            ["sinfo", "--noheader", "--Node", "--format=%N %T"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return {}
    return dict(line.split() for line in listed.stdout.splitlines())


def is_silent(state: str) -> bool:
    """Whether a node in this state is down or failing; a ``*`` says that it doesn't respond."""
    return state.endswith("*") or state.startswith(("down", "fail"))


def usable_nodes(job: Any, partition: str, check: str) -> tuple[int, dict[str, str]]:
    """How many nodes of a job's partition can run it now, and the state of every one.

    ReFrame's ``--flex-alloc-nodes`` says which nodes are meant, by default those that are idle.
    Without a scheduler it is this machine, of no state.

    Raises:
        ReframeError: if the scheduler can't list its nodes, or if no node can run a job.
    """
    scheduler = job.scheduler
    if scheduler.registered_name == "local":
        return 1, {}
    try:
        nodes = list(scheduler.filternodes(job, scheduler.allnodes()))
    except NotImplementedError:
        raise ReframeError(
            "expected a scheduler that lists its nodes (slurm, squeue, local), found "
            f"{scheduler.registered_name}: leave the check out with -x {check}"
        ) from None
    known = node_states()
    states = {node.name: known.get(node.name, "unknown") for node in nodes}
    asked = job.sched_flex_alloc_nodes
    if isinstance(asked, int):
        return asked, states
    state = _IDLE if asked.lower() == "idle" else asked.lower()
    usable = scheduler.filternodes_by_state(nodes, state)
    if not usable:
        found = ", ".join(f"{name} {state}" for name, state in sorted(states.items()))
        raise ReframeError(
            f"expected a node in state {asked!r} in partition {partition}, found "
            f"{found or 'no node'}: wait, or bring one back"
        )
    return len(usable), states
