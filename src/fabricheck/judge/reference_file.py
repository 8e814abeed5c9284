"""Reading of reference files: everything is checked before anything is used.

The format is that of ReFrame's external references; ``docs/references.md`` describes it.
"""

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fabricheck import documents
from fabricheck.benchmarks.registry import REGISTRY
from fabricheck.errors import FabricheckError
from fabricheck.judge.leaves import Leaf, Place, read_reference, read_tolerance
from fabricheck.judge.model import CHECKS, Reference, Tolerance

INDEX = "$index"
LEVELS_SUFFIX = ".levels"
INDEX_NAMES = (
    "$system",
    "$partition",
    "$environ",
    "benchmark",
    "placement",
    "transport",
    "num_nodes",
)


@dataclass(frozen=True, slots=True)
class Located:
    """A reference and where it stands."""

    reference: Reference
    place: Place


@dataclass(frozen=True, slots=True)
class Entry:
    """The references of a case by variable."""

    variables: Mapping[str, Located]
    place: Place


@dataclass(frozen=True, slots=True)
class Levels:
    """The tolerance of a case."""

    tolerance: Tolerance
    place: Place


@dataclass(frozen=True, slots=True)
class Section:
    """A tree of mappings with one level for each name of the index, and entries as leaves."""

    index: tuple[str, ...]
    tree: Mapping[str | int, Any]


@dataclass(frozen=True, slots=True)
class Sections:
    """A reference file, by check class."""

    references: Mapping[str, Section]
    levels: Mapping[str, Section]


def load(path: Path) -> Sections:
    """Read and check a reference file.

    Raises:
        FabricheckError: naming file, line and key path of the first thing that is wrong.
    """
    try:
        status = path.stat()
    except OSError as error:
        raise FabricheckError(
            f"{path}: expected a reference file, but it cannot be read ({error.strerror})"
        ) from error
    return _load(path, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=8)
def _load(path: Path, _mtime_ns: int, _size: int) -> Sections:
    return _FileReader(documents.load(path, "references", "docs/references.md")).read()


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the file: its value, and the node that knows its lines."""

    value: Any
    node: yaml.Node


class _FileReader:
    """Turns one file into sections."""

    def __init__(self, document: documents.Document) -> None:
        self._document = document

    def read(self) -> Sections:
        path, root = self._document.path, self._document.root
        if root is None:
            raise FabricheckError(f"{path}: expected references, found an empty file")
        references: dict[str, Section] = {}
        levels: dict[str, Section] = {}
        whole = _Part(self._document.value, root)
        for name, part, place in self._pairs(whole, Place(path, (), 1)):
            check = str(name).removesuffix(LEVELS_SUFFIX)
            if check not in CHECKS:
                known = ", ".join(f"{c}, {c}{LEVELS_SUFFIX}" for c in CHECKS)
                raise place.error(f"unknown check: expected one of {known}")
            if name == check:
                references[check] = self._section(check, part, place, self._entry)
            else:
                levels[check] = self._section(check, part, place, self._levels)
        return Sections(references, levels)

    def _pairs(self, part: _Part, place: Place) -> Iterator[tuple[Any, _Part, Place]]:
        """Key, value and place of each pair of a mapping; merge keys are resolved."""
        if not isinstance(part.node, yaml.MappingNode):
            raise place.error(f"expected a mapping, found {_kind(part.node)}")
        nodes = {key.value: (key, value) for key, value in part.node.value}
        for key, value in part.value.items():
            key_node, node = nodes[str(key)]
            yield key, _Part(value, node), place.under(key, key_node.start_mark.line + 1)

    def _section(
        self,
        check: str,
        part: _Part,
        place: Place,
        read_entry: Callable[[str, _Part, Place], Entry | Levels],
    ) -> Section:
        pairs = {key: (value, under) for key, value, under in self._pairs(part, place)}
        if INDEX not in pairs:
            raise place.error(f"expected {INDEX}, such as [$system, benchmark], found none")
        index = self._index(*pairs.pop(INDEX))

        def read_level(part: _Part, place: Place, depth: int) -> Any:
            if depth == len(index):
                return read_entry(check, part, place)
            tree = {}
            for key, value, under in self._pairs(part, place):
                _check_key(index[depth], key, check, under)
                tree[key] = read_level(value, under, depth + 1)
            return tree

        tree: dict[str | int, Any] = {}
        for key, (value, under) in pairs.items():
            _check_key(index[0], key, check, under)
            tree[key] = read_level(value, under, 1)
        return Section(index, tree)

    def _index(self, part: _Part, place: Place) -> tuple[str, ...]:
        names = part.value
        if not isinstance(names, list) or not names:
            raise place.error(f"expected a list of names, found {_kind(part.node)}")
        for name in names:
            if name not in INDEX_NAMES:
                raise place.error(f"unknown name {name!r}: known are {', '.join(INDEX_NAMES)}")
        return tuple(names)

    def _entry(self, check: str, part: _Part, place: Place) -> Entry:
        variables = {}
        for name, value, under in self._pairs(part, place):
            leaf = Leaf(value.value, under)
            variables[str(name)] = Located(
                read_reference(leaf, str(name), is_curve=CHECKS[check] is not None), under
            )
        if not variables:
            raise place.error("expected at least one variable, found none")
        return Entry(variables, place)

    def _levels(self, _check: str, part: _Part, place: Place) -> Levels:
        leaves = {
            str(key): Leaf(value.value, under) for key, value, under in self._pairs(part, place)
        }
        return Levels(read_tolerance(leaves, place), place)


def _check_key(index_name: str, key: str | int, check: str, place: Place) -> None:
    if index_name == "num_nodes":
        if not isinstance(key, int):
            raise place.error("expected a whole number of nodes, which ReFrame compares as such")
        return
    if not isinstance(key, str):
        raise place.error(f"expected text for {index_name}, found a number: quote it")
    try:
        pattern = re.compile(f"^{key}$")
    except re.error as error:
        raise place.error(f"expected a name or a regular expression, found {error}") from error
    if _has_open_alternative(key):
        raise place.error(f"put the alternatives in parentheses, ({key}): ReFrame anchors only so")
    if index_name == "benchmark":
        family = CHECKS[check]
        known = [b.name for b in REGISTRY.values() if family in (None, b.family)]
        if not any(pattern.match(name) for name in known):
            raise place.error(f"unknown benchmark: {check} has {', '.join(known)}")


def _has_open_alternative(pattern: str) -> bool:
    """Whether a ``|`` stands outside of parentheses, where ``^`` and ``$`` bind to one side."""
    depth = 0
    for character in re.sub(r"\\.|\[[^\]]*\]", "", pattern):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "|" and depth == 0:
            return True
    return False


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.ScalarNode):
        return f"{node.value!r}" if node.value else "nothing"
    return "a list" if isinstance(node, yaml.SequenceNode) else "a mapping"
