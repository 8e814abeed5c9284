"""Where an environment has a container, ReFrame's platform starts there what a node would run."""

import os
from typing import Any

from fabricheck.measures import ADDED
from fabricheck.provenance import SUITE, home
from fabricheck.sites.extras import EnvironmentExtras

# An image has a system of its own, which is none of the node's facts (nodes/collect.sh).
_INSIDE = "env FABRICHECK_CONTAINER=yes"


def enter(test: Any, words: str) -> str:
    """Let ReFrame run words in the container of a test's environment, if it has one.

    Nothing is pulled: a registry's newer image would be a change that nobody made.

    Args:
        test: before its run.
        words: the command that each rank is.

    Returns:
        What starts them there; without a container the words themselves.
    """
    container = EnvironmentExtras.of(test.current_environ.extras).container
    if container is None:
        return words
    test.container_platform = container.platform
    platform, stage = test.container_platform, str(test.stagedir)
    platform.image, platform.pull_image = container.image, False
    # At their own places, so that all words mean the same inside.
    places = dict.fromkeys(
        (str(home()), str(SUITE), stage, *map(os.path.abspath, ADDED), *container.mounts)
    )
    platform.mount_points = [(place, place) for place in places]
    platform.mount_stagedir, platform.workdir = None, stage
    platform.options = list(container.options)
    platform.command = f"{_INSIDE} {words}"
    return str(platform.launch_command(stage))


def where(test: Any) -> str:
    """The container that a test ran in; empty without one."""
    platform = test.container_platform
    return f"in {platform.name} {platform.image}" if platform.image else ""
