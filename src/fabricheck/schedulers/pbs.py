"""OpenPBS and PBS Professional: their commands, their words, and how an MPI comes to its nodes."""

import json
import os
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

from fabricheck.asking import PATIENCE, UnansweredError, ask, told
from fabricheck.nodes.names import fold
from fabricheck.schedulers.hosts import EACH_HOST, of_launchers
from fabricheck.schedulers.protocol import Launcher, Partition, Run, Scheduler

NAME: Final = "openpbs"
"""The suite's own back end of ReFrame, which also runs what a site file calls pbs or pbspro."""

_SHELL: Final = str(Path(__file__).with_name("pbs_shell.sh"))
_OF_SITES: Final = ("FABRICHECK_ROOT", "FABRICHECK_SITES")
"""What site files name."""
_ANSWERS: Final = (0, 35, 153)
"""Exit codes of ``qstat``: all is said; a job has ended; a job is unknown."""
_NODE: Final = re.compile(r"^(\S+)$((?:\n[^\S\n].*)*)", re.MULTILINE)
"""A vnode of ``pbsnodes -av``: its name at the margin, its attributes below."""
_HOST: Final = re.compile(r"^\s+resources_available\.host = (.+)$", re.MULTILINE)
_STATE: Final = re.compile(r"^\s+state = (.+)$", re.MULTILINE)
_HAS_JOBS: Final = re.compile(r"^\s+jobs = \S", re.MULTILINE)


TM: Final = Launcher(
    name="pbs_tm",
    starts_mpi=False,
    on_one_node=EACH_HOST.on_one_node,
    on_each_node=EACH_HOST.on_each_node,
    example="ssh NODE",
)
"""A rank on each node by PBS itself, without input."""


@dataclass(frozen=True, kw_only=True)
class Pbs(Scheduler):
    """PBS."""

    name: str = "PBS"
    command: str = "qsub"
    once: tuple[str, ...] = ("-r n",)
    lists_nodes: ClassVar[bool] = True
    launcher: ClassVar[Launcher] = TM
    lists: ClassVar[tuple[str, ...]] = ("pbsnodes", "-av")
    says_version: ClassVar[tuple[str, ...]] = ("qstat", "--version")
    # A reservation of PBS is a queue; a job names its nodes itself.
    words: ClassVar[Mapping[str, str]] = {
        "nodelist": "--nodelist={}",
        "exclude": "--exclude={}",
        "reservation": "-q {}",
        "account": "-A {}",
    }
    by_name: ClassVar[str] = "--nodelist="
    idle: ClassVar[str] = "free"
    job_variable: ClassVar[str] = "PBS_JOBID"
    keep_off: ClassVar[tuple[str, ...]] = (
        "without: --exclude={nodes}",
        "as an administrator: pbsnodes -C '{reason}' -o {each}",
    )
    node_fault: ClassVar[re.Pattern[str]] = re.compile(r"=>> PBS: node \S+ is ")
    lost_node: ClassVar[re.Pattern[str]] = re.compile(r"=>> PBS: node (\S+) is ")
    time_limit: ClassVar[re.Pattern[str]] = re.compile(r"PBS: job killed: walltime")
    own_line: ClassVar[re.Pattern[str]] = re.compile(r"=>> PBS: ")
    asks_states: ClassVar[tuple[str, ...]] = lists
    silent: ClassVar[re.Pattern[str]] = re.compile(r"\b(down|state-unknown|stale|unresolvable)\b")

    def read_states(self, text: str) -> dict[str, str]:
        """The states of hosts, as ``pbsnodes`` printed them; one that is free in part has jobs.

        A host may be several vnodes, such as one for each socket, with states of their own: the
        worst is its. (Without ``-v`` PBS prints "<various>" for such a host.)
        """
        states: dict[str, str] = {}
        for vnode, attributes in _NODE.findall(text):
            if found := _STATE.search(attributes):
                busy = ", with jobs" if _HAS_JOBS.search(attributes) else ""
                state = found[1] + (busy if found[1] == self.idle else "")
                host = named[1] if (named := _HOST.search(attributes)) else vnode
                states[host] = max(states.get(host, self.idle), state, key=self._badness)
        return states

    def _badness(self, state: str) -> tuple[bool, bool, bool]:
        return self.is_silent(state), "offline" in state, not self.is_free(state)

    def partitions(self, run: Run) -> list[Partition]:
        """All nodes as one: what a queue may have of them it does not say."""
        text = run(self.lists)
        # Torque's command of that name prints the same, and no version.
        names = self.read_states(text) if "pbs_version" in text else {}
        return [Partition("nodes", len(names), fold(names))] if names else []

    def partition_settings(self, name: str) -> dict[str, Any]:
        """What the site file says of it; the queue is the default one."""
        return {"scheduler": "pbs", "launcher": "mpirun", "access": []}

    def is_free(self, state: str) -> bool:
        """Whether a whole node in this state can run a job now."""
        return state == self.idle

    def jobs(self, numbers: Sequence[str]) -> dict[str, dict[str, Any]] | None:
        """What it says of jobs, by their numbers; ``None`` where it does not answer.

        Of those that have ended it says nothing where it keeps no history.
        """
        kept = _jobs("-x", *numbers)
        if kept is None or not (rest := [each for each in numbers if each not in kept]):
            return kept
        # Without a history it says nothing of any job to who asks for ended ones too.
        going = _jobs(*rest)
        return None if going is None else {**kept, **going}

    def end(self, number: str) -> None:
        """End a job; by force, where its first node (its MoM) no longer answers."""
        try:
            ask(["qdel", number])
        except UnansweredError as error:
            if "MOM" in str(error).upper():
                told(["qdel", "-W", "force", number])


PBS: Final = Pbs()
ROWS: Final[Mapping[str, Scheduler]] = dict.fromkeys((NAME, "pbs", "pbspro"), PBS)
"""By ReFrame's names of it."""


def _jobs(*words: str) -> dict[str, dict[str, Any]] | None:
    try:
        done = subprocess.run(
            ["qstat", "-f", "-F", "json", *words],
            capture_output=True, text=True, errors="replace", check=False, timeout=PATIENCE,
        )  # fmt: skip
        # Without a history it may fail at "-x" in any way, and is asked again.
        if "-x" not in words and done.returncode not in _ANSWERS:
            return None
        return dict(json.loads(done.stdout, strict=False).get("Jobs", {}))
    except (OSError, subprocess.TimeoutExpired, json.JSONDecodeError):
        return None


def preamble() -> list[str]:
    """Lines of a job with which MPIs without PBS's own library come to its nodes.

    What a site sets itself comes later in the script, and holds. A job has nothing of the
    environment that it was submitted in.
    """
    lists = of_launchers('"$PWD/hosts.openmpi"', '"$PBS_NODEFILE"', shlex.quote(_SHELL))
    lists["FABRICHECK_NODES"] = '"$(awk \'!seen[$0]++\' "$PBS_NODEFILE" | paste -sd,)"'
    own = {name: os.environ[name] for name in _OF_SITES if name in os.environ}
    return [
        *(f"export {name}={shlex.quote(value)}" for name, value in own.items()),
        'uniq -c "$PBS_NODEFILE" | awk \'{print $2 " slots=" $1}\' >hosts.openmpi',
        *(f"export {name}={value}" for name, value in lists.items()),
    ]
