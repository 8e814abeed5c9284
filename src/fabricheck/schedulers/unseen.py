"""PBS (OpenPBS, Torque), LSF and Flux by the words of their manuals: no cluster of theirs was seen.

ReFrame starts their jobs and lists no nodes of theirs. What stands here are names of variables,
states of nodes, the words of a job that was ended, and lines for administrators.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from ClusterShell.NodeSet import NodeSet

from fabricheck.asking import UnansweredError, ask
from fabricheck.errors import FabricheckError
from fabricheck.nodes.names import unfold
from fabricheck.schedulers.protocol import Scheduler

_NODE: Final = re.compile(r"^(\S+)$(?:\n(?!\S).*)*?\n\s+state = (.+)$", re.MULTILINE)
"""A node of ``pbsnodes -a``: its name at the margin, its attributes below."""


@dataclass(frozen=True, kw_only=True)
class _Unseen(Scheduler):
    """What they have in common: a command prints the states of the nodes."""

    asks_states: ClassVar[tuple[str, ...]] = ()
    silent: ClassVar[re.Pattern[str]] = re.compile("")

    def node_states(self) -> dict[str, str]:
        """Its word for the state of each node."""
        try:
            return self.read_states(ask([*self.before, *self.asks_states], self.patience))
        except UnansweredError as error:
            raise FabricheckError(
                f"FC3607 expected an answer of {self.asks_states[0]}, found: {error}: run it where "
                f"{self.name} is"
            ) from None

    def read_states(self, text: str) -> dict[str, str]:
        """The states that its command printed."""
        return {}

    def is_silent(self, state: str) -> bool:
        """Whether a node in this state is down or doesn't respond."""
        return bool(self.silent.search(state))


@dataclass(frozen=True, kw_only=True)
class Pbs(_Unseen):
    """OpenPBS and PBS Professional, and Torque."""

    name: str = "PBS"
    command: str = "qsub"
    once: tuple[str, ...] = ("-r n",)
    says_version: ClassVar[tuple[str, ...]] = ("qstat", "--version")
    # A reservation of PBS is a queue.
    words: ClassVar[Mapping[str, str]] = {"reservation": "-q {}", "account": "-A {}"}
    job_variable: ClassVar[str] = "PBS_JOBID"
    keep_off: ClassVar[tuple[str, ...]] = (
        "without: name the others, -l select=1:host=NODE+...",
        "as an administrator: pbsnodes -C '{reason}' -o {each}",
    )
    time_limit: ClassVar[re.Pattern[str]] = re.compile(r"PBS: job killed: walltime")
    own_line: ClassVar[re.Pattern[str]] = re.compile(r"=>> PBS: ")
    asks_states: ClassVar[tuple[str, ...]] = ("pbsnodes", "-a")
    silent: ClassVar[re.Pattern[str]] = re.compile(r"\b(down|state-unknown|stale|unresolvable)\b")

    def read_states(self, text: str) -> dict[str, str]:
        """The states that ``pbsnodes -a`` printed."""
        return dict(_NODE.findall(text))


@dataclass(frozen=True, kw_only=True)
class Torque(Pbs):
    """Torque, whose reason is a note."""

    name: str = "Torque"
    words: ClassVar[Mapping[str, str]] = {"account": "-A {}"}
    keep_off: ClassVar[tuple[str, ...]] = (
        "without: name the others, -l nodes=NODE+...",
        "as an administrator: pbsnodes -N '{reason}' -o {each}",
    )


@dataclass(frozen=True, kw_only=True)
class Lsf(_Unseen):
    """LSF."""

    name: str = "LSF"
    command: str = "bsub"
    says_version: ClassVar[tuple[str, ...]] = ("lsid", "-V")
    words: ClassVar[Mapping[str, str]] = {
        "nodelist": '-m "{}"',
        "exclude": '-R "select[{}]"',
        "reservation": "-U {}",
        "account": "-P {}",
    }
    job_variable: ClassVar[str] = "LSB_JOBID"
    keep_off: ClassVar[tuple[str, ...]] = (
        "without: -R \"select[hname!='NODE']\" for each of {each}",
        "as an administrator: badmin hclose -C '{reason}' {each}",
    )
    time_limit: ClassVar[re.Pattern[str]] = re.compile(r"TERM_RUNLIMIT")
    own_line: ClassVar[re.Pattern[str]] = re.compile(r"TERM_[A-Z]+:")
    asks_states: ClassVar[tuple[str, ...]] = ("bhosts", "-w")
    silent: ClassVar[re.Pattern[str]] = re.compile(r"^(unavail|unreach|unlicensed|closed_LIM)")

    def asked(self, key: str, value: str) -> str:
        """Its option; it folds no names."""
        if key == "nodelist":
            value = " ".join(unfold(value))
        elif key == "exclude":
            value = " && ".join(f"hname!='{node}'" for node in unfold(value))
        return super().asked(key, value)

    def read_states(self, text: str) -> dict[str, str]:
        """The states that ``bhosts -w`` printed, below its header."""
        rows = (line.split() for line in text.splitlines()[1:])
        return {words[0]: words[1] for words in rows if len(words) > 1}


@dataclass(frozen=True, kw_only=True)
class Flux(_Unseen):
    """Flux."""

    name: str = "Flux"
    shortcoming: ClassVar[str] = (
        "ReFrame asks Flux for one task, whatever a case has: no case of two ranks can run"
    )
    command: str = "flux"
    says_version: ClassVar[tuple[str, ...]] = ("flux", "version")
    job_variable: ClassVar[str] = "FLUX_JOB_ID"
    keep_off: ClassVar[tuple[str, ...]] = (
        "without: --requires=-host:{nodes}",
        "as an administrator: flux resource drain {nodes} '{reason}'",
    )
    time_limit: ClassVar[re.Pattern[str]] = re.compile(r"type=timeout|resource allocation expired")
    own_line: ClassVar[re.Pattern[str]] = re.compile(r"flux-(job|shell)\b.*:")
    asks_states: ClassVar[tuple[str, ...]] = (
        *("flux", "resource", "list", "--states=free,allocated,down", "--no-header"),
        "--format={state} {nodelist}",
    )
    silent: ClassVar[re.Pattern[str]] = re.compile(r"^down$")

    def read_states(self, text: str) -> dict[str, str]:
        """The states that ``flux resource list`` printed, a line for each."""
        rows = (line.split() for line in text.splitlines())
        found = (words for words in rows if len(words) > 1)
        return {node: state for state, nodes in found for node in NodeSet(nodes)}


ROWS: Final[Mapping[str, Scheduler]] = {
    "pbs": Pbs(),
    "torque": Torque(),
    "lsf": Lsf(),
    "flux": Flux(),
}
"""By ReFrame's names of them."""
