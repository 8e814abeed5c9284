"""The cases of rdma_stream, and what its programs are told of a partition's ports."""

from fabricheck.programs.rdma_stream.entries import BENCHMARKS as STREAM_BENCHMARKS
from fabricheck.programs.rdma_stream.launch import cases, rdma_stream_options
from fabricheck.sites.extras import PartitionExtras

EXTRAS = {
    "ucx_net_devices": {"rdma": "mlx5_0:1,mlx5_1:1", "tcp": "eth0"},
    "gid_index": 3,
    "service_level": 2,
    "traffic_class": 106,
    "fabric_health": {"mtu": 4096},
}


def placements(benchmark: str) -> list[str]:
    return [str(case.placement) for case in cases("stream") if case.benchmark == benchmark]


def test_every_topology_has_cases_on_the_nodes_that_fit_it():
    assert placements("rdma_stream_t2") == ["rc-2n"]
    assert placements("rdma_stream_t4") == ["rc-1n"]
    assert placements("rdma_stream_t6") == ["rc-2n", "rc-3n"]
    assert {"rc-1n", "rc-2n", "rc-10n"} <= set(placements("rdma_stream_t1"))
    assert {"rc-4n", "rc-10n"} <= set(placements("rdma_stream_t3"))
    assert {"rc-6n", "rc-9n"} <= set(placements("rdma_stream_t7"))
    assert {"tcp-2n", "tcp-3n"} == set(placements("udp_stream_t6"))
    assert {case.benchmark for case in cases("stream")} == STREAM_BENCHMARKS.keys()


def test_no_case_is_made_twice_or_where_it_does_not_fit():
    found = cases("stream")
    assert len(found) == len({case.shown for case in found})
    for case in found:
        nodes = case.placement.num_nodes
        topology = STREAM_BENCHMARKS[case.benchmark].topology
        assert topology.units_on(nodes)
        assert set(topology.places(nodes)) == set(range(nodes))


def test_verbs_get_the_first_port_and_its_address():
    words = rdma_stream_options(PartitionExtras.of(EXTRAS), "rdma")
    given = dict(zip(words[::2], words[1::2], strict=True))
    assert given == {
        "--dev": "mlx5_0",
        "--port": "1",
        "--gid-index": "3",
        "--mtu": "4096",
        "--sl": "2",
        "--tclass": "106",
    }
    assert rdma_stream_options(PartitionExtras(), "rdma") == []


def test_datagrams_get_the_interface_and_mpi_nothing():
    assert rdma_stream_options(PartitionExtras.of(EXTRAS), "udp") == ["--dev", "eth0"]
    assert rdma_stream_options(PartitionExtras.of(EXTRAS), "mpi") == []
