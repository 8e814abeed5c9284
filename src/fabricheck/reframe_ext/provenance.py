"""Recording on what and with what a session measures."""

import functools
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reframe.core.exceptions import ReframeError
from reframe.core.runtime import emit_loadenv_commands

from fabricheck.history.provenance import MACHINE, SOFTWARE, UNTOLD
from fabricheck.node_health.origin import read_origins
from fabricheck.record.model import Nodes, moment
from fabricheck.record.write import append

_PATIENCE = 30
# Spack's prefixes end in the hash of what is installed there.
_SPACK = re.compile(r"/([^/]+-[a-z0-9]{32})/")
_ASKED = {"slurm": ("sinfo", "--version"), "squeue": ("sinfo", "--version")}


class Provenance:
    """What a process, which is one session, has recorded of its provenance.

    Args:
        basedir: where the record is.
    """

    def __init__(self, basedir: Path) -> None:
        self._basedir = basedir
        self._recorded: set[tuple[object, ...]] = set()
        self._compilers: dict[tuple[str, str], tuple[str, str]] = {}

    def record(self, check: Any) -> None:
        """Record on what nodes and with what software a case ran, if that is not recorded yet.

        What can't be read is recorded as such. Nodes with the same facts make one record.

        Raises:
            FabricheckError: if it can't be written.
        """
        told = read_origins(Path(check.stagedir))
        alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for node in sorted({*told, *check.node_list}):
            alike[tuple(_facts(MACHINE, told.get(node, {})).values())].append(node)
        system, partition = check.current_system.name, check.current_partition.name
        environment = check.current_environ.name
        software = _facts(SOFTWARE, self._software(check))
        for machine, nodes in alike.items():
            record = (partition, environment, tuple(nodes), machine, tuple(software.values()))
            if record in self._recorded:
                continue
            alike_nodes = Nodes(
                time=moment(),
                session=check.session,
                system=system,
                partition=partition,
                environ=environment,
                nodes=tuple(nodes),
                machine=dict(zip(MACHINE, machine, strict=True)),
                software=software,
            )
            append(self._basedir, [alike_nodes])
            self._recorded.add(record)

    def _software(self, check: Any) -> dict[str, str]:
        place = check.current_partition.fullname, check.current_environ.name
        if place not in self._compilers:
            self._compilers[place] = _compiler(check.current_partition, check.current_environ)
        compiler, wrapper = self._compilers[place]
        spack = _SPACK.search(wrapper)
        return {
            "scheduler": _scheduler(check.current_partition.scheduler.registered_name),
            "mpi": check.mpi_version,
            "ucx": check.ucx_version,
            "compiler": compiler,
            "spack": spack[1] if spack else "",
            "program": f"{check.program} {check.program_version}".strip(),
            "commit": check.commit,
            **(check.build.programs.origin() if hasattr(check, "build") else {}),
        }


def _facts(names: tuple[str, ...], known: Mapping[str, str]) -> dict[str, str]:
    return {name: known.get(name) or UNTOLD for name in names}


@functools.cache
def _scheduler(name: str) -> str:
    """The scheduler's name, and its version where it is known how to ask."""
    return _first_line(_ASKED[name]) or name if name in _ASKED else str(name)


def _compiler(partition: Any, environ: Any) -> tuple[str, str]:
    """What an environment's C compiler says of its version, and where its wrapper really is.

    It is asked where ReFrame runs, with the environment loaded.
    """
    if not environ.cc:
        return "", ""
    try:
        commands = emit_loadenv_commands(partition.local_env, environ)
    except ReframeError:
        return "", ""
    asked = [*commands, f"{environ.cc} --version", f'realpath "$(command -v {environ.cc})"']
    said = _lines(["bash", "-c", "\n".join(asked)])
    return (said[0], said[-1]) if len(said) > 1 else ("", "")


def _first_line(command: tuple[str, ...]) -> str:
    return next(iter(_lines(list(command))), "")


def _lines(command: list[str]) -> list[str]:
    """What a program prints; nothing where it isn't installed, fails or hangs."""
    if not shutil.which(command[0]):
        return []
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE, check=True, errors="replace"
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return ended.stdout.splitlines()
