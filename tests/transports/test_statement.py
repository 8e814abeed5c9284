"""What each library says of its choice, from recorded outputs and from altered ones."""

from dataclasses import replace
from pathlib import Path

import pytest

from fabricheck.transports.families import choice
from fabricheck.transports.statement import (
    TransportReport,
    read_btls,
    read_lanes,
    read_parameters,
    read_report,
)
from fabricheck.transports.table import Counter, find
from fabricheck.transports.witness import (
    Lane,
    UcxLog,
    Witness,
    read_mvapich2_parameters,
    read_peer_btls,
)

DATA = Path(__file__).parents[1] / "data"
RANKS = [Witness(rank, f"n{rank + 1}", "", "0", 0, {}) for rank in (0, 1)]


def hear_auto(*lanes: str, offers: tuple[str, ...] = ()) -> TransportReport:
    found = tuple(Lane(*lane.replace("(", " ").replace("/", " ").split()) for lane in lanes)
    logs = [UcxLog(host, "1.13.1", found) for host in ("n1", "n2")]
    return read_lanes(find("auto"), logs, 2, offers=offers)


@pytest.mark.parametrize(
    ("lanes", "counter"),
    [
        (("tag(rc_mlx5/mlx5_0:1", "ka(ud_mlx5/mlx5_0:1"), Counter.RDMA),
        (("tag(dc_mlx5/mlx5_0:1", "rma_bw(rc_mlx5/mlx5_1:1"), Counter.RDMA),
        (("tag(rc_verbs/rxe0:1", "tag(sysv/memory"), Counter.RDMA),
        (("tag(tcp/eth0",), Counter.NETDEV),
        (("tag(tcp/eth0", "rma_bw(rc_verbs/rxe0:1"), Counter.ANY),
        (("tag(srd/efa0:1",), Counter.ANY),
    ],
)
def test_what_ucx_chose_decides_who_must_bear_it_out(
    lanes: tuple[str, ...], counter: Counter
) -> None:
    said = hear_auto(*lanes)
    assert said.counter is counter
    assert said.objections == said.remarks == ()
    assert all(lane + ")" in said.evidence for lane in lanes)


def test_a_fall_back_to_sockets_is_told_where_there_is_rdma() -> None:
    (remark,) = hear_auto("tag(tcp/eth0", offers=("rdma", "tcp")).remarks
    assert "UCX, left to choose, took tcp where the partition offers RDMA" in remark
    assert hear_auto("tag(tcp/eth0", offers=("tcp",)).remarks == ()
    assert hear_auto("tag(rc_mlx5/mlx5_0:1", offers=("rdma",)).remarks == ()
    assert hear_auto("tag(ud_verbs/x", "am(tcp/eth0", offers=("rdma",)).remarks == ()


def test_auto_without_lanes_between_nodes_is_not_believed() -> None:
    assert "found only shared memory" in hear_auto("tag(sysv/memory").objections[0]
    assert "found none on n1" in hear_auto().objections[0]
    assert "found none on n1" in hear_auto("ka(ud_verbs/rxe0:1").objections[0]
    (lost,) = read_lanes(find("auto"), [], 2).objections
    assert "expected 2 UCX logs" in lost


@pytest.mark.parametrize("served", ["ob1_tcp", "ob1_shm"])
@pytest.mark.parametrize("asked", ["ob1_tcp", "ob1_shm"])
def test_the_btl_that_open_mpi_names_is_held_against_what_was_asked(
    asked: str, served: str
) -> None:
    errors = (DATA / "openmpi" / f"4.1.4-{served}.txt").read_text()
    chosen = choice("openmpi", asked)
    said = read_btls(find(asked), chosen, read_peer_btls(errors), 2)
    names = {"ob1_tcp": "tcp", "ob1_shm": "vader"}
    assert said.evidence == f"BTL {names[served]}"
    assert said.counter is find(asked).counter
    if asked == served:
        assert said.objections == ()
    else:
        (objection,) = said.objections
        assert objection.startswith(f"expected BTL {names[asked]} for {asked}, found ")
        assert f"found {names[served]} from vm to vm" in objection


def test_open_mpi_5_calls_vader_sm() -> None:
    errors = (DATA / "openmpi" / "4.1.4-ob1_shm.txt").read_text().replace("vader", "sm")
    peers = read_peer_btls(errors)
    said = read_btls(find("ob1_shm"), choice("openmpi", "ob1_shm"), peers, 2)
    assert (said.evidence, said.objections) == ("BTL sm", ())


def test_a_rank_that_names_no_btl_is_not_believed() -> None:
    errors = (DATA / "openmpi" / "4.1.4-ob1_tcp.txt").read_text()
    one = "".join(line for line in errors.splitlines(keepends=True) if "16773" in line)
    for words, found in ((one, 1), ("", 0)):
        said = read_btls(find("ob1_tcp"), choice("openmpi", "ob1_tcp"), read_peer_btls(words), 2)
        assert f"of all 2 ranks to their peers, found it of {found}" in said.objections[0]


def test_a_node_whose_ranks_share_a_process_number_is_not_lost() -> None:
    line = "[n{0}:7] mca: bml: Using tcp btl for send to [[1,1],0] on node n9\n"
    peers = read_peer_btls(line.format(1) + line.format(2))
    assert read_btls(find("ob1_tcp"), choice("openmpi", "ob1_tcp"), peers, 2).objections == ()


def test_mvapich2_says_that_it_used_shared_memory() -> None:
    applied = read_mvapich2_parameters((DATA / "mvapich2" / "2.3.7-shm.txt").read_text())
    said = read_parameters(find("shm"), choice("mvapich2", "shm"), applied)
    assert said.objections == ()
    assert said.evidence == "the library applied MV2_USE_SHARED_MEM=1"
    assert said.counter is Counter.NONE


@pytest.mark.parametrize(
    ("devices", "found"),
    [
        (("ch3:nemesis", "ch3:nemesis"), ""),
        (("ch3:nemesis", "ch3:nemesis:tcp,ib"), ""),
        (("ch3:nemesis", "ch3:mrail"), "found ch3:mrail"),
        (("ch3:nemesis", ""), "found nothing"),
    ],
)
def test_mvapich2_for_ethernet_is_known_by_its_build(devices: tuple[str, str], found: str) -> None:
    ranks = [replace(rank, device=device) for rank, device in zip(RANKS, devices, strict=True)]
    chosen = choice("mvapich2_nemesis", "tcp")
    said = read_report(find("tcp"), chosen, Path(), "", ranks, interfaces=(), offers=())
    assert [found in each for each in said.objections] == [True] * bool(found)
    assert said.evidence.startswith("built for ch3:")


@pytest.mark.parametrize("served", ["rc", "ud"])
def test_neither_rc_nor_ud_is_the_hybrid(served: str) -> None:
    applied = read_mvapich2_parameters((DATA / "mvapich2" / f"2.3.7-{served}.txt").read_text())
    said = read_parameters(find("hybrid"), choice("mvapich2", "hybrid"), applied)
    assert any("for hybrid, found" in objection for objection in said.objections)


@pytest.mark.parametrize(
    ("family", "transport", "recorded"),
    [
        ("openmpi", "ob1_tcp", "openmpi/4.1.4-ob1_tcp.txt"),
        ("mvapich2", "ud", "mvapich2/2.3.7-ud.txt"),
    ],
)
def test_each_library_is_heard_where_it_speaks(
    tmp_path: Path, family: str, transport: str, recorded: str
) -> None:
    errors = (DATA / recorded).read_text()
    chosen = choice(family, transport)
    said = read_report(find(transport), chosen, tmp_path, errors, RANKS, interfaces=(), offers=())
    assert said.objections == ()
    silent = read_report(find(transport), chosen, tmp_path, "", RANKS, interfaces=(), offers=())
    assert silent.objections


def test_ucx_is_heard_in_its_logs(tmp_path: Path) -> None:
    recorded = (DATA / "ucx" / "1.13.1-rc-openmpi.txt").read_text()
    for rank in (0, 1):
        (tmp_path / f"ucx.n{rank}.7.log").write_text(recorded)
    rc = find("rc")
    job = (tmp_path, "", RANKS)
    said = read_report(rc, choice("openmpi", "rc"), *job, interfaces=(), offers=("rdma",))
    assert said.objections == ()
    assert "rc_verbs" in said.evidence
    auto = read_report(
        find("auto"), choice("mpich", "auto"), *job, interfaces=("eth0",), offers=("rdma",)
    )
    assert (auto.objections, auto.counter) == ((), Counter.RDMA)
