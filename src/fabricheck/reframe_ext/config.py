"""ReFrame's configuration, put together from one file for each site."""

import contextlib
import os
import re
import shutil
import socket
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from reframe.core.exceptions import ConfigError

from fabricheck.errors import FabricheckError
from fabricheck.measures import ADDED
from fabricheck.measures.benchmark import RUNS
from fabricheck.provenance import SUITE, folders, home
from fabricheck.reframe_ext import allocation
from fabricheck.reframe_ext.command import UNRECORDED
from fabricheck.reframe_ext.hosts import NAME as HOSTS
from fabricheck.reframe_ext.pbs import own_name
from fabricheck.reframe_ext.recorder import HANDLER
from fabricheck.reframe_ext.reframe import log_files
from fabricheck.reframe_ext.rota import has_groups, leaves_of
from fabricheck.reframe_ext.varied import in_one_allocation, record_of
from fabricheck.schedulers import scheduler_of
from fabricheck.sites.extras import EnvironmentExtras, PartitionExtras
from fabricheck.sites.files import Sites, features_of, read_sites
from fabricheck.sites.wheels import wheel_prefix
from fabricheck.transports.families import MPIS
from fabricheck.transports.placement import SWITCH_GROUPS

_FALLBACK = "local"
_BY_PLACE = "%(check_system)s/%(check_partition)s"
_WHEELS = Path("build/mpi")
KEEP = "FABRICHECK_KEEP_REPORTS"
"""Environment variable with which ReFrame keeps its run reports and its results database, for its
own tools; nothing of the suite reads them."""

MAX_JOBS = "FABRICHECK_MAX_JOBS"
"""Environment variable with how many jobs of a partition there may be at once, in place of what
site files say."""


def configure_reframe(suite: Path = SUITE) -> dict[str, Any]:
    """``site_configuration`` for ReFrame itself.

    Raises:
        ConfigError: for what ``site_configuration`` refuses. ReFrame prints it in one line, where
            anything else would end in a traceback.
    """
    try:
        if UNRECORDED not in os.environ:
            (home(suite) / "reports").mkdir(exist_ok=True)
    except FabricheckError as error:
        raise ConfigError(str(error)) from error
    read = usable_sites(suite)
    broken = "; ".join(map(str, read.broken.values()))
    configuration = _configuration(suite, read)
    if broken and _named_system() not in [each["name"] for each in configuration["systems"]]:
        # ReFrame would take another system that fits this host.
        raise ConfigError(f"{broken}; other systems can be named with --system")
    if broken:
        sys.stderr.write(f"WARNING: left out: {broken}\n")
    _forget_first_log()
    return configuration


def _forget_first_log() -> None:
    """Remove the log that ReFrame began in the temporary directory before it had a configuration.

    Every start leaves one there. With this configuration what follows goes to another file; if it
    can't be used, ReFrame's words name that log, and it stays.
    """
    own = str(Path(tempfile.gettempdir()) / "rfm-")
    # Without a logger there is none.
    with contextlib.suppress(AttributeError):
        for path in log_files():
            if path.startswith(own):
                Path(path).unlink(missing_ok=True)


def _named_system() -> str:
    """The system that ReFrame's command line or environment names; empty if none is."""
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--system", default=os.environ.get("RFM_SYSTEM", ""))
    return str(parser.parse_known_args()[0].system).partition(":")[0]


def site_configuration(suite: Path) -> dict[str, Any]:
    """ReFrame's ``site_configuration`` for every site file that can be used.

    The systems and environments are data in ReFrame's own schema; logging, storage and places are
    the same everywhere. The system ``local`` fits any host, so it comes last.

    Some keys are ours. A site file's ``running_partitions`` names an environment variable that
    lists, separated by spaces, the partitions that run: where it is set, the others are left out,
    since a job for them would never start; where it is not, the system fits no host. An
    environment's ``prefix_variable`` names the variable that holds its installation prefix,
    ``prefix`` a folder of the suite that is taken where that is not set, ``wheel`` a distribution
    that pip has installed; ``{prefix}`` in its compilers and variables stands for it. Where none is
    there, or a program that it ``needs`` is not on ``PATH``, the environment is left out
    (``lacking_environments`` tells of it).

    Args:
        suite: root of the suite.

    """
    return _configuration(suite, usable_sites(suite))


def _configuration(suite: Path, read: Sites) -> dict[str, Any]:
    root, keep = home(suite), bool(os.environ.get(KEEP))
    run_report = str(root / "reports" / "run-{sessionid}.json") if keep else os.devnull
    places = {"stagedir": str(root / "stage"), "outputdir": str(root / "output")}
    sites = sorted(read.read.values(), key=lambda site: site["systems"][0]["name"] == _FALLBACK)
    return {
        "systems": [
            {**places, **system, "partitions": [*map(_once, system["partitions"])]}
            for site in sites
            for system in site["systems"]
        ],
        "environments": [environment for site in sites for environment in site["environments"]],
        "general": [
            {
                "check_search_recursive": True,
                "check_search_path": [str(suite / "checks"), *ADDED],
                "report_file": run_report,
                "perf_info_level": "verbose",
                # A question a second to a scheduler that serves others, too.
                "poll_rate_min": 1,
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
                "enable": keep,
                "backend": "sqlite",
                "sqlite_db_file": str(root / "reports" / "results.db"),
            }
        ],
        "logging": [
            _logging(root),
            *(_logging(root, site) for site in sites if site.get("handlers_perflog")),
        ],
    }


def _once(partition: dict[str, Any]) -> dict[str, Any]:
    """A partition whose jobs end with a node that dies: a second try would hide it."""
    options = scheduler_of(partition["scheduler"]).once
    most = {"max_jobs": int(given)} if (given := os.environ.get(MAX_JOBS)) else {}
    return {**partition, **most, "access": [*options, *partition.get("access", ())]}


def find_system(suite: Path, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The configuration, and a system of it.

    Raises:
        FabricheckError: if there is none of that name; the message lists the names, and what is
            wrong with site files that can't be used.
    """
    read = usable_sites(suite)
    configuration = _configuration(suite, read)
    systems: dict[str, dict[str, Any]] = {each["name"]: each for each in configuration["systems"]}
    if name not in systems:
        broken = "".join(f"; left out: {error}" for error in read.broken.values())
        raise FabricheckError(
            f"FC0502 expected a system of sites/ ({', '.join(sorted(systems))}), found {name!r}: "
            f"use one of these, or write a site file (docs/reference/sites.md){broken}"
        )
    return configuration, systems[name]


def system_here(suite: Path = SUITE) -> str:
    """The system whose site file names this host, as ReFrame finds it.

    Raises:
        FabricheckError: if none or several do, or a site file can't be read. A system that fits any
            host, such as ``local``, is never chosen for it.
    """
    read, host = usable_sites(suite), socket.gethostname()
    systems = {each["name"]: each for site in read.read.values() for each in site["systems"]}
    fitting = [
        name
        for name, system in systems.items()
        if any(re.match(each, host) and not re.match(each, "") for each in system["hostnames"])
    ]
    if len(fitting) == 1 and not read.broken:
        return str(fitting[0])
    broken = "".join(f"; left out: {error}" for error in read.broken.values())
    raise FabricheckError(
        f"FC0503 expected --system, or one system whose hostnames fit this host ({host}), found "
        f"{' and '.join(fitting) or 'none'}: name one of {', '.join(sorted(systems))}{broken}"
    )


def lacking_environments(suite: Path, system: str) -> list[dict[str, Any]]:
    """The environments of a system that are left out, because nothing names their prefix."""
    return [
        environment
        for site in read_sites(folders("sites", suite)).read.values()
        for environment in site["environments"]
        if system in environment["target_systems"] and _is_lacking(environment, suite)
    ]


def prefix_of(environment: Mapping[str, Any], suite: Path) -> str:
    """The installation prefix of an environment; empty where it has none, or none is there."""
    given = os.environ.get(environment.get("prefix_variable", ""), "")
    own = home(suite) / environment["prefix"] if "prefix" in environment else None
    return given or (str(own) if own and own.is_dir() else _wheel(environment)[0])


def _wheel(environment: Mapping[str, Any]) -> tuple[str, str]:
    if "wheel" not in environment:
        return "", ""
    return wheel_prefix(environment["wheel"], Path(environment["cc"]).name)


def why_lacking(environment: Mapping[str, Any]) -> str:
    """Why an environment of ``lacking_environments`` is not there, and what brings it."""
    reasons = []
    if variable := environment.get("prefix_variable"):
        reasons.append(f"the variable {variable} names no installation prefix")
    if prefix := environment.get("prefix"):
        made = Path(prefix).parent == _WHEELS and (SUITE / "ci" / "mpi-wheel").exists()
        reasons.append(f"{prefix} is not there" + f" (ci/mpi-wheel {Path(prefix).name})" * made)
    if why := _wheel(environment)[1]:
        family = EnvironmentExtras.of(environment.get("extras")).mpi_family
        reasons.append(f"{why} (pip install 'fabricheck[{family}]')")
    reasons += [f"{each} is not on PATH" for each in _missing(environment)]
    return " and ".join(reasons)


def _missing(environment: Mapping[str, Any]) -> list[str]:
    return [each for each in environment.get("needs", ()) if not shutil.which(each)]


def _is_lacking(environment: Mapping[str, Any], suite: Path) -> bool:
    is_placed = any(key in environment for key in ("prefix_variable", "prefix", "wheel"))
    return bool(_missing(environment)) or (is_placed and not prefix_of(environment, suite))


def _resolve(environment: dict[str, Any], suite: Path) -> dict[str, Any]:
    """An environment in ReFrame's schema, its MPI family and its prefix checked."""
    name, resolved = environment["name"], dict(environment)
    resolved.pop("needs", None)
    family = EnvironmentExtras.of(environment.get("extras")).mpi_family
    if "mpi" in environment.get("features", ()) and family not in MPIS:
        raise FabricheckError(
            f"FC0504 expected an MPI family ({', '.join(MPIS)}) as extras.mpi_family of "
            f"environment {name}, found {family or None!r}: correct the site file"
        )
    if prefix := prefix_of(environment, suite):
        named = [resolved.pop(key, "") for key in ("prefix_variable", "prefix", "wheel")]
        resolved["env_vars"] = [
            [key, value.replace("{prefix}", prefix)]
            for key, value in environment.get("env_vars", [])
        ]
        for compiler in ("cc", "cxx"):
            resolved[compiler] = environment[compiler].replace("{prefix}", prefix)
            if not os.access(resolved[compiler], os.X_OK):
                raise FabricheckError(
                    f"FC0505 expected the compiler {resolved[compiler]} of environment {name}, "
                    f"found none: correct {' or '.join(filter(None, named))}, which says where the "
                    "MPI is installed"
                )
    return resolved


def _groups(partition: Mapping[str, Any]) -> list[str]:
    """The feature of a partition whose topology has switch groups; `site check` judges the file."""
    with contextlib.suppress(FabricheckError):
        if has_groups(leaves_of(PartitionExtras.of(partition.get("extras")).topology)):
            return [SWITCH_GROUPS]
    return []


def _running_systems(site: dict[str, Any], suite: Path) -> list[dict[str, Any]]:
    lacking = [each["name"] for each in site["environments"] if _is_lacking(each, suite)]
    variable = site.get("running_partitions", "")
    running = os.environ.get(variable)
    systems = []
    for system in site["systems"]:
        partitions = [
            {
                **each,
                "scheduler": own_name(each["scheduler"]),
                "environs": [name for name in each["environs"] if name not in lacking],
                "features": [*features_of(each), *_groups(each)],
            }
            for each in map(in_one_allocation, system["partitions"])
            if running is None or each["name"] in running.split()
        ]
        for each in partitions:
            extras = PartitionExtras.of(each.get("extras"))
            if each["scheduler"] == HOSTS and not extras.hosts:
                raise FabricheckError(
                    f"FC0940 expected the hosts of partition {each['name']} of system "
                    f"{system['name']}, found none: give its extras 'hosts: [n1, n2]' in the site "
                    "file"
                )
            if each["scheduler"] == allocation.NAME and extras.allocation is None:
                raise FabricheckError(
                    f"FC0506 expected nodes and time of the allocation of partition {each['name']} "
                    f"of system {system['name']}, found none: give its extras 'allocation: "
                    "{nodes: 4, time: 2h}' in the site file"
                )
        if not partitions:
            known = ", ".join(each["name"] for each in system["partitions"])
            raise FabricheckError(
                f"FC0507 expected a partition of system {system['name']} ({known}) in the variable "
                f"{variable}, found {running!r}: name one that runs, or unset the variable"
            )
        # Where nothing says what runs, it is not this host that the system is named after.
        hosts = [] if variable and running is None else system["hostnames"]
        systems.append({**system, "hostnames": hosts, "partitions": partitions})
    return systems


def usable_sites(suite: Path) -> Sites:
    """The sites as ReFrame takes them, without what can't be used here."""
    found = read_sites(folders("sites", suite))
    usable = {}
    for path, site in found.read.items():
        try:
            usable[path] = {
                "systems": _running_systems(site, suite),
                "environments": [
                    _resolve(each, suite)
                    for each in site["environments"]
                    if not _is_lacking(each, suite)
                ],
                "handlers_perflog": site.get("handlers_perflog", ()),
            }
        except FabricheckError as error:
            found.broken[path] = error
    return Sites(usable, found.broken)


def _logging(root: Path, site: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """ReFrame's logging; of a site that names handlers of its own, beside the record.

    They get nothing where nothing is recorded.
    """
    # ReFrame computes all attributes of a case for each line that it logs: with its debug lines
    # that is a third of a case's own time.
    level = os.environ.get("FABRICHECK_LOG_LEVEL", "verbose")
    # What records nothing leaves the log of a run under way as it is.
    is_recorded = UNRECORDED not in os.environ
    log = str(root / "reports" / "reframe.log") if is_recorded else os.devnull
    where = {"basedir": str(root / "reports" / "filelog"), "prefix": _BY_PLACE}
    theirs = [
        {"level": "info", **(where if each["type"] == "filelog" else {}), **each}
        for each in site.get("handlers_perflog", ())
    ]
    systems = [each["name"] for each in site.get("systems", ())]
    return {
        **({"target_systems": systems} if systems else {}),
        "level": level,
        "handlers": [
            {"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"},
            {
                "type": "file",
                "name": log,
                "level": level,
                "format": "[%(asctime)s] %(levelname)s: %(check_info)s: %(message)s",
                "append": False,
            },
        ],
        "handlers_perflog": [
            {
                "type": HANDLER,
                "level": "info",
                "basedir": str(record_of(root)),
                "format": "%(message)s",
            },
            *(theirs if is_recorded else ()),
        ],
    }
