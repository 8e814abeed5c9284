"""What the evidence of a case comes to: its links, references and verdict, the fabric below it."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from fabricheck.errors import FabricheckError
from fabricheck.fabric.finding import Finding, tell
from fabricheck.fabric.job import common_rate, judge_job, read_nodes
from fabricheck.fabric.kernel_log import judge_since
from fabricheck.fabric.limits import Limits
from fabricheck.judge.decide import Fabric
from fabricheck.judge.levels import Level, worst
from fabricheck.judge.physics import Links, derived, read_links
from fabricheck.judge.reference_file import path_of
from fabricheck.judge.references import CaseKey, Reference, Tolerance, exists, resolve
from fabricheck.judge.verdict import JUDGE, Subject, Verdict, judge_curve
from fabricheck.launch.measurement import Measurement, Setting
from fabricheck.measures import registry
from fabricheck.measures.benchmark import MpiBenchmark
from fabricheck.measures.curve import Curve, Variable
from fabricheck.nodes.told import SCRIPT
from fabricheck.provenance import folders, home
from fabricheck.schedulers.protocol import Launcher
from fabricheck.sites.extras import PartitionExtras
from fabricheck.transports.table import Counter, Scope, Transport
from fabricheck.transports.witness import Witness, by_host, read_rails, read_witnesses
from fabricheck.units import share

_LEAST_AGAIN: Final = 20
_MOST_AGAIN: Final = 0.01
_MOST_AGAIN_OF_MANY: Final = 0.05
"""Segments sent again, in number and as a share, that a sound network was not seen to have: nights
of the testbed had up to 0.25 % between two ranks, up to 1.1 % in collectives, up to 1.9 % in matrix
multiplication, whose ranks compute while data come (docs/explanation/method.md, "Disturbed")."""


def look_again(launcher: Launcher) -> list[str]:
    """Commands behind a program that take the last snapshot of ports for killed ranks.

    An MPI that gives up takes the wrappers of all ranks with it, and a link that is down may be why
    it gave up. None where the launcher can't start one command on each node.
    """
    if not launcher.on_each_node:
        return []
    return [
        "status=$?",
        # Seconds; a node that doesn't answer must not keep the job.
        f"[ $status -eq 0 ] || timeout 30 env {launcher.on_each_node} "
        f"sh -c '{SCRIPT} after ports adapters >>node.$(hostname)'",
        "(exit $status)",
    ]


def may_use_ports(transport: Transport, features: Collection[str]) -> bool:
    """Whether a transport uses RDMA ports, or may choose them where a partition has any."""
    may_choose = transport.counter is Counter.ANY and "rdma" in features
    return transport.counter is Counter.RDMA or may_choose


def find_links(measurement: Measurement, setting: Setting) -> Links | None:
    """The links between the nodes of a job that has ended; none inside a node.

    Raises:
        FabricheckError: for shares of the link in the site file that make no sense.
    """
    place = measurement.placement
    if not measurement.has_links or place.transport.scope is Scope.INTRA_NODE:
        return None
    return read_links(
        _extras_with_rate(place.transport, setting),
        place.num_nodes,
        _ports_used(read_witnesses(setting.stage)),
        rdma=place.transport.counter is Counter.RDMA,
        datagram=place.transport.base == "ud",
    )


def find_references(
    key: CaseKey, checks: Iterable[str]
) -> tuple[dict[Variable, Reference], Tolerance | None]:
    """The references of a case: of its system, or of its benchmark's folder.

    Args:
        key: the case.
        checks: names of check classes, the first that has references holds.

    Raises:
        FabricheckError: as of ``resolve``.
    """
    for check in checks:
        for path in (path_of(folders("references"), key.system), *files_of_folder(key.benchmark)):
            if exists(path):
                references, tolerance = resolve(path, check, key)
                if references:
                    return references, tolerance
    return {}, None


def of_sizes(
    references: Mapping[Variable, Reference], sizes: Collection[int]
) -> dict[Variable, Reference]:
    """The references of some sizes of a case, and those of no size.

    Args:
        references: of the case.
        sizes: what a block of stress sends of them.
    """
    return {name: each for name, each in references.items() if name.size in (None, *sizes)}


def files_of_folder(benchmark: str) -> list[Path]:
    """The file of references that a benchmark has in its own folder, for systems without some."""
    folder = registry.folder_of(benchmark)
    path = folder / "references.yaml" if folder else None
    return [path] if path and exists(path) else []


def find_verdict(
    curve: Curve,
    setting: Setting,
    links: Links | None,
    references: tuple[Mapping[Variable, Reference], Tolerance | None],
    remarks: tuple[str, ...] = (),
) -> tuple[Verdict, str]:
    """The verdict on a whole curve, with what the folder adds; and what physics judges it by.

    Raises:
        FabricheckError: if the unit of a reference is not that of the curve.
    """
    expected = derived(curve, links) if links else {}
    known, tolerance = references
    verdict = judge_curve(curve, {**expected, **known}, tolerance).warned(remarks)
    if own := registry.part_of(curve.benchmark, JUDGE):
        verdict = own.refine(verdict, Subject(curve, tolerance, setting.extras, setting.features))
    rate = links.rate if links and expected else None
    return verdict, f"a link of {rate.gigabits:g} Gbit/s" if rate else ""


def judge_fabric(directory: Path, limits: Limits) -> list[Finding]:
    """What was wrong with the ports below a job, and since the run before, as its nodes have left
    it in its directory.
    """
    try:
        nodes = read_nodes(directory)
        folder = home() / "reports" / "kernel-log"
        since = (found for each in nodes for found in judge_since(each.before, each.after, folder))
        return [*judge_job(nodes, limits), *since]
    except FabricheckError as error:
        return [Finding(Level.CRITICAL, "fabric health", "", "", "was not judged", str(error))]


def of_rails(findings: Iterable[Finding], directory: Path) -> list[Finding]:
    """Those that are of the ports which a job used, or of no port; each node told which it has.

    Args:
        findings: what was wrong with ports.
        directory: where the job's ranks have left their witnesses.
    """
    used = read_rails(directory)
    return [
        each
        for each in findings
        if not each.port or not used.get(each.host) or each.port in used[each.host].values()
    ]


def judge_segments(directory: Path, benchmark: str) -> list[Finding]:
    """Nodes of a job whose sockets had to send again what the network lost.

    Args:
        directory: where the job's ranks have left their witnesses.
        benchmark: that was measured.
    """
    entry = registry.REGISTRY.get(benchmark)
    between_two = entry and registry.FAMILIES[entry.family].layer
    if isinstance(entry, MpiBenchmark) and entry.ranks.all_at_once:
        between_two = ""
    most = _MOST_AGAIN if between_two else _MOST_AGAIN_OF_MANY
    try:
        witnesses = read_witnesses(directory)
    except FabricheckError:
        return []
    found = []
    for host, ranks in by_host(witnesses).items():
        moved = {
            counter: number
            for (kind, _, counter), number in ranks[0].moved.items()
            if kind == "tcp"
        }
        again = moved.get("again", 0)
        # OutSegs has those sent for the first time (RFC 1213): over a dead link maybe none.
        sent = moved.get("sent", 0) + again
        if again >= _LEAST_AGAIN and again > most * sent:
            found.append(
                Finding(
                    Level.CRITICAL,
                    "TCP segments sent again",
                    host,
                    "",
                    f"{again} of {sent} ({share(again / sent)})",
                    "the network lost them, or is slower than they came: look at the link",
                    badness=again / sent,
                )
            )
    return found


def fabric_of(
    ports: Iterable[Finding], lost: Collection[Finding] = (), level: Level = Level.CRITICAL
) -> Fabric:
    """What findings of the fabric below a case come to.

    Args:
        ports: what is wrong with its ports.
        lost: nodes whose sockets had to send again what the network lost.
        level: how bad that is.
    """
    found = [*ports, *(replace(each, level=level) for each in lost)]
    critical = [finding for finding in found if finding.level is Level.CRITICAL]
    causes = [finding for finding in critical if finding.place]
    return Fabric(
        level=worst([Level.GOOD, *(each.level for each in found)]),
        causes=tell(causes),
        remarks=tell(finding for finding in found if finding not in causes),
        critical=tell(critical),
        faulty=bool(causes or lost),
    )


def _extras_with_rate(transport: Transport, setting: Setting) -> PartitionExtras:
    """The partition's extras; where they give no rate, with the one that all cards tell."""
    if setting.extras.link_rate is not None or not may_use_ports(transport, setting.features):
        return setting.extras
    try:
        return replace(setting.extras, link_rate=common_rate(read_nodes(setting.stage)))
    except FabricheckError:
        # A damaged snapshot is a finding of the fabric's health.
        return setting.extras


def _ports_used(witnesses: Iterable[Witness]) -> int:
    """The most RDMA ports of one node that sent or received packets."""
    ports: dict[str, set[str]] = {}
    for witness in witnesses:
        ports.setdefault(witness.host, set()).update(
            device
            for (kind, device, counter), moved in witness.moved.items()
            if kind == "rdma" and counter.endswith(("pkts", "packets")) and moved
        )
    return max(map(len, ports.values()), default=0)
