"""Settings of the detectors: defaults, and what a site file says instead."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from fabricheck.inputs import read_file
from fabricheck.sites import night
from fabricheck.sites.files import read_sites

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
        new_days: an event that began within so many days is new, or if its series have no more
            values since.
        same_days: changes that begin within so many days are one event.
        silent_days: a series without a value for so many days is silent, and not judged; where
            nights have a budget, twice the longest rest of a case, if that is more.
    """

    history_nights: int = 100
    least_history: int = 12
    alarm_p: float = 0.001
    false_discovery_rate: float = 0.05
    smallest_change: float = 0.01
    noisier_ratio: float = 1.5
    sudden_factor: float = 1.5
    penalty: float = 3.0
    new_days: float = 7.0
    same_days: float = 2.0
    silent_days: float = 7.0


def read_settings(sites: Iterable[Path], systems: Collection[str]) -> dict[str, Settings]:
    """The settings of each system, defaults where no site file has any.

    Args:
        sites: directories of the site files.
        systems: names of the systems.

    Raises:
        FabricheckError: for a system that no file has but one that is wrong and names it.
    """
    places = list(sites)
    nights = read_section(places, systems, night.KEY, night.NightSettings)
    return {
        system: replace(
            found, silent_days=max(found.silent_days, 2.0 * nights[system].longest_rest)
        )
        for system, found in read_section(places, systems, KEY, Settings).items()
    }


def read_section(
    sites: Iterable[Path], systems: Collection[str], key: str, kind: Callable[..., _Section]
) -> dict[str, _Section]:
    """One key of the site files as settings, for each system.

    Args:
        sites: directories of the site files.
        systems: names of the systems.
        key: the key.
        kind: a dataclass with the names that the schema of site files has under the key.

    Raises:
        FabricheckError: as ``read_settings``.
    """
    found = read_sites(sites)
    known = {
        system["name"]: site.get(key, {})
        for site in found.read.values()
        for system in site["systems"]
    }
    for path, error in found.broken.items():
        # An imported history has systems that no site file has ever named.
        if _may_have(path, set(systems) - known.keys()):
            raise error
    return {system: kind(**known.get(system, {})) for system in systems}


def _may_have(path: Path, systems: Collection[str]) -> bool:
    """Whether a broken site file may be that of one of these systems, by its name or its text."""
    try:
        text = f"{path.stem} {read_file(path).decode(errors='replace')}"
    except OSError:
        return bool(systems)
    return any(system in text for system in systems)
