"""Site files: read and checked, what they offer; a broken one stops only its own systems."""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fabricheck.documents import Document, load, schema
from fabricheck.errors import FabricheckError
from fabricheck.provenance import SUITE, folders
from fabricheck.sites.extras import EnvironmentExtras, PartitionExtras
from fabricheck.transports.placement import SWITCH_GROUPS
from fabricheck.transports.rails import feature, sought
from fabricheck.transports.table import RDMA

PAGE = "docs/reference/sites.md"


def read(path: Path) -> dict[str, Any]:
    """A site file, checked against the schema.

    Raises:
        FabricheckError: naming file, line and key of the first thing that is wrong.
    """
    document = load(path, "a site file", PAGE)
    site: dict[str, Any] = document.value
    if not isinstance(site, dict) or not {"systems", "environments"} <= site.keys():
        raise FabricheckError(
            f"FC0201 expected the lists 'systems' and 'environments' in the site file {path}, "
            f"found no such keys: see {PAGE}"
        )
    document.check(site_schema())
    for keys, what in _twice(site):
        raise document.error(keys, f"expected {what} of one name once in a file: rename one")
    _check_environments(document)
    _check_ports(document)
    return site


@functools.cache
def site_schema() -> Any:
    """The validator of site files: ``site.schema.json`` with the extras."""
    own = schema("fabricheck.sites", "site.schema.json")
    extras = {
        "partition_extras": PartitionExtras.schema(),
        "environment_extras": EnvironmentExtras.schema(),
    }
    tree = {**own.schema, "$defs": {**own.schema["$defs"], **extras}}
    return type(own)(tree, format_checker=own.format_checker)


def _twice(site: dict[str, Any]) -> Iterator[tuple[Sequence[str | int], str]]:
    """The keys of what has the name of something before it, and what that is."""
    for number in _repeated(site["systems"]):
        yield ["systems", number], "a system"
    for number, system in enumerate(site["systems"]):
        for repeated in _repeated(system["partitions"]):
            yield ["systems", number, "partitions", repeated], "a partition"
    # One name may stand for several installations, each for systems of its own.
    seen: set[tuple[str, str]] = set()
    for number, environment in enumerate(site["environments"]):
        own = {(environment["name"], target) for target in environment["target_systems"]}
        if seen & own:
            yield ["environments", number], "an environment"
        seen |= own


def _repeated(named: Sequence[Mapping[str, Any]]) -> list[int]:
    names = [each["name"] for each in named]
    return [number for number, name in enumerate(names) if name in names[:number]]


def _check_ports(document: Document) -> None:
    for number, system in enumerate(document.value["systems"]):
        for place, partition in enumerate(system["partitions"]):
            keys: list[str | int] = ["systems", number, "partitions", place, "extras", "ports"]
            extras = PartitionExtras.of(partition.get("extras"))
            if extras.ports and RDMA in extras.ucx_net_devices:
                raise document.error(
                    keys, "expected ports or ucx_net_devices.rdma, found both: remove one"
                )
            try:
                list(map(sought, extras.ports))
            except FabricheckError as error:
                raise document.error(keys, str(error)) from None


def _check_environments(document: Document) -> None:
    site = document.value
    for number, each in enumerate(site["environments"]):
        is_contained = EnvironmentExtras.of(each.get("extras")).container is not None
        if is_contained and "spack" in each.get("features", ()):
            raise document.error(
                ["environments", number, "extras", "container"],
                f"expected environment {each['name']} in a container without the feature spack, "
                "found both: Spack says which MPI of this host it built for, and not which of the "
                "image ran; leave the feature out",
            )
    for number, system in enumerate(site["systems"]):
        known = [
            each["name"]
            for each in site["environments"]
            if any(target.partition(":")[0] == system["name"] for target in each["target_systems"])
        ]
        for place, partition in enumerate(system["partitions"]):
            for name in partition["environs"]:
                if name not in known:
                    raise document.error(
                        ["systems", number, "partitions", place, "environs"],
                        f"expected an environment of system {system['name']} "
                        f"({', '.join(known) or 'it has none'}) in partition {partition['name']}, "
                        f"found {name!r}: describe it under 'environments'",
                    )


@dataclass(frozen=True, slots=True)
class Sites:
    """What the site files say.

    Attributes:
        read: each file that could be read, with those of its systems that no nearer directory has.
        broken: what is wrong with each other one.
    """

    read: dict[Path, dict[str, Any]]
    broken: dict[Path, FabricheckError]


def read_sites(directories: Iterable[Path]) -> Sites:
    """Read every site file.

    Args:
        directories: the nearest first; a system of several is the nearest one's. A system that two
            files of one directory have is nobody's, and so is one of a farther directory that a
            broken file is or seems to be about.
    """
    found = Sites({}, {})
    nearer: set[str] = set()
    for directory in directories:
        first: dict[str, Path] = {}
        claimed: set[str] = set()
        for path in sorted(directory.glob("*.yaml")):
            try:
                site = read(path)
            except FabricheckError as error:
                found.broken[path] = error
                claimed |= _claims(path)
                continue
            names = [system["name"] for system in site["systems"]]
            for name in names:
                if (other := first.setdefault(name, path)) != path:
                    found.broken[other] = found.broken[path] = FabricheckError(
                        f"FC0202 expected one site file for system {name}, found {other} and "
                        f"{path}: give one of them another name"
                    )
            if not nearer.issuperset(names):
                found.read[path] = _without(site, nearer)
        nearer |= first.keys() | claimed
    for path in found.broken:
        found.read.pop(path, None)
    return found


def _claims(path: Path) -> set[str]:
    """The systems that a file which can't be read may be about: its own name, and all in it."""
    try:
        text = path.read_text("utf-8", "replace")
    except OSError:
        text = ""
    return {path.stem, *re.findall(r"""\bname["']?\s*:\s*["']?([A-Za-z0-9_.-]+)""", text)}


def nearest(directories: Sequence[Path], name: str) -> Path:
    """A file in the first directory that has it; where none has, in the first."""
    paths = [directory / name for directory in directories]
    return next((path for path in paths if path.is_file()), paths[0])


def _without(site: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """A site without some systems, and without the environments that only these have."""
    targets = [
        (each, [name for name in each["target_systems"] if name.partition(":")[0] not in names])
        for each in site["environments"]
    ]
    return {
        **site,
        "systems": [each for each in site["systems"] if each["name"] not in names],
        "environments": [{**each, "target_systems": left} for each, left in targets if left],
    }


@functools.cache
def offers(suite: Path = SUITE) -> tuple[frozenset[str], ...]:
    """The features of each partition of each site file, each set once.

    Args:
        suite: root of the suite.

    """
    # Whether a topology has switch groups is seen where the system at hand is configured.
    found = (frozenset([*features_of(each), SWITCH_GROUPS]) for _, each in _offering(suite))
    return tuple(dict.fromkeys(found))


SEVERAL: Final = "several_ports"
"""The feature of a partition that names the ports of its nodes one by one."""


def features_of(partition: Mapping[str, Any]) -> list[str]:
    """What a partition of a site file offers; its ports stand there as extras."""
    ports = _ports_of(partition)
    return [*partition.get("features", ()), *map(feature, ports), *([SEVERAL] if ports else [])]


@functools.cache
def offered_ports(suite: Path = SUITE) -> tuple[str, ...]:
    """The ports of every partition of each site that names them one by one, each once.

    Args:
        suite: root of the suite.
    """
    return tuple(dict.fromkeys(port for _, each in _offering(suite) for port in _ports_of(each)))


@functools.cache
def first_ports(suite: Path = SUITE) -> frozenset[str]:
    """The first port of each partition that names several, the one of the smoke run.

    Args:
        suite: root of the suite.
    """
    return frozenset(ports[0] for _, each in _offering(suite) if (ports := _ports_of(each)))


def _ports_of(partition: Mapping[str, Any]) -> Sequence[str]:
    return PartitionExtras.of(partition.get("extras")).ports


def extras_of(partition: str, suite: Path = SUITE) -> PartitionExtras:
    """The extras of a partition.

    Args:
        partition: ``SYSTEM:PARTITION``.
        suite: root of the suite.

    Raises:
        FabricheckError: if no site file that can be read has it.
    """
    known = dict(_partitions(suite))
    if partition not in known:
        raise FabricheckError(
            f"FC0203 expected a partition of some site ({', '.join(known)}), found {partition!r}: "
            "write SYSTEM:PARTITION"
        )
    return PartitionExtras.of(known[partition].get("extras"))


@functools.cache
def _offering(suite: Path) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    return tuple(_partitions(suite))


def _partitions(suite: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for site in read_sites(folders("sites", suite)).read.values():
        for system in site["systems"]:
            for partition in system["partitions"]:
                yield f"{system['name']}:{partition['name']}", partition
