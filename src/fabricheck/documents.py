"""YAML that people write: read strictly, held to a schema, and told by file and line."""

import datetime
import difflib
import functools
import json
import math
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import yaml
from yaml.composer import Composer

from fabricheck.errors import FabricheckError

_LARGEST = 1 << 63

_TAG = "tag:yaml.org,2002:"
_TAGS = frozenset(
    _TAG + name
    for name in ("str", "int", "float", "bool", "null", "timestamp", "map", "seq", "merge")
)
_KINDS = {
    "object": "names and values",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
}

Keys = Sequence[str | int]


@dataclass(frozen=True, slots=True)
class Document:
    """A file that somebody wrote.

    Attributes:
        path: where it stands.
        value: what it says; ``None`` for an empty file.
        root: its nodes, which know their lines.
        page: the document that explains it.
    """

    path: Path
    value: Any
    root: yaml.Node | None
    page: str

    def check(self, schema: jsonschema.protocols.Validator) -> None:
        """Hold the document to a schema.

        Raises:
            FabricheckError: for the first thing that is wrong, an unknown key before others.
        """
        problems = sorted(
            schema.iter_errors(self.value),
            key=lambda each: (not _unknown(each), list(map(str, each.absolute_path))),
        )
        if problems:
            problem = _deepest(problems[0])
            keys = [*problem.absolute_path, *_unknown(problem)[:1]]
            raise self.error(keys, f"{_told(problem)}: see {self.page}")

    def error(self, keys: Keys, message: str) -> FabricheckError:
        """An error that names the file, the line of a key and the way to it."""
        return FabricheckError(
            f"FC0102 {self.path}: line {self.line(keys)}: {self._named(keys)}{message}"
        )

    def line(self, keys: Keys) -> int:
        """The line of a key; that of what holds it, where the key is missing."""
        node = self.root
        line = node.start_mark.line + 1 if node else 1
        for key in keys:
            if isinstance(node, yaml.SequenceNode) and isinstance(key, int):
                node = node.value[key]
                line = node.start_mark.line + 1
            elif isinstance(node, yaml.MappingNode):
                pairs = {each.value: (each, value) for each, value in node.value}
                if str(key) not in pairs:
                    break
                line, node = pairs[str(key)][0].start_mark.line + 1, pairs[str(key)][1]
        return line

    def _named(self, keys: Keys) -> str:
        """The way to a key, with the names of list entries for their numbers."""
        value: Any = self.value
        words: list[str] = []
        for key in keys:
            is_there = isinstance(key, int) or (isinstance(value, dict) and key in value)
            value = value[key] if is_there else None
            name = value.get("name") if isinstance(value, dict) else None
            name = name if isinstance(name, str) else ""
            word = key if isinstance(key, str) else str(name or key + 1)
            words.append(word if word.isprintable() else ascii(word))
        return "".join(f"{' > '.join(words)}: " if words else "")


def load(path: Path, what: str, page: str) -> Document:
    """Read a file of YAML.

    A key stands once in its mapping, and is text or a whole number; numbers are finite and of
    reasonable length; there are no tags but those of plain YAML.

    Args:
        path: the file.
        what: what it is, such as ``a site file``.
        page: the document that explains it.

    Raises:
        FabricheckError: for a file that can't be read or breaks these rules; the message names
            the line.
    """
    loader = _Loader(path, _read(path, what))
    try:
        root = loader.get_single_node()
        value = None if root is None else loader.construct_object(root, deep=True)
        return Document(path, value, root, page)
    except RecursionError as error:
        raise FabricheckError(
            f"FC0103 {path}: expected {what} in YAML, found too many levels in each other"
        ) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f" line {mark.line + 1}:" if mark else ""
        raise FabricheckError(
            f"FC0104 {path}:{line} expected {what} in YAML, found: {error.problem or error.context}"
        ) from error
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise FabricheckError(f"FC0105 {path}: expected {what} in YAML, found: {reason}") from error
    finally:
        loader.dispose()


@functools.cache
def schema(package: str, name: str) -> jsonschema.protocols.Validator:
    """The validator of a schema that lies in a package.

    Args:
        package: name of the package.
        name: name of the file.
    """
    text = resources.files(package).joinpath(name).read_text(encoding="utf-8")
    return _Validator(json.loads(text), format_checker=_Validator.FORMAT_CHECKER)


# To JSON Schema 50.0 is a whole number; what counts with it here wants an int. YAML has days.
_KINDS_OF_YAML: Mapping[str, Callable[[object, object], bool]] = {
    "integer": lambda _, value: type(value) is int,
    "date": lambda _, value: type(value) is datetime.date,
}
_Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine_many(_KINDS_OF_YAML),
)


def _is_regex(value: object) -> bool:
    return not isinstance(value, str) or bool(re.compile(value))


_Validator.FORMAT_CHECKER.checks("regex", raises=(re.error, OverflowError))(_is_regex)


def _read(path: Path, what: str) -> str:
    try:
        # A pipe would be waited for, for ever.
        if not stat.S_ISREG(path.stat().st_mode):
            raise FabricheckError(
                f"FC0106 {path}: expected {what}, found no regular file: remove it"
            )
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise FabricheckError(
            f"FC0107 {path}: expected {what}, but it cannot be read ({error.strerror})"
        ) from error
    except UnicodeDecodeError as error:
        raise FabricheckError(
            f"FC0108 {path}: expected {what} in UTF-8, found {error.reason} at byte {error.start}"
        ) from error


class _Loader(Composer, yaml.CSafeLoader):
    """libyaml's events, composed here: its own composer overflows the stack on deep files."""

    def __init__(self, path: Path, text: str) -> None:
        yaml.CSafeLoader.__init__(self, text)
        Composer.__init__(self)
        self._path = path
        self._merged: set[int] = set()

    def flatten_mapping(self, node: Any) -> None:
        # Merging adds pairs to the node, and an alias brings the same node here again.
        if id(node) in self._merged:
            return
        self._merged.add(id(node))
        lines: dict[object, int] = {}
        for key_node, _ in node.value:
            if key_node.tag == _TAG + "merge":
                continue
            key, line = self.construct_object(key_node, deep=True), key_node.start_mark.line + 1
            if isinstance(key, bool) or not isinstance(key, str | int):
                raise self._error(
                    key_node, f"{key_node.value}: expected text or a whole number as key: quote it"
                )
            if key in lines:
                raise self._error(
                    key_node,
                    f"{key}: the key is given twice, first at line {lines[key]}: remove one",
                )
            lines[key] = line
        super().flatten_mapping(node)

    def construct_object(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002 - theirs
        if node.tag not in _TAGS:
            raise self._error(node, f"expected plain YAML, found the tag {node.tag}: remove it")
        try:
            value = super().construct_object(node, deep=deep)
            if isinstance(value, str):
                value.encode()
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
            kind = node.tag.removeprefix(_TAG)
            raise self._error(
                node, f"expected a value that can be, found {_short(node)} as {kind}: correct it"
            ) from error
        if isinstance(value, float) and not math.isfinite(value):
            raise self._error(node, f"expected a finite number, found {_short(node)}: correct it")
        if isinstance(value, int) and abs(value) >= _LARGEST:
            raise self._error(node, f"expected a number below 2^63, found {_short(node)}")
        return value

    def _error(self, at: Any, message: str) -> FabricheckError:
        return FabricheckError(f"FC0109 {self._path}: line {at.start_mark.line + 1}: {message}")


def _short(node: yaml.Node) -> str:
    text = ascii(node.value) if isinstance(node, yaml.ScalarNode) else "a list or a mapping"
    return text if len(text) <= 60 else f"{text[:50]}..."  # noqa: PLR2004 - fits a line


def _deepest(problem: jsonschema.ValidationError) -> jsonschema.ValidationError:
    """Of the ways in which something is no alternative, the one that lies deepest in it."""
    for each in problem.context or ():
        if len(each.absolute_path) > len(problem.absolute_path):
            return _deepest(each)
    return problem


def _unknown(problem: jsonschema.ValidationError) -> list[str]:
    """The keys of a mapping that the schema doesn't know."""
    if problem.validator != "additionalProperties" or problem.validator_value is not False:
        return []
    schema: Mapping[str, Any] = problem.schema
    return [key for key in problem.instance if key not in schema.get("properties", {})]


def _told(problem: jsonschema.ValidationError) -> str:
    if unknown := _unknown(problem):
        known = list(problem.schema["properties"])
        near = difflib.get_close_matches(str(unknown[0]), known, 1)
        meant = f"did you mean {near[0]!r}? " if near else ""
        return f"unknown key {unknown[0]!r}: {meant}known are {', '.join(known)}"
    if problem.validator == "required":
        missing = [key for key in problem.validator_value if key not in problem.instance]
        return f"expected the keys {', '.join(missing)}, found none: add them"
    if problem.validator == "dependentRequired":
        given, wanted = next(
            (key, keys)
            for key, keys in problem.validator_value.items()
            if key in problem.instance and not set(keys) <= problem.instance.keys()
        )
        return f"expected the keys {', '.join(wanted)} beside {given}, found not all: add them"
    found = repr(problem.instance)
    if len(found) > 200:  # noqa: PLR2004 - fits a few lines
        found = f"{found[:200]}..."
    return f"expected {_form(problem.schema)}, found {found}: correct it"


def _form(schema: Mapping[str, Any]) -> str:
    """What a part of the schema asks for, in words."""
    if "description" in schema:
        return str(schema["description"])
    if "enum" in schema:
        return f"one of {', '.join(map(str, schema['enum']))}"
    kinds: Any = schema.get("type", "another value")
    listed: list[str] = kinds if isinstance(kinds, list) else [kinds]
    form = " or ".join(_KINDS.get(kind, kind) for kind in listed)
    if {"minimum", "maximum"} <= schema.keys():
        form += f" from {schema['minimum']} to {schema['maximum']}"
    return f"{form} with at least one entry" if schema.get("minItems") == 1 else form
