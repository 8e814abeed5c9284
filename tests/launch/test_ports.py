"""Cases of each port, and what a night measures of them."""

from dataclasses import replace

import pytest

from fabricheck.launch import pair
from fabricheck.launch.cases import Case, measurement_of
from fabricheck.launch.measurement import Setting
from fabricheck.sites.extras import PartitionExtras

PORTS = ("mlx5_0:1", "mlx5_1:1", "gid=fd00::/64")
EXTRAS = PartitionExtras(ports=PORTS, size_step=1024)


@pytest.fixture
def cases(monkeypatch: pytest.MonkeyPatch) -> list[Case]:
    monkeypatch.setattr(pair, "offered_ports", lambda: PORTS)
    return pair.cases_of_ports("verbs")


def test_each_benchmark_has_a_case_of_each_port_and_one_without(cases: list[Case]) -> None:
    found = [str(each.placement) for each in cases if each.benchmark == "ib_read_lat"]
    assert found == ["rc-2n", *(f"rc-2n@{port}" for port in PORTS)]
    assert cases[1].shown.endswith("%transport=rc %num_nodes=2 %port=mlx5_0:1")
    assert measurement_of(cases[0]).systems == ["+rdma +nodes_2 -several_ports"]
    assert measurement_of(cases[1]).systems == ["+rdma +nodes_2 +port_mlx5_0_1"]


def test_what_sockets_carry_has_no_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair, "offered_ports", lambda: PORTS)
    tcp = [each for each in pair.cases_of_ports("ucx") if each.placement.transport.name == "tcp"]
    assert tcp
    assert {each.placement.port for each in tcp} == {""}
    assert measurement_of(tcp[0]).systems == ["+tcp +nodes_2"]


def sizes(benchmark: str, port: str, night: int | None) -> tuple[int, ...]:
    case = Case(benchmark, f"rc-2n@{port}")
    setting = Setting(extras=EXTRAS.only(port), ports=PORTS, night=night)
    return measurement_of(case).sizes(setting)


def test_a_night_takes_all_sizes_of_one_port_in_turn_and_one_of_the_others() -> None:
    whole = sizes("ib_write_bw", PORTS[0], None)
    assert len(whole) > 1
    for night in range(739000, 739006):
        found = [sizes("ib_write_bw", port, night) for port in PORTS]
        turn = night % len(PORTS)
        assert found == [whole if n == turn else whole[-1:] for n in range(len(PORTS))]
    assert sizes("ib_send_lat", PORTS[1], 0) == (8,)
    assert sizes("ib_atomic_lat", PORTS[1], 0) == (8,)
    assert measurement_of(Case("ib_write_bw", "rc-2n")).sizes(Setting(night=1))[1:]


def test_one_size_of_many_is_asked_for_by_its_number() -> None:
    case = measurement_of(Case("ib_write_bw", f"rc-2n@{PORTS[1]}"))
    job = case.job(Setting(extras=EXTRAS.only(PORTS[1]), ports=PORTS, night=0, launcher="srun"))
    words = list(job.words)
    assert words[words.index("-s") + 1] == str(8 << 20)
    assert words[words.index("-d") + 1] == "mlx5_1"
    assert job.variables["FABRICHECK_RAILS"] == "mlx5_1:1"


def test_a_port_by_subnet_is_named_on_the_node() -> None:
    setting = Setting(extras=EXTRAS.only(PORTS[2]), ports=PORTS, launcher="srun")
    verbs = measurement_of(Case("ib_write_bw", f"rc-2n@{PORTS[2]}")).job(setting)
    words = list(verbs.words)
    assert words[words.index("-d") + 1] == "@device1@"
    assert words[words.index("-i") + 1] == "@port1@"
    ucx = measurement_of(Case("ucx_tag_lat", f"rc-2n@{PORTS[2]}")).job(setting)
    assert ucx.variables["FABRICHECK_RAILS"] == "gid=fd00:0000:0000:0000*"
    assert "UCX_NET_DEVICES" not in ucx.variables


def test_a_partition_with_one_port_gets_what_it_got() -> None:
    one = PartitionExtras(ucx_net_devices={"rdma": "mlx5_0:1"})
    job = measurement_of(Case("ib_write_bw", "rc-2n")).job(Setting(extras=one, launcher="srun"))
    assert "FABRICHECK_RAILS" not in job.variables
    both = replace(one, ucx_net_devices={}, ports=("mlx5_0:1",))
    told = measurement_of(Case("ib_write_bw", "rc-2n@mlx5_0:1"))
    assert told.job(Setting(extras=both, launcher="srun")).words == job.words
