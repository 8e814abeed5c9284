"""pair_health: its curve, its job, and what a run left behind."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.programs.results import document, named
from tests.refusals import refused

from fabricheck.errors import FabricheckError
from fabricheck.launch import cases as launch_cases
from fabricheck.launch.measurement import Setting
from fabricheck.localise.located import FEWEST_NODES, as_json, dead_ports, lines, locate, write_told
from fabricheck.measures.parser import parse
from fabricheck.programs.pair_health import launch as pair_launch
from fabricheck.programs.pair_health.launch import Pairs, cases
from fabricheck.sites.extras import PartitionExtras

PAIRS = (((0, 3), (1, 2)), ((0, 2), (1, 3)), ((0, 1), (2, 3)))


def rounds(slow: int | None, count: int = 6) -> list[dict[str, Any]]:
    """Rounds of four nodes, of which one sends slowly."""
    return [
        {
            "round": number + 1,
            "pairs": 2,
            "first": [pair[0] for pair in PAIRS[number % 3]],
            "second": [pair[1] for pair in PAIRS[number % 3]],
            "latencies": [2e-6, 2.01e-6],
            "there": [4e9 if pair[0] == slow else 1e10 + number for pair in PAIRS[number % 3]],
            "back": [4e9 if pair[1] == slow else 1e10 for pair in PAIRS[number % 3]],
            "valid": True,
        }
        for number in range(count)
    ]


def written(slow: int | None, **environment: Any) -> str:
    found = document("pair_probe", "pairs", rounds(slow))
    hosts = {"ranks": 4, "hosts": ["n1", "n2", "n3", "n4"]}
    found["environment"] |= hosts | environment
    found["units"] |= {"latencies": "s", "there": "B/s", "back": "B/s"}
    return json.dumps(found)


def test_the_curve_has_the_medians() -> None:
    values = named(parse(written(None), "out", "pair_health").variables())
    assert values["latency_p50_8B"] == (pytest.approx(2.005), "us")
    assert values["bandwidth_p50_1MiB"] == (pytest.approx(1e4), "MB/s")


def kept(directory: Path, text: str) -> Path:
    (directory / "result.json").write_text(text)
    write_told(directory, None, {"n1": "idle", "n9": "down*"}, {"n3": "mlx5_0:1 counts errors"}, {})
    return directory


def test_the_slow_node_is_told_with_the_lines_to_copy(tmp_path: Path) -> None:
    located = locate(kept(tmp_path, written(2)))
    told = lines(located)
    assert located.level == "critical"
    assert told[0].startswith("3 of 4 nodes good, 1 accused; 6 rounds")
    assert told[1].startswith("n3 sends at 0.40 of its peers, 6 of 6 tests slow, 3 partners")
    assert "mlx5_0:1 counts errors" in told[1]
    assert told[2].strip() == "without: --exclude=n3"
    assert "scontrol update nodename=n3 state=drain reason=" in told[3]
    assert told[4] == "not measured: n9 (down*)"
    data = as_json(located)
    assert data["accused"][0]["places"] == ["n3 sends"]
    assert (data["accused_nodes"], data["good_nodes"]) == (["n3"], ["n1", "n2", "n4"])


def test_a_small_share_is_told_with_two_digits(tmp_path: Path) -> None:
    slow = json.loads(written(None))
    for each in slow["results"]:
        for number, (first, second) in enumerate(zip(each["first"], each["second"], strict=True)):
            each["there"][number] *= 0.0041 if first == 2 else 1
            each["back"][number] *= 0.0041 if second == 2 else 1
    located = locate(kept(tmp_path, json.dumps(slow)))
    assert lines(located)[1].startswith("n3 sends at 0.0041 of its peers")


def test_a_healthy_run_accuses_nobody(tmp_path: Path) -> None:
    located = locate(kept(tmp_path, written(None)))
    assert (located.level, located.bad) == ("good", [])


def test_a_dead_port_is_critical_and_named(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(written(None))
    (tmp_path / "port.n1").write_text("up\n")
    (tmp_path / "port.n8").write_text("down eth0 eth1\n")
    write_told(tmp_path, None, {"n8": "idle"}, {}, dead_ports(tmp_path))
    located = locate(tmp_path)
    assert (located.level, located.bad, located.absent) == ("critical", ["n8"], {})
    told = lines(located)
    assert told[1] == "n8 was left out: eth0 and eth1 down"
    assert told[-1].endswith("nodename=n8 state=drain reason='fabricheck: a port is down'")
    assert as_json(located)["dead_ports"] == {"n8": "eth0 and eth1"}


def test_nodes_with_a_dead_port_are_left_out_of_the_ranks(tmp_path: Path) -> None:
    (case, *_) = [case for case in cases("pair_health") if case.placement.transport.name == "tcp"]
    (tmp_path / "port.n8").write_text("down eth0\n")
    assert Pairs(case).ranks(Setting(chosen={"nodes": 8}, stage=tmp_path)).total == 7


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "expected JSON"),
        (written(2, hosts=["n1", "n2"]), "expected one rank on each node"),
        (written(2).replace('"second": [3, 2]', '"second": [3, 9]'), "disjoint pairs of 4 ranks"),
        (written(2).replace('"second": [3, 2]', '"second": [3]'), "as many numbers"),
    ],
)
def test_damaged_rounds_are_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(FabricheckError, match=told):
        locate(kept(tmp_path, text))


def test_each_transport_is_measured_once_and_on_all_nodes() -> None:
    found = cases("pair_health")
    transports = [case.placement.transport.name for case in found if not case.placement.port]
    assert {"nccl_ib", "nccl_socket"} < set(transports)
    assert len(set(transports)) == len(transports)
    (tcp,) = [case for case in found if case.placement.transport.name == "tcp"]
    measured = Pairs(tcp)
    assert measured.ranks(Setting(chosen={"nodes": 9})).total == 9
    assert measured.ranks(Setting()).total == tcp.placement.num_nodes


@pytest.mark.parametrize(
    "partitions",
    [
        # None between nodes; one where there is a single node; no partition.
        [{"shm", "nodes_1"}, {"shm", "nodes_4"}],
        [{"rc", "rdma", "nodes_1"}, {"shm", "nodes_8"}],
        [],
    ],
)
def test_nodes_without_a_transport_in_common_are_a_case_that_no_partition_runs(
    monkeypatch: pytest.MonkeyPatch, partitions: list[set[str]]
) -> None:
    """The check is not left without a case: what its partitions lack is listed by ``plan``."""
    counts = {int(each[6:]) for features in partitions for each in features if "nodes_" in each}
    monkeypatch.setattr(launch_cases, "offers", lambda: tuple(map(frozenset, partitions)))
    monkeypatch.setattr(launch_cases, "node_counts", lambda: counts)
    monkeypatch.setattr(pair_launch, "offered_ports", tuple)
    found = cases("pair_health")
    assert [each.benchmark for each in found] == ["pair_health", *["pair_health_nccl"] * 2]
    assert all(each.placement.num_nodes >= FEWEST_NODES for each in found)
    for case in found:
        assert not any(set(case.placement.features) <= features for features in partitions)


def test_a_topology_that_is_not_there_is_named(tmp_path: Path) -> None:
    (case, *_) = cases("pair_health")
    setting = Setting(chosen={"topology": str(tmp_path / "none"), "round_seconds": 1})
    with refused("FC1701"):
        Pairs(case).job(setting)


def by_nccl(placement: str, **extras: Any) -> tuple[Pairs, Setting]:
    (case,) = [
        each for each in cases("pair_health")
        if each.benchmark == "pair_health_nccl" and each.placement.transport.name == placement
    ]  # fmt: skip
    build = SimpleNamespace(
        provider="mpi_probe", yield_library="", ucx_info="", program=lambda name: f"/built/{name}"
    )
    site = {"ucx_net_devices": {"rdma": "mlx5_0:1", "tcp": "eth0"}, "gpus_per_node": 8, **extras}
    return Pairs(case), Setting(
        extras=PartitionExtras.of(site), launcher="srun", mpi="openmpi", pmi="pmix", build=build
    )  # fmt: skip


def test_nccl_carries_the_data_of_pairs_and_mpi_starts_them() -> None:
    measured, setting = by_nccl("nccl_ib", traffic_class=106)
    job = measured.job(setting)
    assert job.words[0] == "/built/pair_probe"
    assert "--nccl" in job.words
    asked = {"NCCL_NET": "IB", "NCCL_IB_HCA": "=mlx5_0:1", "NCCL_IB_TC": "106",
             "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV,NET",
             "UCX_TLS": "tcp,self"}  # fmt: skip
    assert asked.items() <= job.variables.items()
    assert job.options == ["--gpus-per-node=8"]
    assert job.told[-2:] == ["rdma", "mlx5_0:1"]
    assert all("+gpu" in each and "+nccl_ib" in each for each in measured.systems)
    assert all("+nccl" in each for each in measured.environs)
    assert "--nccl" not in plain("tcp").words
    (sockets, setting) = by_nccl("nccl_socket")
    assert sockets.job(setting).variables["NCCL_SOCKET_IFNAME"] == "=eth0"


def plain(transport: str) -> Any:
    (case,) = [
        each for each in cases("pair_health")
        if each.benchmark == "pair_health" and str(each.placement).startswith(f"{transport}-")
    ]  # fmt: skip
    return Pairs(case).job(by_nccl("nccl_ib")[1])


def test_the_curve_of_pairs_by_nccl_has_its_own_name() -> None:
    text = json.loads(written(None)) | {"benchmark": "nccl"}
    assert parse(json.dumps(text), "out").benchmark == "pair_health_nccl"


@pytest.mark.parametrize(
    ("way", "objection"),
    [("NET/IB/0/GDRDMA", ""), ("NET/Socket/0", "something else carried"), ("", "did not start")],
)
def test_pairs_by_nccl_are_believed_by_its_channels(
    tmp_path: Path, way: str, objection: str
) -> None:
    line = f"n1:7:9 [0] NCCL INFO Channel 00/1 : 0[0] -> 1[0] [send] via {way}\n"
    (tmp_path / "nccl.n1.7.log").write_text(line if way else "")
    measured, setting = by_nccl("nccl_ib")
    said = measured.told_by_nccl(replace(setting, stage=tmp_path))
    assert (objection in " ".join(said.objections)) if objection else said.objections == ()
