"""ReFrame's configuration, put together from one file for each site."""

import os
from pathlib import Path
from typing import Any

from reframe.core.exceptions import ConfigError

from fabricheck.benchmarks import ADDED
from fabricheck.benchmarks.model import RUNS
from fabricheck.errors import FabricheckError
from fabricheck.reframe_ext import allocation
from fabricheck.reframe_ext.again import retry_disturbed
from fabricheck.reframe_ext.recorder import HANDLER
from fabricheck.sites.document import read
from fabricheck.transports import MPI_FAMILIES

_FALLBACK = "local"


def configure_reframe(suite: Path) -> dict[str, Any]:
    """``site_configuration`` for ReFrame itself.

    Raises:
        ConfigError: for what ``site_configuration`` refuses. ReFrame prints it in one line, where
            anything else would end in a traceback.
    """
    retry_disturbed()
    try:
        return site_configuration(suite)
    except FabricheckError as error:
        raise ConfigError(str(error)) from None


def site_configuration(suite: Path) -> dict[str, Any]:
    """ReFrame's ``site_configuration`` for every file in ``sites/``.

    The systems and environments are data in ReFrame's own schema; logging, storage and places are
    the same everywhere. The system ``local`` fits any host, so it comes last.

    Two keys are ours. A site file's ``running_partitions`` names an environment variable that
    lists, separated by spaces, the partitions that run: where it is set, the others are left out,
    since a job for them would never start. An environment's ``prefix_variable`` names the variable
    that holds its installation prefix, ``{prefix}`` in its compilers: where it is not set, the
    environment is left out (``lacking_environments`` tells of it).

    Args:
        suite: root of the suite.

    Raises:
        FabricheckError: for a site file with anything wrong, where none of a site's partitions
            runs, for an unknown MPI family and for a prefix without its compiler.
    """
    sites = _read_sites(suite)
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
        "environments": [
            _resolve(environment)
            for site in sites
            for environment in site["environments"]
            if not _is_lacking(environment)
        ],
        "general": [
            {
                "check_search_recursive": True,
                "check_search_path": [str(suite / "checks"), *ADDED],
                "report_file": str(suite / "reports" / "run-{sessionid}.json"),
                "perf_info_level": "verbose",
                "poll_rate_min": 5,
                "keep_stage_files": True,
                "clean_stagedir": True,
            }
        ],
        "modes": [
            {
                "name": run,
                # A fixed order would let what drifts in an hour always hit the same cases.
                "options": [
                    f"--tag=^{run}$",
                    "--exec-order=random",
                    f"--session-extras=kind={run}",
                ],
            }
            for run in RUNS
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


def find_system(configuration: dict[str, Any], name: str) -> dict[str, Any]:
    """A system of the configuration.

    Raises:
        FabricheckError: if there is none of that name; the message lists the names.
    """
    systems: dict[str, dict[str, Any]] = {each["name"]: each for each in configuration["systems"]}
    if name not in systems:
        raise FabricheckError(
            f"expected a system of sites/ ({', '.join(sorted(systems))}), found {name!r}: "
            "use one of these, or write a site file (docs/reference/sites.md)"
        )
    return systems[name]


def lacking_environments(suite: Path, system: str) -> list[dict[str, Any]]:
    """The environments of a system that are left out, because nothing names their prefix."""
    return [
        environment
        for site in _read_sites(suite)
        for environment in site["environments"]
        if system in environment["target_systems"] and _is_lacking(environment)
    ]


def _is_lacking(environment: dict[str, Any]) -> bool:
    return "prefix_variable" in environment and not os.environ.get(environment["prefix_variable"])


def _resolve(environment: dict[str, Any]) -> dict[str, Any]:
    """An environment in ReFrame's schema, its MPI family and its prefix checked."""
    name, resolved = environment["name"], dict(environment)
    family = environment.get("extras", {}).get("mpi_family")
    if "mpi" in environment.get("features", ()) and family not in MPI_FAMILIES:
        raise FabricheckError(
            f"expected an MPI family ({', '.join(MPI_FAMILIES)}) as extras.mpi_family of "
            f"environment {name}, found {family!r}: correct the site file"
        )
    if variable := resolved.pop("prefix_variable", None):
        for compiler in ("cc", "cxx"):
            resolved[compiler] = environment[compiler].replace("{prefix}", os.environ[variable])
            if not os.access(resolved[compiler], os.X_OK):
                raise FabricheckError(
                    f"expected the compiler {resolved[compiler]} of environment {name}, found "
                    f"none: set {variable} to the MPI's installation prefix, or unset it"
                )
    return resolved


def _running_systems(site: dict[str, Any]) -> list[dict[str, Any]]:
    lacking = {each["name"] for each in site["environments"] if _is_lacking(each)}
    variable = site.get("running_partitions", "")
    running = os.environ.get(variable)
    systems = []
    for system in site["systems"]:
        partitions = [
            {**each, "environs": [name for name in each["environs"] if name not in lacking]}
            for each in system["partitions"]
            if running is None or each["name"] in running.split()
        ]
        for each in partitions:
            if each["scheduler"] == allocation.NAME and allocation.NAME not in each.get(
                "extras", {}
            ):
                raise FabricheckError(
                    f"expected nodes and time of the allocation of partition {each['name']} of "
                    f"system {system['name']}, found none: give its extras 'allocation: "
                    "{nodes: 4, time: 2h}' in the site file"
                )
        if not partitions:
            known = ", ".join(each["name"] for each in system["partitions"])
            raise FabricheckError(
                f"expected a partition of system {system['name']} ({known}) in the variable "
                f"{variable}, found {running!r}: name one that runs, or unset the variable"
            )
        systems.append({**system, "partitions": partitions})
    return systems


def _read_sites(suite: Path) -> list[dict[str, Any]]:
    found: dict[str, Path] = {}
    sites = []
    for path in sorted((suite / "sites").glob("*.yaml")):
        site = read(path)
        for system in site["systems"]:
            if (first := found.setdefault(system["name"], path)) != path:
                raise FabricheckError(
                    f"expected one site file for system {system['name']}, found {first} and "
                    f"{path}: give one of them another name"
                )
        sites.append(site)
    return sites


def _logging(suite: Path) -> dict[str, Any]:
    # ReFrame computes all attributes of a case for each line that it logs: with its debug lines
    # that is a third of a case's own time.
    level = os.environ.get("FABRICHECK_LOG_LEVEL", "verbose")
    return {
        "level": level,
        "handlers": [
            {"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"},
            {
                "type": "file",
                "name": str(suite / "reports" / "reframe.log"),
                "level": level,
                "format": "[%(asctime)s] %(levelname)s: %(check_info)s: %(message)s",
                "append": False,
            },
        ],
        "handlers_perflog": [
            {
                "type": HANDLER,
                "level": "info",
                "basedir": str(suite / "perflogs"),
                "format": "%(message)s",
            }
        ],
    }
