"""Torque, LSF and Flux by the words of their manuals: no cluster of theirs was seen.

ReFrame starts their jobs and lists no nodes of theirs. What stands here are names of variables,
states of nodes, the words of a job that was ended, and lines for administrators.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from ClusterShell.NodeSet import NodeSet

from fabricheck.nodes.names import unfold
from fabricheck.schedulers.pbs import Pbs
from fabricheck.schedulers.protocol import Launcher, Scheduler


@dataclass(frozen=True, kw_only=True)
class Torque(Pbs):
    """Torque, whose reason is a note, and which has no vnodes; ReFrame lists no nodes of it."""

    name: str = "Torque"
    lists_nodes: ClassVar[bool] = False
    launcher: ClassVar[Launcher] = Launcher(name="")
    by_name: ClassVar[str] = ""
    lists: ClassVar[tuple[str, ...]] = ()
    asks_states: ClassVar[tuple[str, ...]] = ("pbsnodes", "-a")
    words: ClassVar[Mapping[str, str]] = {"account": "-A {}"}
    keep_off: ClassVar[tuple[str, ...]] = (
        "without: name the others, -l nodes=NODE+...",
        "as an administrator: pbsnodes -N '{reason}' -o {each}",
    )


@dataclass(frozen=True, kw_only=True)
class Lsf(Scheduler):
    """LSF."""

    name: str = "LSF"
    condition: ClassVar[str] = (
        "ReFrame asks LSF for nodes by -nnodes, which only LSF with IBM's CSM takes: elsewhere no "
        "case can run"
    )
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
class Flux(Scheduler):
    """Flux."""

    name: str = "Flux"
    shortcoming: ClassVar[str] = (
        "ReFrame asks Flux for one task, whatever a case has, with the cores of one rank, and "
        "hands on no option: no case on two nodes can run, and ranks on one node share those cores"
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
    "torque": Torque(),
    "lsf": Lsf(),
    "flux": Flux(),
}
"""By ReFrame's names of them."""
