"""The cases of a run that share a path, lined up by layer: verbs, UCX, MPI."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fabricheck.errors import FabricheckError
from fabricheck.judge.layers import Diagnosis, Layer, LayerPath, LayerState, common_nodes, diagnose
from fabricheck.judge.levels import Level
from fabricheck.measures.benchmark import Benchmark, MpiBenchmark, ProgramBenchmark
from fabricheck.measures.metrics import Metric
from fabricheck.measures.registry import FAMILIES, REGISTRY
from fabricheck.record.entries import NIGHT, Sample
from fabricheck.report.matrix import SMALL
from fabricheck.report.run import ReportedCase, ReportedRun
from fabricheck.report.status import Status
from fabricheck.transports.table import TRANSPORTS, Counter, find

_STATES = {
    Status.GOOD: LayerState.GOOD,
    Status.WARNING: LayerState.GOOD,
    Status.CRITICAL: LayerState.RED,
    Status.UNTRUSTED: LayerState.RED,
    Status.FAILED: LayerState.RED,
    Status.NO_REFERENCE: LayerState.UNJUDGED,
    Status.UNJUDGED: LayerState.UNJUDGED,
    Status.DISTURBED: LayerState.UNJUDGED,
}
"""Statuses that say something of a layer; with the others nothing was measured."""

_GROUNDS = {
    Counter.RDMA: "the fabric below MPI and UCX",
    Counter.NETDEV: "the network below UCX",
    Counter.NONE: "the memory of the node, below UCX",
    Counter.ANY: "the path that UCX chose",
}
# Verbs have no test over dc; rc uses the same ports and the same fabric.
_VERBS_TRANSPORT = {"dc": "rc"}
_SHOWN_IN_A_LAYER = 4
_NEAR_MATCHES = 5


@dataclass(frozen=True, slots=True)
class LayerRow:
    """A case of a layer with its key values, one for each size of the line-up."""

    layer: Layer
    case: ReportedCase
    samples: tuple[Sample | None, ...]


@dataclass(frozen=True, slots=True)
class LayerComparison:
    """A case beside what was measured below it on the same path.

    Attributes:
        case: the case to explain.
        sizes: message sizes in bytes of the key values.
        states: state of each layer, the lowest first.
        rows: the cases of each layer that tell most, the lowest layer first.
        left_out: cases of each layer that have no row.
        diagnosis: in which layer the fault is.
        suspects: nodes that stand out among the red cases of the same kind of path.
        red: how many cases that is.
        commands: what to run to know more.
    """

    case: ReportedCase
    sizes: tuple[int, ...]
    states: dict[Layer, LayerState]
    rows: tuple[LayerRow, ...]
    left_out: dict[Layer, int]
    diagnosis: Diagnosis
    suspects: tuple[str, ...]
    red: int
    commands: tuple[str, ...]


def find_case(run: ReportedRun, text: str, partition: str = "") -> ReportedCase:
    """The case of that title, or the only one whose title has all of the words.

    Raises:
        FabricheckError: if there is none, or several.
    """
    cases = [case for case in run.cases if partition in ("", case.partition)]
    words = set(text.split())
    found = [case for case in cases if text in (case.title, case.name)]
    found = found or [case for case in cases if words <= set(case.title.split())]
    if len(found) == 1:
        return found[0]
    if found:
        where = ", ".join(sorted({f"{case.title} (partition {case.partition})" for case in found}))
        raise FabricheckError(
            f"FC2102 expected the name of one case, found {text!r}, which fits {len(found)}: "
            f"{where}: write the whole name, and --partition where it is in several"
        )
    titles = list(dict.fromkeys(case.title for case in cases))
    near = difflib.get_close_matches(text, titles, n=_NEAR_MATCHES, cutoff=0.4) or titles
    listed = ", ".join(near[:_NEAR_MATCHES]) or "none at all"
    raise FabricheckError(
        f"FC2103 expected a case of {run.path}{f', partition {partition}' if partition else ''}, "
        f"found {text!r}: near are {listed}; fabricheck report --json lists all"
    )


def has_layers(case: ReportedCase) -> bool:
    """Whether the case belongs to a layer, so that those below it can be compared."""
    benchmark = REGISTRY.get(case.benchmark)
    return benchmark is not None and bool(_layer(benchmark)) and case.transport in TRANSPORTS


def compare_layers(run: ReportedRun, case: ReportedCase) -> LayerComparison:
    """Line up a case with the layers below it, and name the one at fault.

    Raises:
        FabricheckError: if the case belongs to no layer.
    """
    if not has_layers(case):
        raise FabricheckError(
            "FC2104 expected a case of MPI, UCX or verbs on a path between ranks, found "
            f"{case.title}, which has no layers below it: its findings stand in fabricheck report"
        )
    transport = TRANSPORTS[case.transport]
    *below, own = _layers(case, REGISTRY[case.benchmark])
    members = {layer: _members(run, case, layer) for layer in below}
    states = {layer: _state(found, case) for layer, found in members.items()}
    states[own] = _STATES.get(case.status, LayerState.ABSENT)
    peers = _peers(run, case)
    diagnosis = diagnose(
        LayerPath(
            case=case.title,
            states=states,
            ground=_GROUNDS[transport.counter],
            programs=_programs(case, members),
            counters={
                layer: _counters(found) for layer, found in (members | {own: [case]}).items()
            },
            good_peers=[
                peer.environ for peer in peers if _STATES.get(peer.status) is LayerState.GOOD
            ],
        )
    )
    members[own] = [case, *peers]
    sizes = _sizes(case, members)
    red, suspects = _suspects(run, case)
    return LayerComparison(
        case=case,
        sizes=sizes,
        states=states,
        rows=tuple(
            LayerRow(layer, member, tuple(_key_sample(member, size) for size in sizes))
            for layer, found in members.items()
            for member in found[:_SHOWN_IN_A_LAYER]
        ),
        left_out={
            layer: len(found) - _SHOWN_IN_A_LAYER
            for layer, found in members.items()
            if len(found) > _SHOWN_IN_A_LAYER
        },
        diagnosis=diagnosis,
        suspects=suspects,
        red=red,
        commands=tuple(_command(case, layer) for layer in diagnosis.unmeasured),
    )


def clause(run: ReportedRun, cases: Sequence[ReportedCase]) -> str:
    """The layer at fault in few words, where it is the same for all of the cases of MPI.

    Where it is not known although something below MPI was measured, the command that tells more.
    """
    mpi = [case for case in cases if _is_mpi(case) and _STATES.get(case.status) is LayerState.RED]
    if not mpi:
        return ""
    found = [compare_layers(run, case) for case in mpi]
    clauses = {each.diagnosis.clause for each in found}
    if len(clauses) == 1 and (common := clauses.pop()):
        return common
    if all(set(list(each.states.values())[:-1]) <= {LayerState.ABSENT} for each in found):
        return ""
    session = "" if run.kind == NIGHT else f" --session {run.session}"
    return f'see fabricheck explain "{mpi[0].title}"{session}'


def _is_mpi(case: ReportedCase) -> bool:
    return has_layers(case) and isinstance(REGISTRY[case.benchmark], MpiBenchmark)


def _layer(benchmark: Benchmark) -> Layer | None:
    """The layer that a benchmark measures, ``None`` for one that belongs to no layer."""
    name = FAMILIES[benchmark.family].layer
    return Layer(name) if name else None


def _measuring(layer: Layer) -> list[ProgramBenchmark]:
    """The benchmarks of a layer below MPI."""
    programs = (each for each in REGISTRY.values() if isinstance(each, ProgramBenchmark))
    return [each for each in programs if _layer(each) is layer]


def _layers(case: ReportedCase, benchmark: Benchmark) -> list[Layer]:
    """The layers that the path of a case has, up to its own."""
    own = Layer(FAMILIES[benchmark.family].layer)
    every = list(Layer)
    below = every[: every.index(own)]
    counter = find(case.transport).counter
    if counter is Counter.ANY:
        # Which path to compare with is known only of each run.
        return [own]
    if counter is not Counter.RDMA:
        below = [layer for layer in below if layer is not Layer.VERBS]
    return [*below, own]


def _metrics(benchmark: Benchmark) -> set[Metric]:
    """What a benchmark depends on: one of all ranks on both latency and bandwidth."""
    if isinstance(benchmark, MpiBenchmark) and benchmark.ranks.all_at_once:
        return {Metric.LATENCY, Metric.BANDWIDTH}
    return set(benchmark.metrics)


def _members(run: ReportedRun, case: ReportedCase, layer: Layer) -> list[ReportedCase]:
    """The cases of a lower layer to compare with: on the same path, if possible of what it needs.

    Variants of a verbs test measure one option, not the path, so they are left out.
    """
    transport = _transport(case, layer)
    names = {
        benchmark.name
        for benchmark in _measuring(layer)
        if layer is not Layer.VERBS or not benchmark.options
    }
    found = [
        other
        for other in _beside(run, case)
        if other.benchmark in names and other.transport == transport
    ]
    wanted = _metrics(REGISTRY[case.benchmark])
    alike = [c for c in found if wanted & _metrics(REGISTRY[c.benchmark])]
    members = alike or found
    here = [member for member in members if _on_its_nodes(member, case)] or members
    return sorted(here, key=lambda member: -member.status.severity)


def _transport(case: ReportedCase, layer: Layer) -> str:
    """The transport by which a layer measures the path of a case."""
    transport = find(case.transport).base
    return _VERBS_TRANSPORT.get(transport, transport) if layer is Layer.VERBS else transport


def _on_its_nodes(member: ReportedCase, case: ReportedCase) -> bool:
    """Whether a case ran on nodes of another; a case that names no nodes is given the benefit."""
    return not member.nodes or not case.nodes or set(member.nodes) <= set(case.nodes)


def _beside(run: ReportedRun, case: ReportedCase) -> list[ReportedCase]:
    """The cases of the partition on which a case ran."""
    where = (case.system, case.partition)
    return [other for other in run.cases if (other.system, other.partition) == where]


def _state(members: Sequence[ReportedCase], case: ReportedCase) -> LayerState:
    states = {_STATES.get(member.status, LayerState.ABSENT) for member in members}
    if not any(_on_its_nodes(member, case) for member in members):
        return LayerState.ELSEWHERE if states - {LayerState.ABSENT} else LayerState.ABSENT
    ranked = (LayerState.RED, LayerState.GOOD, LayerState.UNJUDGED)
    return next((state for state in ranked if state in states), LayerState.ABSENT)


def _peers(run: ReportedRun, case: ReportedCase) -> list[ReportedCase]:
    """The same benchmark on the same path in other environments."""
    return [
        other
        for other in _beside(run, case)
        if other.environ != case.environ
        and (other.benchmark, other.placement) == (case.benchmark, case.placement)
        and _on_its_nodes(other, case)
    ]


def _counters(cases: Sequence[ReportedCase]) -> list[str]:
    """What the counters of the fabric found wrong during the red ones of the cases."""
    red = [case for case in cases if _STATES.get(case.status) is LayerState.RED]
    return list(dict.fromkeys(cause for case in red for cause in case.fabric_causes))


def _programs(case: ReportedCase, members: dict[Layer, list[ReportedCase]]) -> dict[Layer, str]:
    programs = {}
    if mpi := case.mpi_version or case.mpi:
        programs[Layer.MPI] = mpi.partition(",")[0]
    versions = (each.ucx_version for each in (*members.get(Layer.UCX, ()), case))
    if version := next(filter(None, versions), ""):
        programs[Layer.UCX] = f"UCX {version}"
    return programs


def _sizes(case: ReportedCase, members: dict[Layer, list[ReportedCase]]) -> tuple[int, ...]:
    """Of the sizes that every layer has 8 B or the smallest, and the largest; and the worst."""
    layers = [
        {s.size for member in found for s in member.samples if s.size and s.value is not None}
        for found in members.values()
    ]
    shared = set.intersection(*(sizes for sizes in layers if sizes)) if any(layers) else set()
    sizes = {SMALL if SMALL in shared else min(shared), max(shared)} if shared else set()
    if (worst := _worst_size(case)) is not None:
        sizes.add(worst)
    return tuple(sorted(sizes))


def _worst_size(case: ReportedCase) -> int | None:
    red = [s for s in case.samples if s.level == Level.CRITICAL and s.size and s.value is not None]
    return max(red, key=distance).size if red else None


def distance(sample: Sample) -> float:
    """How far a value is from its reference, the same for half of it and for twice of it."""
    if not sample.reference or not sample.value:
        return 0.0
    ratio = sample.value / sample.reference
    return max(ratio, 1 / ratio)


def _key_sample(case: ReportedCase, size: int) -> Sample | None:
    """The value that stands for a case at a size: the median of a latency, else the average."""
    for metric, statistic in (("latency", "p50"), ("latency", "avg"), ("bandwidth", "avg")):
        if sample := case.find(metric, statistic, size):
            return sample
    return None


def _suspects(run: ReportedRun, case: ReportedCase) -> tuple[int, tuple[str, ...]]:
    """How many cases of this kind of path are red, and the nodes that stand out among them."""
    counter = find(case.transport).counter
    alike = [
        other
        for other in _beside(run, case)
        if other.benchmark in REGISTRY
        and (transport := TRANSPORTS.get(other.transport))
        and transport.counter is counter
    ]

    def nodes(state: LayerState) -> list[tuple[str, ...]]:
        return [other.nodes for other in alike if _STATES.get(other.status) is state]

    red = nodes(LayerState.RED)
    return len(red), common_nodes(red, nodes(LayerState.GOOD))


def _command(case: ReportedCase, layer: Layer) -> str:
    """What to run to measure a layer below a case."""
    if layer is Layer.MPI:
        return _run(case.system, [case.benchmark], case.transport)
    transport = _transport(case, layer)
    plain = {
        metric: benchmark.name
        for benchmark in reversed(_measuring(layer))
        if transport in benchmark.transports
        for metric in _metrics(benchmark)
    }
    wanted = sorted(_metrics(REGISTRY[case.benchmark]) & plain.keys())
    return _run(case.system, dict.fromkeys(plain[each] for each in wanted), transport)


def _run(system: str, benchmarks: Iterable[str], transport: str) -> str:
    names = " ".join(f"--benchmark {name}" for name in benchmarks)
    return f"fabricheck run --system {system} {names} --transport {transport}"
