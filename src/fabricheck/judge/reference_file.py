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

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


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
        return _load(path, status.st_mtime_ns, status.st_size)
    except OSError as error:
        raise FabricheckError(
            f"{path}: expected a reference file, but it cannot be read ({error.strerror})"
        ) from error
    except UnicodeDecodeError as error:
        raise FabricheckError(f"{path}: expected UTF-8 text, found {error.reason}") from error


@functools.lru_cache(maxsize=8)
def _load(path: Path, _mtime_ns: int, _size: int) -> Sections:
    loader = _Loader(path.read_text(encoding="utf-8"))
    try:
        root = loader.get_single_node()
        return _FileReader(path, loader).read(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f" line {mark.line + 1}:" if mark else ""
        raise FabricheckError(f"{path}:{line} malformed YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise FabricheckError(f"{path}: malformed YAML: {' '.join(str(error).split())}") from error
    finally:
        loader.dispose()


class _FileReader:
    """Turns the nodes of one file into sections."""

    def __init__(self, path: Path, loader: Any) -> None:
        self._path = path
        self._loader = loader
        self._flattened: set[int] = set()

    def read(self, root: yaml.Node | None) -> Sections:
        if root is None:
            raise FabricheckError(f"{self._path}: expected references, found an empty file")
        references: dict[str, Section] = {}
        levels: dict[str, Section] = {}
        for name, node, place in self._pairs(root, Place(self._path, (), 1)):
            check = str(name).removesuffix(LEVELS_SUFFIX)
            if check not in CHECKS:
                known = ", ".join(f"{c}, {c}{LEVELS_SUFFIX}" for c in CHECKS)
                raise place.error(f"unknown check: expected one of {known}")
            if name == check:
                references[check] = self._section(check, node, place, self._entry)
            else:
                levels[check] = self._section(check, node, place, self._levels)
        return Sections(references, levels)

    def _pairs(self, node: yaml.Node, place: Place) -> Iterator[tuple[Any, yaml.Node, Place]]:
        """Key, value node and place of each pair of a mapping; merge keys are resolved."""
        if not isinstance(node, yaml.MappingNode):
            raise place.error(f"expected a mapping, found {_kind(node)}")
        # Flattening adds pairs to the node, and an alias brings the same node here again.
        if id(node) not in self._flattened:
            self._refuse_repeated_keys(node, place)
            self._loader.flatten_mapping(node)
            self._flattened.add(id(node))
        merged = {self._key(key_node, place): (key_node, value) for key_node, value in node.value}
        for key, (key_node, value) in merged.items():
            yield key, value, place.under(key, key_node.start_mark.line + 1)

    def _refuse_repeated_keys(self, node: yaml.MappingNode, place: Place) -> None:
        lines: dict[str | int, int] = {}
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key, line = self._key(key_node, place), key_node.start_mark.line + 1
            if key in lines:
                raise place.under(key, line).error(
                    f"the key is given twice, first at line {lines[key]}: remove one"
                )
            lines[key] = line

    def _key(self, node: yaml.Node, place: Place) -> str | int:
        value = self._value(node, place)
        if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        line = node.start_mark.line + 1
        raise place.under(value, line).error("expected text or a whole number as key: quote it")

    def _value(self, node: yaml.Node, place: Place) -> Any:
        try:
            return self._loader.construct_object(node, deep=True)
        except ValueError as error:
            raise place.error(f"expected a valid value, found {_kind(node)} ({error})") from error

    def _section(
        self,
        check: str,
        node: yaml.Node,
        place: Place,
        read_entry: Callable[[str, yaml.Node, Place], Entry | Levels],
    ) -> Section:
        pairs = {key: (value, under) for key, value, under in self._pairs(node, place)}
        if INDEX not in pairs:
            raise place.error(f"expected {INDEX}, such as [$system, benchmark], found none")
        index = self._index(*pairs.pop(INDEX))

        def read_level(node: yaml.Node, place: Place, depth: int) -> Any:
            if depth == len(index):
                return read_entry(check, node, place)
            tree = {}
            for key, value, under in self._pairs(node, place):
                _check_key(index[depth], key, check, under)
                tree[key] = read_level(value, under, depth + 1)
            return tree

        tree: dict[str | int, Any] = {}
        for key, (value, under) in pairs.items():
            _check_key(index[0], key, check, under)
            tree[key] = read_level(value, under, 1)
        return Section(index, tree)

    def _index(self, node: yaml.Node, place: Place) -> tuple[str, ...]:
        names = self._value(node, place)
        if not isinstance(names, list) or not names:
            raise place.error(f"expected a list of names, found {_kind(node)}")
        for name in names:
            if name not in INDEX_NAMES:
                raise place.error(f"unknown name {name!r}: known are {', '.join(INDEX_NAMES)}")
        return tuple(names)

    def _entry(self, check: str, node: yaml.Node, place: Place) -> Entry:
        variables = {}
        for name, value, under in self._pairs(node, place):
            leaf = Leaf(self._value(value, under), under)
            variables[str(name)] = Located(
                read_reference(leaf, str(name), is_curve=CHECKS[check] is not None), under
            )
        if not variables:
            raise place.error("expected at least one variable, found none")
        return Entry(variables, place)

    def _levels(self, _check: str, node: yaml.Node, place: Place) -> Levels:
        leaves = {
            str(key): Leaf(self._value(value, under), under)
            for key, value, under in self._pairs(node, place)
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
