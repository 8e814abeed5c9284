"""What Slurm knows about nodes, asked when they don't speak for themselves."""

import subprocess
from collections.abc import Iterable


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


def allocation_state(job: str) -> str:
    """Slurm's word for the state of a job, such as ``RUNNING``; empty for one that is gone."""
    listed = subprocess.run(
        ["squeue", "--noheader", f"--jobs={job}", "--format=%T"],
        capture_output=True,
        text=True,
        check=False,
    )
    return listed.stdout.strip()


def is_silent(state: str) -> bool:
    """Whether a node in this state is down or failing; a ``*`` says that it doesn't respond."""
    return state.endswith("*") or state.startswith(("down", "fail"))
