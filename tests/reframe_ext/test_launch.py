"""What each benchmark would start, by its folder alone, without ReFrame."""

from types import SimpleNamespace

import pytest

from fabricheck.launch.cases import Case, measurement_of
from fabricheck.launch.measurement import Job, Measurement, Setting
from fabricheck.measures.registry import REGISTRY
from fabricheck.sites.extras import PartitionExtras
from fabricheck.transports.placement import Placement
from fabricheck.transports.table import find

BUILD = SimpleNamespace(
    provider="mpi_probe",
    yield_library="/yield.so",
    ucx_info="",
    mpi_version="",
    program=lambda name: f"/built/{name}",
    command=lambda benchmark: ["/built/mpi_probe", benchmark.name],
)
SETTING = {
    "extras": PartitionExtras(
        ucx_net_devices={"rdma": "mlx5_0:1", "tcp": "eth0"}, time_budget=0.05
    ),
    "features": ("shared_cores",),
    "launcher": "srun",
    "mpi": "openmpi",
    "pmi": "pmix",
    "build": BUILD,
    "chosen": {"messages": 100_000},
}


def case_of(name: str) -> Case:
    entry = REGISTRY[name]
    (transport, *_) = getattr(entry, "transports", ("tcp",))
    fits = entry.topology.units_on if hasattr(entry, "topology") else (lambda nodes: nodes == 2)
    return Case(name, Placement(find(transport), next(filter(fits, range(1, 9)))))


def started(name: str, **changed: object) -> tuple[Measurement, Job]:
    measured = measurement_of(case_of(name))
    return measured, measured.job(Setting(**{**SETTING, **changed}))


@pytest.mark.parametrize("name", [name for name, each in REGISTRY.items() if each.runs])
def test_each_benchmark_has_ranks_a_job_and_what_it_asks_of_a_site(name: str) -> None:
    measured, job = started(name)
    ranks = measured.ranks(Setting(**SETTING))
    assert ranks.total >= 2
    assert ranks.total / ranks.per_node <= measured.placement.num_nodes
    assert all(isinstance(word, str) for word in job.words)
    assert measured.systems
    assert measured.environs
    assert any(option.startswith("--mpi=") for option in job.launcher_options)


def test_ranks_on_other_nodes_get_what_the_case_has_set_already() -> None:
    _, job = started("latency", launcher="mpirun", variables=("FABRICHECK_GID_INDEX",))
    assert list(job.launcher_options)[:2] == ["-x", "FABRICHECK_GID_INDEX"]


def test_streams_take_their_messages_from_the_command_line_or_fewer_in_the_time_there_is() -> None:
    def messages(extras: PartitionExtras, chosen: int = 100_000) -> str:
        _, job = started("rdma_stream_t2", extras=extras, chosen={"messages": chosen})
        return job.words[job.words.index("--nmsg") + 1]

    assert (messages(PartitionExtras()), messages(PartitionExtras(), 7)) == ("100000", "7")
    slow = PartitionExtras(time_budget=0.001, typical={"latency": 100, "bandwidth": 100})
    assert messages(slow) == "100"


@pytest.mark.parametrize(("offload", "given"), [("", set()), ("ucc", {"OMPI_MCA_coll_ucc_enable"})])
def test_a_collective_asks_for_the_offload_of_the_site_and_who_serves(
    offload: str, given: set[str]
) -> None:
    extras = PartitionExtras(offload=offload)
    asked = given | {"OMPI_MCA_coll_base_verbose"}
    for name, has in (("allreduce", True), ("latency", False), ("iallreduce", False)):
        _, job = started(name, extras=extras)
        assert (asked <= job.variables.keys()) == has
