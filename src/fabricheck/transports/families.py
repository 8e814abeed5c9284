"""How each MPI family is made to use each transport, and where it says that it does.

A family without an entry for a transport doesn't have it. What names the devices of a site is not
here but in ``settings``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from fabricheck.errors import FabricheckError
from fabricheck.tables import many, one_of, pattern, rows
from fabricheck.transports.table import TRANSPORTS, Memory


class Statement(StrEnum):
    """Where an MPI says what it chose: the first witness of a proof."""

    UCX = "the lanes in UCX's log"
    PROTOCOLS = "the lanes in UCX's log, and its tables of protocols"
    PARAMETERS = "MVAPICH2's list of the parameters that it applied"
    BTL = "the BTL that Open MPI names for each peer"
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


# Open MPI leaves UCX for ob1 without a word unless the pml is named, and refuses UCX over TCP and
# shared memory unless every UCX transport and device is allowed.
_OPENMPI: Mapping[str, str] = {
    "OMPI_MCA_pml": "ucx",
    "OMPI_MCA_osc": "ucx",
    "OMPI_MCA_opal_common_ucx_tls": "any",
    "OMPI_MCA_opal_common_ucx_devices": "any",
}

# What the settings of the MPI AI Cluster Benchmark say beside UCX's ("--mca btl ^openib,tcp").
_OPENMPI_BESIDE: Mapping[str, Mapping[str, str]] = {
    "ud_verbs_sm": {"OMPI_MCA_btl": "^openib,tcp"},
}

# MPICH moves messages inside a node by its own shared memory, which says nothing about UCX, unless
# NOLOCAL is set. MVAPICH, the successor of MVAPICH2, is built on MPICH and keeps its variables.
_MPICH: Mapping[str, str] = {
    "MPIR_CVAR_CH4_NETMOD": "ucx",
    "MPIR_CVAR_NOLOCAL": "1",
}


def _on_ucx(fixed: Mapping[str, str], beside: Mapping[str, Mapping[str, str]]) -> dict[str, Choice]:
    return {
        name: Choice(
            Statement.PROTOCOLS if transport.memory is Memory.GPU else Statement.UCX,
            {**fixed, **beside.get(name, {}), **ucx_variables(name)},
        )
        for name, transport in TRANSPORTS.items()
        if transport.ucx_tls
    }


def _ob1(btl: str) -> Choice:
    """Open MPI without UCX: nothing of it in messages, in windows or below the collectives.

    At verbosity 1 Open MPI tells the BTL that it takes to each peer. Its name for shared memory is
    vader up to 4.1; 5.0 says sm and takes the old name too.
    """
    return Choice(
        Statement.BTL,
        {
            "OMPI_MCA_pml": "ob1",
            "OMPI_MCA_btl": f"{btl},self",
            "OMPI_MCA_osc": "^ucx",
            "OMPI_MCA_coll": "^hcoll,ucc",
            "OMPI_MCA_btl_base_verbose": "1",
        },
        {"btl": btl},
    )


def _mvapich2(**said: str) -> Choice:
    """MVAPICH2 speaks verbs itself.

    Level 2 lists the parameters as the library applied them. Binding is the scheduler's.
    """
    return Choice(
        Statement.PARAMETERS,
        {"MV2_SHOW_ENV_INFO": "2", "MV2_ENABLE_AFFINITY": "0", **said},
        said,
    )


_DEVICE = "ch3:nemesis"


def _nemesis(**variables: str) -> Choice:
    """MVAPICH2 built for its Ethernet channel: a library of its own, which has no RDMA.

    It tells nothing at run time, and its build for RDMA ignores these variables; so each rank's
    wrapper looks up what the library that the rank loads was built for.
    """
    return Choice(
        Statement.DEVICE, {"FABRICHECK_DEVICE_OF_MPI": "ch3:", **variables}, {"device": _DEVICE}
    )


# MVAPICH2's hybrid begins with 512 ranks or more unless told otherwise, and then takes a reliable
# connection to the peers that it talks to most (ch3_init.c of 2.3.7).
CHOICES: Mapping[str, Mapping[str, Choice]] = {
    "openmpi": {
        **_on_ucx(_OPENMPI, _OPENMPI_BESIDE),
        "ob1_tcp": _ob1("tcp"),
        "ob1_shm": _ob1("vader"),
    },
    "mpich": _on_ucx(_MPICH, {}),
    "mvapich2": {
        "rc": _mvapich2(MV2_USE_ONLY_UD="0", MV2_USE_UD_HYBRID="0"),
        "ud": _mvapich2(MV2_USE_ONLY_UD="1"),
        "hybrid": _mvapich2(
            MV2_USE_ONLY_UD="0", MV2_USE_UD_HYBRID="1", MV2_HYBRID_ENABLE_THRESHOLD="2"
        ),
        "shm": _mvapich2(MV2_USE_SHARED_MEM="1"),
    },
    "mvapich2_nemesis": {
        "tcp": _nemesis(MPIR_CVAR_NEMESIS_NETMOD="tcp"),
        "shm": _nemesis(MPIR_CVAR_CH3_NOLOCAL="0"),
        "ipoib": _nemesis(MPIR_CVAR_NEMESIS_NETMOD="tcp"),
    },
    "mvapich": _on_ucx(_MPICH, {}),
}


@dataclass(frozen=True, slots=True)
class Mpi:
    """What is known of an MPI family beside its transports, a row of mpi.csv.

    Attributes:
        name: of the family.
        printed: how its version string begins, from its library and from its own tools.
        command: what prints that.
        spec: what names it to Spack.
        pmi: what ``srun --mpi`` should speak to it, the best first.
        compilers: for C and C++, where several MPIs stand beside each other on ``PATH``.
        naming: its launchers that hand on a variable only where it is named.
    """

    name: str
    printed: str
    command: str
    spec: str
    pmi: tuple[str, ...]
    compilers: tuple[str, ...]
    naming: tuple[str, ...]

    @property
    def is_on_ucx(self) -> bool:
        """Whether UCX carries the data of some transport."""
        return any(each.is_on_ucx for each in CHOICES[self.name].values())


_COLUMNS = {
    "name": one_of(CHOICES.keys()),
    "printed": pattern(r"[A-Z][A-Za-z0-9 ]+ (v|Version)", "MPICH Version"),
    "command": one_of(("ompi_info --version", "mpichversion")),
    "spec": pattern(rf"\^({'|'.join(CHOICES)})( fabrics=(mrail|nemesis))?", "^mpich"),
    "pmi": many(one_of(("pmix", "pmi2"))),
    "compilers": many(pattern(r"mpi(cc|cxx)\.(openmpi|mpich)", "mpicc.mpich")),
    "naming": many(one_of(("mpirun", "mpiexec"))),
}
MPIS: Mapping[str, Mpi] = {
    row["name"]: Mpi(**row) for row in rows(Path(__file__).with_name("mpi.csv"), _COLUMNS)
}
MPI_FAMILIES = tuple(MPIS)
if lacking := CHOICES.keys() - MPIS.keys():
    raise FabricheckError(
        f"{Path(__file__).with_name('mpi.csv')}: expected a row for each MPI family, found none "
        f"for {', '.join(sorted(lacking))}: add it"
    )


def families(transport: str) -> tuple[str, ...]:
    """The MPI families that can use a transport."""
    return tuple(family for family, choices in CHOICES.items() if transport in choices)


def choice(family: str, transport: str) -> Choice:
    """How a family is made to use a transport.

    Raises:
        FabricheckError: for an unknown family or transport, and for one that the family lacks.
    """
    if family not in CHOICES:
        raise FabricheckError(
            f"expected an MPI family of the table ({', '.join(MPI_FAMILIES)}), found {family!r}: "
            "give the environment one of these as extras.mpi_family"
        )
    if transport not in CHOICES[family]:
        raise FabricheckError(
            f"expected an MPI that has transport {transport} "
            f"({', '.join(families(transport)) or 'none has'}), found {family}: choose another"
        )
    return CHOICES[family][transport]
