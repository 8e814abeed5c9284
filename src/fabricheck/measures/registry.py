"""The benchmarks that fabricheck runs and judges, by name; each folder registers its own.

A folder has a module ``entries``, which may also have ``DERIVED``, the check classes that judge
figures of several cases, and ``PROGRAMS``, the programs of ``src/bench`` that its benchmarks run.
"""

import difflib
import functools
import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Protocol

from fabricheck.errors import FabricheckError
from fabricheck.measures.benchmark import Benchmark, Family, RanksRule
from fabricheck.measures.part import Offer, Part

_PROGRAMS = importlib.import_module("fabricheck.programs")
_NEAR = 3
_LAYERS = ("MPI", "verbs", "UCX", "")


class Entries(Protocol):
    """What ``entries.py`` offers."""

    @property
    def FAMILIES(self) -> Sequence[Family]:  # noqa: N802
        """The families of its benchmarks."""

    @property
    def BENCHMARKS(self) -> Mapping[str, Benchmark]:  # noqa: N802
        """Its benchmarks, by name."""


_OF_ENTRIES = Part("entries", Entries)


def _folders() -> dict[str, Path]:
    """Where the folders lie, by name."""
    found: dict[str, Path] = {}
    for place in map(Path, _PROGRAMS.__path__):
        folders = [each.parent for each in sorted(place.glob("*/entries.py"))]
        taken = [each.name for each in folders if each.name in found]
        if taken or not folders:
            raise FabricheckError(
                f"FC1115 expected folders of benchmarks (NAME/entries.py) in {place}, which "
                "FABRICHECK_BENCHMARKS names, each with a name of its own, found "
                f"{', '.join(taken) or 'none'}: correct the variable, or rename them"
            )
        found.update({each.name: each for each in folders})
    return found


@functools.cache  # it is asked for each case of a check
def _module(folder: str, name: str) -> ModuleType | None:
    """A module of a folder; what is wrong with one of the user's is the user's to correct."""
    if not find_spec(f"{_PROGRAMS.__name__}.{folder}.{name}"):
        return None
    try:
        return importlib.import_module(f"{_PROGRAMS.__name__}.{folder}.{name}")
    except (Exception, SystemExit) as error:
        if isinstance(error, FabricheckError) or FOLDERS[folder].parent == Path(
            _PROGRAMS.__path__[0]
        ):
            raise
        raise FabricheckError(
            f"FC1116 {FOLDERS[folder] / name}.py: expected a module of Python, found "
            f"{type(error).__name__}: {error}: correct it"
        ) from error


def _part(folder: str, part: Part[Offer]) -> Offer | None:
    module = _module(folder, part.module)
    return part.of(module) if module else None


def _entries() -> dict[str, Entries]:
    """The entries of each folder, first of those that measure a layer of the software."""
    found = {name: offer for name in FOLDERS if (offer := _part(name, _OF_ENTRIES))}
    taken: dict[tuple[str, str], str] = {}
    for folder, each in found.items():
        _check(folder, each, taken)

    def place(name: str) -> tuple[int, str]:
        layers = [_LAYERS.index(family.layer) for family in found[name].FAMILIES]
        return min(layers, default=len(_LAYERS)), name

    return {name: found[name] for name in sorted(found, key=place)}


def _check(folder: str, entries: Entries, taken: dict[tuple[str, str], str]) -> None:
    """No family, check class or benchmark has the name of another's."""
    file = FOLDERS[folder] / "entries.py"
    families = {family.name for family in entries.FAMILIES}
    checks = {*getattr(entries, "DERIVED", ()), *(c for f in entries.FAMILIES for c in f.checks)}
    for kind, names in (
        ("family", families), ("check class", checks), ("benchmark", entries.BENCHMARKS)
    ):  # fmt: skip
        for name in names:
            if (other := taken.setdefault((kind, name), folder)) != folder:
                raise FabricheckError(
                    f"FC1117 {file}: expected a {kind} with a name of its own, found {name}, which "
                    f"folder {other} has: rename it"
                )
    for name, found in entries.BENCHMARKS.items():
        if found.name != name or found.family not in families:
            raise FabricheckError(
                f"FC1118 {file}: expected benchmark {name} of a family of FAMILIES, found "
                f"{found.name} of {found.family}: correct it"
            )


FOLDERS = _folders()
_ENTRIES = _entries()
_FOLDER_OF = {name: folder for folder, each in _ENTRIES.items() for name in each.BENCHMARKS}

REGISTRY: Mapping[str, Benchmark] = {
    name: found for each in _ENTRIES.values() for name, found in each.BENCHMARKS.items()
}
FAMILIES: Mapping[str, Family] = {
    family.name: family for each in _ENTRIES.values() for family in each.FAMILIES
}
CHECKS: Mapping[str, str | None] = {
    **{check: family.name for family in FAMILIES.values() for check in family.checks},
    **{check: None for each in _ENTRIES.values() for check in getattr(each, "DERIVED", ())},
}
"""Classes that may have references, each with the family of benchmarks whose curves it judges;
``None`` where the variables are not those of a curve."""


def parts(part: Part[Offer]) -> Iterator[Offer]:
    """What all folders that have a part offer.

    Raises:
        FabricheckError: for a part that is not whole.
    """
    return (offer for folder in _ENTRIES if (offer := _part(folder, part)))


def part_of(benchmark: str, part: Part[Offer]) -> Offer | None:
    """What the folder of a benchmark offers as a part; ``None`` where it has none.

    Raises:
        FabricheckError: for a part that is not whole.
    """
    return _part(_FOLDER_OF[benchmark], part)


def folder_of(benchmark: str) -> Path | None:
    """The directory of a benchmark's folder; ``None`` for what is no benchmark of the registry."""
    if benchmark not in _FOLDER_OF:
        return None
    return FOLDERS[_FOLDER_OF[benchmark]]


def programs_of(benchmarks: Iterable[str]) -> list[str]:
    """The programs of ``src/bench`` that benchmarks run, as the entries of their folders say."""
    folders = {_FOLDER_OF[name] for name in benchmarks}
    return sorted({each for name in folders for each in getattr(_ENTRIES[name], "PROGRAMS", ())})


def find(name: str) -> Benchmark:
    """The benchmark of that name.

    Raises:
        FabricheckError: if there is none; the message names those that are spelled alike.
    """
    try:
        return REGISTRY[name]
    except KeyError:
        near = difflib.get_close_matches(name, REGISTRY, n=_NEAR)
        alike = f"alike are {', '.join(near)}; " if near else ""
        raise FabricheckError(
            f"FC1119 unknown benchmark {name!r}: {alike}fabricheck plan shows those of a system"
        ) from None


def sweep(min_size: int, max_size: int) -> tuple[int, ...]:
    """Message sizes in bytes that the programs measure with ``-m MIN:MAX``: doubling from MIN.

    As in OSU, a sweep that starts at 0 goes on with 1.

    Raises:
        FabricheckError: if MIN is negative or greater than MAX.
    """
    if not 0 <= min_size <= max_size:
        raise FabricheckError(
            "FC1120 expected message sizes MIN:MAX with 0 <= MIN <= MAX, found "
            f"{min_size}:{max_size}"
        )
    sizes = [min_size]
    while (following := next_size(sizes[-1])) <= max_size:
        sizes.append(following)
    return tuple(sizes)


def next_size(size: int) -> int:
    """The message size that follows ``size`` in a sweep, in bytes."""
    return size * 2 if size else 1


def names(family: str, ranks: RanksRule | None = None) -> list[str]:
    """Names of the benchmarks of a family, or of those of MPI with a rule on ranks, in order."""
    return [
        benchmark.name
        for benchmark in REGISTRY.values()
        if benchmark.family == family
        and (ranks is None or getattr(benchmark, "ranks", None) is ranks)
    ]
