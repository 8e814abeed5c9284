"""How allreduce_lab is run: one rank on each node, which meet at a Redis of the job's own."""

import re
from collections.abc import Callable
from pathlib import Path

from fabricheck.launch.cases import Case
from fabricheck.launch.evidence import RESULT_JSON, examine
from fabricheck.launch.expectation import Expectation
from fabricheck.launch.measurement import Evidence, Job, Measurement, Ranks, Setting
from fabricheck.measures.curve import Curve
from fabricheck.measures.metrics import Metric
from fabricheck.programs.allreduce_lab.entries import BENCHMARKS, MODELS, PROGRAM, Lab
from fabricheck.programs.allreduce_lab.read import LEAST_BYTES
from fabricheck.schedulers import launcher_of, scheduler_of
from fabricheck.sites.extras import AllreduceExtra
from fabricheck.sites.files import offers
from fabricheck.transports.gpu_memory import Load
from fabricheck.transports.placement import Placement
from fabricheck.transports.statement import TransportReport
from fabricheck.transports.table import Counter, find

_HERE = Path(__file__).parent
_NODES = re.compile(r"allreduce_nodes_(\d+)", re.ASCII)
LEARNED = 16384
"""Floats of the vector of ``--train``."""
_SHARE_SENT = 0.5
"""Of what a rank sends at least: a bounded transport leaves some of it."""


def cases(family: str) -> list[Case]:
    """All cases of the program."""
    return [each for each in _cases(lambda _: True) if BENCHMARKS[each.benchmark].family == family]


def environments() -> list[Case]:
    """Those that measure an environment itself."""
    return _cases(lambda lab: lab.metrics == (Metric.TAIL,))


def sums() -> list[Case]:
    """Those of sums alone."""
    return _cases(lambda lab: not lab.model and lab.metrics != (Metric.TAIL,))


def iterations() -> list[Case]:
    """Those of an iteration of a training."""
    return _cases(lambda lab: bool(lab.model))


def _cases(wanted: Callable[[Lab], bool]) -> list[Case]:
    counts = {
        int(match[1]): features
        for features in offers()
        for match in map(_NODES.fullmatch, features)
        if match
    }
    return [
        Case(lab.name, Placement(find("tcp"), count))
        for count, features in sorted(counts.items())
        for lab in BENCHMARKS.values()
        if wanted(lab) and features.issuperset(lab.needs)
    ]


class LabRun(Measurement):
    """All schemes of a benchmark in turns, in the network that it names.

    Partition features: ``allreduce_nodes_N``, and ``training_MODEL`` for each model. Partition
    extras that are read: ``ucx_net_devices.tcp``, the interface, and ``allreduce_lab``:
    ``link_rate`` in Mbit/s, to which links are slowed down where the nodes are those of a testbed;
    ``elements`` of a sum, ``gradients`` in bytes that a model is scaled down to, ``compute`` in ms
    of an iteration, or of one of each model, and ``iterations``.
    """

    has_links = False

    def __init__(self, case: Case) -> None:
        self._lab = BENCHMARKS[case.benchmark]
        needs = (f"allreduce_nodes_{case.placement.num_nodes}", "tcp", *self._lab.needs)
        super().__init__(
            self._lab, case.placement, ["+gloo"], [" ".join(f"+{each}" for each in needs)]
        )

    def ranks(self, setting: Setting) -> Ranks:
        """One on each node."""
        return Ranks(self.placement.num_nodes, 1)

    def job(self, setting: Setting) -> Job:
        """A Redis on the first node, and a rank on each."""
        own = setting.extras.allreduce_lab
        device = setting.extras.ucx_net_devices.get("tcp", "")
        redis = _HERE / "redis.sh"
        dropped = self._lab.network.dropped
        return Job(
            words=[
                str(_HERE / "rank.sh"),
                f"{own.link_rate or 0}{f':{dropped}' if dropped else ''}",
                setting.programs.program(PROGRAM),
                *self.options(own),
                *(["--tcp-device", device] if device else []),
                *self._lab.schemes,
            ],
            before=[f"{redis} start {device}"],
            after=[f"{redis} stop"],
            launcher_options=launcher_of(setting.launcher).without_mpi,
        )

    def options(self, own: AllreduceExtra) -> list[str]:
        """Options of the program, beside those that say where it runs.

        Args:
            own: the extra ``allreduce_lab``.
        """
        network = self._lab.network
        given = {
            "--json": RESULT_JSON,
            "--environment": network.kind if network.kind != "plain" else None,
            "--tail": network.tail,
            "--flows": network.flows if network.kind == "elastic" else None,
            "--tail-target": network.longest,
            "--elements": LEARNED if self._lab.learns else own.elements,
            "--iteration-count": own.iterations,
        }
        if self._lab.model:
            model = MODELS[self._lab.model]
            buckets = model.scaled(own.gradients or sum(model.buckets))
            given["--buckets"] = ",".join(map(str, buckets))
            given["--compute"] = own.compute_of(self._lab.model)
            if own.gradients:
                # A bucket is filled up to whole blocks, which for a small one is not little.
                given["--hadamard-block"] = 256
        if own.link_rate:
            # Of a few packets half are soon lost: a bucket that is skipped is enough.
            given["--halt-loss"] = 100 if Metric.OPTIREDUCE in self._lab.schemes else None
        words = [str(word) for pair in given.items() if pair[1] is not None for word in pair]
        return [*words, *(["--train"] if self._lab.learns else []), "--realtime"]

    def examine(self, setting: Setting) -> Evidence:
        """Every rank ended well on a node of its own, and the bytes went through its interface."""
        return examine(
            setting.stage,
            setting.stage / setting.stdout,
            setting.stage / setting.stderr,
            Expectation(
                benchmark=self._lab.name,
                transport=self.placement.transport,
                num_nodes=self.placement.num_nodes,
                num_tasks=self.placement.num_nodes,
                sizes=(),
                bound=False,
                quiet="quiet_interfaces" in setting.features,
                scheduler=scheduler_of(setting.scheduler),
                interfaces=[*filter(None, [setting.extras.ucx_net_devices.get("tcp")])],
                result=RESULT_JSON,
                exchanged=_exchanged,
                says=_says,
            ),
        )


def _says() -> TransportReport:
    return TransportReport("sockets of the program's own", Counter.NETDEV)


def _exchanged(curve: Curve) -> Load:
    payload = int(_SHARE_SENT * float(curve.metadata[LEAST_BYTES]))
    return Load(payload, curve.points[0].iterations or 0)


measurement = LabRun
