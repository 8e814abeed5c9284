"""How rdma_stream is run: topologies, where their ranks are, and proof by its own count."""

from dataclasses import replace

from fabricheck.launch import mpi
from fabricheck.launch.cases import Case, node_counts
from fabricheck.launch.evidence import RESULT_JSON
from fabricheck.launch.measurement import Evidence, Job, Measurement, Ranks, Setting
from fabricheck.launch.verbs import address, flat, ports, wrong_mtu
from fabricheck.measures.budget import TYPICAL
from fabricheck.measures.curve import Curve
from fabricheck.programs.rdma_stream.entries import BENCHMARKS, PROGRAM, Topology
from fabricheck.schedulers import launcher_of
from fabricheck.sites.extras import PartitionExtras
from fabricheck.sites.files import offers
from fabricheck.transports.gpu_memory import Load
from fabricheck.transports.placement import Placement
from fabricheck.transports.settings import listing
from fabricheck.transports.table import find

_BUDGETS = 20
"""Time budgets of a message size that one run of streams may take."""

_FEWEST_MESSAGES = 100
_BLOCKS, _MESSAGES_OF_BLOCK, _MESSAGES_OF_SMALL_BLOCK = 10, 100, 10

_MEGA = 1_000_000
"""Latency in us and bandwidth in MB/s; a datagram costs a call of the kernel on each side."""


def cases(family: str) -> list[Case]:
    """Each benchmark on each number of nodes that fits its topology and that a site offers."""
    return [
        Case(each.name, Placement(find(transport), count))
        for each in BENCHMARKS.values()
        if each.family == family
        for transport in each.transports
        for count in _fitting(each.topology)
        if any(
            {find(transport).feature, room} <= features
            for room in _rooms(count)
            for features in offers()
        )
    ]


def _fitting(topology: Topology) -> list[int]:
    """Numbers of nodes; of repeated units as many as fit into a number that a site speaks of."""
    counts = node_counts()
    most = {count - count % topology.nodes for count in counts}
    return [
        count
        for count in range(1, max(counts, default=0) + 1)
        if topology.units_on(count) and (topology.most == 1 or count in most)
    ]


def _rooms(count: int) -> list[str]:
    """The features that say that so many nodes, or more, can be had."""
    return [f"nodes_{each}" for each in sorted(node_counts()) if each >= count]


def rdma_stream_options(extras: PartitionExtras, method: str) -> list[str]:
    """Options of rdma_stream: the first RDMA port, or for datagrams the network interface."""
    if method == "udp":
        return flat({"--dev": extras.ucx_net_devices.get("tcp")})
    if method == "mpi":
        return []
    device, number = ports(extras)[0]
    given = {"--dev": device or None, "--port": number or None}
    return [*address(extras, "--gid-index", "--mtu", "--sl"), *flat(given)]


class Streams(Measurement):
    """Streams of one topology over one way for the messages.

    The ranks go to the nodes that the topology says, by a list of hosts. Over a port a stream may
    stay inside a node: it turns round in the port. ``messages`` of each stream, which the check
    leaves to the command line, are those of the source.

    Partition extras that are read beside those of every program with MPI: ``gid_index``,
    ``service_level`` and ``fabric_health`` (its ``mtu``); ``stream_share``, how far streams that
    share a link may lie from their mean; ``stream_loss``, the share of datagrams that may be lost;
    and for slow fabrics ``time_budget`` with ``typical``, as for perftest: fewer messages, and for
    datagrams the pace.
    """

    def __init__(self, case: Case) -> None:
        self._entry = BENCHMARKS[case.benchmark]
        transport, count = case.placement.transport, case.placement.num_nodes
        super().__init__(
            self._entry,
            case.placement,
            # MPI brings the sides together, whatever carries the messages.
            mpi.with_family(transport.name),
            [f"+{transport.feature} +{room}" for room in _rooms(count)],
        )
        self._nodes = self._entry.topology.places(self.placement.num_nodes)
        self._size = self._entry.min_size or 0
        # A stream inside a node turns round before its link.
        self.has_links = self._entry.topology.nodes > 1

    def ranks(self, setting: Setting) -> Ranks:
        """Each node has the ranks of the topology."""
        return Ranks(len(self._nodes), max(map(self._nodes.count, self._nodes)))

    def sizes(self, setting: Setting) -> tuple[int, ...]:
        """The size of a message, which a topology does not change."""
        return (self._size,)

    def job(self, setting: Setting) -> Job:
        """The program, who streams to whom, at which pace, and each rank on its node."""
        job = mpi.start(self.placement, setting, self._words(setting))
        count = self.placement.num_nodes
        launcher = launcher_of(setting.launcher)
        listed = listing(self._nodes, count, launcher, setting.mpi)
        return replace(
            job,
            variables={**job.variables, **listed.variables},
            before=[*job.before, *listed.commands],
            options=[*filter(None, [launcher.of_job_nodes.format(count)])],
            launcher_options=[*job.launcher_options, *listed.options],
        )

    def examine(self, setting: Setting) -> Evidence:
        """As of every program with MPI; the path MTU must be the one asked for."""
        # Where the suite pins three ranks or more, nodes may have two CPUs.
        crowded = self.ranks(setting).per_node > 2 and bool(setting.extras.pin)  # noqa: PLR2004
        found = mpi.examine(
            self,
            self.placement,
            setting,
            bound=False if crowded else None,
            result=RESULT_JSON,
            exchanged=self._exchanged,
        )
        if found.curve is None or self._entry.method != "rdma":
            return found
        wrong = wrong_mtu(setting.extras, int(found.curve.metadata.get("mtu", "0")))
        return replace(found, objections=(*found.objections, *filter(None, [wrong])))

    def _exchanged(self, curve: Curve) -> Load:
        """What each rank sends or receives at least: one stream."""
        (point,) = curve.points
        count = point.iterations or 0
        return Load(payload=self._size * count, calls=count)

    def _words(self, setting: Setting) -> list[str]:
        receivers = len(self._nodes) // (1 + self._entry.topology.transmitters)
        is_slow = setting.extras.time_budget is not None
        options = {
            "--nrx": receivers,
            "--nlink": len(self._nodes) - receivers,
            "--num-blks": _BLOCKS,
            "--num-cmsgs": _MESSAGES_OF_SMALL_BLOCK if is_slow else _MESSAGES_OF_BLOCK,
            "--nmsg": self._messages(setting),
            "--json": RESULT_JSON,
        }
        if self._entry.method == "udp":
            # Nothing slows a sender of datagrams down but its own pace.
            options["--send-delay"] = round(self._pace(setting.extras), 2)
        words = [str(word) for pair in options.items() for word in pair]
        own = rdma_stream_options(setting.extras, self._entry.method)
        return [setting.programs.program(PROGRAM), *self._entry.options, *own, *words]

    def _pace(self, extras: PartitionExtras) -> float:
        """Time in us from one message to the next where the path is as usual."""
        usual = {**TYPICAL, "latency": 10.0} if self._entry.method == "udp" else TYPICAL
        typical = {**usual, **extras.typical}
        each = typical["latency"] + self._size / typical["bandwidth"]
        return float(self._entry.topology.transmitters * each)

    def _messages(self, setting: Setting) -> int:
        chosen = int(setting.chosen["messages"])
        if (budget := setting.extras.time_budget) is None:
            return chosen
        fitting = int(_BUDGETS * budget * _MEGA / self._pace(setting.extras))
        return max(_FEWEST_MESSAGES, min(chosen, fitting))


measurement = Streams
