"""What a survey left behind: believed whole, or not at all with the names of the nodes at fault."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ClusterShell.NodeSet import NodeSet

from fabricheck.errors import FabricheckError
from fabricheck.node_health.clocks import (
    CLOCK,
    Exchange,
    read_allocation,
    read_exchange,
    unanswered,
)
from fabricheck.node_health.facts import Facts, read_facts
from fabricheck.nodes.told import PART, files


def read_record(
    directory: Path,
    stderr: Path,
    num_nodes: int,
    states: Callable[[], Mapping[str, str]] = dict,
) -> tuple[tuple[Facts, ...], Exchange]:
    """The facts of every node of a job, by name, and the exchange that compares their clocks.

    Args:
        directory: the job's working directory.
        stderr: the job's error output.
        num_nodes: how many nodes the job was to have.
        states: asks the scheduler for the state of each node.

    Raises:
        FabricheckError: if a node told nothing, or facts are cut or damaged; it names the nodes.
    """
    nodes = sorted(map(read_facts, files(directory)), key=lambda facts: facts.node)
    told = NodeSet.fromlist([facts.node for facts in nodes])
    silent = NodeSet(read_allocation(directory)) - told
    if silent or len(nodes) != num_nodes:
        raise FabricheckError(
            f"expected {num_nodes} node(s) to tell their facts, found {len(nodes)}"
            f"{_named(silent, states())}; last words: {_last_words(stderr)}"
        )
    if (directory / f"{CLOCK}{PART}").exists():
        raise FabricheckError(
            "expected every node to answer when asked for the time, found a survey that never "
            f"ended{_named(unanswered(directory), states())}; last words: {_last_words(stderr)}"
        )
    return tuple(nodes), read_exchange(directory)


def _named(silent: Iterable[str], states: Mapping[str, str]) -> str:
    named = [f"{node} ({states[node]})" if node in states else node for node in silent]
    return f" and nothing from {', '.join(named)}" if named else ""


def _last_words(stderr: Path) -> str:
    lines = stderr.read_text(errors="replace").splitlines() if stderr.exists() else []
    said = [line.strip() for line in lines if line.strip()]
    return said[-1] if said else "none"
