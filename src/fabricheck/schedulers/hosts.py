"""Hosts without a scheduler: a list of them, and a program that starts a command on one of them."""

import os
import re
import signal
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, ClassVar, Final

from fabricheck.asking import UnansweredError, ask, told
from fabricheck.schedulers.allocation import Held
from fabricheck.schedulers.protocol import Launcher, Scheduler

_EACH_HOST: Final = str(Path(__file__).with_name("each_host.sh"))
_AT_ONCE: Final = 64
_IDLE: Final = "idle"

EACH_HOST: Final = Launcher(
    name="hosts",
    starts_mpi=False,
    shares_input=True,
    on_one_node=f"{_EACH_HOST} first",
    on_each_node=f"{_EACH_HOST} 1",
)


@dataclass(frozen=True, kw_only=True)
class Hosts(Scheduler):
    """Hosts that partitions list, and of which each is free unless it does not answer."""

    name: str = "the remote shell"
    patience: float = 20.0

    lists_nodes: ClassVar[bool] = True
    holds_nodes: ClassVar[bool] = True
    shares_nodes: ClassVar[bool] = True
    launcher: ClassVar[Launcher] = EACH_HOST
    job_variable: ClassVar[str] = "FABRICHECK_JOB"
    nodes_variable: ClassVar[str] = "FABRICHECK_NODES"
    by_name: ClassVar[str] = "--nodelist="
    words: ClassVar[Mapping[str, str]] = {
        "nodelist": "--nodelist={}", "exclude": "--exclude={}"
    }  # fmt: skip
    keep_off: ClassVar[tuple[str, ...]] = ("without: --exclude={nodes}",)
    idle: ClassVar[str] = _IDLE
    time_limit: ClassVar[re.Pattern[str]] = re.compile(r"DUE TO TIME LIMIT")
    shells: ClassVar[dict[str, str]] = {}
    """Of each host of this session, what starts a command there."""

    def node_states(self) -> dict[str, str]:
        """Of each host ``idle``, or the last words of the remote shell."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            answers = pool.map(_state, self.shells.items(), repeat(self.patience))
            return dict(zip(self.shells, answers, strict=True))

    def is_free(self, state: str) -> bool:
        """Whether a host answered."""
        return state == _IDLE

    def is_silent(self, state: str) -> bool:
        """Whether a host was asked and did not answer."""
        return state not in ("", _IDLE)


HOSTS: Final = Hosts()


def _state(host: tuple[str, str], patience: float) -> str:
    try:
        ask([host[1], host[0], "true"], patience)
    except UnansweredError as error:
        return " ".join(str(error).split()) or "no answer"
    return _IDLE


def of_launchers(openmpi: str, hydra: str, shell: str) -> dict[str, str]:
    """What tells ``each_host.sh`` and the launchers of MPIs the hosts of a job.

    Args:
        openmpi: file of the hosts as Open MPI takes them, with slots.
        hydra: the same for Hydra.
        shell: what starts a command on one of them.
    """
    is_ssh = shell == "ssh"
    return {
        "FABRICHECK_REMOTE_SHELL": shell,
        # Open MPI's launchers, 4 and 5, which call it as ssh is called.
        "OMPI_MCA_orte_default_hostfile": openmpi,
        "PRTE_MCA_prte_default_hostfile": openmpi,
        "OMPI_MCA_plm_rsh_agent": shell,
        "PRTE_MCA_plm_ssh_agent": shell,
        # Hydra gives ssh options that another program may not know.
        "HYDRA_HOST_FILE": hydra,
        "HYDRA_LAUNCHER": "ssh" if is_ssh else "rsh",
        **({} if is_ssh else {"HYDRA_LAUNCHER_EXEC": shell}),
    }


class Listed(Held):
    """The hosts of a partition that answer.

    Attributes:
        silent: those that don't, with the last words of the remote shell.
    """

    job = "hosts"

    def __init__(self, hosts: Sequence[str], shell: str, most: int) -> None:
        self._hosts, self._shell, self._most = hosts, shell, most
        self.refresh()

    def refresh(self) -> None:
        """Ask all of them again."""
        states = HOSTS.node_states()
        self.silent = {host: states[host] for host in self._hosts if states[host] != _IDLE}
        self.nodes = tuple(each for each in self._hosts if each not in self.silent)[: self._most]

    def alive(self) -> bool:
        """Whether there are any hosts at all."""
        return True

    def variables(self, job: Any) -> dict[str, str]:
        """What tells ``each_host.sh`` and the launchers of MPIs the hosts of a job."""
        per_node = job.num_tasks_per_node or 1
        lists = {"openmpi": f"{{}} slots={per_node}\n", "hydra": f"{{}}:{per_node}\n"}
        for name, line in lists.items():
            text = "".join(map(line.format, job.nodes))
            (job.place / f"hosts.{name}").write_text(text)
        openmpi, hydra = (str(job.place / f"hosts.{name}") for name in lists)
        return {
            HOSTS.job_variable: job.jobid.rpartition("/")[2],
            HOSTS.nodes_variable: ",".join(job.nodes),
            **of_launchers(openmpi, hydra, self._shell),
        }

    def signal(self, job: Any, name: str) -> None:
        """Send a signal to ranks of ``each_host.sh``, and to the script, whose MPI hands it on."""
        for note in job.place.glob("remote.*"):
            host = note.name.partition(".")[2]
            if host in self._hosts and (leader := note.read_text().strip()).isdigit():
                told([self._shell, host, f"kill -{name} -{leader} {leader}"])
        with suppress(ProcessLookupError):
            os.killpg(job.process.pid, signal.Signals[f"SIG{name}"])
