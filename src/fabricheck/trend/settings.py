"""Settings of the detectors: defaults, and what a site file says instead."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import yaml

from fabricheck.errors import FabricheckError

KEY = "trend"
"""Key of a site file that holds the settings for the site's systems."""

_PAGE = "docs/detection.md"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the detectors ask for; docs/detection.md has the reasons and the measured power.

    Attributes:
        history_nights: most nights before the recent ones that tonight is compared with.
        least_history: fewest of them for a verdict on a step; below, only sudden changes are seen.
        alarm_p: largest p-value of a series that is raised.
        false_discovery_rate: largest share of false alarms among all alarms of a night.
        smallest_change: smallest relative change of the level that is raised.
        noisier_ratio: smallest ratio of spreads that is raised as noisier.
        sudden_factor: factor by which one night must leave its whole history to be raised alone.
        penalty: what a change point must gain, in units of the logarithm of the number of nights.
        new_days: an event that began within so many days is new.
        same_days: changes that begin within so many days are one event.
        silent_days: a series without a value for so many days is silent, and not judged.
    """

    history_nights: int = 100
    least_history: int = 12
    alarm_p: float = 0.0014
    false_discovery_rate: float = 0.05
    smallest_change: float = 0.01
    noisier_ratio: float = 2.0
    sudden_factor: float = 1.5
    penalty: float = 3.0
    new_days: float = 7.0
    same_days: float = 2.0
    silent_days: float = 7.0

    def __post_init__(self) -> None:
        require_ranges(self, _RANGES, KEY, _PAGE)


_RANGES: Mapping[str, tuple[float, float]] = {
    "history_nights": (20, 1000),
    "least_history": (8, 100),
    "alarm_p": (1e-9, 0.1),
    "false_discovery_rate": (1e-6, 1),
    "smallest_change": (0, 10),
    "noisier_ratio": (1, 100),
    "sudden_factor": (1.05, 100),
    "penalty": (1, 100),
    "new_days": (0, 365),
    "same_days": (0, 30),
    "silent_days": (1, 365),
}


_Section = TypeVar("_Section")


def read_settings(sites: Path) -> dict[str, Settings]:
    """The settings for each system that has a site file.

    Args:
        sites: directory of the site files.

    Raises:
        FabricheckError: as ``read_section``.
    """
    return read_section(sites, KEY, Settings, _PAGE)


def require_ranges(
    settings: object, ranges: Mapping[str, tuple[float, float]], key: str, page: str
) -> None:
    """Refuse settings out of range.

    Args:
        settings: the settings.
        ranges: least and greatest value for the settings' names.
        key: the site file's key that holds them.
        page: the document that explains them.

    Raises:
        FabricheckError: for the first that is out of range.
    """
    for name, (low, high) in ranges.items():
        value = getattr(settings, name)
        if not low <= value <= high:
            raise FabricheckError(
                f"expected {key}.{name} between {low:g} and {high:g}, found {value:g}: see {page}"
            )


def read_section(sites: Path, key: str, kind: type[_Section], page: str) -> dict[str, _Section]:
    """One key of every site file as settings, for each system of the file.

    Args:
        sites: directory of the site files.
        key: the key.
        kind: a dataclass whose fields are numbers with defaults.
        page: the document that explains them.

    Raises:
        FabricheckError: for a site file that is not YAML, and for a setting that does not exist,
            has another type or is out of range.
    """
    found: dict[str, _Section] = {}
    for path in sorted(sites.glob("*.yaml")):
        try:
            site = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            reason = " ".join(str(error).split())
            raise FabricheckError(
                f"expected a site file in YAML at {path}, found: {reason}"
            ) from error
        if not isinstance(site, dict):
            raise FabricheckError(
                f"expected keys and values in the site file {path}, found "
                f"{type(site).__name__}: see docs/sites.md"
            )
        values = _values(site.get(key, {}), key, kind, path, page)
        try:
            settings = kind(**values)
        except FabricheckError as error:
            raise FabricheckError(f"{path}: {error}") from error
        found.update({system["name"]: settings for system in site.get("systems", ())})
    return found


def _values(given: object, key: str, kind: Any, path: Path, page: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise FabricheckError(
            f"{path}: expected names and numbers under '{key}', found {given!r}: see {page}"
        )
    types = {field.name: field.type for field in fields(kind)}
    for name, value in given.items():
        if name not in types:
            raise FabricheckError(
                f"{path}: expected one of {', '.join(types)} under '{key}', found {name!r}: "
                "remove it or correct its name"
            )
        whole = types[name] is int
        if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
            raise FabricheckError(
                f"{path}: expected {'a whole number' if whole else 'a number'} for "
                f"{key}.{name}, found {value!r}: correct it"
            )
    return given
