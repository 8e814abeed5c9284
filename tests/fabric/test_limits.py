import pytest
from tests.refusals import refused

from fabricheck.fabric.counters import BANDS
from fabricheck.fabric.limits import Limits, read_limits
from fabricheck.sites.extras import PartitionExtras


def test_nothing_is_expected_without_extras() -> None:
    assert read_limits(PartitionExtras()) == Limits()


def test_what_a_site_file_says() -> None:
    limits = read_limits(
        PartitionExtras.of(
            {
                "ucx_net_devices": {"rdma": "mlx5_0:1,mlx5_3", "tcp": "all"},
                "gid_index": 3,
                "link_rate": 100,
                "fabric_health": {
                    "mtu": 4096,
                    "link_width": 2,
                    "least_events": 5,
                    "ignore": ["VL15_dropped"],
                    "bands": {"ecn": [1000, None]},
                },
            }
        )
    )
    assert limits.devices == ("mlx5_0:1", "mlx5_3:1")
    assert (limits.gid_index, limits.rate, limits.mtu, limits.width) == (3, 100.0, 4096, 2)
    assert (limits.least_events, limits.ignore) == (5, frozenset({"VL15_dropped"}))
    assert (limits.bands["ecn"].warning, limits.bands["ecn"].critical) == (1000, None)
    assert limits.bands["pfc"] == BANDS["pfc"]


@pytest.mark.parametrize("devices", ["all", ""])
def test_all_devices_are_no_certain_ones(devices: str) -> None:
    assert read_limits(PartitionExtras.of({"ucx_net_devices": {"rdma": devices}})).devices == ()


def test_a_warning_above_its_critical_limit_is_refused() -> None:
    with refused("FC1401"):
        read_limits(PartitionExtras.of({"fabric_health": {"bands": {"ecn": [2, 1]}}}))
