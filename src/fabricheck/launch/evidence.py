"""Whether the output of a job can be believed: what was expected of it and what it left behind."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ClusterShell.NodeSet import NodeSet

from fabricheck.errors import FabricheckError
from fabricheck.launch.expectation import Expectation
from fabricheck.launch.measurement import Evidence
from fabricheck.measures.benchmark import RanksRule
from fabricheck.measures.curve import Curve
from fabricheck.measures.metrics import Metric
from fabricheck.measures.parser import check_complete, parse
from fabricheck.measures.registry import find
from fabricheck.schedulers.protocol import Scheduler
from fabricheck.transports.gpu_memory import Load
from fabricheck.transports.offload import check_offload
from fabricheck.transports.proof import SHARE_THAT_MUST_MOVE, Proof, prove
from fabricheck.transports.statement import TransportReport, left_out, read_report
from fabricheck.transports.table import Counter
from fabricheck.transports.witness import (
    Witness,
    by_host,
    read_lacking,
    read_ucx_complaints,
    read_ucx_logs,
    read_witnesses,
    unfinished_ranks,
)

RESULT_JSON = "result.json"
"""What a program of the suite writes in the job's directory."""

# What the scheduler of ReFrame that runs cases in one allocation says of its end.
_ALLOCATION = re.compile(r"^fabricheck: allocation (.+)$", re.MULTILINE)
_WRONG_DATA = re.compile(r"wrong data at .*")
# Debian's Open MPI below a PMI that it doesn't speak doesn't even make a world of one.
_NO_WORLD = re.compile(r"MPI_COMM_WORLD has (?P<size>\d+)|OPAL ERROR: Unreachable.*")
# "Terminated" is what the wrapper's shell says of a program that the scheduler has ended, the line
# on a BTL is what Open MPI was asked to say, those on help what it says of messages before,
# PMIX's that its server lost a rank which had ended, that on a node what MPICH says of an abort,
# those on coll who serves collectives, and the last ones what Docker and Podman advise who were
# given an option that they don't know.
_LAUNCHER_LINE = re.compile(
    r"(mpirun|mpiexec)\b.*:|Terminated$|\[\S+\] (mca: bml: Using |coll:|\(\d+/MPI_COMM)"
    r"|Abort\(\d+\) on node \d+ .*called MPI_Abort"
    r"|\[\S+\] (Set MCA parameter|\d+ more process|PMIX ERROR: )"
    r"|(Run|See) '.* --help'|Usage: "
)
_FRAMED = re.compile(
    r"^-{60,}\n\s*(?P<first>.*?)(?:\n\s*\n.*?)?\n-{60,}(?:\n|\Z)", re.MULTILINE | re.DOTALL
)
# UCX's own report of its end, before a backtrace.
_UCX_DIED = re.compile(
    r"^\[[^\]]+:\d+\s*:\w+:\d+\]\s+(\S+:\d+\s+Assertion .*|Caught signal .*)$", re.M
)
_NO_FINALIZE = re.compile(r"MPI_Finalize did not return.*")

_NEVER_BEGAN = (
    "expected the job to begin, found no output of it: the scheduler had no nodes for it in time "
    "(max_pending_time of the partition): see whether they are up and free"
)


def examine(directory: Path, stdout: Path, stderr: Path, expected: Expectation) -> Evidence:
    """Examine the working directory of a finished job.

    A job that didn't end well is not examined further: what follows from a dead node is not a
    second fault.
    """
    if not (stdout.exists() or stderr.exists()):
        return Evidence(objections=(_NEVER_BEGAN,))
    errors = stderr.read_text(errors="replace") if stderr.exists() else ""
    if faults := list(job_faults(directory, errors, expected)):
        # The first complaints are the cause, the others follow from them.
        complaints = [f"UCX {each}" for each in read_ucx_complaints(directory)[:2]]
        return Evidence(hosts=hosts_seen(directory), objections=(*faults, *complaints))
    try:
        witnesses = read_witnesses(directory)
        curve = _read_curve(directory / expected.result if expected.result else stdout, expected)
    except (FabricheckError, OSError) as error:
        return Evidence(objections=(str(error),))
    hosts = tuple(by_host(witnesses))
    logs = read_ucx_logs(directory)
    load = expected.exchanged(curve) or _least_load(curve, expected.exchanges)
    printed = stdout.read_text(errors="replace") if stdout.exists() else ""
    proof = _prove(directory, printed + errors, expected, load, witnesses)
    served, fallback = "", list[str]()
    if expected.offload is not None:
        served, fallback = check_offload(expected.offload, errors, expected.num_tasks)
    objections = [
        *_world_objections(curve, expected),
        *host_objections(witnesses, expected),
        *binding_objections(witnesses, expected),
        *_curve_objections(curve, expected),
        *_segment_objections(curve, expected),
        *proof.objections,
        *fallback,
    ]
    versions = sorted({log.version for log in logs if log.version})
    return Evidence(
        curve=curve,
        hosts=hosts,
        ucx_version=", ".join(versions),
        proof="; ".join(filter(None, (proof.evidence, served))),
        objections=tuple(objections),
        remarks=(*dict.fromkeys(_NO_FINALIZE.findall(errors)), *proof.remarks),
    )


def _read_curve(output: Path, expected: Expectation) -> Curve:
    if not output.exists():
        raise FabricheckError(
            f"FC0903 expected the results in {output.name}, found no such file: the program ended "
            "before it wrote them, or it was not built from this suite"
        )
    return parse(output.read_text(errors="replace"), output.name, expected.benchmark)


def _prove(
    directory: Path, words: str, expected: Expectation, load: Load, witnesses: Sequence[Witness]
) -> Proof:
    """Read both reports; where no rank sends another anything there is none."""
    if find(expected.benchmark).family == "startup":
        return Proof("no message was sent that a transport could carry", ())
    said = expected.says() if expected.says else _mpi_says(directory, words, expected, witnesses)
    return prove(
        expected.transport,
        load,
        said,
        witnesses,
        quiet=expected.quiet,
        interfaces=expected.interfaces,
    )


def _mpi_says(
    directory: Path, words: str, expected: Expectation, witnesses: Sequence[Witness]
) -> TransportReport:
    assert expected.choice is not None, "only programs with MPI are examined here"
    return read_report(
        expected.transport,
        expected.choice,
        directory,
        words,
        witnesses,
        interfaces=expected.interfaces,
        offers=expected.offers,
    )


def hosts_seen(directory: Path) -> tuple[str, ...]:
    """Hosts on which ranks began, whether they ended or not."""
    try:
        ended = [witness.host for witness in read_witnesses(directory)]
    except FabricheckError:
        ended = []
    return tuple(dict.fromkeys(ended + [start.host for start in unfinished_ranks(directory)]))


def job_faults(directory: Path, errors: str, expected: Expectation) -> Iterator[str]:
    """Why the job itself did not end well; nothing for one that did."""
    if faults := list(scheduler_faults(directory, errors, expected)):
        yield from faults
    elif match := _WRONG_DATA.search(errors):
        yield (
            f"expected validated data at every size, found {match[0]}: "
            "data were corrupted on the way"
        )
    elif match := _NO_WORLD.search(errors):
        yield _wrong_world(expected, match["size"] or f"none ({match[0]})")
    else:
        yield from rank_faults(directory, errors, expected)


def scheduler_faults(directory: Path, errors: str, expected: Expectation) -> Iterator[str]:
    """Whether the scheduler lost a node of the job or ended it, and which ranks that left."""
    starts = unfinished_ranks(directory)
    unfinished = ", ".join(map(str, starts))
    never_ended = f" ({unfinished} never ended)" if unfinished else ""
    scheduler = expected.scheduler
    lost = scheduler.lost_node.findall(errors)
    if not lost and starts and not scheduler.time_limit.search(errors):
        lost = list(scheduler.silent_nodes([start.host for start in starts])) or [
            name
            for place, name in enumerate(NodeSet.fromlist(list(hosts_seen(directory))))
            if str(place) in scheduler.lost_place.findall(errors)
        ]
    if lost or scheduler.node_fault.search(errors):
        which = ", ".join(dict.fromkeys(lost))
        found = (
            f"node {which}"
            if which
            else f"a node of {', '.join(hosts_seen(directory)) or 'the job'}"
        )
        yield (
            f"node failure: {scheduler.name} lost {found} in mid-job{never_ended}: "
            "look at that node and its link, then run again"
        )
    elif match := _ALLOCATION.search(errors):
        yield (
            f"the allocation did not last: {match[1]}{never_ended}: the case was cut short or "
            "never began; run it again"
        )
    elif scheduler.time_limit.search(errors):
        yield (
            f"time limit: {scheduler.name} ended the job before the benchmark did{never_ended}: "
            "a hang, or a fabric far slower than expected"
        )


def _last_words(errors: str, scheduler: Scheduler) -> str:
    """Why UCX ended the program, or its last line, or the launcher's: that something ended.

    What Open MPI writes in a frame mostly explains what an abort is; where nobody said anything
    else, its first paragraph is why nothing began, such as that it refuses root.
    """
    if died := _UCX_DIED.search(errors):
        return f"UCX: {died[1]}"
    # PRRTE's "Terminated" begins with a NUL.
    lines = [line.strip("\0 \t") for line in reversed(_FRAMED.sub("", errors).splitlines())]
    lines = [line for line in lines if line]
    theirs = (_LAUNCHER_LINE, scheduler.own_line)
    own = (line for line in lines if not any(each.match(line) for each in theirs))
    framed = (" ".join(match["first"].split()) for match in _FRAMED.finditer(errors))
    return next(own, lines[0] if lines else next(framed, "nothing"))


def rank_faults(directory: Path, errors: str, expected: Expectation) -> Iterator[str]:
    """Which ranks failed, never ended or never began; a node without its port is why they do."""
    if lacking := read_lacking(directory):
        yield from lacking
        return
    unfinished = ", ".join(map(str, unfinished_ranks(directory)))
    why = left_out(expected.choice, directory) if expected.choice else ""
    last_words = f"{why}; last words: {_last_words(errors, expected.scheduler)}"
    try:
        witnesses = read_witnesses(directory)
    except FabricheckError as error:
        yield str(error)
        return
    failed = [witness for witness in witnesses if witness.exit_code]
    if failed:
        ranks = ", ".join(f"rank {w.rank} on {w.host}: {w.exit_code}" for w in failed)
        yield f"expected exit code 0 of every rank, found {ranks}{last_words}"
    elif unfinished:
        yield f"expected every rank to end, {unfinished} did not{last_words}"
    elif len(witnesses) != expected.num_tasks:
        yield (f"expected {expected.num_tasks} ranks to start, found {len(witnesses)}{last_words}")


def _least_load(curve: Curve, exchanges: Mapping[int | None, int] | None) -> Load:
    """The least that each rank exchanged: as it was asked to, or by the program's own count."""
    iterations = exchanges or {point.size: point.iterations or 0 for point in curve.points}
    ranks = getattr(find(curve.benchmark), "ranks", None)
    is_whole = isinstance(ranks, RanksRule) and not ranks.all_at_once
    return Load(
        payload=sum((size or 0) * count for size, count in iterations.items()),
        calls=sum(iterations.values()),
        whole={size: count for size, count in iterations.items() if is_whole and size},
        waits=_waits(curve),
    )


def _waits(curve: Curve) -> bool:
    """Whether each call waits for messages of others, so that it shares no packet with another."""
    return find(curve.benchmark).metrics[0] is Metric.LATENCY


def _world_objections(curve: Curve, expected: Expectation) -> Iterator[str]:
    world = curve.metadata.get("ranks")
    if world is not None and world != str(expected.num_tasks):
        yield _wrong_world(expected, world)


def _wrong_world(expected: Expectation, found: str) -> str:
    return (
        f"expected a world of {expected.num_tasks} ranks, found {found}: the launcher's PMI does "
        "not fit this MPI: correct extras.pmi of the environment in the site file"
    )


def host_objections(witnesses: Sequence[Witness], expected: Expectation) -> Iterator[str]:
    """Whether the ranks ran elsewhere than they should have, or on other ports."""
    hosts = tuple(by_host(witnesses))
    for host, (first, *_) in by_host(witnesses).items():
        if len(first.rails) != expected.rails:
            yield (
                f"expected {expected.rails} ports on {host}, found {len(first.rails)} "
                f"({', '.join(first.rails.values()) or 'none'}): FABRICHECK_RAILS did not reach "
                "the ranks there, so nothing says which card they used"
            )
    if len(hosts) != expected.num_nodes:
        yield (
            f"expected ranks on {expected.num_nodes} host(s), found {len(hosts)} "
            f"({', '.join(hosts)}): {_misplaced(witnesses, expected)}"
        )
    for witness in witnesses:
        if witness.allocation and witness.host not in NodeSet(witness.allocation):
            yield (
                f"expected ranks on {witness.allocation}, found rank {witness.rank} on "
                f"{witness.host}: the job ran outside its allocation"
            )


def _misplaced(witnesses: Sequence[Witness], expected: Expectation) -> str:
    wanted = expected.num_tasks // expected.num_nodes
    for host, ranks in by_host(witnesses).items():
        if len(ranks) > wanted:
            return (
                f"{len(ranks)} ranks share {host} instead of {wanted}: the launcher filled it first"
            )
    return "the launcher placed them elsewhere"


def binding_objections(witnesses: Sequence[Witness], expected: Expectation) -> Iterator[str]:
    """Whether ranks share a CPU where each must have its own."""
    if not expected.bound:
        return
    for host, ranks in by_host(witnesses).items():
        taken: dict[str, int] = {}
        for witness in ranks:
            if witness.cpus in taken:
                yield (
                    f"expected separate CPUs for each rank, found ranks {taken[witness.cpus]} "
                    f"and {witness.rank} both on CPUs {witness.cpus} of {host}: "
                    "ranks that share a core measure the kernel's scheduler"
                )
            taken[witness.cpus] = witness.rank


def _curve_objections(curve: Curve, expected: Expectation) -> Iterator[str]:
    if curve.benchmark != expected.benchmark:
        yield f"expected benchmark {expected.benchmark}, found {curve.benchmark} in the output"
    try:
        check_complete(curve, expected.sizes)
    except FabricheckError as error:
        yield str(error)
    if not getattr(find(curve.benchmark), "validates", True):
        return
    # Wrong data never come so far: the parser refuses their table.
    unchecked = [point.size for point in curve.points if point.size is not None and not point.valid]
    if unchecked:
        yield (
            f"expected validated data at every size, found no validation at {len(unchecked)} of "
            f"them, the first {unchecked[0]} B: the program ran without it (option -c)"
        )


def _segment_objections(curve: Curve, expected: Expectation) -> Iterator[str]:
    """Sizes whose messages no socket carried: the counters of a run are those of the large ones."""
    if expected.transport.counter is not Counter.NETDEV or not _waits(curve):
        return
    least = {
        point.size: math.ceil(SHARE_THAT_MUST_MOVE * point.iterations)
        for point in curve.points
        if point.iterations
    }
    short = [
        point
        for point in curve.points
        if point.segments is not None and point.segments < least.get(point.size, 0)
    ]
    if short:
        size = "" if short[0].size is None else f" of {short[0].size} B"
        yield (
            f"expected {least[short[0].size]} TCP segments or more for messages{size} over "
            f"{expected.transport.name}, found {short[0].segments}: something else carried "
            f"them, at {len(short)} of {len(curve.points)} sizes"
        )
