"""Reference files: rules that people write, and measured values that fabricheck writes.

Of each system there are ``references/<system>.yaml`` and ``references/<system>.measured.yaml``, and
one of them is enough. ``docs/how-to/references.md`` describes the rules.
"""

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fabricheck.documents import Document, Keys, schema
from fabricheck.documents import load as load_document
from fabricheck.errors import FabricheckError
from fabricheck.judge.reference import CaseKey
from fabricheck.measures.registry import CHECKS, REGISTRY
from fabricheck.transports.placement import parts

_PAGE = "docs/how-to/references.md"
_HEAD = """\
# Written whole by "fabricheck baseline": what is changed by hand is lost. best: what the bounds of
# rules are multiples of. measured: references of single cases, [value, lower, upper] by variable.
"""


@dataclass(frozen=True, slots=True)
class ReferenceRule:
    """Something that holds for the cases whose fields fit.

    Attributes:
        says: what the rule says, by key.
        fits: patterns of the fields of its cases.
        document: the file that says it.
        keys: where it stands there.
        is_exact: whether these are the fields themselves and no patterns.
        of_any_port: whether what is said of a placement holds for each port of several.
    """

    says: Mapping[str, Any]
    fits: Mapping[str, Any]
    document: Document
    keys: Keys
    is_exact: bool = False
    of_any_port: bool = True

    def is_for(self, fields: Mapping[str, str]) -> bool:
        """Whether a case of these fields is meant; fields that are not there fit."""
        if self.of_any_port and "placement" in fields:
            fields = {**fields, "placement": fields["placement"].partition("@")[0]}
        return all(
            fields[name] == pattern if self.is_exact else re.fullmatch(str(pattern), fields[name])
            for name, pattern in self.fits.items()
            if name in fields
        )

    def error(self, message: str, *keys: str | int) -> FabricheckError:
        """An error that names the place of a key of the rule."""
        return self.document.error([*self.keys, *keys], message)

    def place(self, *keys: str | int) -> str:
        """File and line of a key of the rule."""
        return f"{self.document.path}: line {self.document.line([*self.keys, *keys])}"


@dataclass(frozen=True, slots=True)
class References:
    """What judges a system.

    Attributes:
        measured: references of single cases; they go before all rules.
        rules: the first one that fits a case and says something of it holds.
        best: the best values of the history, for rules that have bounds and no values.
    """

    measured: tuple[ReferenceRule, ...]
    rules: tuple[ReferenceRule, ...]
    best: tuple[ReferenceRule, ...]

    def givers(self) -> list[ReferenceRule]:
        """What gives values, in the order of the files."""
        return [*(rule for rule in self.rules if "value" in rule.says), *self.measured, *self.best]


def fields_of(check: str, key: CaseKey) -> dict[str, str]:
    """The fields of a case that patterns are compared with."""
    benchmark = REGISTRY.get(key.benchmark)
    return {
        "check": check,
        "partition": key.partition.rpartition(":")[2],
        "environ": key.environ,
        "benchmark": key.benchmark,
        "metric": benchmark.metrics[0] if benchmark else "",
        "placement": key.placement,
        "transport": key.transport,
        "nodes": str(key.num_nodes),
        "port": parts(key.placement)[3],
    }


def measured_path(path: Path) -> Path:
    """The file of the measured values that belongs to a file of rules."""
    return path.with_suffix(".measured.yaml")


def exists(path: Path) -> bool:
    """Whether a system has references: a file of rules, or measured values."""
    return path.exists() or measured_path(path).exists()


def path_of(directories: Sequence[Path], system: str) -> Path:
    """The file of a system's rules: in the first directory that has references of it, or in the
    first of all, where they are yet to be written.
    """
    paths = [directory / f"{system}.yaml" for directory in directories]
    return next(filter(exists, paths), paths[0])


def load(path: Path) -> References:
    """Read and check the references of a system.

    Args:
        path: the file of rules, which need not exist beside one of measured values.

    Raises:
        FabricheckError: naming file, line and key of the first thing that is wrong, and where
            there is neither file.
    """
    return _load(path, _stamp(path), _stamp(measured_path(path)))


def read_measured(path: Path) -> dict[str, list[dict[str, Any]]]:
    """The measured values that belong to a file of rules, as they stand in their file.

    Raises:
        FabricheckError: as ``load``.
    """
    own = measured_path(path)
    document = _measured(own) if own.exists() else None
    value = document.value if document else {}
    return {name: list(value.get(name, ())) for name in ("best", "measured")}


def written(measured: Mapping[str, list[dict[str, Any]]]) -> str:
    """The text of a file of measured values."""
    lines = [_HEAD]
    if measured.get("best"):
        lines += ["best:\n", *(f"- {_dump(each, flow=True)}" for each in measured["best"])]
    if measured.get("measured"):
        lines.append(_dump({"measured": measured["measured"]}, flow=None))
    return "".join(lines)


def _dump(value: Any, *, flow: bool | None) -> str:
    text: str = yaml.safe_dump(
        value, default_flow_style=flow, sort_keys=False, width=10**9, allow_unicode=True
    )
    return text


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FabricheckError(
            f"FC0803 {path}: expected references, but they cannot be read ({error.strerror})"
        ) from error
    return status.st_mtime_ns, status.st_size


@functools.lru_cache(maxsize=8)
def _load(
    path: Path, own: tuple[int, int] | None, of_measured: tuple[int, int] | None
) -> References:
    document = _rules(path) if own or not of_measured else None
    measured = _measured(measured_path(path)) if of_measured else None
    return References(
        measured=tuple(
            ReferenceRule(
                each, each["case"], measured, ["measured", number], is_exact=True, of_any_port=False
            )
            for number, each in enumerate(measured.value.get("measured", ()))
        )
        if measured
        else (),
        rules=tuple(
            ReferenceRule(each, each.get("for", {}), document, ["rules", number])
            for number, each in enumerate(document.value["rules"])
        )
        if document
        else (),
        best=tuple(
            ReferenceRule(
                each,
                {name: each[name] for name in ("check", "benchmark", "placement")},
                measured,
                ["best", number],
                is_exact=True,
            )
            for number, each in enumerate(measured.value.get("best", ()))
        )
        if measured
        else (),
    )


def _rules(path: Path) -> Document:
    document = load_document(path, "rules of references", _PAGE)
    document.check(schema("fabricheck.judge", "references.schema.json"))
    for number, rule in enumerate(document.value["rules"]):
        fits = rule.get("for", {})
        checks = [each for each in CHECKS if re.fullmatch(fits.get("check", ".*"), each)]
        if not checks:
            raise document.error(
                ["rules", number, "for", "check"],
                f"unknown check: expected one of {', '.join(CHECKS)}, or a pattern of them",
            )
        families = {CHECKS[each] for each in checks}
        known = [b.name for b in REGISTRY.values() if None in families or b.family in families]
        if "benchmark" in fits and not any(re.fullmatch(fits["benchmark"], b) for b in known):
            raise document.error(
                ["rules", number, "for", "benchmark"],
                f"unknown benchmark: {' and '.join(checks)} has {', '.join(known)}",
            )
    return document


def _measured(path: Path) -> Document:
    document = load_document(path, "measured references", _PAGE)
    if document.value is None:
        raise FabricheckError(
            f"FC0804 {path}: expected measured references, found an empty file: remove it"
        )
    document.check(schema("fabricheck.judge", "measured.schema.json"))
    return document
