"""The one table of counters, from counters.yaml: what each means, how it is judged, who says so."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any

import yaml

from fabricheck.fabric.counter import Counter, Meaning, Place, Role, Rule

_DATA: Mapping[str, Any] = yaml.load(
    resources.files("fabricheck.fabric").joinpath("counters.yaml").read_text(),
    yaml.CSafeLoader,
)

ROLES: Mapping[tuple[str, str], Role] = {
    (driver, name): Role(role)
    for driver, roles in _DATA["roles"].items()
    for role, names in roles.items()
    for name in names
}
"""What a monitor shows a counter as, by driver and name."""


def _counters() -> Iterator[Counter]:
    for driver, places in _DATA["counters"].items():
        for place, groups in places.items():
            source = groups.pop("source")
            for meaning, entries in groups.items():
                for entry in entries:
                    what = {"source": source, **entry}
                    names, bands = what.pop("names"), what.pop("bands", {})
                    rules = tuple(Rule(band, tuple(of)) for band, of in bands.items())
                    for name in names:
                        role = ROLES.get((driver, name))
                        kind = Meaning(meaning)
                        yield Counter(driver, Place(place), name, kind, rules, **what, role=role)


TABLE: tuple[Counter, ...] = tuple(_counters())

KERNEL_DRIVERS: Mapping[str, str] = _DATA["kernel_drivers"]
"""The driver of the table for each kernel driver that an adapter is bound to."""


@cache
def find(kernel_driver: str, place: Place, name: str) -> Counter | None:
    """The row of a counter; ``None`` if the table doesn't know it."""
    for counter in rows_of(kernel_driver):
        if counter.place is place and counter.fits(name):
            return counter
    return None


@cache
def rows_of(kernel_driver: str) -> tuple[Counter, ...]:
    """The rows of a kernel driver, and those that every driver shares."""
    driver = KERNEL_DRIVERS.get(kernel_driver)
    return tuple(counter for counter in TABLE if counter.driver in ("any", driver))
