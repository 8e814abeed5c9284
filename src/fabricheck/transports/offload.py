"""Which component of an MPI serves its collectives: what makes it say so, and what it said.

Only Open MPI says it. HCOLL, UCC and SHARP stand here as their documentation has them: none of them
was seen.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

# At 9 Open MPI 4.1 and 5.0 print what they select for each communicator, and little else; above,
# every component prints how it was registered and opened.
_SAYS: Mapping[str, Mapping[str, str]] = {"openmpi": {"OMPI_MCA_coll_base_verbose": "9"}}
_WORLD = "MPI_COMM_WORLD"
_LINE = re.compile(
    r"^\[(?P<process>[^:\]\s]+:\d+)\] coll:base:comm_select: "
    r"(?:new communicator: (?P<communicator>\S+)"
    r"|selecting +(?P<component>\w+), priority +(?P<priority>\d+), Enabled)",
    re.MULTILINE,
)
_HCOLL = {"OMPI_MCA_coll_hcoll_enable": "1", "OMPI_MCA_coll_hcoll_priority": "100"}


@dataclass(frozen=True, slots=True)
class Offload:
    """What may carry collectives in place of Open MPI's own algorithms.

    Attributes:
        component: of Open MPI's framework ``coll``.
        variables: environment variables that ask for it.
        said: what its library must have printed beside; empty for nothing.
    """

    component: str
    variables: Mapping[str, str]
    said: str = ""


OFFLOADS: Mapping[str, Offload] = {
    "han": Offload("han", {"OMPI_MCA_coll_han_priority": "100"}),
    "ucc": Offload("ucc", {"OMPI_MCA_coll_ucc_enable": "1", "OMPI_MCA_coll_ucc_priority": "100"}),
    "hcoll": Offload("hcoll", _HCOLL),
    # At level 3 SHARP names each group that its switches made for a communicator.
    "sharp": Offload(
        "hcoll",
        {**_HCOLL, "HCOLL_ENABLE_SHARP": "3", "SHARP_COLL_LOG_LEVEL": "3"},
        r"\[group#:\d+\] group id:",
    ),
}


def offload_variables(family: str, offload: str) -> dict[str, str]:
    """Environment variables that ask for an offload, and make the MPI say what serves.

    Args:
        family: the MPI family.
        offload: one of ``OFFLOADS``; empty for what the MPI chooses.
    """
    if family not in _SAYS:
        return {}
    return {**_SAYS[family], **(OFFLOADS[offload].variables if offload else {})}


def read_served(words: str) -> dict[str, str]:
    """The component that Open MPI gave the most collectives of all ranks to, by process.

    Args:
        words: error output of a job.
    """
    communicators: dict[str, str] = {}
    best: dict[str, tuple[int, str]] = {}
    for match in _LINE.finditer(words):
        process = match["process"]
        if match["communicator"]:
            communicators[process] = match["communicator"]
        elif communicators.get(process) == _WORLD:
            best[process] = max(
                best.get(process, (0, "")),
                (int(match["priority"]), match["component"]),
                key=lambda each: each[0],
            )
    return {process: component for process, (_, component) in best.items()}


def check_offload(offload: str, words: str, ranks: int) -> tuple[str, list[str]]:
    """A phrase that names what served the collectives, and why the offload is not believed.

    Args:
        offload: what was asked for, one of ``OFFLOADS``; empty for what the MPI chooses.
        words: output and error output of the job.
        ranks: how many ranks there were.
    """
    served = read_served(words)
    found = ", ".join(sorted(set(served.values()))) or "none"
    evidence = f"collectives by {found}" if served else ""
    if not offload:
        return evidence, []
    asked = OFFLOADS[offload]
    if set(served.values()) != {asked.component} or len(served) != ranks:
        return evidence, [
            f"expected collectives by {offload} (coll/{asked.component}) on all {ranks} ranks, "
            f"found {found} on {len(served)}: the MPI fell back, or has no such component "
            "(ompi_info | grep coll)"
        ]
    if asked.said and not re.search(asked.said, words):
        return evidence, [
            f"expected {offload} to name the groups that it made, found none in the output: "
            f"coll/{asked.component} served without the switches"
        ]
    return evidence, []
