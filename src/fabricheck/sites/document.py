"""Reading of one site file, checked before anything uses it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fabricheck.documents import Document, load, schema
from fabricheck.errors import FabricheckError

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
            f"expected the lists 'systems' and 'environments' in the site file {path}, "
            f"found no such keys: see {PAGE}"
        )
    document.check(_schema())
    for keys, what in _twice(site):
        raise document.error(keys, f"expected {what} of one name once in a file: rename one")
    _check_environments(document)
    return site


def known_extras(of: str) -> tuple[str, ...]:
    """The extras that the schema knows.

    Args:
        of: ``partition`` or ``environment``.
    """
    return tuple(_schema().schema["$defs"][f"{of}_extras"]["properties"])


def _schema() -> Any:
    return schema("fabricheck.sites", "site.schema.json")


def _twice(site: dict[str, Any]) -> Iterator[tuple[Sequence[str | int], str]]:
    """The keys of what has the name of something before it, and what that is."""
    systems = [each["name"] for each in site["systems"]]
    for number in _repeated(systems):
        yield ["systems", number], "a system"
    for number, system in enumerate(site["systems"]):
        for repeated in _repeated([each["name"] for each in system["partitions"]]):
            yield ["systems", number, "partitions", repeated], "a partition"
    # One name may stand for several installations, each for systems of its own.
    seen: set[tuple[str, str]] = set()
    for number, environment in enumerate(site["environments"]):
        own = {(environment["name"], target) for target in environment["target_systems"]}
        if seen & own:
            yield ["environments", number], "an environment"
        seen |= own


def _repeated(names: Sequence[str]) -> list[int]:
    return [number for number, name in enumerate(names) if name in names[:number]]


def _check_environments(document: Document) -> None:
    site = document.value
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
