"""What the ranks of a job wrote down: UCX's own logs and the witness files of ``rank.sh``."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fabricheck.errors import FabricheckError
from fabricheck.transports.protocols import Protocol, read_protocols

RANK_WRAPPER = Path(__file__).with_name("rank.sh")

# "[host:process:thread]"; the thread has a letter where a peer's wire-up came before our own: then
# the asynchronous thread "a" makes the endpoint.
_PROCESS = r"\[(?P<host>[^:\]\s]+):\d+\s*:\w+\]"
# UCX 1.15 renamed "ep_cfg[1]:" to "inter-node cfg#1" (ucp_worker_print_used_tls). With
# UCX_PROTO_INFO the titles of its tables begin alike, in a frame: "| ... cfg#1 | rendezvous data".
_CONFIG_LINE = re.compile(
    rf"{_PROCESS}[^|]*"
    r"\b(?:ep_cfg\[\d+\]:|(?:self|intra-node|inter-node) cfg#\d+)\s+(?P<lanes>[^|]+)$"
)
_LANES = re.compile(r"(?P<operation>\w+)\((?P<targets>[^)]*)\)")
_UCX_VERSION = re.compile(r"UCX\s+INFO\s+Version (\S+)")
# MV2_SHOW_ENV_INFO=2 prints it on rank 0, each line "<TAB>NAME : VALUE".
_MVAPICH2_LIST = "MVAPICH2 All Parameters"
_MVAPICH2_PARAMETER = re.compile(r"^\t(\w+) +: (.*)$", re.MULTILINE)
# Open MPI 4.1 and 5.0 at btl_base_verbose 1, where a rank names its BTL to itself too.
_PEER_BTL = re.compile(
    r"^\[(?P<host>[^:\]\s]+):(?P<process>\d+)\] mca: bml: Using (?P<btl>\w+) btl for send to \S+ "
    r"on node (?P<to>\S+)$",
    re.MULTILINE,
)
# Open MPI at mtl_base_verbose 1, from every rank; up to 4.1 it prints the domain as the provider.
_MTL = re.compile(
    r"^\[(?P<host>[^:\]\s]+):(?P<process>\d+)\] \S+ mtl:ofi:provider(?P<domain>:domain)?: "
    r"(?P<name>\S+)$",
    re.MULTILINE,
)
# MPICH with MPIR_CVAR_DEBUG_SUMMARY, and Intel MPI at I_MPI_DEBUG 2, from rank 0 only.
_PROVIDER_OF_JOB = re.compile(
    r"^(?:\[0\] MPI startup\(\): )?libfabric provider: (?P<name>\S+)", re.MULTILINE
)
# A GID index out of range and a device that does not exist are no errors to UCX, but the reason for
# those that follow.
_UCX_COMPLAINT = re.compile(
    rf"{_PROCESS}.*\bUCX\s+"
    r"(?:(?:ERROR|FATAL)|WARN(?=.* (?:is|are) not available)|DIAG(?=\s+invalid gid))"
    r"\s+(?P<words>.+)$",
    re.MULTILINE,
)
# Of a witness file.
_RAIL = re.compile(r"^rail (\S+) (\S+)$", re.MULTILINE)
_LACKS = re.compile(r"^lacks (.+)$", re.MULTILINE)
_END = re.compile(r"^exit \d+\n\Z", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Lane:
    """A path that UCX chose for an operation, for example ``tag(rc_verbs/mlx5_0:1)``."""

    operation: str
    transport: str
    device: str

    def __str__(self) -> str:
        return f"{self.operation}({self.transport}/{self.device})"


@dataclass(frozen=True, slots=True)
class Providers:
    """What an MPI says of libfabric.

    Attributes:
        ranks: how many ranks spoke; ``None`` where one speaks for all.
        names: providers, such as ``tcp;ofi_rxm``.
        domains: the devices of those whose names an old Open MPI keeps to itself.
    """

    ranks: int | None
    names: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class UcxLog:
    """One process's UCX log: its lanes to other ranks and the version of UCX that ran.

    Attributes:
        host: host name of the process.
        version: version of UCX as it announced itself, empty if it did not.
        lanes: lanes of every endpoint configuration that does not lead to the process itself.
        protocols: what UCX used to other ranks, where it was asked for its tables.
    """

    host: str
    version: str
    lanes: tuple[Lane, ...]
    protocols: tuple[Protocol, ...] = ()


@dataclass(frozen=True, slots=True)
class PeerBtl:
    """What one process of Open MPI without UCX took to one of its peers.

    Attributes:
        host: host name of the process.
        process: its process number there.
        btl: the BTL, such as ``tcp`` or ``vader``.
        to: the node of the peer.
    """

    host: str
    process: int
    btl: str
    to: str


@dataclass(frozen=True, slots=True)
class Witness:
    """What ``rank.sh`` saw of one rank.

    Attributes:
        rank: the rank as the launcher numbered it.
        host: the host name of its node.
        allocation: the nodes that the scheduler gave, as it writes them, such as ``n[1-4]``; empty
            without scheduler.
        cpus: the CPUs that it was allowed to use, as ``taskset`` prints them.
        exit_code: how the program ended.
        moved: how far each counter moved, keyed (kind, device, counter); bytes, packets, segments.
        below_ports: network interfaces below RoCE ports, whose counters may move with the ports'.
        ipoib: network interfaces of InfiniBand.
        rails: the ports that it was given, ``mlx5_3:1``, by the names that the site has for them.
        device: what the rank's MPI library was built for, such as ``ch3:nemesis``; empty where the
            case did not ask.
        seconds: how long its program ran.
    """

    rank: int
    host: str
    allocation: str
    cpus: str
    exit_code: int
    moved: Mapping[tuple[str, str, str], int]
    below_ports: frozenset[str] = frozenset()
    ipoib: frozenset[str] = frozenset()
    rails: Mapping[str, str] = field(default_factory=dict)
    device: str = ""
    seconds: float = 0.0

    def total(
        self, kind: str, suffix: str, *, of: Collection[str] = (), without: Collection[str] = ()
    ) -> int:
        """Sum of the counters of a kind whose names end with a suffix.

        Args:
            kind: ``netdev`` or ``rdma``.
            suffix: how their names end.
            of: the devices that count; all without one.
            without: devices that are left out.
        """
        return sum(
            moved
            for (counter_kind, device, counter), moved in self.moved.items()
            if counter_kind == kind
            and counter.endswith(suffix)
            and device not in without
            and (not of or device in of)
        )


def read_ucx_log(text: str) -> UcxLog:
    """The lanes, the protocols and the version in the text of one process's log.

    A configuration with a ``self`` lane leads to the process itself and says nothing about the
    fabric.
    """
    host, lanes = "", []
    for line in text.splitlines():
        if not (match := _CONFIG_LINE.search(line)):
            continue
        host = match["host"]
        found = _read_lanes(match["lanes"])
        if all(lane.transport != "self" for lane in found):
            lanes.extend(found)
    version = _UCX_VERSION.search(text)
    return UcxLog(host, version[1] if version else "", tuple(lanes), read_protocols(text))


def _read_lanes(text: str) -> list[Lane]:
    return [
        Lane(match["operation"], *target.partition("/")[::2])
        for match in _LANES.finditer(text)
        for target in match["targets"].split()
    ]


def read_ucx_logs(directory: Path) -> list[UcxLog]:
    """The UCX logs that the processes of a job left in its working directory."""
    return [read_ucx_log(path.read_text()) for path in sorted(directory.glob("ucx.*.log"))]


def read_ucx_complaints(directory: Path) -> list[str]:
    """What UCX failed in, and why where it says so: each complaint once, log by log."""
    complaints = [
        f"on {match['host']}: {match['words'].strip()}"
        for path in sorted(directory.glob("ucx.*.log"))
        for match in _UCX_COMPLAINT.finditer(path.read_text(errors="replace"))
    ]
    return list(dict.fromkeys(complaints))


def read_mvapich2_parameters(errors: str) -> dict[str, str]:
    """The parameters that MVAPICH2 says it applied, from a job's error output."""
    _, _, listed = errors.partition(_MVAPICH2_LIST)
    return dict(_MVAPICH2_PARAMETER.findall(listed))


def read_peer_btls(errors: str) -> list[PeerBtl]:
    """What Open MPI says it took to each peer, from a job's error output; not to a rank itself."""
    return [
        PeerBtl(match["host"], int(match["process"]), match["btl"], match["to"])
        for match in _PEER_BTL.finditer(errors)
        if match["btl"] != "self"
    ]


def read_providers(words: str) -> Providers:
    """What an MPI says of libfabric, from a job's output and error output."""
    lines = list(_MTL.finditer(words))
    by_rank = {(m["host"], m["process"]): m["name"] for m in lines if not m["domain"]}
    if by_rank and not any(m["domain"] for m in lines):
        return Providers(len(by_rank), domains=frozenset(by_rank.values()))
    of_job = _PROVIDER_OF_JOB.findall(words)
    return Providers(len(by_rank) or None, frozenset([*by_rank.values(), *of_job]))


def read_witness(path: Path) -> Witness:
    """A witness file, whole.

    Raises:
        FabricheckError: if a line is missing or damaged.
    """
    facts: dict[str, str] = {}
    counters: dict[tuple[str, str, str], dict[str, int]] = {}
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        words = line.split()
        try:
            if words[0] in ("netdev", "rdma", "tcp"):
                kind, moment, device, counter, value = words
                counters.setdefault((kind, device, counter), {})[moment] = int(value)
            else:
                facts[words[0]] = " ".join(words[1:])
        except (ValueError, IndexError):
            raise FabricheckError(
                f"FC1010 {path.name}, line {number}: expected 'KEY VALUE' or a counter, found "
                f"{line!r}: the witness of this rank is damaged, run the case again"
            ) from None
    try:
        began, ended = map(float, facts.get("ran", "0 0").split())
        return Witness(
            rank=int(facts["rank"]),
            host=facts["host"],
            allocation=facts["allocation"],
            cpus=facts["cpus"],
            exit_code=int(facts["exit"]),
            below_ports=frozenset(facts["below_ports"].split()),
            ipoib=frozenset(facts["ipoib"].split()),
            rails=_rails(path),
            device=facts.get("device", ""),
            seconds=ended - began,
            moved={
                key: moments["after"] - moments["before"]
                for key, moments in counters.items()
                if {"before", "after"} <= moments.keys()
            },
        )
    except (KeyError, ValueError) as error:
        raise FabricheckError(
            f"FC1011 {path.name}: expected rank, host, allocation, cpus, ports and exit, found no "
            f"usable {error}: the witness of this rank is cut, run the case again"
        ) from None


def read_witnesses(directory: Path) -> list[Witness]:
    """What each rank that came to its end saw, in the order of the ranks."""
    files = [path for path in _files(directory) if _has_ended(path)]
    return sorted((read_witness(path) for path in files), key=lambda witness: witness.rank)


def read_rails(directory: Path) -> dict[str, Mapping[str, str]]:
    """For each node the ports that ranks were given there, whether these have ended or not."""
    return {_read_start(path).host: _rails(path) for path in _files(directory)}


def _rails(path: Path) -> dict[str, str]:
    return dict(_RAIL.findall(path.read_text()))


def read_lacking(directory: Path) -> tuple[str, ...]:
    """What nodes say that found no port of a name that the site has, or several."""
    said = (match for path in _files(directory) for match in _LACKS.findall(path.read_text()))
    return tuple(dict.fromkeys(said))


def _files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.glob("witness.*") if path.suffix[1:].isdecimal())


def _has_ended(path: Path) -> bool:
    """Whether its last line is there, whole."""
    return _END.search(path.read_text()) is not None


def providers_allowed(directory: Path) -> set[str]:
    """``FI_PROVIDER`` of each rank that had it, whoever set it."""
    facts = (line.partition(" ") for path in _files(directory) for line in path.open())
    return {value.strip() for key, _, value in facts if key == "provider"}


@dataclass(frozen=True, slots=True)
class Start:
    """A rank that began and never came to an end."""

    rank: str
    host: str

    def __str__(self) -> str:
        return f"rank {self.rank} on {self.host}"


def unfinished_ranks(directory: Path) -> list[Start]:
    """Ranks that began and never came to an end."""
    return [_read_start(path) for path in _files(directory) if not _has_ended(path)]


def _read_start(path: Path) -> Start:
    facts = dict(
        line.split(" ", maxsplit=1) for line in path.read_text().splitlines() if " " in line
    )
    return Start(facts.get("rank", "?"), facts.get("host", "an unknown node"))


def by_host(witnesses: Iterable[Witness]) -> dict[str, list[Witness]]:
    """The witnesses of each host."""
    hosts: dict[str, list[Witness]] = {}
    for witness in witnesses:
        hosts.setdefault(witness.host, []).append(witness)
    return hosts
