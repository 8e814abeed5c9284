import pytest

from fabricheck.errors import FabricheckError
from fabricheck.fabric.bands import BANDS
from fabricheck.fabric.limits import Limits, read_limits


def test_nothing_is_expected_without_extras() -> None:
    assert read_limits({}) == Limits()


def test_what_a_site_file_says() -> None:
    limits = read_limits(
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
    assert limits.devices == ("mlx5_0:1", "mlx5_3:1")
    assert (limits.gid_index, limits.rate, limits.mtu, limits.width) == (3, 100.0, 4096, 2)
    assert (limits.least_events, limits.ignore) == (5, frozenset({"VL15_dropped"}))
    assert (limits.bands["ecn"].warning, limits.bands["ecn"].critical) == (1000, None)
    assert limits.bands["pfc"] == BANDS["pfc"]


@pytest.mark.parametrize("devices", ["all", ""])
def test_all_devices_are_no_certain_ones(devices: str) -> None:
    assert read_limits({"ucx_net_devices": {"rdma": devices}}).devices == ()


@pytest.mark.parametrize(
    ("extras", "words"),
    [
        ({"gid_index": "3"}, "expected a whole number as extras.gid_index"),
        ({"gid_index": -1}, "expected a whole number as extras.gid_index"),
        ({"link_rate": "100"}, "expected a number of Gbit/s above 0 as extras.link_rate"),
        ({"link_rate": 0}, "found 0"),
        ({"fabric_health": {"mtus": 1}}, "with keys of mtu, link_width"),
        ({"fabric_health": [1]}, "expected a mapping"),
        ({"fabric_health": {"mtu": True}}, "extras.fabric_health.mtu"),
        ({"fabric_health": {"ignore": "x"}}, "expected a list of counters"),
        ({"fabric_health": {"bands": {"enc": [1, 2]}}}, "expected bands of ecn, ecn_share"),
        ({"fabric_health": {"bands": {"ecn": [2, 1]}}}, "the warning not above the critical one"),
        ({"fabric_health": {"bands": {"ecn": [1]}}}, "extras.fabric_health.bands.ecn"),
        ({"fabric_health": {"bands": {"ecn": ["1", 2]}}}, "each a number or null"),
        ({"fabric_health": {"bands": {"ecn": [True, 2]}}}, "each a number or null"),
    ],
)
def test_what_makes_no_sense_is_refused(extras, words) -> None:
    with pytest.raises(FabricheckError) as caught:
        read_limits(extras)
    assert words in str(caught.value)
