"""How MPI on memory of GPUs is measured: by OSU's programs where they can, else by mpi_probe."""

from collections.abc import Iterable
from dataclasses import replace

from fabricheck.launch import gpu, mpi
from fabricheck.launch.cases import Case, available_placements
from fabricheck.launch.evidence import RESULT_JSON
from fabricheck.launch.measurement import Evidence, Job, Measurement, Setting
from fabricheck.measures.gpu import GpuPath
from fabricheck.programs.cuda_mpi.entries import BENCHMARKS, COMPARED, GpuBenchmark
from fabricheck.programs.osu.entries import BENCHMARKS as OF_MPI
from fabricheck.programs.osu.launch import Osu
from fabricheck.transports.placement import Placement
from fabricheck.transports.table import Memory

_STAGED_ON = ("shm", "tcp", "rc")
_MOST_NODES = 2
_ON_DEVICES = "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)"


def cases(family: str) -> list[Case]:
    """Each benchmark on each placement that a site with GPUs offers for its memory and path.

    Those whose two paths are compared are always there.
    """
    aware = _read(
        available_placements(max_nodes=_MOST_NODES, memory=Memory.GPU, needs=("gpu",)), COMPARED
    )
    staged = _read(available_placements(max_nodes=_MOST_NODES, needs=("gpu",)), COMPARED.values())
    return [
        Case(entry.name, place)
        for entry in BENCHMARKS.values()
        if entry.family == family
        for place in (aware if entry.path is GpuPath.AWARE else staged)
        if entry.path is GpuPath.AWARE or place.transport.name in _STAGED_ON
        # The driver moves managed memory itself: no lane reads it.
        if entry.memory != "managed" or not place.transport.direct
    ]


def _read(offers: Iterable[str], compared: Iterable[str]) -> list[Placement]:
    return [Placement.read(name) for name in dict.fromkeys((*offers, *compared))]


class OnGpus(Osu):
    """One benchmark of MPI on memory of GPUs, on one placement with one MPI.

    OSU's programs, of an environment with the feature ``spack``, must have been built with CUDA.
    Extras of the partition that are read beside those of every benchmark of MPI: ``gpus_per_node``,
    ``gpu_arch`` and ``fake_gpu``.
    """

    def __init__(self, case: Case) -> None:
        self._entry: GpuBenchmark = BENCHMARKS[case.benchmark]
        place = case.placement
        environs = mpi.with_family(place.transport.name, needs=self._entry.needs)
        Measurement.__init__(self, self._entry, place, environs, gpu.systems(place))

    def job(self, setting: Setting) -> Job:
        """The program with its memory and path, and the GPUs of the nodes."""
        entry, base, by_osu = self._entry, OF_MPI[self._entry.base], self._by_osu(setting)
        options = self._options_of(base, setting, by_osu=by_osu)
        if by_osu:
            # Programs of pairs name the memory of both sides behind their options.
            sides = ["D", "D"] if base.family == "pt2pt" else []
            words = [*setting.programs.command(base), "-d", "cuda", *options, *sides]
        else:
            words = [setting.programs.program("mpi_probe"), base.name, *options]
            words += ["--buffer", entry.memory, "--path", entry.path]
        more = gpu.variables(setting, entry.path)
        return gpu.with_gpus(mpi.start(self.placement, setting, words, more), setting)

    def examine(self, setting: Setting) -> Evidence:
        """As of every benchmark of MPI, with the memory that UCX says messages came from."""
        base, by_osu = OF_MPI[self._entry.base], self._by_osu(setting)
        found = mpi.examine(
            self,
            self.placement,
            setting,
            result="" if by_osu else RESULT_JSON,
            exchanges=self._exchanges_of(base, setting, by_osu=by_osu),
            memory=self._memory,
        )
        is_pair = base.family == "pt2pt"
        if by_osu and is_pair and _ON_DEVICES not in setting.text(setting.stdout):
            why = f"expected {_ON_DEVICES!r} of OSU, found no such line: it measured other memory"
            return replace(found, objections=(*found.objections, why))
        return gpu.examine(found, setting)

    @property
    def _memory(self) -> Memory:
        """Where messages must come from: an MPI that reduces may do so on the host."""
        if self._entry.path is GpuPath.STAGED:
            return Memory.HOST
        return Memory.EITHER if "cuda_collectives" in self._entry.needs else Memory.GPU

    def _by_osu(self, setting: Setting) -> bool:
        return setting.programs.provider == "osu" and self._entry.has_osu


measurement = OnGpus
