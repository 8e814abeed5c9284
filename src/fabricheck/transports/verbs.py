"""Proof that a program on verbs moved its messages through the ports that it was given."""

from collections.abc import Sequence

from fabricheck.transports.proof import Proof
from fabricheck.transports.witness import Witness

_SENT = ("sent_pkts", "port_xmit_packets")

# Counters are read before and after the program, so they hold all of it; a tenth is left for
# drivers that bring their counters up to date now and then.
_SHARE_THAT_MUST_MOVE = 0.9


def prove_packets(least: Sequence[int], witnesses: Sequence[Witness], device: str = "") -> Proof:
    """Hear the ports' counters; a program on verbs has no other way for its data.

    Args:
        least: the packets that each rank's node must have sent, by rank.
        witnesses: the witness file of every rank.
        device: the port that was asked for, such as ``mlx5_0:1``; empty for any.
    """
    objections, moved = [], []
    for packets, witness in zip(least, witnesses, strict=True):
        sent = sum(
            amount
            for (kind, port, counter), amount in witness.moved.items()
            if kind == "rdma" and counter in _SENT and device in ("", port)
        )
        moved.append(f"{sent} packets from {witness.host}")
        if sent < _SHARE_THAT_MUST_MOVE * packets:
            objections.append(
                f"expected {packets} packets or more from {device or 'the RDMA ports'} of "
                f"{witness.host}, found {sent}: the messages went another way, or never"
            )
    return Proof(f"ports sent {', '.join(moved)}", tuple(objections))
