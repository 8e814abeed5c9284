"""Recording on what and with what a session measures."""

import functools
import re
from pathlib import Path
from typing import Any

from reframe.core.exceptions import ReframeError

from fabricheck.asking import told
from fabricheck.history.provenance import alike
from fabricheck.nodes.machine import read_machines
from fabricheck.provenance import session
from fabricheck.record.write import append
from fabricheck.reframe_ext.reframe import emit_loadenv_commands
from fabricheck.schedulers import scheduler_of

# Spack's prefixes end in the hash of what is installed there.
_SPACK = re.compile(r"/([^/]+-[a-z0-9]{32})/")


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
        found = alike(
            read_machines(Path(check.stagedir)),
            check.node_list,
            self.software(check),
            session=session(),
            system=check.current_system.name,
            partition=check.current_partition.name,
            environ=check.current_environ.name,
        )
        for each in found:
            facts = (*each.machine.values(), *each.software.values())
            record = (each.partition, each.environ, each.nodes, facts)
            if record not in self._recorded:
                append(self._basedir, [each])
                self._recorded.add(record)

    def software(self, check: Any) -> dict[str, str]:
        """Facts of what a case was built with and what it ran in, as far as they are known."""
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


@functools.cache
def _scheduler(name: str) -> str:
    """The scheduler's name, and its version where it is known how to ask."""
    return scheduler_of(name).version() or name


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
    said = told(["bash", "-c", "\n".join(asked)]).splitlines()
    return (said[0], said[-1]) if len(said) > 1 else ("", "")
