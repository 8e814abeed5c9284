"""How perftest is run: sizes and iterations, proof by settings and packets."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from fabricheck.judge.link_rate import above_ceiling, read_rate
from fabricheck.launch import pair
from fabricheck.launch.cases import Case
from fabricheck.launch.gpu import with_gpus
from fabricheck.launch.measurement import Evidence, Job, Measurement, Setting
from fabricheck.launch.verbs import address, flat, ports
from fabricheck.measures.budget import iterations, thin
from fabricheck.measures.curve import Curve
from fabricheck.measures.gpu import VENDORS
from fabricheck.measures.parser import check_complete
from fabricheck.programs.perftest import read as perftest
from fabricheck.programs.perftest import table
from fabricheck.programs.perftest.entries import BENCHMARKS, GPU
from fabricheck.programs.perftest.judge import ceilings
from fabricheck.sites.extras import PartitionExtras
from fabricheck.transports.pair import SERVER_OUTPUTS
from fabricheck.transports.proof import Proof, prove_packets
from fabricheck.transports.witness import Witness, read_witnesses
from fabricheck.units import MIB

_ALL_SIZES = 8 * MIB
"""The largest size of perftest's own sweep (``-a``), which can't be told to end earlier."""

_WHOLE_SWEEP = ("-a",)

_SLOWEST_SWEEP = 240
"""Seconds; the job's time limit must leave room for the start of both ends beside it."""

_LEAST_MTU = 1024
"""Payload of a datagram that any port can send."""

cases = pair.cases_of_ports


def perftest_options(extras: PartitionExtras, connection: str) -> list[str]:
    """Options of perftest: the first port, over this connection (``RC``, ``UC``, ``UD``)."""
    device, number = ports(extras)[0]
    given = {"-d": device or None, "-i": number or None}
    return ["-F", "-c", connection, *address(extras, "-x", "-m", "-S"), *flat(given)]


def _gpu_options(extras: PartitionExtras) -> tuple[str, ...]:
    vendor = VENDORS[extras.gpu_vendor]
    return (vendor.perftest,) if extras.gpu_peermem else (vendor.perftest, vendor.dmabuf)


class Perftest(pair.Pair):
    """One benchmark of the family ``verbs`` on one placement.

    Partition extras that are read beside those of every pair: ``ucx_net_devices`` (its ``rdma``
    names device and port), ``gid_index``, ``fabric_health`` (its ``mtu``), ``link_rate`` and
    ``link_shares``; and for slow fabrics ``time_budget`` with ``typical``, as for ucx_perftest, and
    ``size_step`` (each size is so many times the one before).

    Without a time budget one run measures every size with perftest's own iterations. With one, or
    where ``max_message_size`` cuts the sweep, each size has a run of its own.
    """

    of_each_port = True
    has_links = False
    """perftest names link layer and MTU itself, so its proof and verdict know better."""

    def __init__(self, case: Case) -> None:
        self._entry = BENCHMARKS[case.benchmark]
        super().__init__(case, self._entry, "verbs")
        self._connection = self.placement.transport.name.upper()

    def sizes(self, setting: Setting) -> tuple[int, ...]:
        """The sizes in bytes; datagrams end at the MTU, a sparse sweep leaves sizes out."""
        sizes = Measurement.sizes(self, setting)
        if self._connection == "UD":
            mtu = setting.extras.fabric_health.mtu or _LEAST_MTU
            sizes = tuple(size for size in sizes if size <= mtu)
        return self.of_tonight(thin(sizes, setting.extras.size_step), setting)

    def job(self, setting: Setting) -> Job:
        """Both ends must be of the same version; a run with every size may take longer."""
        runs = self._runs(setting)
        limit = {"limit": _SLOWEST_SWEEP} if runs == [_WHOLE_SWEEP] else {}
        own = [
            word
            for option in self._entry.options
            for word in (_gpu_options(setting.extras) if option == GPU else (option,))
        ]
        common = [*own, *perftest_options(setting.extras, self._connection)]
        job = pair.start(setting, self._entry.program, common, runs, version="--version", **limit)
        if GPU not in self._entry.options:
            return job
        card = "" if setting.extras.ports else ports(setting.extras)[0][0]
        near = {"FABRICHECK_GPU": f"{VENDORS[setting.extras.gpu_vendor].pci}:{card}"}
        return with_gpus(replace(job, variables={**job.variables, **near}), setting)

    def examine(self, setting: Setting) -> Evidence:
        """What both ends printed, and what the ports counted."""
        found = pair.examine(
            self,
            setting,
            len(self._runs(setting)),
            read=partial(self._read, setting),
            prove=partial(self._prove, setting.extras),
            explain=partial(perftest.cause, gid_index=setting.extras.gid_index),
        )
        return replace(found, disturbances=perftest.disturbances(setting.text(setting.stderr)))

    def _runs(self, setting: Setting) -> list[tuple[str, ...]]:
        """One run with every size, or one for each."""
        budget = setting.extras.time_budget
        sizes = self.sizes(setting)
        every = Measurement.sizes(self, setting)
        if budget is None and sizes == every and sizes[-1] == _ALL_SIZES:
            return [_WHOLE_SWEEP]
        return [
            (
                *(() if len(every) == 1 else ("-s", str(size))),
                *(() if budget is None else ("-n", str(self._count(size, budget, setting.extras)))),
            )
            for size in sizes
        ]

    def _count(self, size: int, budget: float, extras: PartitionExtras) -> int:
        count = iterations(size, budget, extras.typical)
        # A list of requests is posted as a whole.
        posted = perftest.posted_at_once(self._entry)
        return max(1, count // posted) * posted

    def _read(self, setting: Setting, outputs: Sequence[str]) -> Curve:
        source = f"the client's output in {setting.stdout}"
        if GPU in self._entry.options:
            dmabuf, server = not setting.extras.gpu_peermem, setting.text(SERVER_OUTPUTS[0])
            perftest.confirm_gpu(outputs, source, dmabuf=dmabuf)
            perftest.confirm_gpu([server], "the server's output", dmabuf=dmabuf)
        curve = perftest.parse_runs(outputs, source)
        check_complete(curve, self.sizes(setting), source)
        return perftest.confirm(curve, self._entry, self._asked(setting), source)

    def _asked(self, setting: Setting) -> dict[str, str]:
        """What perftest must say that it used, on the client's node."""
        extras = setting.extras
        found = [port for each in read_witnesses(setting.stage) for port in each.rails.values()]
        device = found[-1].partition(":")[0] if found else ports(extras)[0][0]
        asked = {
            table.CONNECTION: self._connection,
            table.GID_INDEX: extras.gid_index,
            table.MTU: extras.fabric_health.mtu,
            table.DEVICE: device or None,
        }
        return {name: str(value) for name, value in asked.items() if value is not None}

    def _prove(self, extras: PartitionExtras, curve: Curve, witnesses: Sequence[Witness]) -> Proof:
        """What perftest says that it used, and the packets that each port has sent."""
        device = ":".join(filter(None, ports(extras)[0]))
        packets = prove_packets(perftest.least_packets(curve), witnesses, device)
        rate = read_rate(extras)
        too_fast = above_ceiling(curve, ceilings(curve, rate)) if rate else ()
        return Proof(
            f"perftest used {perftest.used(curve)}; {packets.evidence}",
            (*packets.objections, *too_fast),
        )


measurement = Perftest
