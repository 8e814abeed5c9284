"""What a shell offers for the value of an option: names of files and tables, read when asked."""

from fabricheck.errors import FabricheckError
from fabricheck.provenance import folders


def systems() -> list[str]:
    """The systems that have a site file."""
    return sorted({path.stem for folder in folders("sites") for path in folder.glob("*.yaml")})


def environments() -> list[str]:
    """The environments of all site files that can be read."""
    from fabricheck.sites.files import read

    found: set[str] = set()
    for folder in folders("sites"):
        for path in folder.glob("*.yaml"):
            try:
                found |= {str(each["name"]) for each in read(path)["environments"]}
            # A shell that completes a word is no place for what is wrong with a file.
            except FabricheckError:
                continue
    return sorted(found)


def transports() -> list[str]:
    """The transports of the table."""
    from fabricheck.transports.table import TRANSPORTS

    return sorted(TRANSPORTS)


def benchmarks() -> list[str]:
    """The benchmarks of all programs."""
    from fabricheck.measures.registry import REGISTRY

    return sorted(REGISTRY)
