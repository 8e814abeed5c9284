"""What the record holds: cases with their samples, facts of nodes, and sessions.

A line is a JSON object that begins with a checksum of the rest and its kind. A field whose value
is the default is left out (docs/how-to/history.md).
"""

import json
import math
import re
import zlib
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Final

import msgspec

from fabricheck.judge.judgement import Judgement
from fabricheck.measures.curve import Variable
from fabricheck.transports.placement import written

HEAD: Final = b'{"crc":"'
_DIGITS: Final = 8
_BODY: Final = len(HEAD) + _DIGITS + len(b'",')
Count = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
Size = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
MOMENT: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"
"""The one form in which a point of time is written: RFC 3339 in UTC, whole seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One value of a case, and how it was judged.

    Attributes:
        metric: what is measured, such as ``latency``; of another suite the variable's name.
        statistic: such as ``p50``; empty where the variable has none.
        size: message size in bytes, or a matrix' order; ``None`` where there is none.
        value: the measured value in ``unit``; ``None`` when the case gave none.
        level: verdict on it: good, warning, no-reference, disturbed, critical or untrusted; empty
            where nobody judged it.
        result: of another suite, ReFrame's word for it where it is another than the case's.
        reference: reference value in ``unit``; the critical and warning bounds likewise.
    """

    metric: str
    statistic: str = ""
    size: Size | None = None
    value: float | None = None
    unit: str = ""
    level: str = ""
    result: str = ""
    reference: float | None = None
    lower: float | None = None
    upper: float | None = None
    warning_lower: float | None = None
    warning_upper: float | None = None

    @classmethod
    def of(cls, judged: Judgement) -> "Sample":
        """The sample of a value that was judged."""
        reference = judged.reference
        lower, upper = reference.bounds() if reference else (None, None)
        if (lower, upper) == (None, None):
            reference = None
        return cls(
            **judged.variable._asdict(),
            value=judged.value,
            unit=judged.unit,
            level=str(judged.level),
            reference=reference.value if reference else None,
            lower=lower,
            upper=upper,
            warning_lower=judged.good[0],
            warning_upper=judged.good[1],
        )

    @property
    def variable(self) -> str:
        """Its name as ReFrame shows it, such as ``latency_p50_1KiB``."""
        if not self.statistic:
            return self.metric
        # A metric of a later version has a name and no row.
        return str(Variable._make((self.metric, self.statistic, self.size)))


@dataclass(frozen=True, slots=True, order=True)
class Setup:
    """What a case runs, and where: values of the same setup are comparable.

    Attributes:
        system: ReFrame's system.
        partition: ReFrame's partition.
        environ: ReFrame's environment.
        check: class of the check.
        benchmark: name in the registry; of another suite the test's name with its parameters.
        transport: name in the table of transports; empty where there is none.
        num_nodes: number of distinct hosts.
        layout: ``full`` with a rank on every core of the nodes.
        port: the one RDMA port of each node that it used, as the site names it; empty for all.
        ranks: number of processes that measured together; 0 where nobody knows.
        ranks_per_node: likewise of one node.
        binding: how ranks were pinned, where the site says something special.
        program: the benchmark program.
        options: options of the program that change the value, as on its command line.
    """

    system: str
    partition: str
    environ: str
    check: str
    benchmark: str = ""
    transport: str = ""
    num_nodes: Count = 0
    layout: str = ""
    port: str = ""
    ranks: Count = 0
    ranks_per_node: Count = 0
    binding: str = ""
    program: str = ""
    options: str = ""

    @property
    def placement(self) -> str:
        """Transport and nodes as the references name them; empty where there is none."""
        return written(self.transport, self.num_nodes, self.layout, self.port)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseEntry(Setup):
    """A finished case: a test in an environment on a partition, one attempt of it.

    Attributes:
        time: when its job ended, RFC 3339 in UTC, whole seconds.
        session: which run of ReFrame.
        name: ReFrame's display name.
        id: ReFrame's unique name, by which ``needs`` of other cases refer to it.
        result: ReFrame's word: pass, fail, xfail, xpass, skip, abort, fail_deps.
        level: the verdict; empty if the case was never judged.
        gave: of a disturbed case, the level that its values had; empty if nothing judged them.
        findings: why the level is not good, most telling first.
        fabric_causes: those of them that lie in the fabric.
        fail_phase: ReFrame's word for where it failed; empty if it did not.
        fail_reason: ReFrame's reason.
        needs: the ids of the cases that it depended on.
        fixture: whether it is a build.
        attempt: 1, and more for retries.
        repeat: number of the repetition within a session, if ReFrame was asked for some.
        nodes: hosts on which it ran, as they said themselves, else the scheduler.
        job: the scheduler's number; of a case in an allocation that of the allocation and its own.
        evidence: what proves the transport.
        reference_kind: bound, ratio, measured, vendor, paper or physics.
        reference_source: where the references come from.
        mpi: MPI family.
        commit: git commit of the suite.
        output: directory with what it left behind.
        waiting: seconds from its submission to the beginning of its script.
        launch: seconds of its script beside the program: launcher, wrappers and snapshots.
        measuring: seconds of the program of its slowest rank.
        judging: seconds from the end of its script until it was recorded.
        prerequisites: of the check of nodes: rule, level, words and nodes of each.
        ports: of the check of the fabric: the state of the ports.
        tags: ReFrame's, of another suite.
        samples: its values.
    """

    KIND: ClassVar = "case"

    time: str
    session: str = ""
    name: str = ""
    id: str = ""
    result: str = ""
    level: str = ""
    gave: str = ""
    findings: tuple[str, ...] = ()
    fabric_causes: tuple[str, ...] = ()
    fail_phase: str = ""
    fail_reason: str = ""
    needs: tuple[str, ...] = ()
    fixture: bool = False
    attempt: Count = 1
    repeat: Count | None = None
    nodes: tuple[str, ...] = ()
    job: str = ""
    evidence: str = ""
    reference_kind: str = ""
    reference_source: str = ""
    mpi: str = ""
    mpi_version: str = ""
    ucx_version: str = ""
    program_version: str = ""
    commit: str = ""
    output: str = ""
    waiting: float | None = None
    launch: float | None = None
    measuring: float | None = None
    judging: float | None = None
    prerequisites: tuple[Mapping[str, Any], ...] = ()
    ports: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    samples: tuple[Sample, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """Nodes that are alike, and what ran on them in a session.

    Attributes:
        time: when it was written, RFC 3339 in UTC.
        session: which run of ReFrame.
        system: ReFrame's system.
        partition: ReFrame's partition.
        environ: ReFrame's environment.
        nodes: their names.
        machine: their facts.
        software: facts of the environment on them.
    """

    KIND: ClassVar = "nodes"

    time: str
    session: str
    system: str
    partition: str
    environ: str
    nodes: tuple[str, ...]
    machine: Mapping[str, str]
    software: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A run of ReFrame that came to its end.

    Attributes:
        time: when it ended, RFC 3339 in UTC.
        session: its identity, that of its cases.
        system: the system of its cases.
        announced: how many cases it began with, builds among them.
        lacking: what part of the system could not be measured, and why; empty for none.
        info: what ReFrame says of the session, with its ``--session-extras``.
        resting: the cases that a night within a budget left out: system, partition, environ,
            check, benchmark, placement, state (not due, overdue) and why.
    """

    KIND: ClassVar = "session"

    time: str
    session: str
    system: str
    announced: Count = 0
    lacking: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)
    resting: tuple[Mapping[str, str], ...] = ()

    @property
    def kind(self) -> str:
        """What it was for: ``NIGHT``, ``LOCATE``, ``ACCEPTANCE``, ``SWEEP``, or else ``RUN``."""
        told = ACCEPTANCE if "campaign" in self.info else self.info.get("kind")
        # A mode of ReFrame tells which run it is (reframe_ext/config.py), a command itself.
        own = {each: each for each in (LOCATE, ACCEPTANCE, SWEEP)}
        return {"nightly": NIGHT, **own}.get(str(told), RUN)


NIGHT, RUN, LOCATE, ACCEPTANCE, SWEEP = "night", "run", "locate", "acceptance", "sweep"
"""Kinds of sessions."""

Entry = CaseEntry | Nodes | Session
_DECODERS: Final[Mapping[str, msgspec.json.Decoder[Any]]] = {
    each.KIND: msgspec.json.Decoder(each) for each in (CaseEntry, Nodes, Session)
}


@dataclass(frozen=True, slots=True)
class _Kind:
    kind: str


_KIND: Final = msgspec.json.Decoder(_Kind)


def moment(seconds: float | None = None) -> str:
    """A point of time as the record has it; now, if none is given."""
    time = datetime.now(UTC) if seconds is None else datetime.fromtimestamp(seconds, UTC)
    return time.isoformat(timespec="seconds")


def to_line(entry: Entry) -> str:
    """An entry as a line of the record, with its newline.

    What is no text, such as half a surrogate pair, is escaped; a number that is not finite is none.
    """
    given = {"kind": entry.KIND, "time": entry.time, **_plain(entry)}
    body = json.dumps(given, ensure_ascii=False, separators=(",", ":"), allow_nan=False)[1:]
    return f'{HEAD.decode()}{zlib.crc32(body.encode()):08x}",{body}\n'


def _plain(given: Any) -> Any:
    if hasattr(given, "__dataclass_fields__"):
        return {
            each.name: _plain(value)
            for each in fields(given)
            if (value := getattr(given, each.name)) != _default(each)
        }
    if isinstance(given, Mapping):
        return {str(name): _plain(value) for name, value in given.items()}
    if isinstance(given, list | tuple | set | frozenset):
        return [_plain(each) for each in given]
    if isinstance(given, float) and not math.isfinite(given):
        return None
    if given is None or isinstance(given, int | float):
        return given
    return str(given).encode(errors="backslashreplace").decode()


def _default(each: "Field[Any]") -> Any:
    return {} if each.default_factory is not MISSING else each.default


def is_sound(line: bytes) -> bool:
    """Whether a line, without its newline, is as it was written."""
    if not line.startswith(HEAD) or line[_BODY - 2 : _BODY] != b'",':
        return False
    try:
        return int(line[len(HEAD) : _BODY - 2], 16) == zlib.crc32(memoryview(line)[_BODY:])
    except ValueError:
        return False


def from_line(line: bytes) -> Entry:
    """The entry of a line, without its newline.

    Raises:
        ValueError: if it is damaged or none, in words.
    """
    if not is_sound(line):
        raise ValueError(
            "expected a line as it was written, found another checksum: it was damaged or edited"
        )
    try:
        # Fields of later versions are left out.
        kind = _KIND.decode(line).kind
        entry: Entry = _DECODERS[kind].decode(line)
        _check_moment(entry.time)
    except KeyError as error:
        raise ValueError(f"expected an entry of the record, found the kind {error}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"expected an entry of the record, found: {error}") from None
    return entry


def _check_moment(time: str) -> None:
    if not re.fullmatch(MOMENT, time, re.ASCII):
        raise ValueError(f"time {time!r:.80} in place of one such as {moment(0)}")
    datetime.fromisoformat(time)
