"""The script that tells a node's ports without Python, made of the one table of counters."""

from collections.abc import Iterator
from pathlib import Path

from fabricheck.fabric.model import Bands
from fabricheck.fabric.table import KERNEL_DRIVERS, TABLE
from fabricheck.monitor.catalog import CATALOG, FAMILIES, ROLES, Kind, Source
from fabricheck.monitor.ports import EVERY, limits_of
from fabricheck.nodes.told import SCRIPT

_TEMPLATE = Path(__file__).with_suffix(".sh")
_NUMBER, _NAME = "#", "@"
"""What stands for a counter's number and name in its labels."""


def script(bands: Bands) -> str:
    """The script, whole.

    Args:
        bands: what the counters of the node are held to.
    """
    text = _TEMPLATE.read_text()
    text = text.replace("#@COLLECT@", SCRIPT.read_text().partition("\n")[2].strip())
    return text.replace("#@TABLE@", "\n".join("\t".join(row) for row in _table(bands)))


def _table(bands: Bands) -> Iterator[tuple[str, ...]]:
    for family in CATALOG:
        if family.source is Source.PORTS:
            kind = "untyped" if family.kind is Kind.UNKNOWN else family.kind
            yield "F", family.name, kind, family.meaning
            if family.same_as:
                yield "O", family.name, family.same_as
    for kernel, driver in KERNEL_DRIVERS.items():
        yield "D", kernel, driver
    for band, level, limit in limits_of(bands):
        yield "L", band, level, repr(limit)
    for row in TABLE:
        if row.role is not None:
            name, values, factor = ROLES[row.role]
            labels = _labels(FAMILIES[name].labels[3:], values)
            yield "C", row.driver, row.place, row.name, name, labels, str(factor)
        if row.meaning in EVERY:
            labels = _labels(("counter",), (_NAME,))
            yield "C", row.driver, row.place, row.name, EVERY[row.meaning], labels, "1"


def _labels(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    """The labels behind those of the port; the last one may be the counter's number."""
    values = (*values, _NUMBER)
    return "".join(f',{name}="{value}"' for name, value in zip(names, values, strict=False))
