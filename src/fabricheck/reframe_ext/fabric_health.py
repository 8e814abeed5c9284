"""Health of the fabric below each case: judged from the snapshots that its nodes have left."""

from pathlib import Path

import reframe as rfm
from reframe.core.builtins import run_after, run_before
from reframe.core.exceptions import ReframeError

from fabricheck.errors import FabricheckError
from fabricheck.fabric.finding import Finding
from fabricheck.fabric.limits import Limits, read_limits
from fabricheck.judge.decide import Fabric
from fabricheck.judge.levels import Level
from fabricheck.launch.judging import (
    fabric_of,
    judge_fabric,
    judge_segments,
    look_again,
    may_use_ports,
)
from fabricheck.schedulers import launcher_of
from fabricheck.sites.extras import PartitionExtras
from fabricheck.transports.table import Counter, find
from fabricheck.transports.witness import RANK_WRAPPER


class FabricHealth(rfm.RegressionTestPlugin):
    """Adds what was wrong with the RDMA ports to the findings of a case that used them.

    Partition extras that are read: ``ucx_net_devices``, ``gid_index``, ``link_rate`` and
    ``fabric_health`` (docs/reference/fabric-health.md).
    """

    @run_after("setup")
    def read_fabric_limits(self) -> None:
        """Refuse extras that make no sense before anything runs."""
        try:
            _ = self.fabric_limits
        except FabricheckError as error:
            raise ReframeError(str(error)) from None

    @run_before("run")
    def ask_for_gid(self) -> None:
        """Let the snapshots tell the GID that the programs use, wherever it stands."""
        if (index := self.fabric_limits.gid_index) is not None:
            self.env_vars["FABRICHECK_GID_INDEX"] = str(index)

    @run_before("run")
    def look_again_after_a_kill(self) -> None:
        """Take the last snapshot for ranks that could not, since the launcher killed them."""
        if self.transport and self._may_use_ports():
            launcher = launcher_of(self.current_partition.launcher_type.registered_name)
            self.postrun_cmds: list[str] = [*look_again(launcher), *self.postrun_cmds]

    def fabric_findings(self) -> list[Finding]:
        """What was wrong with the ports below this case; nothing for one that used none."""
        if self.is_dry_run() or not self.uses_ports():
            return []
        return judge_fabric(Path(self.stagedir), self.fabric_limits)

    def lost_segments(self) -> list[Finding]:
        """What the sockets of the job's nodes had to send again, for a transport over them."""
        if self.is_dry_run() or not self.transport:
            return []
        if find(self.transport).counter is not Counter.NETDEV:
            return []
        return judge_segments(Path(self.stagedir), self.benchmark)

    def fabric(self, lost: Level = Level.CRITICAL) -> Fabric:
        """What the counters of the fabric below this case show.

        Args:
            lost: how bad it is that a network lost segments of TCP.
        """
        return fabric_of(self.fabric_findings(), self.lost_segments(), lost)

    def uses_ports(self) -> bool:
        """Whether the case ran below the wrapper that looks at ports, on a transport of RDMA."""
        if not self.transport or self.executable != str(RANK_WRAPPER):
            return False
        return self._may_use_ports()

    def _may_use_ports(self) -> bool:
        """Whether the transport uses RDMA ports, or may choose them where there are any."""
        return may_use_ports(find(self.transport), self.current_partition.features)

    @property
    def fabric_limits(self) -> Limits:
        """What the partition expects of its fabric."""
        return read_limits(PartitionExtras.of(self.current_partition.extras))
