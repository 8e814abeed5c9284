"""ReFrame's configuration, put together from one file for each site."""

import os
from pathlib import Path
from typing import Any

import yaml

from fabricheck.errors import FabricheckError
from fabricheck.reframe_ext.perflog import HANDLER

_FALLBACK = "local"


def site_configuration(suite: Path) -> dict[str, Any]:
    """ReFrame's ``site_configuration`` for every file in ``sites/``.

    The systems and environments are data in ReFrame's own schema; logging, storage and places are
    the same everywhere. The system ``local`` fits any host, so it comes last.

    One key is ours: a site file's ``running_partitions`` names an environment variable that lists,
    separated by spaces, the partitions that run. Where it is set, the others are left out, since a
    job for them would never start.

    Args:
        suite: root of the suite.

    Raises:
        FabricheckError: for a site file that is not YAML or lacks its two lists, and where none of
            a site's partitions runs.
    """
    sites = [_read_site(path) for path in sorted((suite / "sites").glob("*.yaml"))]
    (suite / "reports").mkdir(exist_ok=True)
    sites.sort(key=lambda site: site["systems"][0]["name"] == _FALLBACK)
    return {
        "systems": [
            {
                "stagedir": str(suite / "stage"),
                "outputdir": str(suite / "output"),
                **system,
            }
            for site in sites
            for system in _running_systems(site)
        ],
        "environments": [environment for site in sites for environment in site["environments"]],
        "general": [
            {
                "check_search_recursive": True,
                "check_search_path": [str(suite / "checks")],
                "report_file": str(suite / "reports" / "run-{sessionid}.json"),
                "perf_info_level": "verbose",
                "poll_rate_min": 5,
                "keep_stage_files": True,
                "clean_stagedir": True,
            }
        ],
        "storage": [
            {
                "enable": True,
                "backend": "sqlite",
                "sqlite_db_file": str(suite / "reports" / "results.db"),
            }
        ],
        "logging": [_logging(suite)],
    }


def _running_systems(site: dict[str, Any]) -> list[dict[str, Any]]:
    variable = site.get("running_partitions", "")
    running = os.environ.get(variable)
    if running is None:
        return list(site["systems"])
    systems = []
    for system in site["systems"]:
        partitions = [each for each in system["partitions"] if each["name"] in running.split()]
        if not partitions:
            known = ", ".join(each["name"] for each in system["partitions"])
            raise FabricheckError(
                f"expected a partition of system {system['name']} ({known}) in the variable "
                f"{variable}, found {running!r}: name one that runs, or unset the variable"
            )
        systems.append({**system, "partitions": partitions})
    return systems


def _read_site(path: Path) -> dict[str, Any]:
    try:
        site = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise FabricheckError(f"expected a site file in YAML at {path}, found: {reason}") from error
    if not isinstance(site, dict) or not {"systems", "environments"} <= site.keys():
        raise FabricheckError(
            f"expected the lists 'systems' and 'environments' in the site file {path}, "
            "found no such keys: see docs/add-a-system.md"
        )
    return site


def _logging(suite: Path) -> dict[str, Any]:
    return {
        "perflog_multiline": True,
        "level": "debug",
        "handlers": [
            {"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"},
            {
                "type": "file",
                "name": str(suite / "reports" / "reframe.log"),
                "level": "debug",
                "format": "[%(asctime)s] %(levelname)s: %(check_info)s: %(message)s",
                "append": False,
            },
        ],
        "handlers_perflog": [
            {
                "type": HANDLER,
                "level": "info",
                "basedir": str(suite / "perflogs"),
                "format": "%(check_perf_var)s",
            }
        ],
    }
