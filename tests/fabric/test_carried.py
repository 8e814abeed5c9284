"""In which priority RDMA left a port, where a driver counts it."""

from pathlib import Path

import pytest
from tests.fabric.conftest import later, snapshot_of

from fabricheck.fabric.carried import describe_priorities, judge_priorities
from fabricheck.fabric.counters import CounterPlace
from fabricheck.fabric.limits import Limits
from fabricheck.fabric.ports import Snapshot

pytestmark = pytest.mark.integration

MIB = 1 << 20


def run(
    tmp_path: Path, left: dict[str, int], rdma: int = 64 * MIB, **changes: object
) -> tuple[Snapshot, Snapshot]:
    """So many bytes of RDMA, and what left in each priority beside."""
    before = snapshot_of("mlx5_roce", tmp_path)
    (port,) = before.ports.values()
    zero = {(CounterPlace.ETHTOOL, f"tx_prio{n}_bytes"): 0 for n in range(8)}
    key = (CounterPlace.COUNTERS, "port_xmit_data")
    counted = {(CounterPlace.ETHTOOL, f"tx_prio{n}_bytes"): each for n, each in left.items()}
    before = later(before, counters={**port.counters, **zero})
    words = port.counters[key] + rdma // 4
    after = later(before, counters={**port.counters, **zero, key: words, **counted}, **changes)
    return before, after


@pytest.mark.parametrize(
    ("left", "words"),
    [
        ({"3": 70 * MIB, "0": 7 * MIB}, ""),
        ({"0": 70 * MIB, "3": MIB}, "sent 67108864 B, in priority 3 left 1048576 B, most in 0"),
        ({"0": 70 * MIB}, "in priority 3 left 0 B"),
        ({}, ""),
    ],
)
def test_what_left_in_another_priority_than_the_site_names_is_a_finding(
    tmp_path: Path, left: dict[str, int], words: str
) -> None:
    before, after = run(tmp_path, left)
    assert not [*judge_priorities(before, after, Limits())], "the site names none"
    found = [*judge_priorities(before, after, Limits(priority=3))]
    assert [words in str(each) for each in found] == [True] * bool(words)


def test_infiniband_other_traffic_and_a_driver_without_such_counters_are_not_judged(
    tmp_path: Path,
) -> None:
    both = run(tmp_path, {"0": 70 * MIB}, link_layer="InfiniBand")
    assert not [*judge_priorities(*both, Limits(priority=3))]
    others = run(tmp_path / "quiet", {"0": 70 * MIB}, rdma=MIB // 2)
    assert not [*judge_priorities(*others, Limits(priority=3))], "not by RDMA"
    rxe = snapshot_of("rxe", tmp_path / "rxe")
    assert not [*judge_priorities(rxe, later(rxe), Limits(priority=3))]
    assert not [*describe_priorities(rxe, later(rxe), Limits())]


def test_the_shares_of_the_priorities_are_the_evidence(tmp_path: Path) -> None:
    before, after = run(tmp_path, {"3": 99 * MIB, "0": MIB})
    (line,) = describe_priorities(before, after, Limits())
    assert line == "n1 mlx5_0:1 sent by priority: 3 99 %, 0 1 %"
