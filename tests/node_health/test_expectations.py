"""What a site may expect, and how a slip in its file is told."""

from fabricheck.node_health.survey import (
    Expectations,
    read_expectations,
    version_numbers,
)
from fabricheck.sites.extras import PartitionExtras

GIVEN = {
    "versions": {"openmpi": "4.1.6"},
    "memlock": 1 << 30,
    "transparent_hugepages": ["never"],
    "hugepages": {"2MiB": 1024, "1GiB": 2},
    "governor": "schedutil",
    "numa_distance": 12,
    "mtu": {"ens1": 9000},
    "clock_skew": 0.01,
}


def test_without_extras_the_defaults_hold():
    assert read_expectations([], PartitionExtras()) == Expectations()


def test_a_site_may_expect_everything_else():
    expected = read_expectations(["rdma"], PartitionExtras.of({"node_health": GIVEN}))
    assert expected.rdma
    assert expected.versions == {"openmpi": "4.1.6", "ucx": "1.12", "osu": "7.0"}
    assert expected.hugepages == {1 << 21: 1024, 1 << 30: 2}
    assert (expected.memlock, expected.health.governor, expected.health.mtu) == (
        1 << 30,
        "schedutil",
        {"ens1": 9000},
    )


def test_the_devices_of_the_transports_are_the_ones_that_matter():
    devices = {"tcp": "eth0,eth1", "rdma": "mlx5_0:1"}
    expected = read_expectations([], PartitionExtras.of({"ucx_net_devices": devices}))
    assert expected.interfaces == ("eth0", "eth1")
    assert expected.rdma_ports == ("mlx5_0:1",)
    assert (
        read_expectations([], PartitionExtras.of({"ucx_net_devices": {"rdma": "all"}})).rdma_ports
        == ()
    )


def test_unlimited_memory_is_a_word():
    assert (
        read_expectations([], PartitionExtras.of({"node_health": {"memlock": "unlimited"}})).memlock
        is None
    )


def test_versions_compare_as_numbers():
    assert version_numbers("1.9.0") < version_numbers("1.12")
    assert version_numbers("4.1.4") > version_numbers("4.1")
