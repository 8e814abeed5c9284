"""A Slurm cluster on one machine, whose nodes are sets of namespaces on this machine.

``Testbed`` is the interface for Python. The submodules stay cheap to import one by one, because
every node and every ``testbed exec`` loads some of them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fabricheck_testbed.cluster import Testbed

__all__ = ["Testbed"]


def __getattr__(name: str) -> "type[Testbed]":
    if name == "Testbed":
        from fabricheck_testbed.cluster import Testbed

        return Testbed
    raise AttributeError(name)
