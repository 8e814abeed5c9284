"""How pair_probe is run: one rank on each node, and a process beside rank 0 that steers it."""

import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from fabricheck.launch import gpu, mpi
from fabricheck.launch.cases import Case, available_placements
from fabricheck.launch.evidence import RESULT_JSON
from fabricheck.launch.measurement import Evidence, Job, Measurement, Ranks, Setting
from fabricheck.localise.located import FEWEST_NODES, ROUND_SECONDS, dead_ports
from fabricheck.localise.recorded import topology_of
from fabricheck.measures.gpu import GpuPath
from fabricheck.programs.pair_health.entries import BENCHMARKS, MESSAGE, NCCL, PING, PROGRAM
from fabricheck.schedulers import launcher_of
from fabricheck.sites.files import offered_ports
from fabricheck.transports.nccl import WAYS, network, read_nccl_logs, report_of_nccl
from fabricheck.transports.placement import Placement
from fabricheck.transports.rails import sought
from fabricheck.transports.statement import TransportReport
from fabricheck.transports.table import Counter, find

_PORTS: Final = Path(__file__).with_name("ports.sh")
_WITHOUT: Final = Path(__file__).with_name("without.sh")
_KINDS: Final = {Counter.NETDEV: "sockets", Counter.RDMA: "rdma"}
_WINDOWS = 3
"""Messages of 1 MiB that a rank of a round sends and gets at least."""


def cases(family: str) -> list[Case]:
    """The benchmark once for each transport between nodes, over ``rc`` for each port of sites that
    name several, and by NCCL; it runs on all nodes there are.
    """
    found: dict[str, Case] = {}
    for name in available_placements(min_nodes=FEWEST_NODES):
        case = Case("pair_health", name)
        found.setdefault(case.placement.transport.name, case)
    pairs = map(Placement.read, available_placements(min_nodes=FEWEST_NODES - 1))
    rc = next((place for place in pairs if place.transport.name == "rc"), None)
    alone = [replace(rc, port=port) for port in offered_ports()] if rc else []
    count = min(each.placement.num_nodes for each in found.values())
    by_nccl = [Case(NCCL, Placement(find(name), count)) for name in ("nccl_ib", "nccl_socket")]
    return [*found.values(), *(Case("pair_health", place) for place in alone), *by_nccl]


class Pairs(Measurement):
    """Disjoint pairs of all nodes, in rounds, with one MPI.

    Partition extra that is read beside those of every program with MPI: ``topology``, a file with
    what is known of the fabric (docs/how-to/localisation.md). Variables of the check: ``nodes``
    (how many the job has), ``round_seconds``, ``full`` and ``topology``.
    """

    def __init__(self, case: Case) -> None:
        place, entry = case.placement, BENCHMARKS[case.benchmark]
        self._by_nccl = case.benchmark == NCCL
        if not self._by_nccl:
            super().__init__(entry, place, mpi.with_family(place.transport.name))
            return
        environs = mpi.with_family("tcp", needs=["nccl"])
        super().__init__(entry, place, environs, gpu.systems(place))

    @property
    def _start(self) -> Placement:
        """The placement by whose transport MPI starts the ranks; NCCL then carries the data."""
        return replace(self.placement, transport=find("tcp")) if self._by_nccl else self.placement

    def ranks(self, setting: Setting) -> Ranks:
        """One on each node, without those of which a port turned out to be down."""
        nodes = setting.chosen.get("nodes") or self.placement.num_nodes
        return Ranks(nodes - len(dead_ports(setting.stage)), 1)

    def sizes(self, setting: Setting) -> tuple[int, ...]:
        """The ping of 8 B and the message of 1 MiB, whatever the site takes."""
        return PING, MESSAGE

    def job(self, setting: Setting) -> Job:
        """The program, and what steers it."""
        steer = [sys.executable, "-m", "fabricheck.localise.steer"]
        if path := topology_of(setting.chosen.get("topology") or setting.extras.topology):
            steer.append(f"--topology={path}")
        if setting.chosen.get("full"):
            steer.append("--full")
        # ReFrame writes the words into a script as they are.
        command = shlex.quote(f"env -u LD_PRELOAD {shlex.join(steer)}")
        options = ["--steer", command, "--validate"]
        options += [
            "--seconds",
            str(setting.chosen.get("round_seconds", ROUND_SECONDS)),
            "--json",
            RESULT_JSON,
        ]
        more: Mapping[str, str] = {}
        if self._by_nccl:
            options.append("--nccl")
            ways = network(self.placement.transport, setting.extras.given_ports)
            more = {**gpu.variables(setting, GpuPath.AWARE), **ways, **WAYS}
        words = [setting.programs.program(PROGRAM), *options]
        job = mpi.start(self._start, setting, words, more)
        job = gpu.with_gpus(job, setting) if self._by_nccl else job
        told, leaving_out = self._ports(setting), launcher_of(setting.launcher).leaving_out
        if not leaving_out or not told:
            return job
        # The shell runs it when the nodes have told their ports. MPI would wait for a dead one.
        without = f"$(sh {shlex.quote(str(_WITHOUT))} {shlex.quote(leaving_out)})"
        return replace(job, told=told, launcher_options=[*job.launcher_options, without])

    def _ports(self, setting: Setting) -> list[str]:
        """What tells whether the ports of a node carry anything; empty where any will do."""
        transport = self.placement.transport
        if transport.counter not in _KINDS:
            return []
        rails = map(sought, setting.extras.ports)
        devices = tuple(rails) or setting.extras.given_ports.names(transport.port)
        return ["sh", str(_PORTS), _KINDS[transport.counter], *devices]

    def examine(self, setting: Setting) -> Evidence:
        """As of every program with MPI; the placement has as many nodes as the job had."""
        nodes = self.ranks(setting).total
        self.placement = replace(self.placement, num_nodes=nodes)
        found = mpi.examine(
            self,
            self._start,
            setting,
            result=RESULT_JSON,
            exchanges={MESSAGE: _WINDOWS},
            path=self.placement.transport if self._by_nccl else None,
            says=(lambda: self.told_by_nccl(setting)) if self._by_nccl else None,
        )
        return gpu.examine(found, setting) if self._by_nccl else found

    def told_by_nccl(self, setting: Setting) -> TransportReport:
        """What carried the data, as NCCL says of its channels."""
        return report_of_nccl(self.placement.transport, read_nccl_logs(setting.stage, ""), "")


measurement = Pairs
