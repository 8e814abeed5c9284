"""What Slurm knows about nodes, asked when a job ended without saying why."""

import subprocess
from collections.abc import Iterable


def silent_nodes(hosts: Iterable[str]) -> tuple[str, ...]:
    """Those of the hosts that Slurm holds for down, failing or not responding.

    A node that dies takes the job's error output with it when it was the one that ran the batch
    script; ``sinfo`` then is the only witness. Its states are those of sinfo(1): a ``*`` marks a
    node that does not respond. No hosts where there is no Slurm to ask.
    """
    try:
        listed = subprocess.run(
            ["sinfo", "--noheader", "--Node", "--format=%N %T"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return ()
    states = dict(line.split() for line in listed.stdout.splitlines())
    return tuple(host for host in sorted(set(hosts)) if _is_silent(states.get(host, "")))


def _is_silent(state: str) -> bool:
    return state.endswith("*") or state.startswith(("down", "fail"))
