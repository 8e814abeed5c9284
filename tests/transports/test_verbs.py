"""The ports of both ends, held against the messages of a test."""

import pytest

from fabricheck.transports.proof import prove_packets
from fabricheck.transports.witness import Witness


def witness(rank: int, **sent: int) -> Witness:
    moved = {("rdma", port.replace("_1", ":1"), "sent_pkts"): count for port, count in sent.items()}
    return Witness(
        rank=rank,
        host=f"n{rank}",
        allocation="",
        cpus="0",
        exit_code=0,
        moved={**moved, ("netdev", "eth0", "tx_packets"): 10**9},
    )


def test_ports_that_sent_enough_are_believed() -> None:
    proof = prove_packets((0, 1000), [witness(0, rxe0_1=0), witness(1, rxe1_1=900)])
    assert proof.objections == ()
    assert proof.evidence == "ports sent 0 packets from n0, 900 packets from n1"


@pytest.mark.parametrize(("server", "client", "guilty"), [(899, 1000, "n0"), (1000, 899, "n1")])
def test_an_end_that_sent_too_little_is_named(server: int, client: int, guilty: str) -> None:
    seen = [witness(0, rxe0_1=server), witness(1, rxe1_1=client)]
    (objection,) = prove_packets((1000, 1000), seen).objections
    assert objection == (
        f"expected 1000 packets or more from the RDMA ports of {guilty}, found 899: "
        "the messages went another way, or never"
    )


def test_only_the_port_that_was_asked_for_counts() -> None:
    seen = [witness(0, mlx5_0_1=0, mlx5_1_1=5000), witness(1, mlx5_0_1=5000)]
    (objection,) = prove_packets((1000, 1000), seen, "mlx5_0:1").objections
    assert objection.startswith("expected 1000 packets or more from mlx5_0:1 of n0, found 0")
    assert prove_packets((1000, 1000), seen).objections == ()


def test_packets_of_hardware_are_counted_as_well() -> None:
    seen = witness(0)
    port = {("rdma", "mlx5_0:1", "port_xmit_packets"): 1000}
    assert prove_packets((1000,), [Witness(0, "n0", "", "0", 0, port)]).objections == ()
    assert prove_packets((1000,), [seen]).objections
