"""What the partitions of all sites offer."""

import functools
from pathlib import Path

from fabricheck.provenance import SUITE
from fabricheck.sites.document import read


@functools.cache
def offers(suite: Path = SUITE) -> tuple[frozenset[str], ...]:
    """The features of each partition of each site file, each set once.

    Args:
        suite: root of the suite.

    Raises:
        FabricheckError: for a site file with anything wrong.
    """
    sites = [read(path) for path in sorted((suite / "sites").glob("*.yaml"))]
    found = (
        frozenset(partition.get("features", ()))
        for site in sites
        for system in site["systems"]
        for partition in system["partitions"]
    )
    return tuple(dict.fromkeys(found))
