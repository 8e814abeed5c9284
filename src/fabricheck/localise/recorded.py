"""Topologies that somebody recorded: Slurm's, ibnetdiscover's, LLDP's, or the suite's own."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from fabricheck import documents
from fabricheck.errors import FabricheckError
from fabricheck.inputs import read_file
from fabricheck.localise.topology import Topology, from_json, nodes_in
from fabricheck.provenance import SUITE, folders
from fabricheck.schedulers.slurm import SLURM
from fabricheck.sites.files import nearest

_WAYS: Final = (
    f"{' '.join(SLURM.topology)}, ibnetdiscover (with the output of ibroute for each switch after "
    "it), lines of NODE and lldpcli -f json show neighbors, or names and values with the key leaves"
)
_PAGE: Final = "docs/how-to/localisation.md"
_SLURM: Final = re.compile(r"^(?:SwitchName|BlockName)=", re.M)
_INFINIBAND: Final = re.compile(r"^(?:switchguid=|Switch\s+\d+\s+\")", re.M)
_LLDP: Final = re.compile(r"^\S+\s+\{\s*\"lldp\"", re.M)
_SETTING: Final = re.compile(r"(\w+)=(\S*)")
_SWITCH: Final = re.compile(r"Switch\s+\d+\s+\"(S-[0-9a-f]+)\"\s+#\s+\"(.*)\".* lid (\d+)")
_LINK: Final = re.compile(r"\[(\d+)\]\S*\s+\"([SH]-[0-9a-f]+)\"\[\d+\]\S*\s+#\s+\"(.*)\" lid (\d+)")
_TABLE: Final = re.compile(r"Unicast lids .*of switch .*guid 0x([0-9a-f]+)")
_ENTRY: Final = re.compile(r"^0x([0-9a-f]{4,5}) +(\d{3}) +:", re.M)
# A chassis or a managed switch: MF0;NAME:MODEL/U1.
_MANAGED: Final = re.compile(r"[^;]*;([^:;]+):")
_AGGREGATION: Final = "Aggregation Node"


def load(path: Path) -> Topology:
    """A topology from a file, whose kind is told by what is in it.

    Raises:
        FabricheckError: the file can't be read, is of none of the kinds, or says nothing of a leaf.
    """
    try:
        text = read_file(path).decode("utf-8", "replace")
    except OSError as error:
        raise FabricheckError(
            f"FC1703 expected a topology at {path}, but it can't be read ({error.strerror})"
        ) from error
    reader = _reader(text)
    value = None if reader else _own(path, text)
    try:
        found = reader(text) if reader else from_json(value)
    except FabricheckError as error:
        raise FabricheckError(f"FC1704 {path}: {error}") from error
    if not found.leaves:
        raise FabricheckError(f"FC1705 {path}: expected the leaf switch of a node, found none")
    return found


def read(text: str) -> Topology:
    """What a tool says of a topology; an empty one where it says none of the kinds."""
    reader = _reader(text)
    return reader(text) if reader else Topology({})


def of_partition(suite: Path, name: str) -> Path | None:
    """The file of a partition's extra ``topology``, in sites/ of the nearest place that has it;
    ``None`` without one.
    """
    return nearest(folders("sites", suite), name) if name else None


def topology_of(name: str) -> Path | None:
    """The file of that name with what is known of a fabric; ``None`` if nothing is.

    Raises:
        FabricheckError: if there is no such file.
    """
    path = of_partition(SUITE, name)
    if path and not path.is_file():
        raise FabricheckError(
            f"FC1701 expected what is known of the fabric in {path}, found no such file: name "
            "another, or leave the topology out"
        )
    return path


def _reader(text: str) -> Callable[[str], Topology] | None:
    for form, reader in ((_SLURM, slurm), (_INFINIBAND, infiniband), (_LLDP, lldp)):
        if form.search(text):
            return reader
    return None


def _own(path: Path, text: str) -> object:
    try:
        is_json = text.lstrip().startswith("{")
        value = json.loads(text) if is_json else documents.load(path, "a topology", _PAGE).value
    except (ValueError, RecursionError) as error:
        raise FabricheckError(
            f"FC1706 {path}: expected {_WAYS}, found damaged JSON ({error})"
        ) from error
    if not isinstance(value, Mapping):
        raise FabricheckError(f"FC1707 {path}: expected {_WAYS}, found {text[:40]!r}")
    return value


def slurm(text: str) -> Topology:
    """What ``scontrol show topology`` says: leaf switches (topology/tree) or blocks.

    Above the leaves Slurm has a tree, for which several spines are one switch, so they count as
    unknown.
    """
    leaves: dict[str, str] = {}
    doubts = []
    for line in text.splitlines():
        told = dict(_SETTING.findall(line))
        leaf = told.get("SwitchName") or told.get("BlockName")
        if not leaf or told.get("Switches") or not told.get("Nodes"):
            continue
        nodes = nodes_in(told["Nodes"])
        if twice := [node for node in nodes if leaves.setdefault(node, leaf) != leaf]:
            doubts.append(_twice(twice[0], leaves[twice[0]], leaf))
    return Topology(leaves, doubts=tuple(doubts))


def _twice(node: str, first: str, other: str) -> str:
    return f"{node} is connected to {first} and to {other}: counted at {first}"


class _Port(NamedTuple):
    """The far end of a switch's port."""

    identity: str
    name: str
    lid: int


def infiniband(text: str) -> Topology:
    """What ibnetdiscover says, and the forwarding tables of ibroute or dump_lfts.sh after it.

    A node's name is the first word of its card's description (``n1 mlx5_0``). A switch has the
    name of its description, or its identity where several share it.
    """
    names: dict[str, str] = {}
    ports: dict[str, dict[int, _Port]] = {}
    switch = ""
    for line in text.splitlines():
        if header := _SWITCH.match(line):
            switch = header[1]
            names[switch] = header[2]
            ports.setdefault(switch, {})
        elif not line.startswith("["):
            # A card's own section ends a switch's; tables come later.
            switch = switch if line.startswith("#") else ""
        elif switch and (link := _LINK.match(line)) and _AGGREGATION not in link[3]:
            ports[switch][int(link[1])] = _Port(link[2], link[3], int(link[4]))
    called = _unique(names)
    leaves, doubts = _cards(ports, called)
    spines = {
        called[switch]: tuple(
            dict.fromkeys(called[far.identity] for far in own.values() if far.identity in called)
        )
        for switch, own in ports.items()
        if called[switch] in leaves.values()
    }
    return Topology(leaves, spines, dict(_tables(text, ports, called)), tuple(doubts))


def _unique(names: Mapping[str, str]) -> dict[str, str]:
    short = {switch: _short(name) for switch, name in names.items()}
    shared = Counter(short.values())
    return {switch: name if shared[name] == 1 else switch for switch, name in short.items()}


def _short(name: str) -> str:
    managed = _MANAGED.match(name)
    return (managed[1] if managed else name.split(" ", 1)[0]) or name


def _cards(
    ports: Mapping[str, Mapping[int, _Port]], called: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    leaves: dict[str, str] = {}
    doubts = []
    for switch, node, _ in _nodes(ports):
        if leaves.setdefault(node, called[switch]) != called[switch]:
            doubts.append(_twice(node, leaves[node], called[switch]))
    return leaves, doubts


def _nodes(ports: Mapping[str, Mapping[int, _Port]]) -> Iterator[tuple[str, str, int]]:
    """The switch, the name and the LID of each card that has a name."""
    for switch, own in ports.items():
        for port in own.values():
            if port.identity.startswith("H-") and port.name.split():
                yield switch, port.name.split()[0], port.lid


def _tables(
    text: str, ports: Mapping[str, Mapping[int, _Port]], called: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, str]]]:
    # By the digits of ibroute, as there are millions.
    nodes = {f"{lid:04x}": node for _, node, lid in _nodes(ports)}
    for part in re.split(r"^(?=Unicast lids )", text, flags=re.M)[1:]:
        header = _TABLE.match(part)
        switch = f"S-{header[1].zfill(16)}" if header else ""
        if switch not in ports:
            raise FabricheckError(
                "FC1708 expected the table of a switch that ibnetdiscover lists, found "
                f"{part.splitlines()[0][:80]!r}: record both at the same time"
            )
        after = {
            f"{number:03d}": called[far.identity]
            for number, far in ports[switch].items()
            if far.identity in called
        }
        entries = _ENTRY.findall(part)
        yield (
            called[switch],
            {nodes[lid]: after[at] for lid, at in entries if lid in nodes and at in after},
        )


def lldp(text: str) -> Topology:
    """Lines of a node's name and what ``lldpcli -f json show neighbors`` says there."""
    leaves: dict[str, str] = {}
    doubts = []
    for number, line in enumerate(text.splitlines(), 1):
        node, _, told = line.strip().partition(" ")
        if not node:
            continue
        try:
            switches = dict.fromkeys(_neighbours(json.loads(told)))
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
            raise FabricheckError(
                f"FC1709 line {number}: expected a node's name and the JSON of lldpcli on one "
                f"line, found {line[:60]!r}: record it again"
            ) from error
        if len(switches) == 1:
            leaves[node] = next(iter(switches))
        else:
            found = ", ".join(switches) or "no switch"
            doubts.append(
                f"{node} has {found} as neighbours: record the fabric's interface alone (lldpcli "
                "-f json show neighbors ports INTERFACE)"
            )
    return Topology(leaves, doubts=tuple(doubts))


def _neighbours(told: Any) -> Iterator[str]:
    interfaces = told["lldp"].get("interface", [])
    # One neighbour is a mapping, several are a list of such.
    for each in interfaces if isinstance(interfaces, list) else [interfaces]:
        for neighbour in each.values():
            chassis = neighbour["chassis"]
            # Under the switch's name, where it has told one.
            name, *_ = chassis
            yield str(chassis["id"]["value"] if name == "id" else name)
