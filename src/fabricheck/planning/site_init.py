"""A new site file, from what the machine says of itself."""

import itertools
import json
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml
from ClusterShell.NodeSet import NodeSet

from fabricheck.asking import MissingError, UnansweredError
from fabricheck.errors import FabricheckError
from fabricheck.nodes.cards import Cards
from fabricheck.planning import detect
from fabricheck.planning.site_manifest import COMMAND, cards_of, write_manifests
from fabricheck.provenance import SUITE
from fabricheck.schedulers import LOCAL, SCHEDULERS, launcher_of
from fabricheck.schedulers.protocol import Partition, Run, Scheduler
from fabricheck.sites.files import read, read_sites
from fabricheck.transports.families import MPIS

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")

# Only the suite's own environment knows its store, and what is measured with Spack's OSU needs it.
_MPIS_OF_OSU = ("--format", "{^mpi.name} {^mpi.variants}", "osu-micro-benchmarks")
_VERBS_LANES = {"rc_verbs", "rc_mlx5"}


@dataclass(frozen=True, slots=True)
class Hardware:
    """What a node has.

    Attributes:
        ports: RDMA ports.
        lanes: transports of UCX with their devices.
        processor: its CPUs.
        cards: the facts of its cards and ports.
    """

    ports: tuple[detect.DetectedPort, ...] = ()
    lanes: Mapping[str, set[str]] = field(default_factory=dict)
    processor: detect.Processor | None = None
    cards: Cards = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Facts:
    """What was found of a machine.

    Attributes:
        scheduler: that of this machine.
        partitions: those that answered; none without a scheduler.
        hardware: of a node of each partition, by its name; without a scheduler, of ``""``.
        spack: MPIs for which the suite's Spack has installed OSU.
        mpis: MPI families whose compilers are on PATH.
        modules: MPI families whose environment module is loaded, and its name.
        pmis: what the scheduler's launcher can speak to an MPI.
        programs: programs on PATH that checks without MPI use.
        missing: what could not be asked, in words.
    """

    scheduler: Scheduler = LOCAL
    partitions: tuple[Partition, ...] = ()
    hardware: Mapping[str, Hardware] = field(default_factory=dict)
    spack: tuple[str, ...] = ()
    mpis: tuple[str, ...] = ()
    modules: Mapping[str, str] = field(default_factory=dict)
    pmis: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def gather(run: Run, on_node: Sequence[str] = (), *, alone: bool = False) -> Facts:
    """Ask the tools.

    Args:
        run: runs a tool and gives its output (``asking.ask``).
        on_node: what to put before commands about the hardware of a node; the scheduler's launcher
            is asked for a node of each partition.
        alone: whether this machine is the whole site, also where a scheduler's commands are.

    Raises:
        FabricheckError: if the scheduler or the command for a node fails, partitions share one such
            command, or a tool says something that can't be read.
    """
    missing: list[str] = []

    def ask(what: str, *command: str) -> str:
        try:
            return run(command)
        except UnansweredError as error:
            missing.extend([f"{what}: {shlex.join(command)}: {error}"] if what else [])
            return ""

    scheduler, every = (LOCAL, []) if alone else _partitions(run)
    names = [each.name for each in every]
    ways = dict(_ways(run, on_node, scheduler.launcher.example, names, missing))
    if not ways:
        raise FabricheckError(f"FC0307 expected a partition, found {missing[0]}: correct --on-node")
    hardware = {
        name: Hardware(
            ports=tuple(detect.read_ibv_devinfo(ask("RDMA ports", *way, "ibv_devinfo", "-v"))),
            lanes=detect.read_ucx_info(ask("transports of UCX", *way, "ucx_info", "-d")),
            processor=detect.read_lscpu(ask("CPUs", *way, "lscpu", "--json")),
            cards=cards_of(ask("facts of cards", *way, *COMMAND)),
        )
        for name, way in ways.items()
    }
    in_spack = detect.read_spack_find(
        ask("MPIs of Spack", "spack", "-e", str(SUITE), "find", *_MPIS_OF_OSU)
    )
    compilers = {name: mpi.compilers[0] for name, mpi in MPIS.items() if mpi.compilers}
    loaded = _modules(os.environ.get("LOADEDMODULES", ""))
    mpis = [name for name, compiler in compilers.items() if ask("", compiler, "--version")]
    mpis = list(dict.fromkeys((*loaded, *mpis)))
    mpirun = "" if every else ask("MPI of mpirun", "mpirun", "--version")
    if launched := [name for name, mpi in MPIS.items() if mpi.launcher in mpirun]:
        others = [each for each in mpis if each not in launched]
        missing += [f"MPI {each}: mpirun is {launched[0]}'s" for each in others]
        mpis = [each for each in mpis if each in launched]
    programs = {"verbs": "ib_write_bw", "ucx": "ucx_perftest"}
    return Facts(
        scheduler=scheduler,
        partitions=tuple(each for each in every if each.name in hardware),
        hardware=hardware,
        spack=tuple(name for name in in_spack if name in MPIS),
        mpis=tuple(mpis),
        modules=loaded,
        pmis=tuple(detect.read_mpi_types(ask("PMIs", "sh", "-c", f"{listing} 2>&1")))
        if (listing := scheduler.launcher.pmis)
        else (),
        programs=tuple(feature for feature, name in programs.items() if shutil.which(name)),
        missing=tuple(missing),
    )


def _modules(loaded: str) -> dict[str, str]:
    """The MPI families among the modules that are loaded, as PATH/NAME/VERSION."""
    return {
        name: module
        for module in loaded.split(":")
        for name, mpi in MPIS.items()
        if set(mpi.modules) & set(module.split("/"))
    }


def _partitions(run: Run) -> tuple[Scheduler, list[Partition]]:
    """The first scheduler whose commands are there, and its partitions."""
    for scheduler in filter(lambda each: each.lists, SCHEDULERS.values()):
        try:
            return scheduler, scheduler.partitions(run)
        except MissingError:
            continue
        except UnansweredError as error:
            name = scheduler.name
            raise FabricheckError(
                f"FC0308 expected {scheduler.lists[0]} to list the partitions, found: {error}: run "
                f"it where {name} answers, or give --alone for this machine without {name}; "
                "nothing was written"
            ) from None
    return LOCAL, []


def _ways(
    run: Run, on_node: Sequence[str], example: str, partitions: Sequence[str], missing: list[str]
) -> Iterator[tuple[str, Sequence[str]]]:
    """The partitions that answer (alone ``""``), each with what reaches a node of it."""
    launcher = launcher_of(Path(on_node[0]).name if on_node else "")
    own_launcher = bool(launcher.of_partition)
    if (partitions and not on_node) or (len(partitions) > 1 and not own_launcher):
        raise FabricheckError(
            f"FC0309 expected --on-node such as {example!r}, found {shlex.join(on_node)!r}: each "
            f"of the partitions {', '.join(partitions)} has its own nodes; or give --alone for "
            "this machine without a scheduler; nothing was written"
        )
    way = [*on_node, *filter(None, [launcher.at_once])]
    if way:
        try:
            run((*way, "true"))
        except UnansweredError as error:
            raise FabricheckError(
                f"FC0310 expected {shlex.join(on_node)!r} to run a command on a node, found: "
                f"{error}: correct --on-node; nothing was written"
            ) from None
    for name in partitions or [""]:
        own = [*way, launcher.of_partition.format(name)] if own_launcher and partitions else way
        try:
            if own != way:
                run((*own, "true"))
            yield name, own
        except UnansweredError as error:
            missing.append(f"partition {name}, which is left out: {error}")


def unmeasured(facts: Facts) -> Iterator[str]:
    """What the site that is written will not measure, or twice."""
    for name, hardware in facts.hardware.items():
        if "rdma" not in _transports(hardware):
            yield (
                f"{name and f'partition {name}: '}no active RDMA port with verbs was seen: nothing "
                "on InfiniBand or RoCE will be measured"
            )
    for one, other in itertools.combinations(facts.partitions, 2):
        if shared := str(NodeSet(one.names) & NodeSet(other.names)):
            yield (
                f"partitions {one.name} and {other.name} share {shared}: every case would run "
                "twice there: take one of them out of the file"
            )


def write(path: Path, name: str, facts: Facts, hostname: str) -> None:
    """Write the site file.

    Args:
        path: the file, which must not exist.
        name: name of the system, which no other file may have.
        facts: what was found.
        hostname: regular expression of the hosts from which ReFrame is started.

    Raises:
        FabricheckError: if there is such a file or system already, or the facts make no site;
            nothing is left behind.
    """
    _check_name(path, name)
    site = _site(name, facts, hostname)
    manifests = _name_manifests(name, facts, site["systems"][0]["partitions"])
    # Without an anchor where two keys have one list.
    text = _HEAD.format(name=name) + yaml.safe_dump(
        json.loads(json.dumps(site)), sort_keys=False, default_flow_style=None, width=100
    )
    try:
        # A file that can't be read would stop every command that reads sites.
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".") as place:
            made = Path(place) / path.name
            made.write_text(text, "utf-8")
            read(made)
            path.hardlink_to(made)
        write_manifests(path.parent, manifests)
    except FileExistsError as error:
        raise FabricheckError(
            f"FC0311 expected no site file {path} yet, found one, which is left as it is: give the "
            "new site another name, or move the old file away"
        ) from error
    except OSError as error:
        raise FabricheckError(
            f"FC0312 expected a directory of site files to write {path} in, found: {error.strerror}"
        ) from error


def _check_name(path: Path, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise FabricheckError(
            "FC0313 expected a name of letters, digits, '_', '-' and '.' that begins with a "
            f"letter or digit, found {name!r}: choose another"
        )
    for other, site in read_sites([path.parent]).read.items():
        if other != path and name in [system["name"] for system in site["systems"]]:
            raise FabricheckError(
                f"FC0314 expected a system that no site file has, found {name} in {other}: choose "
                "another name"
            )


_HEAD = """\
# Written by "fabricheck site init {name}". "fabricheck site check {name}" lists what it could not
# detect; docs/reference/sites.md has every feature and extra.
"""


def _site(name: str, facts: Facts, hostname: str) -> dict[str, Any]:
    environments = environments_of(name, facts)
    of_all = {"environs": [each["name"] for each in environments], "max_jobs": 1}
    partitions = [_of_nodes(each, facts) for each in facts.partitions] or [_of_one_machine(facts)]
    system = {
        "name": name,
        "descr": f"{name}, as its tools describe it",
        "hostnames": [hostname],
        "partitions": [each | of_all for each in partitions],
    }
    return {"systems": [system], "environments": environments}


def _name_manifests(
    name: str, facts: Facts, partitions: Sequence[dict[str, Any]]
) -> dict[str, Cards]:
    """Let each partition whose cards are known name a manifest; these by their names."""
    found = {}
    for each in partitions:
        own = facts.hardware.get(each["name"]) or facts.hardware.get("", Hardware())
        if own.cards:
            found[manifest := f"{name}.{each['name']}.manifest.json"] = own.cards
            each.setdefault("extras", {})["node_health"] = {"manifest": manifest}
    return found


def _of_nodes(partition: Partition, facts: Facts) -> dict[str, Any]:
    hardware = facts.hardware[partition.name]
    counts = [2**power for power in range(partition.nodes.bit_length())] or [1]
    return {
        "name": partition.name,
        "descr": f"{partition.nodes} nodes",
        **facts.scheduler.partition_settings(partition.name),
        "features": [*_transports(hardware), *(f"nodes_{count}" for count in counts)],
        **_hardware(hardware),
    }


def _of_one_machine(facts: Facts) -> dict[str, Any]:
    return {
        "name": "here",
        "descr": "this machine, no scheduler",
        "scheduler": "local",
        "launcher": "mpirun",
        "features": ["shm", "nodes_1"],
        **_hardware(facts.hardware.get("", Hardware())),
    }


def _transports(hardware: Hardware) -> list[str]:
    """Features for the transports that UCX has on a node; TCP and memory are everywhere."""
    lanes, active = hardware.lanes, any(port.is_active for port in hardware.ports)
    has_rdma = active and bool(_VERBS_LANES & lanes.keys())
    has_dc = has_rdma and "dc_mlx5" in lanes
    return ["tcp", "shm", *(["rdma"] if has_rdma else []), *(["dc"] if has_dc else [])]


def _hardware(hardware: Hardware) -> dict[str, Any]:
    given: dict[str, Any] = {}
    devices = {}
    # Of several interfaces, which one is for the data only the site knows.
    interfaces = hardware.lanes.get("tcp", set()) - {"lo"}
    if len(interfaces) == 1:
        devices["tcp"] = next(iter(interfaces))
    active = [port for port in hardware.ports if port.is_active]
    if active:
        first = active[0]
        same = [port for port in active if port.gigabits == first.gigabits]
        given["fabric"] = "infiniband" if first.layer == "InfiniBand" else "roce"
        if first.gigabits:
            given["link_rate"] = first.gigabits
        devices["rdma"] = ",".join(map(str, same))
    if devices:
        given["ucx_net_devices"] = devices
    found = {"processor": asdict(hardware.processor)} if hardware.processor else {}
    return {**found, "extras": given} if given else found


def environments_of(name: str, facts: Facts) -> list[dict[str, Any]]:
    """The environments of a system's site file: of each MPI, and ``builtin``."""
    environments = []
    for family in dict.fromkeys((*facts.spack, *facts.mpis)):
        in_spack = family in facts.spack
        module = None if in_spack else facts.modules.get(family)
        is_own = family in facts.mpis and family not in facts.modules
        cc, cxx = MPIS[family].compilers if is_own else ("mpicc", "mpicxx")
        pmi = next((each for each in MPIS[family].pmi if each in facts.pmis), None)
        spec = MPIS[family].spec if in_spack else None
        settings = {"mpi_family": family, "pmi": pmi, "mpi_spec": spec}
        environments.append(
            {
                "name": family,
                "cc": cc,
                "cxx": cxx,
                "ftn": "",
                "features": ["mpi", *(["spack"] if in_spack else [])],
                "extras": {key: value for key, value in settings.items() if value},
                **({"modules": [module]} if module else {}),
                **({} if facts.partitions else {"env_vars": [*MPIS[family].alone.items()]}),
                "target_systems": [name],
            }
        )
    builtin = {"name": "builtin", "features": [*facts.programs], "target_systems": [name]}
    return [*environments, builtin]
