"""How each MPI family is made to use each transport, and where it says that it does.

A family without an entry for a transport doesn't have it. What names the devices of a site is not
here but in ``settings``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from fabricheck.errors import FabricheckError
from fabricheck.tables import NAME, TEXT, Cell, many, maybe, one_of, pattern, rows
from fabricheck.transports.table import TRANSPORTS, Memory


class Statement(StrEnum):
    """Where an MPI says what it chose: the first witness of a proof."""

    UCX = "the lanes in UCX's log"
    PROTOCOLS = "the lanes in UCX's log, and its tables of protocols"
    PARAMETERS = "MVAPICH2's list of the parameters that it applied"
    BTL = "the BTL that Open MPI names for each peer"
    PROVIDER = "the provider of libfabric that the MPI names"
    DEVICE = "the device that the ranks' MPI library was built for"


@dataclass(frozen=True, slots=True)
class Choice:
    """How one family is made to use one transport.

    Attributes:
        statement: where it says so.
        variables: environment variables that make it, the same at every site.
        said: what the statement must hold, for one that is not UCX's: parameters and their values.
    """

    statement: Statement
    variables: Mapping[str, str]
    said: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_on_ucx(self) -> bool:
        """Whether UCX carries the data, and so says how."""
        return self.statement in (Statement.UCX, Statement.PROTOCOLS)


PROTOCOL_TABLES: Mapping[str, str] = {"UCX_PROTO_INFO": "${UCX_PROTO_INFO:-used}"}
"""What makes UCX print its tables of protocols; an environment with UCX 1.16 to 1.20 sets ``y``."""

_BESIDE_UCX_TLS: Mapping[str, Mapping[str, str]] = {
    **{name: PROTOCOL_TABLES for name, each in TRANSPORTS.items() if each.memory is Memory.GPU},
    "rc_cuda_nogdr": {**PROTOCOL_TABLES, "UCX_IB_GPU_DIRECT_RDMA": "n"},
}

# UCX names its logs by host and process, so that the lines of two ranks never mix with each other
# or with the benchmark's table.
_UCX_LOGGING: Mapping[str, str] = {
    "UCX_LOG_LEVEL": "info",
    "UCX_LOG_FILE": "ucx.%h.%p.log",
}


def ucx_variables(transport: str) -> Mapping[str, str]:
    """Environment variables that make UCX use a transport and say so, the same at every site."""
    beside = _BESIDE_UCX_TLS.get(transport, {})
    return {**_UCX_LOGGING, **beside, "UCX_TLS": TRANSPORTS[transport].ucx_tls}


@dataclass(frozen=True, slots=True)
class Mpi:
    """An MPI family: a row of mpi.csv, and its rows of choices.csv.

    Attributes:
        name: of the family.
        printed: how its version string begins, from its library and from its own tools.
        command: what prints that.
        least: the least version that nodes must have; empty for any.
        launcher: how its own launchers name themselves.
        spec: what names it to Spack; empty where the suite's Spack has none.
        compilers: for C and C++, where several MPIs stand beside each other on ``PATH``.
        modules: names of its environment modules, without versions.
        pmi: what ``srun --mpi`` should speak to it, the best first.
        hosts: options of its launchers for a list of hosts, with ``{}`` for the file.
        given: first letters of the variables that its launchers hand on unasked; empty for all.
        alone: variables for its launchers on one machine.
        ucx: variables that make it use UCX; none where it can't.
        choices: how it is made to use each transport that it has.
    """

    name: str
    printed: str
    command: str
    least: str
    launcher: str
    spec: str
    compilers: tuple[str, ...]
    modules: tuple[str, ...]
    pmi: tuple[str, ...]
    hosts: str
    given: str
    alone: Mapping[str, str]
    ucx: Mapping[str, str]
    choices: Mapping[str, Choice]


_ASSIGNED = many(pattern(r"[A-Za-z][A-Za-z0-9_]+=[^\s=]+", "NAME=value"))
_ASSIGNMENTS = Cell(
    _ASSIGNED.form, lambda cell: dict(word.split("=") for word in _ASSIGNED.read(cell))
)
_COLUMNS = {
    "name": NAME,
    "printed": pattern(r"[A-Z][A-Za-z0-9(): ]+", "MPICH Version"),
    "command": pattern(r"[a-z_]+( --?version)?", "mpichversion"),
    "least": maybe(pattern(r"[0-9]+([.][0-9]+)*", "4.0"), ""),
    "launcher": TEXT,
    "spec": maybe(pattern(r"\^[a-z0-9-]+( [a-z]+=[a-z]+)?", "^mpich"), ""),
    "compilers": many(pattern(r"mpi[a-z.]+", "mpicc.mpich")),
    "modules": many(pattern("[a-z0-9-]+", "openmpi")),
    "pmi": many(one_of(("pmix", "pmi2"))),
    "hosts": pattern(r"-.* \{\}.*", "-f {}"),
    "given": maybe(pattern("[A-Z_]+_", "OMPI_"), ""),
    "alone": _ASSIGNMENTS,
    "ucx": _ASSIGNMENTS,
}


def read_mpis(folder: Path) -> dict[str, Mpi]:
    """The families of the tables mpi.csv and choices.csv in a folder.

    Raises:
        FabricheckError: for the first line that is not as it must be.
    """
    found = {
        row["name"]: {**row, "choices": _on_ucx(row["ucx"])}
        for row in rows(folder / "mpi.csv", _COLUMNS)
    }
    known = {name: name for family in found for name in (f"{family}:{t}" for t in TRANSPORTS)}
    columns = {
        "name": Cell("FAMILY:TRANSPORT of mpi.csv and transports.csv", known.__getitem__),
        "statement": one_of({each.name.lower(): each for each in Statement}),
        "variables": _ASSIGNMENTS,
        "said": _ASSIGNMENTS,
    }
    for row in rows(folder / "choices.csv", columns):
        family, _, transport = row["name"].partition(":")
        mpi, variables = found[family], row["variables"]
        if beside := mpi["choices"].get(transport):
            variables = {**mpi["ucx"], **variables, **beside.variables}
        mpi["choices"][transport] = Choice(row["statement"], variables, row["said"])
    return {name: Mpi(**row) for name, row in found.items()}


def _on_ucx(fixed: Mapping[str, str]) -> dict[str, Choice]:
    return {
        name: Choice(
            Statement.PROTOCOLS if transport.memory is Memory.GPU else Statement.UCX,
            {**fixed, **ucx_variables(name)},
        )
        for name, transport in TRANSPORTS.items()
        if fixed and transport.ucx_tls
    }


MPIS: Mapping[str, Mpi] = read_mpis(Path(__file__).parent)


def families(transport: str) -> tuple[str, ...]:
    """The MPI families that can use a transport."""
    return tuple(name for name, mpi in MPIS.items() if transport in mpi.choices)


def choice(family: str, transport: str) -> Choice:
    """How a family is made to use a transport.

    Raises:
        FabricheckError: for an unknown family or transport, and for one that the family lacks.
    """
    if family not in MPIS:
        raise FabricheckError(
            f"FC1001 expected an MPI family of the table ({', '.join(MPIS)}), found {family!r}: "
            "give the environment one of these as extras.mpi_family"
        )
    if transport not in MPIS[family].choices:
        raise FabricheckError(
            f"FC1002 expected an MPI that has transport {transport} "
            f"({', '.join(families(transport)) or 'none has'}), found {family}: choose another"
        )
    return MPIS[family].choices[transport]
