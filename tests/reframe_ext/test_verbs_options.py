"""What a site says of its ports, as options of perftest and of rdma_batch."""

import pytest

from fabricheck.launch.verbs import ports
from fabricheck.programs.perftest.launch import perftest_options
from fabricheck.programs.rdma_batch.launch import rdma_batch_options
from fabricheck.sites.extras import PartitionExtras

EIGHT = PartitionExtras(ucx_net_devices={"rdma": "a:1,b:2,c:1"})


@pytest.mark.parametrize(
    ("extras", "perftest", "rdma_batch"),
    [
        ({}, "", ""),
        (
            {
                "gid_index": 0,
                "fabric_health": {"mtu": 4096},
                "service_level": 3,
                "traffic_class": 106,
            },
            "-x 0 -m 4096 -S 3 --tclass 106",
            "--gid-index 0 --mtu 4096 --sl 3 --tclass 106",
        ),
        ({"ucx_net_devices": {"rdma": "mlx5_0"}}, "-d mlx5_0", "--dev mlx5_0"),
        ({"ucx_net_devices": {"rdma": "mlx5_0:2"}}, "-d mlx5_0 -i 2", "--dev mlx5_0:2"),
    ],
)
def test_what_the_site_says_is_passed_on_and_nothing_else(extras, perftest, rdma_batch):
    extras = PartitionExtras.of(extras)
    assert " ".join(perftest_options(extras, "RC")) == f"-F -c RC {perftest}".strip()
    one = "--num-initiator-dev 1 --num-target-dev 1 --wait 60"
    assert " ".join(rdma_batch_options(extras, 1)) == f"{rdma_batch} {one}".strip()


def test_several_devices_are_used_as_far_as_there_are_some():
    assert ports(EIGHT) == (("a", "1"), ("b", "2"), ("c", "1"))
    assert rdma_batch_options(EIGHT, 8)[:2] == ["--dev", "a:1,b:2,c:1"]
    assert rdma_batch_options(EIGHT, 8)[2:4] == ["--num-initiator-dev", "3"]
    assert rdma_batch_options(EIGHT, 2)[:2] == ["--dev", "a:1,b:2"]
