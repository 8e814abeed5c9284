import pytest
from tests.refusals import refused

from fabricheck.transports.families import MPIS, PROTOCOL_TABLES, Statement, choice, families
from fabricheck.transports.table import TRANSPORTS, Counter, Scope, find

ON_UCX = [name for name, transport in TRANSPORTS.items() if transport.ucx_tls]


def test_an_unknown_transport_is_named() -> None:
    with refused("FC1009", r"rc, ud, uc, dc, tcp, shm, auto.*found 'ib'"):
        find("ib")


def test_every_mpi_is_told_from_every_other_by_its_name() -> None:
    # Two builds of one MPI: what a job says tells them apart.
    assert MPIS["mvapich2_nemesis"].printed == MPIS["mvapich2"].printed
    names = {mpi.printed for mpi in MPIS.values()}
    for name in names:
        assert sum(name.startswith(other) for other in names) == 1


@pytest.mark.parametrize("transport", TRANSPORTS.values(), ids=TRANSPORTS)
def test_a_variant_stands_on_a_plain_transport_of_its_kind(transport) -> None:
    base = find(transport.base)
    assert base.base == base.name
    assert base.scope is transport.scope
    assert base.counter is transport.counter
    assert transport.name in (transport.base, transport.feature)


@pytest.mark.parametrize("transport", TRANSPORTS.values(), ids=TRANSPORTS)
def test_lanes_are_of_the_counters_that_must_move(transport) -> None:
    kinds = {
        Counter.RDMA: ("rc_", "ud_", "dc_", "NET/IB"),
        Counter.NETDEV: ("tcp", "NET/Socket"),
        Counter.NONE: ("sysv", "posix", "cma", "xpmem", "knem", "cuda_ipc", "P2P", "SHM"),
    }
    if transport.counter is Counter.ANY or transport.name == "ud_verbs_sm":
        return
    copying = {"cuda_copy", "gdr_copy"} if transport.memory else set()
    lanes = transport.lanes - copying
    assert all(lane.startswith(kinds[transport.counter]) for lane in lanes)
    assert transport.direct <= lanes
    assert bool(transport.lanes) == bool(transport.ucx_tls or transport.name.startswith("nccl"))


def test_families_on_ucx_have_all_its_transports() -> None:
    for family in ("openmpi", "mpich", "mvapich"):
        assert set(ON_UCX) <= set(MPIS[family].choices)


def test_families_are_those_that_have_the_transport() -> None:
    assert families("shm") == ("openmpi", "mpich", "mvapich2", "mvapich2_nemesis", "mvapich")
    assert families("rc") == families("ud") == ("openmpi", "mpich", "mvapich2", "mvapich")
    assert families("dc") == families("auto") == ("openmpi", "mpich", "mvapich")
    assert families("tcp") == families("ipoib")
    assert families("tcp") == ("openmpi", "mpich", "mvapich2_nemesis", "mvapich")
    assert families("hybrid") == ("mvapich2",)
    assert families("ob1_tcp") == families("ob1_shm") == ("openmpi",)
    assert families("uc") == ()
    assert families("ofi_tcp") == families("ofi_verbs") == ("openmpi", "mpich", "intelmpi")
    assert families("ofi_shm") == ("mpich", "intelmpi")
    assert families("cxi") == ("openmpi", "craympich")


def test_a_family_without_the_transport_is_refused() -> None:
    with refused(
        "FC1002", r"transport tcp \(openmpi, .*mvapich2_nemesis, mvapich\), found mvapich2"
    ):
        choice("mvapich2", "tcp")
    with refused("FC1002", r"transport uc \(none has\), found mpich"):
        choice("mpich", "uc")


def test_an_unknown_family_is_named() -> None:
    with refused("FC1001", r"openmpi, mpich, mvapich2, mvapich.*'another'.*extras.mpi_family"):
        choice("another", "tcp")


@pytest.mark.parametrize("family", MPIS)
def test_every_choice_makes_the_library_speak(family: str) -> None:
    speaks = {
        Statement.UCX: {"UCX_LOG_LEVEL": "info"},
        Statement.PROTOCOLS: {"UCX_LOG_LEVEL": "info", **PROTOCOL_TABLES},
        Statement.PARAMETERS: {"MV2_SHOW_ENV_INFO": "2"},
        Statement.BTL: {"OMPI_MCA_btl_base_verbose": "1"},
        Statement.DEVICE: {"FABRICHECK_DEVICE_OF_MPI": "ch3:"},
    }
    providers = {
        "openmpi": {"OMPI_MCA_mtl_base_verbose": "1", "OMPI_MCA_opal_common_ofi_verbose": "1"},
        "mpich": {"MPIR_CVAR_DEBUG_SUMMARY": "1"},
        "intelmpi": {"I_MPI_DEBUG": "5"},
        "craympich": {"MPICH_OFI_VERBOSE": "1"},
    }
    for chosen in MPIS[family].choices.values():
        known = {**speaks, Statement.PROVIDER: providers.get(family, {})}
        assert known[chosen.statement].items() <= chosen.variables.items()
        assert bool(chosen.said) == (not chosen.is_on_ucx)


def test_what_mvapich2_must_say_is_what_it_was_told() -> None:
    for chosen in MPIS["mvapich2"].choices.values():
        assert chosen.said.items() <= chosen.variables.items()


def test_the_settings_of_the_ai_cluster_are_one_entry() -> None:
    chosen = choice("openmpi", "ud_verbs_sm")
    assert chosen.variables["UCX_TLS"] == "ud_verbs,self,sm"
    assert chosen.variables["OMPI_MCA_pml"] == "ucx"
    assert chosen.variables["OMPI_MCA_btl"] == "^openib,tcp"
    assert "OMPI_MCA_btl" not in choice("openmpi", "ud_verbs").variables


def test_no_two_transports_of_a_family_are_the_same() -> None:
    for choices in (mpi.choices for mpi in MPIS.values()):
        # IPoIB differs by its port.
        chosen = [
            (find(name).port, *sorted(each.variables.items())) for name, each in choices.items()
        ]
        assert len(set(chosen)) == len(chosen)


def test_inside_a_node_nothing_names_devices() -> None:
    for transport in TRANSPORTS.values():
        if transport.scope is Scope.INTRA_NODE:
            assert not transport.port
