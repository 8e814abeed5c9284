"""What the user wishes of a testbed, and what a started one has."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from fabricheck_testbed import layout
from fabricheck_testbed.errors import TestbedError
from fabricheck_testbed.fabric import BRIDGE, FABRICS, LEAF_SPINE, LEAF_SPINE_LFT
from fabricheck_testbed.guest.devices import MAX_CARDS
from fabricheck_testbed.layout import MAX_NODES, Layout
from fabricheck_testbed.records import host_boot_id
from fabricheck_testbed.visible import PRIVATE_DIRECTORIES, is_below, is_visible, shared_paths

DEFAULT_NODES: Final = {BRIDGE: 4, LEAF_SPINE: 8, LEAF_SPINE_LFT: 8}
DEFAULT_CPUS_PER_NODE: Final = 4
MAX_CPUS_PER_NODE: Final = 256


class Wish(NamedTuple):
    """What the user asked for; None where he did not say."""

    nodes: int | None = None
    cpus_per_node: int | None = None
    shares: tuple[Path, ...] = ()
    rdma: bool | None = None
    fabric: str | None = None
    cards: int | None = None
    rdma_nodes: int | None = None


class Started(NamedTuple):
    """What a testbed was started with, as kept in ``testbed.json``."""

    nodes: int
    cpus_per_node: int
    keep_visible: list[str]
    user_namespace: bool
    made_directory: bool
    pid_namespace: str
    boot_id: str
    # What the guest may write of this machine's files; empty for a testbed without one.
    guest_directories: list[str]
    fabric: str = BRIDGE
    cards: int = 1
    rdma_nodes: int = 2

    @property
    def rdma(self) -> bool:
        """Whether it has the guest with the RDMA devices."""
        return bool(self.guest_directories)

    @property
    def node_names(self) -> list[str]:
        """All its nodes."""
        return [*layout.node_names(self.nodes), *self.guest_nodes]

    @property
    def guest_nodes(self) -> tuple[str, ...]:
        """Those with RDMA devices."""
        return layout.GUEST_NODES[: self.rdma_nodes] if self.rdma else ()


def make_wish(  # noqa: PLR0917
    nodes: int | None,
    cpus_per_node: int | None,
    shares: Sequence[Path],
    rdma: bool | None = None,  # noqa: FBT001
    fabric: str | None = None,
    cards: int | None = None,
    rdma_nodes: int | None = None,
) -> Wish:
    """A checked wish; TestbedError names the option that is out of range."""
    for option, value, least, most in (
        ("--nodes", nodes, 1, MAX_NODES),
        ("--cpus-per-node", cpus_per_node, 1, MAX_CPUS_PER_NODE),
        ("--cards", cards, 1, MAX_CARDS),
        ("--rdma-nodes", rdma_nodes, 2, len(layout.GUEST_NODES)),
    ):
        if value is not None and not least <= value <= most:
            raise TestbedError(f"{option} {value}: expected {least} to {most}")
    if fabric is not None and fabric not in FABRICS:
        raise TestbedError(f"--fabric {fabric}: expected one of {', '.join(FABRICS)}")
    shared = tuple(shared_paths(shares))
    return Wish(nodes, cpus_per_node, shared, rdma, fabric, cards, rdma_nodes)


def own_pid_namespace() -> str:
    """The identity of the PID namespace in which the caller's PIDs mean something."""
    return str(Path("/proc/self/ns/pid").readlink())


def save(files: Layout, started: Started) -> None:
    """Write ``testbed.json``."""
    temporary = files.options.with_suffix(".tmp")
    temporary.write_text(json.dumps(started._asdict(), indent=1), encoding="utf-8")
    temporary.rename(files.options)


def load(files: Layout) -> Started | None:
    """What the testbed in this state directory was started with, or None if there is none.

    TestbedError if it was started in another PID namespace, where its PIDs mean other
    processes, or if the file is damaged.
    """
    try:
        started = Started(**json.loads(files.options.read_text("utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError, RecursionError) as error:
        raise TestbedError(
            f"{files.options} is damaged ({error}): remove the directory {files.root} if no "
            "testbed runs in it"
        ) from error
    if started.boot_id == host_boot_id() and started.pid_namespace != own_pid_namespace():
        raise TestbedError(
            f"the testbed in {files.root} was started in another PID namespace (a node or another "
            "container): work with it from there, or choose another --state-dir"
        )
    return started


def conflict(wish: Wish, started: Started, working_directory: Path) -> str | None:
    """What the running testbed lacks of the wish, as a sentence without its end; None if nothing.

    The working directory counts as wished for, because commands are to be run from it.
    """
    for wished, found, what in (
        (wish.nodes, started.nodes, "nodes"),
        (wish.cpus_per_node, started.cpus_per_node, "CPUs per node"),
        (wish.cards, started.cards, "cards of each RDMA node"),
        (wish.rdma_nodes, started.rdma_nodes, "RDMA nodes"),
    ):
        if wished is not None and wished != found:
            return f"it has {found} {what}, not {wished}"
    if wish.fabric not in (None, started.fabric):
        return f"its fabric is {started.fabric}, not {wish.fabric}"
    if wish.rdma is not None and wish.rdma != started.rdma:
        return f"it runs {'with' if started.rdma else 'without'} --rdma"
    for path in (*wish.shares, working_directory):
        if str(path) not in PRIVATE_DIRECTORIES and not is_visible(path, started.keep_visible):
            return f"its nodes do not see {path}"
        if wish.rdma and not is_below(path, started.guest_directories):
            return f"its guest (rx1, rx2) cannot write to {path}"
    return None
