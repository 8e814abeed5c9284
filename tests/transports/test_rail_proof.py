"""Told to use several cards and using fewer or others: untrusted, with the card.

The lines are what UCX 1.13.1 printed between rx1 and rx2 with four cards each, once with
UCX_MAX_RNDV_RAILS=4 and once with 2, the counters what the cards counted then.
"""

from dataclasses import replace

import pytest

from fabricheck.transports.gpu_memory import Load
from fabricheck.transports.proof import prove
from fabricheck.transports.settings import Ports, settings
from fabricheck.transports.statement import rail_objections, read_lanes
from fabricheck.transports.table import find
from fabricheck.transports.witness import UcxLog, Witness, read_ucx_log

LINE = (
    "[1795554666.641439] [{host}:1383 :0]      ucp_worker.c:1763 UCX  INFO    ep_cfg[0]: "
    "tag({lanes})"
)
CARDS = {"rx1": (0, 2, 4, 6), "rx2": (1, 3, 5, 7)}
LOAD = Load(100 * 65536, 100, {65536: 100})


def logs(used: int) -> list[UcxLog]:
    return [
        read_ucx_log(
            LINE.format(host=host, lanes=" ".join(f"rc_verbs/rxe{n}:1" for n in cards[:used]))
        )
        for host, cards in CARDS.items()
    ]


def witness(host: str, given: int, *moved: int) -> Witness:
    cards = CARDS[host]
    return Witness(
        rank=list(CARDS).index(host),
        host=host,
        allocation="",
        cpus="0",
        exit_code=0,
        moved={
            ("rdma", f"rxe{n}:1", "rcvd_pkts"): count for n, count in zip(cards, moved, strict=True)
        }
        | {
            ("rdma", f"rxe{n}:1", "sent_pkts"): 600
            for n, count in zip(cards, moved, strict=True)
            if count
        },
        rails={f"gid=fe80::{place}:0/112": f"rxe{n}:1" for place, n in enumerate(cards[:given])},
    )


def both(given: int, *moved: int) -> list[Witness]:
    return [witness(host, given, *moved) for host in CARDS]


def test_all_cards_that_were_told_are_used() -> None:
    seen = both(4, 626, 566, 404, 406)
    assert rail_objections(logs(4), seen) == ()
    said = read_lanes(find("rc"), logs(4), 2)
    assert prove(find("rc"), LOAD, said, seen, quiet=True).objections == ()


def test_told_four_and_using_two_names_the_others() -> None:
    seen = both(4, 1043, 824, 0, 0)
    first, second = rail_objections(logs(2), seen)
    assert first.startswith(
        "expected UCX lanes of rx1 on 4 of the ports rxe0:1 (gid=fe80::0:0/112)"
    )
    assert "found none on rxe4:1 (gid=fe80::2:0/112), rxe6:1 (gid=fe80::3:0/112): UCX" in first
    assert "found none on rxe5:1 (gid=fe80::2:0/112), rxe7:1 (gid=fe80::3:0/112): UCX" in second


def test_counters_are_a_witness_of_their_own() -> None:
    said = read_lanes(find("rc"), logs(4), 2)
    found = prove(find("rc"), LOAD, said, both(4, 1043, 824, 0, 0), quiet=True).objections
    assert len(found) == 2
    assert "of 4 ports of rx1" in found[0]
    assert found[0].endswith(
        "found 0 through rxe4:1, 0 through rxe6:1: these cards carried nothing"
    )
    small = replace(LOAD, whole={8: 100})
    assert prove(find("rc"), small, said, both(4, 1043, 824, 0, 0), quiet=True).objections == ()


@pytest.mark.parametrize("given", [1, 2])
def test_told_one_and_another_carries_names_that(given: int) -> None:
    seen = both(given, 1500, 1500, 1500, 9000)
    first, _ = rail_objections(logs(4), seen)
    strange = "rxe2:1, rxe4:1, rxe6:1" if given == 1 else "rxe4:1, rxe6:1"
    assert first.endswith(f"alone, found some on {strange}: another card carried data")
    said = read_lanes(find("rc"), logs(given), 2)
    (other, _) = prove(find("rc"), LOAD, said, seen, quiet=True).objections
    assert other.startswith("expected rxe0:1")
    assert other.endswith(
        "alone to carry data on rx1, found 9600 packets through rxe6:1: another card did"
    )
    assert prove(find("rc"), LOAD, said, seen, quiet=False).objections == ()


def test_where_the_site_names_none_nothing_is_asked() -> None:
    assert rail_objections(logs(2), both(0, 1, 2, 3, 4)) == ()


def test_mpi_is_told_all_cards_or_one() -> None:
    several = settings("openmpi", "rc", Ports(rails=("gid=fd00:1::/64", "mlx5_3:1")))
    assert several["FABRICHECK_RAILS"] == "gid=fd00:0001:0000:0000*,mlx5_3:1"
    assert several["UCX_MAX_RNDV_RAILS"] == "2"
    assert settings("mpich", "rc", Ports(rails=("a:1",) * 8))["UCX_MAX_RNDV_RAILS"] == "4"
    assert "UCX_MAX_RNDV_RAILS" not in settings("openmpi", "rc", Ports(rails=("mlx5_3:1",)))
    assert "FABRICHECK_RAILS" not in settings("openmpi", "tcp", Ports(rails=("mlx5_3:1",)))
