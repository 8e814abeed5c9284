"""What the partitions of all sites offer."""

import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fabricheck.errors import FabricheckError
from fabricheck.provenance import SUITE, folders
from fabricheck.sites.files import read_sites


@functools.cache
def offers(suite: Path = SUITE) -> tuple[frozenset[str], ...]:
    """The features of each partition of each site file, each set once.

    Args:
        suite: root of the suite.

    """
    found = (frozenset(each.get("features", ())) for _, each in _partitions(suite))
    return tuple(dict.fromkeys(found))


def extras_of(partition: str, suite: Path = SUITE) -> Mapping[str, Any]:
    """What the site file says of a partition beside ReFrame's own keys.

    Args:
        partition: ``SYSTEM:PARTITION``.
        suite: root of the suite.

    Raises:
        FabricheckError: if no site file that can be read has it.
    """
    known = dict(_partitions(suite))
    if partition not in known:
        raise FabricheckError(
            f"expected a partition of some site ({', '.join(known)}), found {partition!r}: write "
            "SYSTEM:PARTITION"
        )
    extras: Mapping[str, Any] = known[partition].get("extras", {})
    return extras


def _partitions(suite: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for site in read_sites(folders("sites", suite)).read.values():
        for system in site["systems"]:
            for partition in system["partitions"]:
                yield f"{system['name']}:{partition['name']}", partition
