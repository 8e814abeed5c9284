"""The prerequisites that a node must meet: data, and one small judgement each."""

import re
from collections import Counter
from collections.abc import Callable, Hashable

from ClusterShell.NodeSet import NodeSet

from fabricheck.judge.levels import Level
from fabricheck.node_health.expectations import version_numbers
from fabricheck.node_health.facts import Facts, Port
from fabricheck.node_health.model import Answer, Outcome, Rule, Survey
from fabricheck.units import format_size

_VERSION = re.compile(r"\d+(?:\.\d+)+")
_ACTIVE = "ACTIVE"
_MISSING = "is missing"
_COMMANDS = {
    "openmpi": "ompi_info",
    "mpich": "mpichversion",
    "mvapich2": "mpichversion",
    "ucx": "ucx_info",
    "osu": "osu_latency",
}
_WITHOUT_UCX = frozenset({"mvapich2"})


def programs(family: str) -> tuple[str, ...]:
    """The programs whose version a node is asked for, in an environment with that MPI or none."""
    if not family:
        return ("ucx",)
    ucx = () if family in _WITHOUT_UCX else ("ucx",)
    return (family, *ucx, "osu")


def version_in(said: str) -> str:
    """The version number in what a program said of itself; empty if there is none."""
    match = _VERSION.search(said)
    return match[0] if match else ""


def _met(words: str) -> Answer:
    return Answer(Outcome.MET, words)


def _unmet(words: str) -> Answer:
    return Answer(Outcome.UNMET, words)


def _unknown(words: str) -> Answer:
    return Answer(Outcome.UNKNOWN, words)


def _not_applicable(words: str) -> Answer:
    return Answer(Outcome.NOT_APPLICABLE, words)


def _launch(_node: Facts, survey: Survey) -> Answer:
    if not survey.launcher:
        return _not_applicable("one machine without a scheduler: nothing is launched on another")
    return _met(f"reached by {survey.launcher}")


def _differing(node: Facts, survey: Survey, value: Callable[[Facts], Hashable]) -> str:
    """What the other nodes have, where this node is not of the majority; empty if it is.

    Where no value has a majority of its own, all of them differ: two nodes can't tell who is right.
    """
    counts = Counter(value(each) for each in survey.nodes).most_common()
    if value(node) == counts[0][0] and (len(counts) == 1 or counts[0][1] > counts[1][1]):
        return ""
    others: dict[Hashable, list[str]] = {}
    for each in survey.nodes:
        if value(each) != value(node):
            others.setdefault(value(each), []).append(each.node)
    return "; ".join(f"{found or 'none'} on {_folded(names)}" for found, names in others.items())


def _folded(names: list[str]) -> str:
    return str(NodeSet.fromlist(names))


def _kernel(node: Facts, survey: Survey) -> Answer:
    if len(survey.nodes) == 1:
        return _not_applicable(f"{node.kernel}; one node, none to compare with")
    if others := _differing(node, survey, lambda each: each.kernel):
        return _unmet(f"{node.kernel} here, {others}")
    return _met(node.kernel)


def _clock(node: Facts, survey: Survey) -> Answer:
    if node.node not in survey.skews:
        return _not_applicable("one node, no other clock to compare with")
    skew, limit = survey.skews[node.node], survey.expected.clock_skew
    bounds = f"±{_seconds(skew.uncertainty)}"
    way = "ahead of" if skew.seconds > 0 else "behind"
    found = f"{_seconds(abs(skew.seconds))} {way} the other nodes ({bounds})"
    if abs(skew.seconds) - skew.uncertainty > limit:
        return _unmet(f"{found}, expected at most {_seconds(limit)}")
    if abs(skew.seconds) + skew.uncertainty > limit:
        return _unknown(
            f"{found}: too uncertain to tell whether within {_seconds(limit)}, "
            "the nodes answer too slowly"
        )
    return _met(f"within {_seconds(limit)} of the other nodes")


def _seconds(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def _memlock(node: Facts, survey: Survey) -> Answer:
    if not node.ports and not survey.expected.rdma:
        return _not_applicable("no RDMA device: no memory is registered")
    least = survey.expected.memlock
    if node.memlock is None:
        return _met("unlimited")
    if node.locks_freely:
        return _met(f"{_bytes(node.memlock)}, which does not bind a process with CAP_IPC_LOCK")
    if least is not None and node.memlock >= least:
        return _met(_bytes(node.memlock))
    wanted = "unlimited" if least is None else f"at least {_bytes(least)}"
    return _unmet(
        f"{_bytes(node.memlock)}, expected {wanted}: raise memlock in limits.conf or the "
        "scheduler's LimitMEMLOCK"
    )


def _bytes(number: int) -> str:
    return format_size(number)


def _hugepages(node: Facts, survey: Survey) -> Answer:
    expected = survey.expected
    found = [f"transparent: {node.transparent_hugepages or 'not in this kernel'}"]
    found += [
        f"{count} reserved of {_bytes(size)}" for size, count in node.hugepages.items() if count
    ]
    missing = [
        f"expected at least {count} reserved of {_bytes(size)}"
        for size, count in expected.hugepages.items()
        if node.hugepages.get(size, 0) < count
    ]
    mode = node.transparent_hugepages
    if mode and mode not in expected.transparent_hugepages:
        missing.append(f"expected transparent {' or '.join(expected.transparent_hugepages)}")
    if missing:
        return _unmet(", ".join(found + missing))
    if not mode and not expected.hugepages:
        return _not_applicable(
            "this kernel has no transparent huge pages, and none are to be reserved"
        )
    return _met(", ".join(found))


def _governor(node: Facts, survey: Survey) -> Answer:
    if not node.governors:
        why = "virtual machine" if node.virtual else "the kernel has no cpufreq driver here"
        return _not_applicable(f"no CPU frequency scaling here: {why}")
    wanted = survey.expected.governor
    others = Counter(name for name in node.governors.values() if name != wanted)
    if others:
        found = ", ".join(f"{name} on {count}" for name, count in others.items())
        return _unmet(f"{found} of {len(node.governors)} CPUs, expected {wanted}")
    return _met(f"{wanted} on {len(node.governors)} CPUs")


def _used_ports(node: Facts, survey: Survey) -> list[Port]:
    """The ports that the site names; else those that are active."""
    named = survey.expected.rdma_ports
    if named:
        return [port for port in node.ports if port.name in named]
    return [port for port in node.ports if port.state == _ACTIVE]


def _rdma(node: Facts, survey: Survey) -> Answer:
    if not survey.expected.rdma:
        return _not_applicable("this partition does not offer rdma")
    found = ", ".join(f"{port.name} {port.state or 'in no state'}" for port in node.ports)
    found = found or "no RDMA device"
    used = _used_ports(node, survey)
    named = survey.expected.rdma_ports
    if {port.name for port in used} < set(named):
        return _unmet(f"{found}, expected {', '.join(named)}")
    if not used or any(port.state != _ACTIVE for port in used):
        return _unmet(f"{found}, expected {', '.join(named) or 'a port'} {_ACTIVE}")
    return _met(", ".join(f"{port.name} {port.state}" for port in used))


def _numa(node: Facts, survey: Survey) -> Answer:
    cards = {port.name: port.numa for port in _used_ports(node, survey) if port.numa is not None}
    if not cards:
        software = ", ".join(
            f"{port.name} is software on {port.interface or 'no interface'}" for port in node.ports
        )
        return _not_applicable(software or "no RDMA device")
    if len(node.numa) < 2:  # noqa: PLR2004 - one memory is near to everything
        return _met("one NUMA node")
    hidden = [name for name, place in cards.items() if place == -1]
    if hidden:
        return _unknown(f"the firmware does not tell where {', '.join(hidden)} is")
    distances = {name: _distance(node, place) for name, place in cards.items()}
    if None in distances.values():
        return _unknown("the kernel does not tell how far the job's CPUs are from the card")
    found = ", ".join(f"{name} at distance {distance}" for name, distance in distances.items())
    limit = survey.expected.numa_distance
    if any(distance is not None and distance > limit for distance in distances.values()):
        return _unmet(
            f"{found} from the job's CPUs, expected at most {limit}: give jobs the CPUs beside it"
        )
    return _met(found)


def _distance(node: Facts, card: int) -> int | None:
    """From the nearest CPU of the job to the card's memory; ``None`` where the kernel is silent."""
    numbers = sorted(each.number for each in node.numa)
    near = [
        dict(zip(numbers, each.distances, strict=False)).get(card)
        for each in node.numa
        if each.cpus & node.cpus
    ]
    return min((distance for distance in near if distance is not None), default=None)


def _mtu(node: Facts, survey: Survey) -> Answer:
    words = _mtu_words(node, survey)
    if not words:
        return _not_applicable("no network interface but the loopback")
    wrong = [
        f"{name} {mtu}"
        for name, mtu in survey.expected.mtu.items()
        if node.interfaces.get(name) != mtu
    ]
    if wrong:
        return _unmet(f"{words}, expected {', '.join(wrong)}")
    if others := _differing(node, survey, lambda each: _mtu_words(each, survey)):
        return _unmet(f"{words} here, {others}")
    if _MISSING in words:
        return _unmet(words)
    if len(survey.nodes) == 1 and not survey.expected.mtu:
        return _not_applicable(f"{words}; one node, and the site expects no value")
    return _met(words)


def _mtu_words(node: Facts, survey: Survey) -> str:
    """The MTUs that matter, each behind a name that is the same on every node."""
    expected = survey.expected
    names = {name: name for name in (*expected.interfaces, *expected.mtu)}
    for number, port in enumerate(_used_ports(node, survey), start=1):
        if port.interface:
            names[f"RDMA {number}"] = port.interface
    if not names:
        common = set.intersection(*(set(each.interfaces) for each in survey.nodes))
        names = {name: name for name in sorted(common - {"lo"})}
    return ", ".join(
        f"{role} {node.interfaces.get(name, _MISSING)}" for role, name in names.items()
    )


def _version(program: str, node: Facts, survey: Survey) -> Answer:
    command, said = _COMMANDS[program], node.versions[program]
    if not any(each.versions[program] for each in survey.nodes):
        return _UNTOLD.get(program, _unknown(f"no {command} on PATH that tells it"))
    words = said or f"no {command} on PATH that tells it"
    if others := _differing(node, survey, lambda each: each.versions[program]):
        return _unmet(f"{words} here, {others}")
    least = survey.expected.versions.get(program)
    if least is None:
        return _met(words)
    found = version_in(said)
    if not found:
        return _unknown(f"{words}: no version in it to compare with {least}")
    if version_numbers(found) < version_numbers(least):
        return _unmet(f"{words}, expected {least} or newer")
    return _met(words)


def _mpi_version(node: Facts, survey: Survey) -> Answer:
    return _version(survey.family, node, survey)


def _ucx_version(node: Facts, survey: Survey) -> Answer:
    return _version("ucx", node, survey)


def _osu_version(node: Facts, survey: Survey) -> Answer:
    return _version("osu", node, survey)


_UNTOLD = {
    "osu": _not_applicable(
        "the OSU benchmarks are not installed here: the suite measures with its own mpi_probe, "
        "which prints their tables"
    )
}


def _always(_survey: Survey) -> bool:
    return True


def _without_mpi(survey: Survey) -> bool:
    return not survey.family


def _with_mpi(survey: Survey) -> bool:
    return bool(survey.family)


def _with_ucx(survey: Survey) -> bool:
    return "ucx" in programs(survey.family)


LAUNCH, CLOCK = "launch", "clock"

_SETUP = "MPI AI Cluster Benchmark, docs/SETUP.md"

RULES = (
    Rule(
        LAUNCH,
        "the launcher reaches every node of the partition without asking for a password",
        f"{_SETUP}; Open MPI, Launching with SSH",
        Level.CRITICAL,
        _launch,
        _always,
    ),
    Rule(
        "kernel",
        "the same release on every node",
        "a node that an update has missed measures something else",
        Level.WARNING,
        _kernel,
        _without_mpi,
    ),
    Rule(
        CLOCK,
        "within {clock_skew} seconds of the other nodes",
        "RFC 5905: NTP sets a clock that is 128 ms off, instead of steering it",
        Level.CRITICAL,
        _clock,
        _without_mpi,
    ),
    Rule(
        "memlock",
        "{memlock} lockable memory, where there is RDMA",
        "registered memory is locked: Red Hat, Networking Guide, Relaxing memlock restrictions",
        Level.CRITICAL,
        _memlock,
        _without_mpi,
    ),
    Rule(
        "hugepages",
        "transparent huge pages in one of {transparent_hugepages}; {hugepages} reserved",
        "fewer pages for the card to translate: kernel, admin-guide/mm/transhuge",
        Level.WARNING,
        _hugepages,
        _without_mpi,
    ),
    Rule(
        "governor",
        "{governor} on every CPU",
        f"{_SETUP}; kernel, admin-guide/pm/cpufreq",
        Level.WARNING,
        _governor,
        _without_mpi,
    ),
    Rule(
        "rdma",
        "the port of ucx_net_devices, else any port, is active, where the partition offers rdma",
        f"{_SETUP}: ibstat says Active",
        Level.CRITICAL,
        _rdma,
        _without_mpi,
    ),
    Rule(
        "numa",
        "the job's CPUs are at most {numa_distance} from the card",
        "10 is local: ACPI, System Locality Information Table",
        Level.WARNING,
        _numa,
        _without_mpi,
    ),
    Rule(
        "mtu",
        "the same on every node, and {mtu} where the site says so",
        f"{_SETUP}; what is larger than the receiver's MTU is lost",
        Level.CRITICAL,
        _mtu,
        _without_mpi,
    ),
    Rule(
        "mpi version",
        "the same on every node, and at least {versions}",
        f"{_SETUP}; Open MPI, README: different versions are not guaranteed to work together",
        Level.CRITICAL,
        _mpi_version,
        _with_mpi,
    ),
    Rule(
        "ucx version",
        "the same on every node, and at least {versions}",
        f"{_SETUP}; UCX before 1.16 does not tell the other side its version",
        Level.CRITICAL,
        _ucx_version,
        _with_ucx,
    ),
    Rule(
        "osu version",
        "the same on every node, and at least {versions}",
        _SETUP,
        Level.WARNING,
        _osu_version,
        _with_mpi,
    ),
)
"""The prerequisites, in the order in which they are shown."""
