"""The table of counters is consistent, and knows what the recorded cards have."""

import pytest
from tests.fabric.conftest import TREES, Grow, take

from fabricheck.fabric.counters import (
    BANDS,
    KERNEL_DRIVERS,
    TABLE,
    CounterPlace,
    Meaning,
    Measure,
    find,
    rows_of,
)


def test_a_counter_has_one_row() -> None:
    keys = [(row.driver, row.place, row.name) for row in TABLE]
    assert len(keys) == len(set(keys))


def test_the_drivers_have_rows() -> None:
    assert {row.driver for row in TABLE} == {"any", *KERNEL_DRIVERS.values()}


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.driver}-{row.name}")
def test_a_row_says_all(row) -> None:
    assert row.source
    assert row.advice
    assert bool(row.rules) == (row.meaning in judged()) or row.name == "port_xmit_wait"
    for rule in row.rules:
        assert bool(rule.of) == (BANDS[rule.band].measure is Measure.RATIO)
        for name in rule.of:
            known = {r.name: r.meaning for r in TABLE if r.driver in ("any", row.driver)}
            assert known[name] is Meaning.PACKETS or name == row.name


def judged() -> set[Meaning]:
    return {Meaning.ERROR, Meaning.CONGESTION, Meaning.RETRANSMISSION}


def test_every_band_is_used() -> None:
    assert {rule.band for row in TABLE for rule in row.rules} == set(BANDS)


@pytest.mark.integration
@pytest.mark.parametrize("tree", TREES)
def test_every_rdma_counter_of_a_card_is_in_the_table(grow: Grow, tree: str) -> None:
    (port,) = take(grow(tree)).ports.values()
    unknown = [
        name
        for place, name in port.counters
        if place in (CounterPlace.COUNTERS, CounterPlace.HW_COUNTERS)
        and not find(port.driver, place, name)
    ]
    assert unknown == []


@pytest.mark.integration
@pytest.mark.parametrize("tree", TREES)
def test_every_statistic_that_is_judged_comes_through(grow: Grow, tree: str) -> None:
    """The script leaves out the statistics of queues, and no other."""
    (port,) = take(grow(tree)).ports.values()
    if port.driver == "rdma_rxe" or port.link_layer == "InfiniBand":
        return
    found = {find(port.driver, place, name) for place, name in port.counters}
    wanted = {
        row for row in rows_of(port.driver) if row.place is CounterPlace.ETHTOOL and row.rules
    }
    assert {row.name for row in wanted - found} <= {
        "rx_global_pause",
        "tx_global_pause",
        "rx_global_pause_duration",
        "tx_global_pause_duration",
    }


def test_a_number_stands_for_a_priority() -> None:
    row = find("mlx5_core", CounterPlace.ETHTOOL, "rx_prio3_pause")
    assert row is not None
    assert row.name == "rx_prio{n}_pause"
    assert find("mlx5_core", CounterPlace.ETHTOOL, "rx_prio_pause") is None


def test_drivers_do_not_share_names() -> None:
    assert find("rdma_rxe", CounterPlace.HW_COUNTERS, "np_cnp_sent") is None
    assert find("mlx5_core", CounterPlace.HW_COUNTERS, "out_of_seq_request") is None
