"""Settings of the detectors: defaults, and what a site file says instead."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from fabricheck.sites.document import read

KEY = "trend"
"""Key of a site file that holds the settings for the site's systems."""

_Section = TypeVar("_Section")


@dataclass(frozen=True, slots=True)
class Settings:
    """What the detectors ask for; docs/explanation/detection.md has the reasons and the power.

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


def read_settings(sites: Path) -> dict[str, Settings]:
    """The settings for each system that has a site file.

    Args:
        sites: directory of the site files.

    Raises:
        FabricheckError: for a site file with anything wrong.
    """
    return read_section(sites, KEY, Settings)


def read_section(sites: Path, key: str, kind: type[_Section]) -> dict[str, _Section]:
    """One key of every site file as settings, for each system of the file.

    Args:
        sites: directory of the site files.
        key: the key.
        kind: a dataclass with the names that the schema of site files has under the key.

    Raises:
        FabricheckError: for a site file with anything wrong.
    """
    read_sites = [read(path) for path in sorted(sites.glob("*.yaml"))]
    return {
        system["name"]: kind(**site.get(key, {}))
        for site in read_sites
        for system in site["systems"]
    }
