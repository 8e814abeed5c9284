"""All site files, of which one that is broken stops only its own systems."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fabricheck.errors import FabricheckError
from fabricheck.sites.document import read


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
            files of one directory have is nobody's.
    """
    found = Sites({}, {})
    nearer: set[str] = set()
    for directory in directories:
        first: dict[str, Path] = {}
        for path in sorted(directory.glob("*.yaml")):
            try:
                site = read(path)
            except FabricheckError as error:
                found.broken[path] = error
                continue
            names = [system["name"] for system in site["systems"]]
            for name in names:
                if (other := first.setdefault(name, path)) != path:
                    found.broken[other] = found.broken[path] = FabricheckError(
                        f"expected one site file for system {name}, found {other} and {path}: "
                        "give one of them another name"
                    )
            if not nearer.issuperset(names):
                found.read[path] = _without(site, nearer)
        nearer |= first.keys()
    for path in found.broken:
        found.read.pop(path, None)
    return found


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
