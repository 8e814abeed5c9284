"""What every pair of a server and its client has in common: sizes, start, end and proof."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from fabricheck.errors import FabricheckError
from fabricheck.launch.cases import Case
from fabricheck.launch.evidence import (
    binding_objections,
    host_objections,
    hosts_seen,
    rank_faults,
    scheduler_faults,
)
from fabricheck.launch.expectation import Expectation
from fabricheck.launch.measurement import Evidence, Job, Measurement, Ranks, Setting
from fabricheck.measures.benchmark import ProgramBenchmark
from fabricheck.measures.budget import thin
from fabricheck.measures.curve import Curve
from fabricheck.measures.metrics import Metric
from fabricheck.measures.registry import REGISTRY
from fabricheck.schedulers import launcher_of, scheduler_of
from fabricheck.sites.files import SEVERAL, offered_ports
from fabricheck.transports.pair import (
    PAIR_WRAPPER,
    SERVER_OUTPUTS,
    arguments,
    read_faults,
    read_runs,
    read_version,
)
from fabricheck.transports.placement import Placement
from fabricheck.transports.proof import Proof
from fabricheck.transports.settings import rail_variables
from fabricheck.transports.table import RDMA, Scope, find
from fabricheck.transports.witness import (
    Witness,
    by_host,
    read_lacking,
    read_ucx_logs,
    read_witnesses,
)

_RANKS = 2
_PING = 8
"""Bytes of the latency that stands for a port in a night; of bandwidths the largest size does."""


def cases(family: str) -> list[Case]:
    """Each benchmark of a family with each placement that it can run on."""
    return [
        Case(benchmark.name, Placement(transport, 2 - (transport.scope is Scope.INTRA_NODE)))
        for benchmark in REGISTRY.values()
        if isinstance(benchmark, ProgramBenchmark) and benchmark.family == family
        for transport in map(find, benchmark.transports)
    ]


def cases_of_ports(family: str) -> list[Case]:
    """The same, and over RDMA each of them with each port of the sites that name several."""
    return [
        Case(case.benchmark, replace(case.placement, port=port))
        for case in cases(family)
        for port in ("", *(offered_ports() if case.placement.transport.port == RDMA else ()))
    ]


class Pair(Measurement):
    """A server and its client: rank 0 and rank 1, on two nodes or, inside a node, both on it."""

    of_each_port = False
    """Whether each port of several is measured by itself (``cases_of_ports``)."""

    def __init__(self, case: Case, benchmark: ProgramBenchmark, layer: str) -> None:
        place = case.placement
        offered = " ".join(f"+{each}" for each in (*place.features, *benchmark.needs))
        if self.of_each_port and place.transport.port == RDMA and not place.port:
            offered += f" -{SEVERAL}"
        super().__init__(benchmark, place, [f"+{layer}"], [offered])

    def ranks(self, setting: Setting) -> Ranks:
        """Two ranks, on the nodes of the placement."""
        del setting
        return Ranks(_RANKS, _RANKS // self.placement.num_nodes)

    def sizes(self, setting: Setting) -> tuple[int, ...]:
        """The sizes in bytes; a sparse sweep leaves sizes out, a night does for most ports."""
        return self.of_tonight(thin(super().sizes(setting), setting.extras.size_step), setting)

    def of_tonight(self, sizes: tuple[int, ...], setting: Setting) -> tuple[int, ...]:
        """The sizes of a night: all of the port whose turn it is, one of each other port."""
        ports, port = setting.ports, self.placement.port
        if setting.night is None or port not in ports or not sizes:
            return sizes
        if ports.index(port) == setting.night % len(ports):
            return sizes
        is_latency = self.benchmark.metrics[0] is Metric.LATENCY
        return (_PING if is_latency and _PING in sizes else sizes[0] if is_latency else sizes[-1],)


def start(
    setting: Setting,
    command: str,
    common: Sequence[str],
    runs: Sequence[Sequence[str]],
    **more: object,
) -> Job:
    """The job of both ends, below the wrapper that lets them meet.

    Partition extra that is read: ``pin``.

    Args:
        setting: where it runs.
        command: what runs at both ends: a program on ``PATH``, or its path.
        common: options of the program in every run.
        runs: options of each run; at least one run.
        more: environment variables, without ``FABRICHECK_PAIR_`` and in small letters.
    """
    pin = {"FABRICHECK_PIN": setting.extras.pin} if setting.extras.pin else {}
    rails = rail_variables(setting.extras.given_ports)
    return Job(
        words=[str(PAIR_WRAPPER), *arguments(command, common, runs)],
        variables={
            **{f"FABRICHECK_PAIR_{name.upper()}": str(value) for name, value in more.items()},
            **pin,
            **rails,
        },
        launcher_options=launcher_of(setting.launcher).without_mpi,
    )


def examine(
    pair: Pair,
    setting: Setting,
    runs: int,
    *,
    read: Callable[[Sequence[str]], Curve],
    prove: Callable[[Curve, Sequence[Witness]], Proof],
    explain: Callable[[str], str | None],
) -> Evidence:
    """What both ends and their nodes left behind.

    Args:
        pair: what was measured.
        setting: where it ran.
        runs: how many runs it had.
        read: the curve of what the client printed in each run.
        prove: whether the transport of the placement carried the data.
        explain: the cause of a failure in one sentence, where the words of both ends name one.
    """
    directory, errors = setting.stage, setting.text(setting.stderr)
    expected = Expectation(
        benchmark=pair.benchmark.name,
        transport=pair.placement.transport,
        num_nodes=pair.placement.num_nodes,
        num_tasks=_RANKS,
        sizes=pair.sizes(setting),
        bound="bound_ranks" in setting.features,
        quiet="quiet_interfaces" in setting.features,
        scheduler=scheduler_of(setting.scheduler),
        rails=len(setting.extras.ports),
    )
    if faults := _faults(expected, setting, errors, explain):
        return Evidence(hosts=hosts_seen(directory), objections=faults)
    try:
        witnesses = read_witnesses(directory)
        output = setting.text(setting.stdout)
        curve = read(read_runs(output, runs))
        curve = replace(curve, version=read_version(output) or curve.version)
        proof = prove(curve, witnesses)
    except FabricheckError as error:
        return Evidence(hosts=hosts_seen(directory), objections=(str(error),))
    versions = sorted({log.version for log in read_ucx_logs(directory) if log.version})
    return Evidence(
        curve=curve,
        hosts=tuple(by_host(witnesses)),
        ucx_version=", ".join(versions),
        proof=proof.evidence,
        objections=(
            *host_objections(witnesses, expected),
            *binding_objections(witnesses, expected),
            *proof.objections,
        ),
        remarks=curve.remarks,
    )


def _faults(
    expected: Expectation, setting: Setting, errors: str, explain: Callable[[str], str | None]
) -> tuple[str, ...]:
    """Why the job did not end well, the cause before what followed from it."""
    if faults := tuple(scheduler_faults(setting.stage, errors, expected)):
        return faults
    if faults := read_lacking(setting.stage):
        return faults
    if not (faults := read_faults(errors) or tuple(rank_faults(setting.stage, errors, expected))):
        return ()
    outputs = [setting.text(name) for name in (setting.stdout, *SERVER_OUTPUTS)]
    cause = explain("\n".join([errors, *outputs]))
    return (cause, *faults) if cause else faults
