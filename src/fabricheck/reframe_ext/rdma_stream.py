"""What the check of ``rdma_stream`` inherits: topologies, where their ranks run, and losses."""

from collections.abc import Mapping
from dataclasses import replace

from reframe.core.builtins import run_after, run_before, variable

from fabricheck.benchmarks.curve import Curve
from fabricheck.benchmarks.rdma_stream.entries import BENCHMARKS as STREAM_BENCHMARKS
from fabricheck.benchmarks.rdma_stream.entries import Topology
from fabricheck.benchmarks.rdma_stream.judge import EVEN, stream_findings
from fabricheck.judge.levels import worst
from fabricheck.judge.physics import Links
from fabricheck.judge.references import Reference, Tolerance
from fabricheck.judge.verdict import Verdict
from fabricheck.reframe_ext.evidence import Evidence
from fabricheck.reframe_ext.mpi_benchmark import MpiBenchmark, with_family
from fabricheck.reframe_ext.verbs_options import rdma_stream_options, wrong_mtu
from fabricheck.sites.offers import offers
from fabricheck.transports import Placement, find, hosts
from fabricheck.transports.proof import Load

_BUDGETS = 20
"""Time budgets of a message size that one run of streams may take."""

_FEWEST_MESSAGES = 100
_BLOCKS, _MESSAGES_OF_BLOCK, _MESSAGES_OF_SMALL_BLOCK = 10, 100, 10

_MEGA = 1_000_000
_TYPICAL: Mapping[str, float] = {"latency": 2.0, "bandwidth": 10_000.0}
_TYPICAL_DATAGRAM: Mapping[str, float] = {"latency": 10.0, "bandwidth": 10_000.0}
"""Latency in us and bandwidth in MB/s; a datagram costs a call of the kernel on each side."""


def stream_cases() -> list[tuple[str, str]]:
    """Each benchmark on each number of nodes that fits its topology and that a site offers."""
    return [
        (each.name, str(Placement(find(transport), count)))
        for each in STREAM_BENCHMARKS.values()
        for transport in each.transports
        for count in _fitting(each.topology)
        if any(
            {find(transport).feature, room} <= features
            for room in _rooms(count)
            for features in offers()
        )
    ]


def _offered() -> list[int]:
    """The numbers of nodes that sites speak of."""
    prefix = "nodes-"
    return sorted(
        {
            int(feature.removeprefix(prefix))
            for features in offers()
            for feature in features
            if feature.startswith(prefix)
        }
    )


def _fitting(topology: Topology) -> list[int]:
    """Numbers of nodes; of repeated units as many as fit into a number that a site speaks of."""
    offered = _offered()
    most = {count - count % topology.nodes for count in offered}
    return [
        count
        for count in range(1, max(offered, default=0) + 1)
        if topology.units_on(count) and (topology.most == 1 or count in most)
    ]


def _rooms(count: int) -> list[str]:
    """The features that say that so many nodes, or more, can be had."""
    return [f"nodes-{each}" for each in _offered() if each >= count]


class StreamBenchmark(MpiBenchmark):
    """Streams of one topology over one way for the messages.

    A check that inherits from it declares the parameter ``case``, a benchmark and its placement,
    out of ``stream_cases``. The ranks go to the nodes that the topology says, by a list of hosts.
    Over a port a stream may stay inside a node: it turns round in the port. ``messages`` of each
    stream are those of the source.

    Partition extras that are read beside those of ``MpiBenchmark``: ``ucx_net_devices``,
    ``gid_index``, ``service_level`` and ``fabric_health`` (its ``mtu``); ``stream_share``, how far
    streams that share a link may lie from their mean; and for slow fabrics ``time_budget`` with
    ``typical``, as for perftest: fewer messages, and for datagrams the pace.
    """

    messages = variable(int, value=100_000, loggable=True)

    @run_after("init")
    def place(self) -> None:
        """Take topology, transport and nodes from the case, and ask for what they need."""
        self.benchmark, self.placement = self.case
        name, _, nodes = self.placement.rpartition("-")
        self._placement = Placement(find(name), int(nodes[:-1]))
        self.transport, self.num_nodes = name, self._placement.num_nodes
        feature = self._placement.transport.feature
        self.valid_systems = [f"+{feature} +{room}" for room in _rooms(self.num_nodes)]
        self._curve: Curve | None = None
        self._remarks: tuple[str, ...] = ()

    @run_after("init")
    def choose_runs(self) -> None:
        """Belong to the benchmark's runs."""
        self._streams = STREAM_BENCHMARKS[self.benchmark]
        self._places = self._streams.topology.places(self.num_nodes)
        self.tags = {*self._streams.runs, "stream"}

    @run_after("init")
    def choose_families(self) -> None:
        """Ask for an MPI that has the transport: it brings the sides together."""
        self.valid_prog_environs = with_family(self.transport)

    @run_after("setup")
    def size(self) -> None:
        """Give each node the ranks of the topology."""
        self.num_tasks = len(self._places)
        self.num_tasks_per_node = max(map(self._places.count, self._places))

    @run_before("run")
    def put_ranks(self) -> None:
        """Have the launcher put each rank on its node."""
        self.job.options += [f"--nodes={self.num_nodes}"] * self._is_slurm
        launcher = self.current_partition.launcher_type.registered_name
        listed = hosts.listing(self._places, self.num_nodes, launcher, self.mpi)
        self.prerun_cmds += listed.commands
        self.job.launcher.options += listed.options
        self.env_vars.update(listed.variables)

    def sizes(self) -> tuple[int, ...]:
        """The size of a message, which a topology does not change."""
        return (self._size,)

    def program_command(self) -> list[str]:
        """The program, who streams to whom, and at which pace."""
        receivers = len(self._places) // (1 + self._streams.topology.transmitters)
        options = {
            "--nrx": receivers,
            "--nlink": len(self._places) - receivers,
            "--num-blks": _BLOCKS,
            "--num-cmsgs": _MESSAGES_OF_SMALL_BLOCK if self._budget else _MESSAGES_OF_BLOCK,
            "--nmsg": self._messages(),
            "--json": f"{self.benchmark}.json",
        }
        if self._streams.method == "udp":
            # Nothing slows a sender of datagrams down but its own pace.
            options["--send-delay"] = round(self._pace(), 2)
        words = [str(word) for pair in options.items() for word in pair]
        extras = self.current_partition.extras
        ports = rdma_stream_options(extras, self._streams.method)
        return [self.build.program(self._streams.program), *self._streams.options, *ports, *words]

    def examine(self) -> Evidence:
        """As of every benchmark of MPI; the path MTU must be the one asked for."""
        found = super().examine()
        wrong = ""
        if found.curve and self._streams.method == "rdma":
            used = int(found.curve.metadata.get("MTU", "0"))
            wrong = wrong_mtu(self.current_partition.extras, used)
        return replace(found, objections=(*found.objections, *filter(None, [wrong])))

    def exchanged(self, curve: Curve) -> Load:
        """What each rank sends or receives at least: one stream."""
        (point,) = curve.points
        count = point.iterations or 0
        return Load(payload=self._size * count, calls=count)

    def find_verdict(
        self, references: Mapping[str, Reference], tolerance: Tolerance | None
    ) -> Verdict:
        """The verdict on the rates, on lost messages, and on streams that share a link."""
        verdict = super().find_verdict(references, tolerance)
        assert self._curve is not None, "a case without curve is untrusted and never judged"
        found = stream_findings(self._curve, self._share())
        level = worst([verdict.level, *(level for level, _ in found)])
        findings = tuple(finding for _, finding in found)
        return Verdict(level, verdict.judgements, findings + verdict.findings)

    def links(self) -> Links | None:
        """The links between the nodes; a stream inside a node turns round before its link."""
        return super().links() if self._streams.topology.nodes > 1 else None

    def has_own_cpus(self) -> bool:
        """Not where the suite pins three ranks or more: such nodes may have two CPUs."""
        crowded = self.num_tasks_per_node > 2 and "pin" in self.current_partition.extras  # noqa: PLR2004
        return super().has_own_cpus() and not crowded

    @property
    def _size(self) -> int:
        return self._streams.min_size or 0

    @property
    def _budget(self) -> float | None:
        budget: float | None = self.current_partition.extras.get("time_budget")
        return budget

    @property
    def _is_slurm(self) -> bool:
        return bool(self.current_partition.launcher_type.registered_name == "srun")

    def _exchanges(self) -> None:
        """The program says itself what it exchanged, whoever built it."""

    def _share(self) -> float:
        return float(self.current_partition.extras.get("stream_share", EVEN))

    def _pace(self) -> float:
        """Time in us from one message to the next where the path is as usual."""
        usual = _TYPICAL_DATAGRAM if self._streams.method == "udp" else _TYPICAL
        typical = {**usual, **self.current_partition.extras.get("typical", {})}
        streams = self._streams.topology.transmitters
        each = typical["latency"] + self._size / typical["bandwidth"]
        return float(streams * each)

    def _messages(self) -> int:
        if self._budget is None:
            return int(self.messages)
        fitting = int(_BUDGETS * self._budget * _MEGA / self._pace())
        return max(_FEWEST_MESSAGES, min(int(self.messages), fitting))
