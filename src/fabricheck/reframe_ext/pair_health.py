"""The check of all nodes in pairs: which node or link is slow."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from reframe.core.builtins import run_before, variable
from reframe.core.exceptions import ReframeError

from fabricheck.judge.judgement import Judgement
from fabricheck.judge.references import Reference, Tolerance
from fabricheck.judge.verdict import Verdict
from fabricheck.launch.evidence import RESULT_JSON
from fabricheck.localise.located import (
    FEWEST_NODES,
    ROUND_SECONDS,
    dead_ports,
    findings,
    lines,
    locate,
    write_told,
)
from fabricheck.localise.recorded import topology_of
from fabricheck.measures.curve import Variable
from fabricheck.reframe_ext.case import BuiltCase
from fabricheck.reframe_ext.nodes import EveryNode
from fabricheck.reframe_ext.reframe import getlogger
from fabricheck.sites.extras import PartitionExtras


class PairSurvey(EveryNode, BuiltCase):
    """All nodes of the partition that can run a job, in disjoint pairs, in rounds.

    ReFrame's ``--flex-alloc-nodes`` says which nodes, by default those that are idle. The yardstick
    is the median of the run itself, so no reference file has a part in it.
    """

    nodes = variable(int, value=0)
    round_seconds = variable(float, value=ROUND_SECONDS)
    full = variable(bool, value=False)
    topology = variable(str, value="")
    settable = ("nodes", "round_seconds", "full", "topology")

    @run_before("run")
    def count_nodes(self) -> None:
        """Pairs need two nodes, and others beside them, or other ports."""
        if self.is_dry_run():
            return
        fewest = FEWEST_NODES - bool(self.port)
        if self.num_tasks < fewest:
            raise ReframeError(
                f"expected {fewest} nodes of partition {self.current_partition.fullname} "
                f"that can run a job, found {self.num_tasks}: wait, or bring some back"
            )
        self.nodes = self.num_nodes = self.num_tasks

    def find_verdict(
        self,
        references: Mapping[Variable, Reference],
        tolerance: Tolerance | None,
    ) -> Verdict:
        """Who is slow, and who is not cleared."""
        # ReFrame keeps the files of a case that failed in the stage, which the next run clears.
        kept = Path(self.outputdir)
        shutil.copy(Path(self.stagedir) / RESULT_JSON, kept)
        known = topology_of(
            str(self.topology) or PartitionExtras.of(self.current_partition.extras).topology
        )
        dead = dead_ports(Path(self.stagedir))
        write_told(kept, known, self.states, self._counted(), dead, port=self.port)
        located = locate(kept)
        for line in lines(located):
            getlogger().info(f"     L: {line}")
        judgements = tuple(
            Judgement(name, located.level, value, unit, None, message="")
            for name, (value, unit) in self.measured_values().items()
            if value is not None
        )
        return Verdict(located.level, judgements, tuple(findings(located)))

    def _counted(self) -> dict[str, str]:
        """What the ports of each node have counted, where it is not good."""
        counted: dict[str, list[str]] = {}
        for finding in self.fabric_findings():
            if finding.host:
                counted.setdefault(finding.host, []).append(
                    f"{finding.port} {finding.subject}: {finding.found}"
                )
        return {host: "; ".join(found) for host, found in counted.items()}
