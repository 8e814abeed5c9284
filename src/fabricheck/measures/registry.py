"""The benchmarks that fabricheck runs and judges, by name; each folder registers its own.

A folder has a module ``entries`` with ``FAMILIES`` and ``BENCHMARKS``; with ``DERIVED``, the check
classes that judge figures of several cases, and with ``PROGRAMS``, the programs of ``src/bench``
that its benchmarks run, if it has such.
"""

import difflib
import importlib
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from fabricheck.errors import FabricheckError
from fabricheck.measures.benchmark import Benchmark, Family, RanksRule

_PROGRAMS = importlib.import_module("fabricheck.programs")
_NEAR = 3
_LAYERS = ("MPI", "verbs", "UCX", "")


def _folders() -> dict[str, Path]:
    """Where the folders lie, by name."""
    found: dict[str, Path] = {}
    for place in map(Path, _PROGRAMS.__path__):
        folders = [each.parent for each in sorted(place.glob("*/entries.py"))]
        taken = [each.name for each in folders if each.name in found]
        if taken or not folders:
            raise FabricheckError(
                f"expected folders of benchmarks (NAME/entries.py) in {place}, which "
                "FABRICHECK_BENCHMARKS names, each with a name of its own, found "
                f"{', '.join(taken) or 'none'}: correct the variable, or rename them"
            )
        found.update({each.name: each for each in folders})
    return found


def _module(folder: str, name: str) -> ModuleType:
    """A module of a folder; what is wrong with one of the user's is the user's to correct."""
    try:
        return importlib.import_module(f"{_PROGRAMS.__name__}.{folder}.{name}")
    except (Exception, SystemExit) as error:
        if isinstance(error, FabricheckError) or _FOLDERS[folder].parent == Path(
            _PROGRAMS.__path__[0]
        ):
            raise
        raise FabricheckError(
            f"{_FOLDERS[folder] / name}.py: expected a module of Python, found "
            f"{type(error).__name__}: {error}: correct it"
        ) from error


def _entries() -> dict[str, ModuleType]:
    """The entries of each folder, first of those that measure a layer of the software."""
    found = {name: _module(name, "entries") for name in _FOLDERS}
    taken: dict[tuple[str, str], str] = {}
    for folder, each in found.items():
        _check(folder, each, taken)

    def place(name: str) -> tuple[int, str]:
        layers = [_LAYERS.index(family.layer) for family in found[name].FAMILIES]
        return min(layers, default=len(_LAYERS)), name

    return {name: found[name] for name in sorted(found, key=place)}


def _check(folder: str, entries: ModuleType, taken: dict[tuple[str, str], str]) -> None:
    """The entries are whole, and no family, check class or benchmark has the name of another's."""
    if not {"FAMILIES", "BENCHMARKS"} <= vars(entries).keys():
        raise FabricheckError(f"{entries.__file__}: expected FAMILIES and BENCHMARKS: add them")
    families = {family.name for family in entries.FAMILIES}
    checks = {*getattr(entries, "DERIVED", ()), *(c for f in entries.FAMILIES for c in f.checks)}
    for kind, names in (
        ("family", families), ("check class", checks), ("benchmark", entries.BENCHMARKS)
    ):  # fmt: skip
        for name in names:
            if (other := taken.setdefault((kind, name), folder)) != folder:
                raise FabricheckError(
                    f"{entries.__file__}: expected a {kind} with a name of its own, found {name}, "
                    f"which folder {other} has: rename it"
                )
    for name, found in entries.BENCHMARKS.items():
        if found.name != name or found.family not in families:
            raise FabricheckError(
                f"{entries.__file__}: expected benchmark {name} of a family of FAMILIES, found "
                f"{found.name} of {found.family}: correct it"
            )


_FOLDERS = _folders()
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


def parts(name: str) -> Iterator[ModuleType]:
    """The modules of a name, such as ``read``, of all folders that have it."""
    return filter(None, (_part(folder, name) for folder in _ENTRIES))


def part_of(benchmark: str, name: str) -> ModuleType | None:
    """The module of a name of the folder of a benchmark, ``None`` where it has none."""
    return _part(_FOLDER_OF[benchmark], name)


def folder_of(benchmark: str) -> Path | None:
    """The directory of a benchmark's folder; ``None`` for what is no benchmark of the registry."""
    if benchmark not in _FOLDER_OF:
        return None
    return _FOLDERS[_FOLDER_OF[benchmark]]


def _part(folder: str, name: str) -> ModuleType | None:
    return _module(folder, name) if find_spec(f"{_PROGRAMS.__name__}.{folder}.{name}") else None


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
            f"unknown benchmark {name!r}: {alike}fabricheck plan shows those of a system"
        ) from None


def sweep(min_size: int, max_size: int) -> tuple[int, ...]:
    """Message sizes in bytes that the programs measure with ``-m MIN:MAX``: doubling from MIN.

    As in OSU, a sweep that starts at 0 goes on with 1.

    Raises:
        FabricheckError: if MIN is negative or greater than MAX.
    """
    if not 0 <= min_size <= max_size:
        raise FabricheckError(
            f"expected message sizes MIN:MAX with 0 <= MIN <= MAX, found {min_size}:{max_size}"
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
