"""Reading of one site file: YAML, its schema, and where in the file something is wrong."""

import difflib
import json
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from fabricheck.errors import FabricheckError

PAGE = "docs/sites.md"

_KINDS = {
    "object": "names and values",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
}


def read(path: Path) -> dict[str, Any]:
    """A site file, checked against the schema.

    Raises:
        FabricheckError: naming file, line and key of the first thing that is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        site = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise FabricheckError(f"expected a site file in YAML at {path}, found: {reason}") from error
    if not isinstance(site, dict) or not {"systems", "environments"} <= site.keys():
        raise FabricheckError(
            f"expected the lists 'systems' and 'environments' in the site file {path}, "
            f"found no such keys: see {PAGE}"
        )
    problems = sorted(
        _validator().iter_errors(site),
        key=lambda each: (not _unknown(each), list(map(str, each.absolute_path))),
    )
    if problems:
        problem = problems[0]
        keys = [*problem.absolute_path, *_unknown(problem)[:1]]
        where = f"{path}: line {_line(root, keys)}: {_named(site, keys)}"
        raise FabricheckError(f"{where}: {_told(problem)}: see {PAGE}")
    _check_environments(path, site)
    return site


def known_extras(of: str) -> tuple[str, ...]:
    """The extras that the schema knows.

    Args:
        of: ``partition`` or ``environment``.
    """
    return tuple(_schema()["$defs"][f"{of}_extras"]["properties"])


def _check_environments(path: Path, site: dict[str, Any]) -> None:
    for system in site["systems"]:
        known = [
            each["name"]
            for each in site["environments"]
            if any(target.partition(":")[0] == system["name"] for target in each["target_systems"])
        ]
        for partition in system["partitions"]:
            for name in partition["environs"]:
                if name not in known:
                    raise FabricheckError(
                        f"{path}: expected an environment of system {system['name']} "
                        f"({', '.join(known) or 'it has none'}) in partition {partition['name']}, "
                        f"found {name!r}: describe it under 'environments'"
                    )


@cache
def _schema() -> dict[str, Any]:
    text = resources.files("fabricheck.sites").joinpath("site.schema.json").read_text()
    schema: dict[str, Any] = json.loads(text)
    return schema


@cache
def _validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(_schema())


def _unknown(problem: jsonschema.ValidationError) -> list[str]:
    """The keys of a mapping that the schema doesn't know."""
    if problem.validator != "additionalProperties" or problem.validator_value is not False:
        return []
    return [key for key in problem.instance if key not in problem.schema["properties"]]


def _told(problem: jsonschema.ValidationError) -> str:
    if unknown := _unknown(problem):
        known = list(problem.schema["properties"])
        near = difflib.get_close_matches(str(unknown[0]), known, 1)
        meant = f"did you mean {near[0]!r}? " if near else ""
        return f"unknown key {unknown[0]!r}: {meant}known are {', '.join(known)}"
    if problem.validator == "required":
        missing = [key for key in problem.validator_value if key not in problem.instance]
        return f"expected the keys {', '.join(missing)}, found none: add them"
    return f"expected {_form(problem.schema)}, found {problem.instance!r}: correct it"


def _form(schema: dict[str, Any]) -> str:
    """What a part of the schema asks for, in words."""
    if "description" in schema:
        return str(schema["description"])
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    kinds = schema.get("type", "another value")
    form = " or ".join(_KINDS.get(kind, kind) for kind in _listed(kinds))
    return f"{form} with at least one entry" if schema.get("minItems") == 1 else form


def _listed(value: Any) -> Iterable[str]:
    return value if isinstance(value, list) else [value]


def _line(node: yaml.Node | None, keys: Sequence[str | int]) -> int:
    """The line of a key in the file; that of what holds it, where the key is missing."""
    line = node.start_mark.line + 1 if node else 1
    for key in keys:
        if isinstance(node, yaml.SequenceNode) and isinstance(key, int):
            node = node.value[key]
            line = node.start_mark.line + 1
        elif isinstance(node, yaml.MappingNode):
            pairs = {each.value: (each, value) for each, value in node.value}
            if key not in pairs:
                break
            line, node = pairs[key][0].start_mark.line + 1, pairs[key][1]
    return line


def _named(site: Any, keys: Sequence[str | int]) -> str:
    """The way to a key, with the names of list entries for their numbers."""
    words = []
    for key in keys:
        site = site[key] if isinstance(key, int) or key in site else None
        if isinstance(key, int):
            name = site.get("name") if isinstance(site, dict) else None
            words.append(str(name or key + 1))
        else:
            words.append(str(key))
    return " > ".join(words) or "the whole file"
