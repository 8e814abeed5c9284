"""What ``ucx_info -d`` of UCX 1.13.1 says, on a node with a Soft-RoCE device and without one."""

import pytest

from fabricheck.transports.table import find
from fabricheck.transports.ucx_info import objection, read_devices

WITHOUT = """\
#
# Memory domain: tcp
#     Component: tcp
#
#      Transport: tcp
#         Device: eth0
#           Type: network
#  System device: <unknown>
#
#      Transport: tcp
#         Device: lo
#           Type: network
#
# Memory domain: posix
#      Transport: posix
#         Device: memory
"""
WITH = (
    WITHOUT
    + """\
# Memory domain: rxe0
#     Component: ib
#      Transport: rc_verbs
#         Device: rxe0:1
#      Transport: ud_verbs
#         Device: rxe0:1
"""
)


def test_every_device_of_a_transport_is_read() -> None:
    assert read_devices(WITH)["tcp"] == ["eth0", "lo"]
    assert read_devices(WITH)["rc_verbs"] == ["rxe0:1"]


@pytest.mark.parametrize("transport", ["rc", "ud", "tcp", "shm"])
def test_a_ucx_that_has_the_transport_is_believed(transport: str) -> None:
    assert objection(find(transport), WITH) == ""


def test_a_ucx_without_infiniband_is_named_with_what_it_has() -> None:
    assert objection(find("rc"), WITHOUT).startswith(
        "expected a UCX with rc_mlx5 or rc_verbs on the node, found only posix, tcp: "
    )
    assert "dc_mlx5" in objection(find("dc"), WITH)


@pytest.mark.parametrize("listing", ["", "bash: ucx_info: command not found\n"])
def test_no_list_is_no_proof(listing: str) -> None:
    assert "found none" in objection(find("rc"), listing)
