"""A new site file, from what the machine says of itself."""

import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from fabricheck.errors import FabricheckError
from fabricheck.planning import detect
from fabricheck.provenance import SUITE
from fabricheck.sites.files import read, read_sites
from fabricheck.transports import MPI_FAMILIES

_TIME_LIMIT = 60
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_MPIS: Mapping[str, tuple[str, ...]] = {
    "openmpi": ("mpicc.openmpi", "mpicxx.openmpi"),
    "mpich": ("mpicc.mpich", "mpicxx.mpich"),
}
"""Compilers of MPIs that stand beside each other on PATH, as on Debian."""

# Only the suite's own environment knows its store, and what is measured with Spack's OSU needs it.
_MPIS_OF_OSU = ("--format", "{^mpi.name} {^mpi.variants}", "osu-micro-benchmarks")
_PMI: Mapping[str, tuple[str, ...]] = {
    "openmpi": ("pmix",),
    "mpich": ("pmi2", "pmix"),
    "mvapich2": ("pmi2", "pmix"),
    "mvapich2_nemesis": ("pmi2",),
    "mvapich": ("pmi2", "pmix"),
}
"""What ``srun --mpi`` should speak to each family, the best first."""

# Two builds of one package: its name alone would name both.
_MPI_SPECS = {
    "mvapich2": "^mvapich2 fabrics=mrail",
    "mvapich2_nemesis": "^mvapich2 fabrics=nemesis",
}

_VERBS_LANES = {"rc_verbs", "rc_mlx5"}
Run = Callable[[Sequence[str]], str | None]


@dataclass(frozen=True, slots=True)
class Facts:
    """What was found of a machine.

    Attributes:
        partitions: those of Slurm; none where there is no Slurm.
        ports: RDMA ports.
        lanes: transports of UCX with their devices.
        processor: CPUs of a node.
        spack: MPIs for which the suite's Spack has installed OSU.
        mpis: MPI families whose compilers are on PATH.
        pmis: what ``srun --mpi`` offers.
        programs: programs on PATH that checks without MPI use.
        missing: what could not be asked, in words.
    """

    partitions: tuple[detect.Partition, ...] = ()
    ports: tuple[detect.Port, ...] = ()
    lanes: Mapping[str, set[str]] = field(default_factory=dict)
    processor: detect.Processor | None = None
    spack: tuple[str, ...] = ()
    mpis: tuple[str, ...] = ()
    pmis: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def run_tool(command: Sequence[str]) -> str | None:
    """What a tool prints; ``None`` where it is not there or fails."""
    if shutil.which(command[0]) is None:
        return None
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_TIME_LIMIT
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    # srun lists its PMIs on standard error.
    return ended.stdout + ended.stderr if ended.returncode == 0 else None


def gather(run: Run, on_node: Sequence[str] = ()) -> Facts:
    """Ask the tools.

    Args:
        run: runs a tool and gives its output, ``None`` where there is none.
        on_node: what to put before commands about the hardware of a node, such as ``srun -N1``.

    Raises:
        FabricheckError: if a tool says something that can't be read.
    """
    missing = []

    def ask(what: str, *command: str) -> str:
        said = run(command)
        if said is None:
            missing.append(f"{what}: {shlex.join(command)} gave nothing")
        return said or ""

    return Facts(
        partitions=tuple(
            detect.read_sinfo(ask("partitions", "sinfo", "-h", "-o", detect.SINFO_FORMAT))
        ),
        ports=tuple(detect.read_ibv_devinfo(ask("RDMA ports", *on_node, "ibv_devinfo", "-v"))),
        lanes=detect.read_ucx_info(ask("transports of UCX", *on_node, "ucx_info", "-d")),
        processor=detect.read_lscpu(ask("CPUs", *on_node, "lscpu", "--json")),
        spack=tuple(
            name
            for name in detect.read_spack_find(
                ask("MPIs of Spack", "spack", "-e", str(SUITE), "find", *_MPIS_OF_OSU)
            )
            if name in MPI_FAMILIES
        ),
        mpis=tuple(
            family for family, (compiler, _) in _MPIS.items() if run((compiler, "--version"))
        ),
        pmis=tuple(detect.read_mpi_types(ask("PMIs of Slurm", "srun", "--mpi=list"))),
        programs=tuple(
            feature
            for feature, program in (("verbs", "ib_write_bw"), ("ucx", "ucx_perftest"))
            if shutil.which(program)
        ),
        missing=tuple(missing),
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
    text = _HEAD.format(name=name) + yaml.safe_dump(
        _site(name, facts, hostname), sort_keys=False, default_flow_style=None, width=100
    )
    try:
        # A file that can't be read would stop every command that reads sites.
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".") as place:
            made = Path(place) / path.name
            made.write_text(text, "utf-8")
            read(made)
            path.hardlink_to(made)
    except FileExistsError as error:
        raise FabricheckError(
            f"expected no site file {path} yet, found one, which is left as it is: give the new "
            "site another name, or move the old file away"
        ) from error
    except OSError as error:
        raise FabricheckError(
            f"expected a directory of site files to write {path} in, found: {error.strerror}"
        ) from error


def _check_name(path: Path, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise FabricheckError(
            f"expected a name of letters, digits, '_', '-' and '.' that begins with a letter or "
            f"digit, found {name!r}: choose another"
        )
    for other, site in read_sites([path.parent]).read.items():
        if other != path and name in [system["name"] for system in site["systems"]]:
            raise FabricheckError(
                f"expected a system that no site file has, found {name} in {other}: choose another "
                "name"
            )


_HEAD = """\
# Written by "fabricheck site init {name}". "fabricheck site check {name}" tells what it could not
# know; docs/reference/sites.md has every feature and extra.
"""


def _site(name: str, facts: Facts, hostname: str) -> dict[str, Any]:
    environments = _environments(name, facts)
    names = [each["name"] for each in environments]
    partitions = [_of_slurm(each, facts, names) for each in facts.partitions]
    return {
        "systems": [
            {
                "name": name,
                "descr": f"{name}, as its tools describe it",
                "hostnames": [hostname],
                "partitions": partitions or [_of_one_machine(facts, names)],
            }
        ],
        "environments": environments,
    }


def _of_slurm(partition: detect.Partition, facts: Facts, environs: list[str]) -> dict[str, Any]:
    counts, count = [1], 2
    while count <= partition.nodes:
        counts.append(count)
        count *= 2
    return {
        "name": partition.name,
        "descr": f"{partition.nodes} nodes",
        "scheduler": "squeue",
        "launcher": "srun",
        "access": [f"--partition={partition.name}"],
        "environs": environs,
        "max_jobs": 1,
        "features": [*_transports(facts), *(f"nodes-{count}" for count in counts)],
        **_hardware(facts),
        "sched_options": {"use_nodes_option": True},
    }


def _of_one_machine(facts: Facts, environs: list[str]) -> dict[str, Any]:
    return {
        "name": "here",
        "descr": "this machine, no scheduler",
        "scheduler": "local",
        "launcher": "mpirun",
        "environs": environs,
        "max_jobs": 1,
        "features": ["shm", "nodes-1"],
        **_hardware(facts),
    }


def _transports(facts: Facts) -> list[str]:
    """Features for the transports that UCX has on a node; TCP and memory are everywhere."""
    has_rdma = bool(_VERBS_LANES & facts.lanes.keys()) and any(p.is_active for p in facts.ports)
    has_dc = has_rdma and "dc_mlx5" in facts.lanes
    return ["tcp", "shm", *(["rdma"] if has_rdma else []), *(["dc"] if has_dc else [])]


def _hardware(facts: Facts) -> dict[str, Any]:
    extras: dict[str, Any] = {}
    devices = {}
    # Of several interfaces, which one is for the data only the site knows.
    interfaces = facts.lanes.get("tcp", set()) - {"lo"}
    if len(interfaces) == 1:
        devices["tcp"] = next(iter(interfaces))
    active = [port for port in facts.ports if port.is_active]
    if active:
        first = active[0]
        same = [port for port in active if port.gigabits == first.gigabits]
        extras["fabric"] = "infiniband" if first.layer == "InfiniBand" else "roce"
        if first.gigabits:
            extras["link_rate"] = first.gigabits
        devices["rdma"] = ",".join(map(str, same))
    if devices:
        extras["ucx_net_devices"] = devices
    found: dict[str, Any] = {}
    if facts.processor:
        found["processor"] = {
            "num_cpus": facts.processor.num_cpus,
            "num_cpus_per_core": facts.processor.num_cpus_per_core,
            "num_sockets": facts.processor.num_sockets,
        }
    return {**found, "extras": extras} if extras else found


def _environments(name: str, facts: Facts) -> list[dict[str, Any]]:
    found = []
    for family in dict.fromkeys((*facts.spack, *facts.mpis)):
        cc, cxx = _MPIS[family] if family in facts.mpis else ("mpicc", "mpicxx")
        pmi = next((each for each in _PMI[family] if each in facts.pmis), None)
        in_spack = family in facts.spack
        extras = {
            "mpi_family": family,
            **({"pmi": pmi} if pmi else {}),
            **({"mpi_spec": _MPI_SPECS.get(family, f"^{family}")} if in_spack else {}),
        }
        found.append(
            {
                "name": family,
                "cc": cc,
                "cxx": cxx,
                "ftn": "",
                "features": ["mpi", *(["spack"] if in_spack else [])],
                "extras": extras,
                "target_systems": [name],
            }
        )
    builtin = {"name": "builtin", "features": [*facts.programs], "target_systems": [name]}
    return [*found, builtin]
