"""What the tools say, read from their output."""

import json

import pytest
from tests.refusals import refused

from fabricheck.planning.detect import (
    DetectedPort,
    Processor,
    read_ibv_devinfo,
    read_lscpu,
    read_mpi_types,
    read_spack_find,
    read_ucx_info,
)
from fabricheck.schedulers.protocol import Partition
from fabricheck.schedulers.slurm import SLURM

IBV_DEVINFO = """\
hca_id:\tmlx5_0
\ttransport:\t\t\tInfiniBand (0)
\tfw_ver:\t\t\t\t20.31.1014
\tphys_port_cnt:\t\t\t1
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tmax_mtu:\t\t4096 (5)
\t\t\tactive_width:\t\t4X (2)
\t\t\tactive_speed:\t\t25.0 Gbps (32)
\t\t\tlink_layer:\t\tInfiniBand

hca_id:\trocep1s0
\tphys_port_cnt:\t\t\t2
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_DOWN (1)
\t\t\tlink_layer:\t\tEthernet
\t\tport:\t2
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tactive_width:\t\t1X (1)
\t\t\tactive_speed:\t\t2.5 Gbps (1)
\t\t\tlink_layer:\t\tEthernet
"""
UCX_INFO = """\
#
# Memory domain: mlx5_0
#
#      Transport: rc_verbs
#         Device: mlx5_0:1
#           Type: network
#      Transport: tcp
#         Device: eth0
#      Transport: tcp
#         Device: lo
"""


def test_ports_have_rate_layer_and_state() -> None:
    assert read_ibv_devinfo(IBV_DEVINFO) == [
        DetectedPort("mlx5_0", 1, True, "InfiniBand", 100.0),
        DetectedPort("rocep1s0", 1, False, "Ethernet", None),
        DetectedPort("rocep1s0", 2, True, "Ethernet", 2.5),
    ]
    assert read_ibv_devinfo("No IB devices found\n") == []


def test_transports_of_ucx_have_devices() -> None:
    assert read_ucx_info(UCX_INFO) == {"rc_verbs": {"mlx5_0:1"}, "tcp": {"eth0", "lo"}}


def test_partitions_that_are_up_have_all_their_nodes() -> None:
    said = (
        "compute|60|up|1-0|n[1-60]\ncompute|4|up|1-0|n[7-10]\ndebug|2|up|9:00|d1\nold|9|down|x|\n"
    )
    compute = Partition("compute", 64, "n[1-60],n[7-10]")
    assert SLURM.partitions(lambda _: said) == [compute, Partition("debug", 2, "d1")]
    assert SLURM.partitions(lambda _: "") == []


def test_another_sinfo_is_named() -> None:
    with refused("FC2402", r"expected lines of sinfo .* found 'usage: sinfo'"):
        SLURM.partitions(lambda _: "usage: sinfo\n")


FLAT = [
    {"field": "CPU(s):", "data": "128"},
    {"field": "Thread(s) per core:", "data": "2"},
    {"field": "Socket(s):", "data": "2"},
]


@pytest.mark.parametrize(
    "fields", [FLAT, [{**FLAT[0], "children": [{"field": "x:", "data": None}, *FLAT[1:]]}]]
)
def test_the_processor_is_read_from_old_and_new_lscpu(fields: list[dict[str, object]]) -> None:
    assert read_lscpu(json.dumps({"lscpu": fields})) == Processor(128, 2, 2)


@pytest.mark.parametrize("text", ["", "{}", '{"lscpu": []}', "lscpu: bad usage"])
def test_an_lscpu_that_says_nothing_is_no_error(text: str) -> None:
    assert read_lscpu(text) is None


def test_packages_and_pmis_are_words() -> None:
    said = (
        "openmpi ~cuda fabrics=ucx\nopenmpi ~cuda fabrics=ucx\n\nmpich +hydra\n"
        "mvapich2 ~debug fabrics:=nemesis\nmvapich2 fabrics=mrail\n"
    )
    assert read_spack_find(said) == ["openmpi", "mpich", "mvapich2_nemesis", "mvapich2"]
    listed = "MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\nspecific pmix plugin versions: v4\n"
    assert read_mpi_types(listed) == ["pmi2", "pmix"]
    assert read_mpi_types("srun: MPI types are...\nsrun: pmi2\nsrun: none\n") == ["pmi2"]
