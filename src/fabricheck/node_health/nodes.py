"""How a node stands to each prerequisite: of the node itself, and of an environment's software."""

import re
from collections import Counter
from collections.abc import Container, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from fabricheck.node_health.alike import odd
from fabricheck.node_health.facts import Facts, PortFacts
from fabricheck.node_health.survey import (
    Answer,
    Survey,
    differing,
    met,
    not_applicable,
    unknown,
    unmet,
    version_numbers,
)
from fabricheck.nodes.optics import FAULT
from fabricheck.nodes.pcie import LOSS
from fabricheck.transports.families import MPIS
from fabricheck.units import format_size, seconds

_ACTIVE = "ACTIVE"
_NUMBER = re.compile(r"\d+(?:\.\d+)+")
_COMMANDS = {"ucx": "ucx_info", "osu": "osu_latency"}
_UNTOLD = {
    "osu": not_applicable(
        "the OSU benchmarks are not installed here: the suite measures with its own mpi_probe, "
        "which prints their tables"
    )
}


def launch(_node: Facts, survey: Survey) -> Answer:
    """It runs the probe, so the launcher reached it; in what way is told."""
    if not survey.launcher:
        return not_applicable("one machine without a scheduler: nothing is launched on another")
    return met(f"reached by {survey.launcher}")


def kernel(node: Facts, survey: Survey) -> Answer:
    """Its kernel is that of the other nodes."""
    if len(survey.nodes) == 1:
        return not_applicable(f"{node.kernel}; one node, none to compare with")
    if others := differing(node, survey, lambda each: each.kernel):
        return unmet(f"{node.kernel} here, {others}")
    return met(node.kernel)


def clock(node: Facts, survey: Survey) -> Answer:
    """Its clock agrees with the others, so far as the exchange can tell."""
    if node.node not in survey.skews:
        return not_applicable("one node, no other clock to compare with")
    skew, limit = survey.skews[node.node], survey.expected.health.clock_skew
    bounds = f"±{seconds(skew.uncertainty)}"
    way = "ahead of" if skew.seconds > 0 else "behind"
    found = f"{seconds(abs(skew.seconds))} {way} the other nodes ({bounds})"
    if abs(skew.seconds) - skew.uncertainty > limit:
        return unmet(f"{found}, expected at most {seconds(limit)}")
    if abs(skew.seconds) + skew.uncertainty > limit:
        return unknown(
            f"{found}: too uncertain to decide whether within {seconds(limit)}, "
            "the nodes answer too slowly"
        )
    return met(f"within {seconds(limit)} of the other nodes")


def memlock(node: Facts, survey: Survey) -> Answer:
    """A process may lock the memory that RDMA registers."""
    if not node.ports and not survey.expected.rdma:
        return not_applicable("no RDMA device: no memory is registered")
    least = survey.expected.memlock
    if node.memlock is None:
        return met("unlimited")
    if node.locks_freely:
        return met(f"{format_size(node.memlock)}, which does not bind a process with CAP_IPC_LOCK")
    if least is not None and node.memlock >= least:
        return met(format_size(node.memlock))
    wanted = "unlimited" if least is None else f"at least {format_size(least)}"
    return unmet(
        f"{format_size(node.memlock)}, expected {wanted}: raise memlock in limits.conf or the "
        "scheduler's LimitMEMLOCK"
    )


def hugepages(node: Facts, survey: Survey) -> Answer:
    """Large buffers get large pages."""
    expected = survey.expected
    found = [f"transparent: {node.transparent_hugepages or 'not in this kernel'}"]
    found += [
        f"{count} reserved of {format_size(size)}"
        for size, count in node.hugepages.items()
        if count
    ]
    missing = [
        f"expected at least {count} reserved of {format_size(size)}"
        for size, count in expected.hugepages.items()
        if node.hugepages.get(size, 0) < count
    ]
    mode = node.transparent_hugepages
    if mode and mode not in expected.health.transparent_hugepages:
        missing.append(f"expected transparent {' or '.join(expected.health.transparent_hugepages)}")
    if missing:
        return unmet(", ".join(found + missing))
    if not mode and not expected.hugepages:
        return not_applicable(
            "this kernel has no transparent huge pages, and none are to be reserved"
        )
    return met(", ".join(found))


def governor(node: Facts, survey: Survey) -> Answer:
    """No CPU saves power at the cost of time."""
    if not node.governors:
        why = "virtual machine" if node.virtual else "the kernel has no cpufreq driver here"
        return not_applicable(f"no CPU frequency scaling here: {why}")
    wanted = survey.expected.health.governor
    others = Counter(name for name in node.governors.values() if name != wanted)
    if others:
        found = ", ".join(f"{name} on {count}" for name, count in others.items())
        return unmet(f"{found} of {len(node.governors)} CPUs, expected {wanted}")
    return met(f"{wanted} on {len(node.governors)} CPUs")


def _used_ports(node: Facts, survey: Survey) -> list[PortFacts]:
    """The ports that the site names; else those that are active."""
    named = survey.expected.rdma_ports
    if named:
        return [port for port in node.ports if port.name in named]
    return [port for port in node.ports if port.state == _ACTIVE]


def rdma(node: Facts, survey: Survey) -> Answer:
    """The ports that the suite will use are active."""
    if not survey.expected.rdma:
        return not_applicable("this partition does not offer rdma")
    found = ", ".join(f"{port.name} {port.state or 'in no state'}" for port in node.ports)
    found = found or "no RDMA device"
    used = _used_ports(node, survey)
    named = survey.expected.rdma_ports
    if {port.name for port in used} < set(named):
        return unmet(f"{found}, expected {', '.join(named)}")
    if not used or any(port.state != _ACTIVE for port in used):
        return unmet(f"{found}, expected {', '.join(named) or 'a port'} {_ACTIVE}")
    return met(", ".join(f"{port.name} {port.state}" for port in used))


def numa(node: Facts, survey: Survey) -> Answer:
    """The job's CPUs are beside the card."""
    used = _used_ports(node, survey)
    cards = {port.name: port.numa for port in used if port.numa is not None}
    if not cards:
        software = [f"{port.name} is software on {port.interface}, no card" for port in used]
        return not_applicable(", ".join(software) or "no RDMA port in use")
    if len(node.numa) < 2:  # noqa: PLR2004 - one memory is near to everything
        return met("one NUMA node")
    hidden = [name for name, place in cards.items() if place == -1]
    if hidden:
        return unknown(f"the firmware does not report where {', '.join(hidden)} is")
    distances = {name: _distance(node, place) for name, place in cards.items()}
    if None in distances.values():
        return unknown("the kernel does not report how far the job's CPUs are from the card")
    found = ", ".join(f"{name} at distance {distance}" for name, distance in distances.items())
    limit = survey.expected.health.numa_distance
    if any(distance is not None and distance > limit for distance in distances.values()):
        return unmet(
            f"{found} from the job's CPUs, expected at most {limit}: give jobs the CPUs beside it"
        )
    return met(found)


def _alike(rule: str, node: Facts, survey: Survey) -> Answer:
    expected = survey.expected
    if len(node.cards) == 1 and not expected.manifest and len(survey.nodes) == 1:
        return not_applicable("no RDMA card")
    alone = len(survey.nodes) == 1
    found = tuple(
        odd(rule, node, survey.census, expected.manifest, expected.rdma_ports, alone=alone)
    )
    if found:
        words = "; ".join(sentence for _, sentence in found)
        return unmet(words) if any(told for told, _ in found) else unknown(words)
    if alone and not expected.manifest:
        return met("as its peers on this node; there is no manifest")
    return met("as the manifest and the peers have it")


def pcie(node: Facts, survey: Survey) -> Answer:
    """The way from a card to the root port has the lanes and speed that both its ends can."""
    manifest = survey.expected.manifest
    links = {name: facts["PCIe link"] for name, facts in node.cards.items() if "PCIe link" in facts}
    lost = [
        f"{name} {facts[LOSS]}: reseat card and riser, look at the slot's settings in the BIOS"
        for name, facts in node.cards.items()
        if LOSS in facts and facts[LOSS] != manifest.get(name, {}).get(LOSS)
    ]
    if lost:
        return unmet("; ".join(lost))
    silent = [
        name for name, facts in node.cards.items() if "PCI address" in facts and name not in links
    ]
    if silent:
        words = f"PCIe width and speed of {', '.join(silent)} are unknown"
        return not_applicable(f"{words}: virtual machine") if node.virtual else unknown(words)
    if not links:
        return not_applicable("no RDMA card on PCIe")
    return met(", ".join(f"{name} {link}" for name, link in links.items()))


def optics(node: Facts, survey: Survey) -> Answer:
    """The modules of the cards that programs use are within their own limits."""
    used = {port.partition(":")[0] for port in survey.expected.rdma_ports}
    every = {name: facts for name, facts in node.cards.items() if name and ":" not in name}
    cards = {name: facts for name, facts in every.items() if not used or name in used}
    if wrong := [f"{name} {facts[FAULT]}" for name, facts in cards.items() if FAULT in facts]:
        return unmet(f"{'; '.join(wrong)}: clean or replace the transceiver, look at its far end")
    if read := [name for name, facts in cards.items() if "module temperature" in facts]:
        unread = ", ".join(name for name in cards if name not in read)
        words = f"{', '.join(read)} within their modules' limits"
        return met(f"{words}; not read: {unread}" if unread else words)
    return not_applicable("no module is read: that needs root, and ethtool or mlxlink")


ports: Final = partial(_alike, "ports")
"""Its ports are there, up, and as fast as those of their peers."""
cards: Final = partial(_alike, "cards")
"""Its cards are like their peers."""


def _distance(node: Facts, card: int) -> int | None:
    """From the nearest CPU of the job to the card's memory; ``None`` where the kernel is silent."""
    numbers = sorted(each.number for each in node.numa)
    near = [
        dict(zip(numbers, each.distances, strict=False)).get(card)
        for each in node.numa
        if each.cpus & node.cpus
    ]
    return min((distance for distance in near if distance is not None), default=None)


def mtu(node: Facts, survey: Survey) -> Answer:
    """Its interfaces take packets as large as the other nodes send."""
    expected = survey.expected.health.mtu
    found = _mtus(node, survey)
    words = _mtu_words(found)
    if not found:
        return not_applicable("no network interface but the loopback")
    wrong = [f"{name} {mtu}" for name, mtu in expected.items() if found[name] != mtu]
    if wrong:
        return unmet(f"{words}, expected {', '.join(wrong)}")
    if None in found.values():
        return unmet(words)
    # Where the site expects a value, a node that has it is right, whatever the others have.
    if others := differing(node, survey, lambda each: _mtu_words(_mtus(each, survey), expected)):
        return unmet(f"{words} here, {others}")
    if len(survey.nodes) == 1 and not expected:
        return not_applicable(f"{words}; one node, and the site expects no value")
    return met(words)


def _mtus(node: Facts, survey: Survey) -> dict[str, int | None]:
    """The MTUs that matter, each by a name that is the same on every node."""
    expected = survey.expected
    names = {name: name for name in (*expected.interfaces, *expected.health.mtu)}
    for number, port in enumerate(_used_ports(node, survey), start=1):
        if port.interface and port.interface not in names:
            names[f"RDMA {number}"] = port.interface
    if not names:
        common = set.intersection(*(set(each.interfaces) for each in survey.nodes))
        names = {name: name for name in sorted(common - {"lo"})}
    return {role: node.interfaces.get(name) for role, name in names.items()}


def _mtu_words(mtus: Mapping[str, int | None], without: Container[str] = ()) -> str:
    return ", ".join(
        f"{role} {mtu or 'is missing'}" for role, mtu in mtus.items() if role not in without
    )


def programs(family: str) -> tuple[str, ...]:
    """The programs whose version a node is asked for, in an environment with that MPI or none."""
    ucx = ("ucx",) if not family or MPIS[family].ucx else ()
    return (family, *ucx, "osu") if family else ucx


def probe_arguments(family: str, compiler: str) -> list[str]:
    """What ``node_probe.sh`` is asked for in an environment with that MPI, or none, and compiler.

    Where the compiler has a path, the MPI's own tool is looked for beside it before ``PATH``.
    """
    if not family:
        return list(programs(family))
    folder = Path(compiler).parent if Path(compiler).is_absolute() else ""
    return [f"{family}={folder}={MPIS[family].command}", *programs(family)[1:]]


def _command(program: str) -> str:
    return _COMMANDS.get(program) or MPIS[program].command.split()[0]


def version_in(said: str) -> str:
    """The version number in what a program said of itself; empty if there is none."""
    match = _NUMBER.search(said)
    return match[0] if match else ""


def _version(program: str, node: Facts, survey: Survey) -> Answer:
    said = node.versions[program]
    unreported = f"no {_command(program)} on PATH that reports it"
    if not any(each.versions[program] for each in survey.nodes):
        return _UNTOLD.get(program, unknown(unreported))
    words = said or unreported
    if others := differing(node, survey, lambda each: each.versions[program]):
        return unmet(f"{words} here, {others}")
    least = survey.expected.versions.get(program)
    if least is None:
        return met(words)
    found = version_in(said)
    if not found:
        return unknown(f"{words}: no version in it to compare with {least}")
    if version_numbers(found) < version_numbers(least):
        return unmet(f"{words}, expected {least} or newer")
    return met(words)


def mpi_version(node: Facts, survey: Survey) -> Answer:
    """The environment's MPI, which must be the one that its tool speaks of."""
    said = node.versions[survey.family]
    if said and not said.startswith(name := MPIS[survey.family].printed):
        return unmet(
            f"{_command(survey.family)} says {said}, expected {name} ...: another MPI comes first "
            "on the environment's PATH"
        )
    return _version(survey.family, node, survey)


ucx_version: Final = partial(_version, "ucx")
"""The UCX that the environment finds."""
osu_version: Final = partial(_version, "osu")
"""The OSU benchmarks that the environment finds."""
