"""ReFrame's configuration, put together from one file for each site."""

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

    Args:
        suite: root of the suite.

    Raises:
        FabricheckError: for a site file that is not YAML or lacks its two lists.
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
            for system in site["systems"]
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
