"""What a site may expect, and how a slip in its file is told."""

from typing import Any

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


def read(features: tuple[str, ...] = (), **extras: Any) -> Expectations:
    return read_expectations(features, PartitionExtras.of(extras))


def test_without_extras_the_defaults_hold():
    assert read() == Expectations()


def test_a_site_may_expect_everything_else():
    expected = read(("rdma",), node_health=GIVEN)
    assert expected.rdma
    assert expected.versions == {"openmpi": "4.1.6", "ucx": "1.12", "osu": "7.0"}
    assert expected.hugepages == {1 << 21: 1024, 1 << 30: 2}
    assert (expected.memlock, expected.health.mtu) == (1 << 30, {"ens1": 9000})
    assert expected.health.governor == "schedutil"
    assert read(node_health={"memlock": "unlimited"}).memlock is None


def test_the_devices_of_the_transports_are_the_ones_that_matter():
    expected = read(ucx_net_devices={"tcp": "eth0,eth1", "rdma": "mlx5_0:1"})
    assert expected.interfaces == ("eth0", "eth1")
    assert expected.rdma_ports == ("mlx5_0:1",)
    assert read(ucx_net_devices={"rdma": "all"}).rdma_ports == ()


def test_versions_compare_as_numbers():
    assert version_numbers("1.9.0") < version_numbers("1.12")
    assert version_numbers("4.1.4") > version_numbers("4.1")
