import dataclasses
from pathlib import Path

from fabricheck.record.costs import Cost, Key, costs, estimate, key_of, key_of_name
from fabricheck.record.entries import CaseEntry
from fabricheck.record.write import append

CASE = CaseEntry(
    time="2026-11-22T16:00:00+00:00",
    system="hpc",
    partition="main",
    environ="openmpi",
    check="MpiPointToPoint",
    benchmark="latency",
    transport="rc",
    num_nodes=2,
    nodes=("n1", "n2"),
    launch=1.0,
    measuring=2.0,
    judging=0.5,
)
KEY = Key("main", "openmpi", "MpiPointToPoint", "latency", "rc-2n")


def test_the_name_that_reframe_shows_and_the_record_have_one_key() -> None:
    shown = "MpiPointToPoint %benchmark=latency %transport=rc %num_nodes=2"
    assert key_of_name(shown, "main", "openmpi") == key_of(CASE) == KEY
    full = dataclasses.replace(CASE, layout="full")
    assert key_of_name(f"{shown} %layout=full", "main", "openmpi") == key_of(full)
    port = dataclasses.replace(CASE, port="mlx5_3:1")
    assert key_of_name(f"{shown} %port=mlx5_3:1", "main", "openmpi") == key_of(port)
    assert key_of(port).placement == "rc-2n@mlx5_3:1"
    assert key_of_name("NodeHealth", "main", "mpich") == Key("main", "mpich", "NodeHealth", "", "")


def test_a_run_costs_what_the_last_ones_did(tmp_path: Path) -> None:
    cases = [dataclasses.replace(CASE, measuring=each) for each in (900.0, *[2.0] * 4, 3.0, 4.0)]
    append(tmp_path, [*cases, dataclasses.replace(CASE, measuring=None, benchmark="bw")])
    found = costs(tmp_path, "hpc")
    assert found == {KEY: Cost(3.5, 2)}
    cost = estimate([KEY, KEY._replace(benchmark="bw")], found)
    assert (cost.wall_seconds, cost.node_seconds) == (3.5, 7.0)
    assert (cost.known, cost.unknown) == (1, 1)


def test_without_a_record_nothing_is_known(tmp_path: Path) -> None:
    assert costs(tmp_path, "hpc") == {}
