"""One node's verdict, from what its kernel tells now; light, as a scheduler asks for it often."""

import os
import signal
import subprocess
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from fabricheck.errors import FabricheckError
from fabricheck.judge.levels import Level, worst
from fabricheck.node_health.alike import read_manifest
from fabricheck.node_health.facts import Facts, facts_of
from fabricheck.node_health.lanes import follow
from fabricheck.node_health.loopback import measure
from fabricheck.node_health.rules import judge
from fabricheck.node_health.survey import Expectations, Line, Survey
from fabricheck.nodes.told import SCRIPT, Told, parse

PATIENCE: Final = 4.0
"""Seconds for the kernel to tell everything."""
_PATIENCE_OF_MLXLINK: Final = 8.0
GROUPS: Final = ("node", "ports", "cards", "roce", "optics")


class SilentNodeError(FabricheckError):
    """The node did not tell its facts: nothing can be said of it."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of one node.

    Attributes:
        facts: what it told.
        lines: what each rule says of it.
    """

    facts: Facts
    lines: tuple[Line, ...]

    @property
    def level(self) -> Level | None:
        """The worst level; ``None`` where nothing was judged of its cards."""
        judged = [line for line in self.lines if line.rule == "ports" and line.level]
        return worst(line.level for line in self.lines if line.level) if judged else None

    def sentence(self) -> str:
        """The verdict in one line, the most severe finding first."""
        if self.level is None:
            return f"inconclusive: {self.facts.node}: no RDMA port, and no manifest says how many"
        wrong = [line for line in self.lines if line.level not in (None, Level.GOOD)]
        wrong.sort(key=lambda line: -line.level.severity if line.level else 0)
        words = "; ".join(f"{line.rule}: {line.words}" for line in wrong)
        ports = self.facts.cards[""]["RDMA ports"]
        return f"{self.level}: {self.facts.node}: {words or f'RDMA ports: {ports}'}"


def look(
    expected: Expectations,
    manifest: Path | None = None,
    lanes: Path | None = None,
    *,
    loopback: bool = False,
) -> Verdict:
    """Look at this node, and judge it.

    Args:
        expected: what its partition must offer.
        manifest: the facts that its cards must have, instead of those of the partition.
        lanes: a directory that keeps what each lane of a module reports, a day each.
        loopback: whether to measure each card as well, in ``loopback.PATIENCE`` seconds.

    Raises:
        SilentNodeError: if the kernel does not tell them in time.
        FabricheckError: if what it tells or the manifest is damaged.
    """
    if manifest:
        expected = replace(expected, manifest=read_manifest(manifest))
    told = ask(mlxlink=loopback)
    facts = facts_of(told, {"clock": [str(time.time_ns())]}, told.host)
    expected = replace(expected, rdma=expected.rdma or bool(facts.ports))
    lines = tuple(judge(Survey((facts,), expected)))
    if lanes:
        lines = (*lines, follow(facts, lanes, datetime.now(UTC)))
    if loopback:
        lines = (*lines, measure(facts))
    return Verdict(facts, lines)


def ask(*, mlxlink: bool = False) -> Told:
    """What the kernel tells of this node now.

    Args:
        mlxlink: whether to ask mlxlink too, which takes seconds of CPU on a node of eight cards.

    Raises:
        SilentNodeError: if it does not, or not in time: a driver that hangs can't be waited for.
    """
    patience = PATIENCE + _PATIENCE_OF_MLXLINK * mlxlink
    program = subprocess.Popen(
        [SCRIPT, "now", *GROUPS, *["mlxlink"] * mlxlink],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        found = parse(program.communicate(timeout=patience)[0], SCRIPT.name)
    except subprocess.TimeoutExpired:
        os.killpg(program.pid, signal.SIGKILL)
        found = []
    if len(found) != 1:
        raise SilentNodeError(
            f"FC1511 expected the kernel to report its ports within {patience:g} s, found "
            f"{len(found)} answers: a driver or the firmware of a card hangs, look at the "
            "kernel's log"
        )
    return found[0]
