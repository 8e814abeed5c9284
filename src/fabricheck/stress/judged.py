"""What the record has of a stress: each block, proved and judged, and the medians of each hour.

History and trend see the medians alone.
"""

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Final

from fabricheck.errors import FabricheckError
from fabricheck.fabric.finding import Finding
from fabricheck.fabric.job import link_use, read_nodes, readings, worst_readings
from fabricheck.fabric.limits import read_limits
from fabricheck.judge.decide import Fabric, beside
from fabricheck.judge.levels import Level, worst
from fabricheck.judge.physics import impossible
from fabricheck.judge.references import CaseKey
from fabricheck.judge.verdict import Verdict
from fabricheck.launch.disturbance import NOTICED, find_disturbances
from fabricheck.launch.judging import (
    fabric_of,
    find_links,
    find_references,
    find_verdict,
    judge_fabric,
    may_use_ports,
    of_sizes,
)
from fabricheck.launch.measurement import Evidence, Measurement, Setting
from fabricheck.measures.metrics import Metric
from fabricheck.measures.registry import FAMILIES
from fabricheck.nodes.told import Told, files, read_told
from fabricheck.record.entries import CaseEntry, Sample, moment
from fabricheck.record.sessions import STRESS
from fabricheck.record.write import append, file_of, locked
from fabricheck.sites.extras import PartitionExtras
from fabricheck.stress.state import StressDirectory
from fabricheck.transports.placement import Placement
from fabricheck.units import format_size, with_unit

COUNTED: Final = ("ecn_rate", "pause_rate")
_HOUR: Final = 3600
_ROWS: Final = 5


def judge_block(
    plan: Mapping[str, Any],
    measurement: Measurement,
    setting: Setting,
    evidence: Evidence,
    known: Mapping[str, Any],
) -> CaseEntry:
    """The case of a block.

    Args:
        plan: of the stress.
        measurement: what was measured.
        setting: where.
        evidence: what it left behind.
        known: other fields of the case, such as ``id``.

    Raises:
        FabricheckError: if the references can't be read.
    """
    place, ranks = measurement.placement, measurement.ranks(setting)
    objections = list(evidence.objections)
    curve = evidence.curve
    links = find_links(measurement, setting) if curve and not objections else None
    if curve and not objections:
        objections += impossible(curve, links)
    fabric = fabric_below(measurement, setting)
    samples: list[Sample] = []
    if may_use_ports(place.transport, setting.features):
        samples += _counters(setting)
    verdict = Verdict(Level.UNTRUSTED, (), tuple(objections))
    kind = source = ""
    if curve and not objections:
        sizes = measurement.sizes(setting)
        key = CaseKey(
            system=plan["system"],
            partition=setting.partition,
            environ=plan["environ"],
            benchmark=measurement.benchmark.name,
            placement=str(place),
        )
        references, tolerance = find_references(
            key, FAMILIES[measurement.benchmark.family].checks[:1]
        )
        # Of a curve there are only the block's sizes, which have no shape.
        references = of_sizes(references, sizes)
        if tolerance:
            tolerance = replace(tolerance, monotone=None, best=None)
            kind, source = tolerance.kind, tolerance.source
        verdict, _ = find_verdict(curve, setting, links, (references, tolerance), evidence.remarks)
        samples += map(Sample.of, verdict.judgements)
    outcome = beside(worst([verdict.level, fabric.level]), verdict.findings, fabric)
    level, findings = outcome.level, outcome.findings
    if level in (Level.CRITICAL, Level.UNTRUSTED) and not outcome.causes:
        # The next block comes at once, so a little is enough, as for a case that runs again.
        shared = "shared_cores" in setting.features
        if by := find_disturbances(setting.stage, shared=shared, part=NOTICED):
            level, findings = Level.DISTURBED, (*by, *(f"what it gave: {f}" for f in findings))
    return CaseEntry(
        time=moment(),
        system=plan["system"],
        partition=plan["partition"],
        environ=plan["environ"],
        check=STRESS,
        benchmark=measurement.benchmark.name,
        transport=place.transport.name,
        num_nodes=place.num_nodes,
        layout=place.layout,
        ranks=ranks.total,
        ranks_per_node=ranks.per_node,
        program=curve.program if curve else "",
        program_version=curve.version if curve else "",
        mpi=setting.mpi,
        mpi_version=curve.metadata.get("mpi", "") if curve else "",
        ucx_version=evidence.ucx_version,
        result="pass" if level.passes else "fail",
        level=str(level),
        findings=findings,
        fabric_causes=outcome.causes,
        nodes=evidence.hosts,
        evidence=evidence.proof,
        reference_kind=kind,
        reference_source=source,
        samples=tuple(samples),
        **known,
    )


def fabric_below(measurement: Measurement, setting: Setting) -> Fabric:
    """What is wrong with the ports or the interfaces below a block."""
    transport = measurement.placement.transport
    if may_use_ports(transport, setting.features):
        return fabric_of(judge_fabric(setting.stage, read_limits(setting.extras)))
    names = setting.extras.given_ports.names(transport.port) if transport.port else ()
    return fabric_of(_interfaces_down(setting.stage, names))


def _interfaces_down(directory: Path, names: Sequence[str]) -> Iterator[Finding]:
    """Those of some interfaces that have no link, as each node of a block told last."""
    for path in files(directory):
        told = list[Told]()
        # What is damaged is a finding of the block, and what is half written is none.
        with contextlib.suppress(FabricheckError):
            told = read_told(path)
        for name in names:
            # What ended early told of its interfaces only when it began.
            looks = [(e.value(f"sys/class/net/{name}/operstate"), e.host) for e in told]
            state, host = next((look for look in reversed(looks) if look[0]), ("", ""))
            if state in ("down", "lowerlayerdown"):
                yield Finding(
                    Level.CRITICAL, "link down", host, name,
                    f"the interface is {state}",
                    "look at the cable, the transceiver and the switch port",
                )  # fmt: skip


def _counters(setting: Setting) -> Iterator[Sample]:
    """Marks and pauses a second of the port that had most, while the block ran."""
    limits = read_limits(setting.extras)
    found = worst_readings(readings(read_nodes(setting.stage), limits), limits)
    for name in COUNTED:
        if name in found:
            unit = Metric(name).row.unit
            yield Sample(metric=name, statistic="max", value=found[name][0], unit=unit)


def links_of(plan: Mapping[str, Any], block: CaseEntry) -> dict[str, str]:
    """What the ports of each node carried in a block, as a share of their rate, or "unknown"."""
    setting = plan["blocks"][0]["setting"]
    nodes = []
    # Of another transport the ports carry nothing, and their cables much.
    if may_use_ports(Placement.read(plan["placement"]).transport, setting["features"]):
        # What is damaged is a finding of the block.
        with contextlib.suppress(FabricheckError):
            nodes = read_nodes(Path(block.output))
    return link_use(nodes, block.nodes, read_limits(PartitionExtras.of(setting["extras"])))


def words_of(case: CaseEntry) -> str:
    """A line on a block: sizes and latency in units that fit, and its level.

    The sizes are binary, and called as the MPI AI cluster benchmark calls them.
    """
    told = [
        f"{format_size(each.size or 0)} {with_unit(each.value, each.unit)}"
        for each in case.samples
        if each.metric == Metric.LATENCY and each.statistic == "avg" and each.value is not None
    ]
    marks = [f"{s.value:.0f} marks/s" for s in case.samples if s.metric == "ecn_rate" and s.value]
    return f"{case.benchmark} {', '.join([*told, *marks]) or 'no value'} {case.level}"


def results(place: StressDirectory, blocks: list[CaseEntry]) -> str:
    """The last sizes of each block, in units that fit, with level and findings."""
    lines = [f"stress {place.name}, one iteration, {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"]
    if not blocks:
        lines.append(f"expected blocks, found none: look at {place.log}")
    for block in blocks:
        lines += ["", f"{block.benchmark}, {block.num_nodes} nodes: {block.level}"]
        lines.append(f"{'size':>10} {'avg':>12} {'p50':>12} {'p99':>12}")
        values = {
            (each.size, each.statistic): with_unit(each.value, each.unit)
            for each in block.samples
            if each.metric == Metric.LATENCY and each.value is not None
        }
        sizes = sorted({size for size, _ in values if size})[-_ROWS:]
        for size in sizes:
            told = [values.get((size, name), "-") for name in ("avg", "p50", "p99")]
            lines.append(f"{format_size(size):>10} " + " ".join(f"{each:>12}" for each in told))
        lines += [f"  {each}" for each in block.findings]
    return "\n".join([*lines, ""])


def settle(place: StressDirectory, session: str, perflogs: Path, *, ended: bool) -> int:
    """Record the medians of each hour that is over and not recorded yet.

    Each hour is a session of its own. What is recorded follows from the blocks alone, and what
    stands in the record already is not written again: whoever is killed here, the next one goes on.

    Args:
        place: of the stress.
        session: which stress.
        perflogs: where the record is.
        ended: whether the last hour is over, too.

    Returns:
        How many lines were written.

    Raises:
        FabricheckError: if the record can't be written.
    """
    made = list(of_hours(place.read(session), ended=ended))
    written = 0
    with locked(place.path / "medians"):
        for case in made:
            if not _stands(file_of(perflogs, case), case):
                append(perflogs, [case])
                written += 1
    return written


def of_hours(blocks: Iterable[CaseEntry], *, ended: bool) -> Iterator[CaseEntry]:
    """A case for each hour and benchmark, with the medians of what was measured."""
    hours: dict[int, list[CaseEntry]] = defaultdict(list)
    for block in blocks:
        hours[_hour(block)].append(block)
    over = sorted(hours)[: None if ended else -1]
    for hour in over:
        kinds: dict[str, list[CaseEntry]] = defaultdict(list)
        for block in hours[hour]:
            kinds[block.benchmark].append(block)
        last = max(each.time for each in hours[hour])
        for kind in kinds.values():
            yield _median(kind, last)


def session_of(block: CaseEntry) -> str:
    """The session of the hour that a block belongs to."""
    return f"{block.session}-{datetime.fromtimestamp(_hour(block) * _HOUR, UTC):%Y%m%dT%HZ}"


def _hour(block: CaseEntry) -> int:
    return int(datetime.fromisoformat(block.time).timestamp()) // _HOUR


def _median(blocks: list[CaseEntry], time: str) -> CaseEntry:
    # What was disturbed says nothing, unless nothing else was measured.
    blocks = [each for each in blocks if each.level != Level.DISTURBED] or blocks
    values: dict[tuple[str, str, int | None], list[Sample]] = defaultdict(list)
    for block in blocks:
        for each in block.samples:
            if each.value is not None:
                values[(each.metric, each.statistic, each.size)].append(each)
    newest, level = blocks[-1], worst([Level(each.level) for each in blocks])
    return replace(
        newest,
        time=time,
        session=session_of(newest),
        id=f"{session_of(newest)}-{newest.benchmark}",
        name=f"Stress {newest.benchmark}, medians of {len(blocks)} blocks",
        repeat=None,
        result="pass" if level.passes else "fail",
        level=str(level),
        findings=tuple(dict.fromkeys(f for each in blocks for f in each.findings))[:5],
        nodes=tuple(sorted({node for each in blocks for node in each.nodes})),
        output="",
        samples=tuple(
            # Judged as the one in the middle is.
            replace(sorted(found, key=_value)[len(found) // 2], value=median(map(_value, found)))
            for found in values.values()
        ),
    )


def _value(sample: Sample) -> float:
    return sample.value or 0.0


def _stands(path: Path, case: CaseEntry) -> bool:
    """Whether a line of this id is in a file of the record, as it would be written."""
    mark = f'"id":"{case.id}"'
    if not path.is_file():
        return False
    with path.open(errors="replace") as file:
        return any(mark in line and line.endswith("\n") for line in file)
