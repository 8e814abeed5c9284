"""How nccl_probe is run: a rank on each GPU, and a run before the timed one in which NCCL tells."""

from dataclasses import replace

from fabricheck.launch import gpu, mpi
from fabricheck.launch.cases import Case
from fabricheck.launch.evidence import RESULT_JSON
from fabricheck.launch.measurement import Evidence, Job, Measurement, Ranks, Setting
from fabricheck.measures.curve import Curve
from fabricheck.measures.gpu import GpuPath
from fabricheck.programs.allreduce_lab.entries import MODELS
from fabricheck.programs.allreduce_lab.launch import iterations
from fabricheck.programs.nccl_probe.entries import BENCHMARKS, OPERATIONS, PROGRAM, NcclBenchmark
from fabricheck.programs.nccl_probe.read import BYTES
from fabricheck.transports.gpu_memory import Load
from fabricheck.transports.nccl import LOGGING, network, read_nccl_logs, report_of_nccl
from fabricheck.transports.placement import Placement
from fabricheck.transports.statement import TransportReport
from fabricheck.transports.table import Scope, find

_TWO = 2
_SOCKETS = find("nccl_socket").lanes
_INSIDE = find("nccl_node").lanes


def cases(family: str) -> list[Case]:
    """Each benchmark with each placement that it can run on."""
    trainings = sorted({each.placement.num_nodes for each in iterations()})
    return [
        Case(each.name, Placement(transport, count))
        for each in BENCHMARKS.values()
        if each.family == family
        for transport in map(find, each.transports)
        for count in (trainings if each.model else [_TWO - (transport.scope is Scope.INTRA_NODE)])
    ]


class Collective(Measurement):
    """One collective of NCCL, with a rank on each GPU of the nodes.

    MPI only starts the ranks and tells them of each other, by shared memory or sockets. Where a
    single GPU is all there is, two ranks share it. Partition extras that are read beside those of
    every program with MPI: ``gpus_per_node``, ``gpu_arch``, ``fake_gpu`` and ``max_message_size``;
    of a training ``allreduce_lab.compute``. Its features are ``training_MODEL``, and ``tail1_5`` or
    ``tail3``: that other traffic makes such a tail, as ``lab/run_background.sh`` does.
    """

    def __init__(self, case: Case) -> None:
        self._entry: NcclBenchmark = BENCHMARKS[case.benchmark]
        place = case.placement
        start = "shm" if place.transport.scope is Scope.INTRA_NODE else "tcp"
        self._start = replace(place, transport=find(start))
        environs = mpi.with_family(start, needs=["nccl"])
        more = f" +training_{self._entry.model} +{self._entry.tail}" * bool(self._entry.model)
        systems = [each + more for each in gpu.systems(place)]
        super().__init__(self._entry, place, environs, systems)

    def ranks(self, setting: Setting) -> Ranks:
        """A rank on each GPU, two on one that is alone."""
        each = setting.extras.gpus_per_node or 1
        nodes = self.placement.num_nodes
        return Ranks(_TWO, _TWO) if each * nodes < _TWO else Ranks(each * nodes, each)

    def job(self, setting: Setting) -> Job:
        """The program, and before it the same with few repetitions and NCCL's log."""
        words = [setting.programs.program(PROGRAM), *self._entry.options, "--validate"]
        if self._entry.model:
            words += ["--buckets", ",".join(map(str, MODELS[self._entry.model].buckets))]
            compute = setting.extras.allreduce_lab.compute_of(self._entry.model)
            words += ["--compute", str(compute or 0), "--batch", "1"]
        else:
            sizes = self.sizes(setting)
            words += ["-m", f"{sizes[0]}:{sizes[-1]}"]
        if self._is_shared(setting):
            words.append("--share-gpu")
        chosen = network(self.placement.transport, setting.extras.given_ports)
        more = {**gpu.variables(setting, GpuPath.AWARE), **chosen}
        job = mpi.start(self._start, setting, [*words, "--json", RESULT_JSON], more)
        log = [f"{name}={value}" for name, value in LOGGING.items()]
        told = ["env", *log, *words, "-i", "1", "-x", "0", "--batch", "1"]
        return replace(gpu.with_gpus(job, setting), told=told)

    def examine(self, setting: Setting) -> Evidence:
        """As of every program with MPI; what carried the data NCCL said in the run before."""
        found = mpi.examine(
            self,
            self._start,
            setting,
            result=RESULT_JSON,
            exchanged=_exchanged,
            path=self.placement.transport,
            says=lambda: self._says(setting),
        )
        return gpu.examine(found, setting)

    def _says(self, setting: Setting) -> TransportReport:
        entry, transport = self._entry, self.placement.transport
        if self._is_shared(setting):
            # NCCL takes the ranks for two nodes: it has no other way to share a GPU.
            transport = replace(transport, lanes=_SOCKETS)
        return report_of_nccl(
            transport,
            read_nccl_logs(setting.stage, OPERATIONS[entry.collective]),
            "" if entry.scheme == "auto" else entry.scheme.upper(),
            _INSIDE if self.ranks(setting).per_node > 1 else (),
        )

    def _is_shared(self, setting: Setting) -> bool:
        ranks = self.ranks(setting)
        return ranks.per_node > (setting.extras.gpus_per_node or 1)


def _exchanged(curve: Curve) -> Load:
    """The least that a node exchanges: a root may only send or only receive."""
    whole = int(curve.metadata.get(BYTES, 0))
    counts = [(point.size or whole, point.iterations or 0) for point in curve.points]
    payload = sum(size * count for size, count in counts) // _TWO
    return Load(payload, calls=sum(count for _, count in counts))


measurement = Collective
