"""What a site file says beside ReFrame's own keys: extras of partitions and environments.

Each class here is the schema of its keys and has their defaults; what a single value must look like
is a definition of ``site.schema.json``. Of the docstrings ``ci/document-extras.py`` writes the
tables of docs/reference/sites.md: a meaning, and ``Default:`` where the value needs words.
"""

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from typing import Any, Self, get_args

from fabricheck.transports.settings import Ports

# Bit 15 of a pkey says full member; UCX and MVAPICH2 ask for the partition by the other bits.
_PARTITION = 0x7FFF


def _key(form: str, default: Any = None) -> Any:
    """A key of a section.

    Args:
        form: the definition that its value must fit.
        default: its default, or what makes it.
    """
    how: Any = {"default_factory" if callable(default) else "default": default}
    return field(**how, metadata={"form": form})


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A mapping in a site file."""

    @classmethod
    def of(cls, given: Mapping[str, Any] | None) -> Self:
        """The section of a site file that was checked, of what ReFrame made of it, or ``asdict``.

        Args:
            given: its keys; ReFrame adds ``scheduler`` and ``launcher`` to extras.
        """
        # `fabricheck node` without a partition reads none, and runs before each job.
        import msgspec

        return msgspec.convert(given or {}, cls)

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """The JSON schema of the section, beside the definitions of ``site.schema.json``."""

        def form(key: Field[Any]) -> Any:
            # A key without a form is a section, or none.
            kind: Any = (get_args(key.type) or (key.type,))[0]
            return {"$ref": f"#/$defs/{key.metadata['form']}"} if key.metadata else kind.schema()

        return {
            "type": "object",
            "additionalProperties": False,
            "properties": {each.name: form(each) for each in fields(cls)},
            "required": [each.name for each in fields(cls) if each.default is each.default_factory],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationExtra(Section):
    """What a partition with ``scheduler: allocation`` may take."""

    nodes: int = _key("above", MISSING)
    time: str = _key("duration", MISSING)
    side_by_side: bool = _key("flag", default=False)
    after_builds: bool = _key("flag", default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllreduceExtra(Section):
    """The networks and models of ``allreduce_lab``."""

    link_rate: int | None = _key("megabits")
    elements: int | None = _key("count")
    gradients: int | None = _key("count")
    compute: int | Mapping[str, int] | None = _key("compute")
    iterations: int | None = _key("count")
    noise: float = _key("share", 0.0)

    def compute_of(self, model: str) -> int | None:
        """Milliseconds that an iteration of a model computes."""
        return self.compute.get(model) if isinstance(self.compute, Mapping) else self.compute


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricHealthExtra(Section):
    """What RDMA ports are held to."""

    mtu: int | None = _key("count")
    link_width: int | None = _key("count")
    least_events: int = _key("above", 10)
    ignore: tuple[str, ...] = _key("counters", ())
    bands: Mapping[str, tuple[float | None, ...]] = _key("bands", dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkShares(Section):
    """The shares of a link below which a bandwidth is a warning or critical."""

    warning: float = _key("share", 0.9)
    critical: float = _key("share", 0.75)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeHealthExtra(Section):
    """What nodes must offer."""

    versions: Mapping[str, str] = _key("versions", dict)
    memlock: int | str = _key("memlock", "unlimited")
    transparent_hugepages: tuple[str, ...] = _key("hugepage_modes", ("always", "madvise"))
    hugepages: Mapping[str, int] = _key("hugepages", dict)
    governor: str = _key("text", "performance")
    numa_distance: int = _key("count", 10)
    mtu: Mapping[str, int] = _key("mtus", dict)
    clock_skew: float = _key("seconds", 0.128)  # the step of NTP
    manifest: str = _key("topology", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class StressExtra(Section):
    """Who may stress a partition, and how."""

    environ: str = _key("name", MISSING)
    placement: str = _key("placement", MISSING)
    mix: str | Mapping[str, str] = _key("mix", "seed")
    every: str = _key("duration", "24h")
    longest: str = _key("duration", "24h")
    options: tuple[str, ...] = _key("texts", ())


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionExtras(Section):
    """What is said of a partition.

    Attributes:
        ucx_net_devices: `UCX_NET_DEVICES` for `tcp`, `ipoib` (needed where that is offered) and
            `rdma`. Default: UCX takes every device
        ports: the RDMA ports of each node where it has [several](#several-cards), in place of
            `ucx_net_devices.rdma`. Default: all together
        fabric: `infiniband`, `roce` or `ethernet`: its headers bound what a
            [value can be](../how-to/references.md#what-a-link-allows).
            Default: the larger bound
        least_latency: us: no message between two nodes is faster, faster values are untrusted.
        service_level: of RDMA connections, 0 to 15, on RoCE the
            [frames' priority](transports.md#what-a-site-sets-for-its-ports).
        traffic_class: of RDMA connections, 0 to 255: [DSCP times 4, and
            ECN](transports.md#what-a-site-sets-for-its-ports).
            Default: on RoCE 106 with UCX, 0 with other programs
        pkey: partition key of RDMA connections, of UCX and MVAPICH2.
        gid_index: RoCE, not InfiniBand: the entry of the port's GID table (`show_gids`) for `rc`,
            `ud` and `dc`; leave it out where nodes differ: each program then looks for one.
        link_rate: Gbit/s that every RDMA port must have; [bounds of
            values](../how-to/references.md#what-a-link-allows) and [levels of
            perftest](perftest.md#levels-against-the-link-rate). Default: the rate that all
            cards of the job report, for MPI and UCX
        link_shares: its shares below which a bandwidth is a warning or critical.
        fabric_health: what else [RDMA ports are held to](fabric-health.md#extras-of-a-partition).
            Default: its defaults
        max_message_size: largest message in bytes. Default: 4 MiB or 1 MiB
        time_budget: seconds for each message size; fewer iterations where they would take longer.
            Default: OSU's iteration counts
        typical: what is usual here, for numbers of messages of `ucx_perftest` and perftest within
            `time_budget`. Default: `{latency: 2, bandwidth: 10000}` (us, MB/s)
        topology: a file of `sites/` with [leaves, spines and
            routes](../how-to/localisation.md#topology).
        stream_loss: the share of a stream's datagrams that may be lost, of
            [rdma_stream](programs/rdma_stream.md).
        stream_share: how far the rates of streams into one receiver may lie from their mean, as a
            share, before it is a warning.
        stress: allows [stress](../how-to/stress.md): `environ`, `placement` such as `rc-8n`,
            and optionally `mix`, `every`, `longest` and `options` of sbatch.
        size_step: for slow fabrics: perftest and `ucx_perftest` measure 8 B, from there each size
            so many times the one before, and the largest. Default: every doubling
        allocation: what `scheduler: allocation` [may take](#many-cases-in-one-job), as
            `{nodes: 4, time: 2h}`; `side_by_side: true` lets cases run at the same time on
            different nodes, `after_builds: true` lets them begin when no build of ReFrame is
            running. Default: one at a time
        hosts: the nodes of a partition with `scheduler: hosts`, by the names that
            [they give themselves](#hosts-without-a-scheduler), or of [a queue](#pbs).
        remote_shell: a program that runs, on one of `hosts`, what follows its name. Default: `ssh`
        max_pending_time: how long a job may wait to begin, such as `10m`.
        osu_iterations: iterations of each size, for OSU, which knows no time budget.
        allreduce_lab: of [allreduce_lab](programs/allreduce_lab.md): `link_rate` (Mbit/s of a link
            for each rank, on a testbed), `elements` of a sum, `gradients` (bytes that a model is
            scaled down to), `compute` (ms of an iteration, or `{gpt2: 1250}`; without
            it the guide's seconds mean nothing), `iterations`, `noise`.
            Default: the program's own; whole models
        matrix_orders: orders of the matrices of [mpi_matmul](programs/mpi_matmul.md).
        gpus_per_node: GPUs of each node, which
            [jobs on GPUs](../how-to/gpu.md#what-the-site-file-has) ask for.

        gpu_arch: the architecture that they must have, such as `'90'`.
        gpu_vendor: `cuda` or `rocm`: whose GPUs perftest takes memory of. Default: `cuda`
        gpu_peermem: `true`: by a module of peer memory, in place of dmabuf.
        fake_gpu: `true` lets the driver of the suite's own tests pass, judged by nothing.
        offload: `sharp`, `hcoll`, `ucc` or `han`: what must [serve
            collectives](transports.md#who-serves-collectives) of Open MPI; otherwise they are
            untrusted.
        pin: `cyclic`: bind rank r to CPU r modulo the machine's CPUs, where the scheduler doesn't
            bind.
        node_health: what [nodes must offer](node-health.md#what-a-site-expects).
            Default: its defaults
    """

    ucx_net_devices: Mapping[str, str] = _key("devices", dict)
    ports: tuple[str, ...] = _key("ports", ())
    fabric: str = _key("fabric", "")
    least_latency: float = _key("positive", 0.3)
    service_level: int | None = _key("service_level")
    traffic_class: int | None = _key("byte")
    pkey: int | None = _key("pkey")
    gid_index: int | None = _key("byte")
    link_rate: float | None = _key("gigabits")
    link_shares: LinkShares = field(default_factory=LinkShares)
    fabric_health: FabricHealthExtra = field(default_factory=FabricHealthExtra)
    max_message_size: int | None = _key("bytes")
    time_budget: float | None = _key("positive")
    typical: Mapping[str, float] = _key("typical", dict)
    topology: str = _key("topology", "")
    stream_loss: float = _key("share", 0.0)
    stream_share: float = _key("share", 0.05)
    stress: StressExtra | None = None
    size_step: int | None = _key("size_step")
    allocation: AllocationExtra | None = None
    hosts: tuple[str, ...] = _key("texts", ())
    remote_shell: str = _key("text", "ssh")
    max_pending_time: str | None = _key("duration")
    osu_iterations: int | None = _key("count")
    allreduce_lab: AllreduceExtra = field(default_factory=AllreduceExtra)
    matrix_orders: tuple[int, ...] = _key("matrix_orders", ())
    gpus_per_node: int | None = _key("above")
    gpu_arch: str | None = _key("gpu_arch")
    gpu_vendor: str = _key("gpu_vendor", "cuda")
    gpu_peermem: bool = _key("flag", default=False)
    fake_gpu: bool = _key("flag", default=False)
    offload: str = _key("offload", "")
    pin: str = _key("pin", "")
    node_health: NodeHealthExtra = field(default_factory=NodeHealthExtra)

    def only(self, port: str) -> Self:
        """What holds where one port of several is used; all of it without one."""
        return replace(self, ports=(port,)) if port else self

    @property
    def given_ports(self) -> Ports:
        """The ports that it gives to the suite; a ``gid_index`` without a ``fabric`` says RoCE."""
        named = not any("=" in port for port in self.ports)
        rdma = {"rdma": ",".join(self.ports)} if self.ports and named else {}
        return Ports(
            devices={**self.ucx_net_devices, **rdma},
            rails=self.ports,
            is_roce=self.fabric == "roce" or (not self.fabric and self.gid_index is not None),
            gid_index=self.gid_index,
            service_level=self.service_level,
            traffic_class=self.traffic_class,
            pkey=self.pkey and self.pkey & _PARTITION,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerExtra(Section):
    """What an environment runs in: a platform of ReFrame, and what that takes."""

    platform: str = _key("container_platform", MISSING)
    image: str = _key("text", MISSING)
    mounts: tuple[str, ...] = _key("texts", ())
    options: tuple[str, ...] = _key("texts", ())


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentExtras(Section):
    """What is said of an environment.

    Attributes:
        mpi_family: MPIS (`mvapich2_nemesis` is MVAPICH2's build for Ethernet): chooses the
            [settings and proof](transports.md) of a transport.
        mpi_spec: with the feature `spack`: the MPI as Spack names it, such as `^openmpi`
            ([spack.md](../how-to/spack.md)).
        pmi: what `srun --mpi` must speak: `pmix` for Open MPI, `pmi2` for MPICH and MVAPICH2. The
            wrong one starts N worlds of one rank.
        container: the [image](#containers) in which its cases run: `platform`, `image`, and
            optionally `mounts` and `options`.
    """

    mpi_family: str = _key("name", "")
    mpi_spec: str = _key("text", "")
    pmi: str = _key("name", "")
    container: ContainerExtra | None = None
