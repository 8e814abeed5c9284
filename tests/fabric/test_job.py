from dataclasses import replace
from pathlib import Path

import pytest
from tests.fabric.conftest import Grow, later, risen, snapshot_of, told

from fabricheck.errors import FabricheckError
from fabricheck.fabric.finding import Finding, tell
from fabricheck.fabric.job import Node, common_rate, judge_job, link_use, read_nodes, readings
from fabricheck.fabric.limits import Limits
from fabricheck.judge.levels import Level

pytestmark = pytest.mark.integration


def test_a_job_is_read_from_its_directory(tmp_path: Path, grow: Grow) -> None:
    text = told(grow("rxe")).replace("told before", "told WHEN")
    for host in ("rx2", "rx1"):
        named = "".join(text.replace("WHEN", when) for when in ("before", "between", "after"))
        line, _, rest = named.partition("\n")
        words = line.split()
        named = f"{words[0]} {words[1]} {host} {words[3]}\n{rest}"
        (tmp_path / f"node.{host}").write_text(named)
    nodes = read_nodes(tmp_path)
    assert [node.before.host for node in nodes] == ["rx1", "rx2"]
    assert [(node.before.moment, node.after.moment) for node in nodes] == [("before", "after")] * 2


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "node.rx1").write_text("nonsense\n")
    with pytest.raises(FabricheckError, match=r"node\.rx1"):
        read_nodes(tmp_path)


def test_a_job_without_snapshots_is_not_green() -> None:
    (finding,) = judge_job([], Limits())
    assert finding.level is Level.CRITICAL
    assert str(finding).startswith("fabric health: no node has left a snapshot of its ports")


def test_a_node_that_was_cut_short_is_judged_as_it_was(tmp_path: Path) -> None:
    before = snapshot_of("rxe", tmp_path)
    (finding,) = judge_job([Node(before, before)], Limits())
    assert finding.level is Level.WARNING
    assert "there is no snapshot after the run" in str(finding)
    down = replace(later(before, state="DOWN"), moment="before")
    link, _ = judge_job([Node(down, down)], Limits())
    assert "link down on n1 rxe0:1: the port is DOWN" in str(link)


@pytest.mark.parametrize(
    ("tree", "changes", "rate"),
    [
        ("mlx5_ib", {}, 200.0),
        ("mlx5_ib", {"rate": None}, None),
        ("mlx5_ib", {"rate": 100.0}, None),
        ("mlx5_ib", {"state": "DOWN"}, 200.0),
        ("rxe", {}, None),
    ],
)
def test_the_rate_of_a_job_is_the_one_that_all_cards_tell(
    tmp_path: Path, tree: str, changes: dict[str, object], rate: float | None
) -> None:
    one = snapshot_of(tree, tmp_path)
    assert common_rate([Node(one, one), Node(one, later(one, **changes))]) == rate


@pytest.mark.parametrize(
    ("tree", "rises", "told"),
    [
        # 25 of the 250 GB that 200 Gbit/s carry in 10 s, in words of four bytes.
        ("mlx5_ib", {"port_xmit_data": 25 * 10**9 // 4}, "received 0 %, sent 10 % of 200 Gbit/s"),
        ("rxe", {}, "unknown, its bytes or its rate were not read"),
    ],
)  # fmt: skip
def test_what_a_port_carried_is_a_share_of_its_rate(
    tmp_path: Path, tree: str, rises: dict[str, int], told: str
) -> None:
    one = snapshot_of(tree, tmp_path)
    (port,) = one.ports
    used = link_use([Node(one, risen(one, **rises))], ["n1", "n2"], Limits())
    assert used == {f"n1 {port}": told, "n2": "unknown, its ports were not read"}


def test_what_a_port_carried_is_unknown_where_a_counter_is_none(tmp_path: Path) -> None:
    one = snapshot_of("mlx5_ib", tmp_path)
    (port,) = one.ports.values()
    back = {key: value - 1 for key, value in port.counters.items()}
    for node in (
        Node(one, one),
        Node(one, later(one, counters=back)),
        Node(one, later(one, rate=None)),
        Node(replace(one, ports={}), later(one)),
    ):
        (told,) = link_use([node], ["n1"], Limits()).values()
        assert told == "unknown, its bytes or its rate were not read"


def test_the_advice_names_the_nodes_of_the_job(tmp_path: Path) -> None:
    one = snapshot_of("rxe", tmp_path, "rx1")
    two = replace(one, host="rx2")
    nodes = [
        Node(one, later(one)),
        Node(two, risen(two, out_of_seq_request=34, rcvd_pkts=2125)),
    ]
    (sentence,) = tell(judge_job(nodes, Limits()))
    assert sentence.startswith(
        "out_of_seq_request on rx2 rxe0:1: 1.6 % of packets, 34 of 2125 (critical above 0.5 %): "
        "the fabric loses or reorders packets between rx1 and rx2: "
    )
    three = [*nodes, Node(replace(one, host="rx3"), later(replace(one, host="rx3")))]
    assert "between rx1 and 2 other nodes" in tell(judge_job(three, Limits()))[0]


def test_every_reading_has_its_value(tmp_path: Path) -> None:
    one = snapshot_of("rxe", tmp_path, "rx1")
    found = readings([Node(one, risen(one, rcvd_seq_err=1, sent_pkts=100))], Limits())
    values = {(reading.name, reading.band): reading.value for reading in found}
    assert values["rcvd_seq_err", "soft_loss"] == 0.01
    assert values["Ip6InCEPkts", "ecn"] == 0
    assert values["Ip6InCEPkts", "ecn_share"] is None, "no packet that could be marked"
    assert readings([Node(one, replace(one, uptime=0.0))], Limits()) == []


def test_the_same_on_many_ports_is_one_sentence() -> None:
    findings = [
        Finding(Level.WARNING, "ecn", f"n{number}", "a:1", f"{number}/s", "look", float(number))
        for number in range(1, 7)
    ]
    down = Finding(Level.CRITICAL, "link down", "n9", "a:1", "is DOWN", "look")
    assert tell([*findings, down]) == (
        "link down on n9 a:1: is DOWN: look",
        "ecn on n6 a:1: 6/s: look (also n5 a:1, n4 a:1, n3 a:1 and 2 more)",
    )
