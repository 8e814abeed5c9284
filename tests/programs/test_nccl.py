"""Collectives of NCCL: how they are started, read, believed and judged."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.programs.results import document, named
from tests.refusals import refused

from fabricheck.judge.levels import Level
from fabricheck.judge.verdict import Subject, judge_curve
from fabricheck.launch.cases import Case
from fabricheck.launch.measurement import Job, Ranks, Setting
from fabricheck.measures.curve import Curve
from fabricheck.measures.metrics import Metric
from fabricheck.measures.parser import parse
from fabricheck.programs.nccl_probe import launch
from fabricheck.programs.nccl_probe.entries import BENCHMARKS
from fabricheck.programs.nccl_probe.judge import refine
from fabricheck.sites.extras import PartitionExtras
from fabricheck.transports.nccl import read_nccl_logs, report_of_nccl
from fabricheck.transports.statement import TransportReport
from fabricheck.transports.table import find

HEAD = "n1:7:9 [0] NCCL INFO NCCL version 2.28.9+cuda13.0\n"
CHANNEL = "n1:7:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] {}\n"
CALL = "n1:7:9 [0] NCCL INFO {}: {} Bytes -> Algo {} proto {} channel{{Lo..Hi}}={{0..1}}\n"
SOCKETS = CHANNEL.format("[send] via NET/Socket/0")
CARDS = CHANNEL.format("[send] via NET/IB/0/GDRDMA")
DIRECT = CHANNEL.format("via P2P/CUMEM")
RING = CALL.format("AllReduce", "1024", "RING", "LL")


def collective(
    *sizes: int, name: str = "allreduce", scheme: str = "ring", share_gpu: bool = False, **more: Any
) -> str:
    found = document("nccl_probe", name, [
        {"size": size, "iterations": 200, "warmup": 20,
         "time": {"avg": 4e-5, "min": 3e-5, "max": 6e-5, "p50": 4e-5},
         "algorithm_bandwidth": 1e9, "bus_bandwidth": 1.5e9, "valid": True}
        for size in sizes
    ])  # fmt: skip
    found["options"] = {"scheme": scheme, "share_gpu": share_gpu}
    found["units"] |= {"algorithm_bandwidth": "B/s", "bus_bandwidth": "B/s"}
    found["environment"] |= {"gpu": ["NVIDIA H100"] * 2, "nccl": "2.28.9", **more}
    return json.dumps(found)


def curve(**more: Any) -> Curve:
    return parse(collective(8, 16, **more), "out")


def job(name: str, placement: str, **extras: object) -> tuple[Ranks, Job]:
    build = SimpleNamespace(
        provider="mpi_probe", yield_library="", ucx_info="", program=lambda name: f"/built/{name}"
    )
    setting = Setting(
        extras=PartitionExtras.of(extras), launcher="srun", mpi="openmpi", pmi="pmix", build=build
    )
    measured = launch.measurement(Case(name, placement))
    return measured.ranks(setting), measured.job(setting)


def hear(
    place: Path, text: str, asked: str, algorithm: str = "RING", *beside: str
) -> TransportReport:
    (place / "nccl.n1.7.log").write_text(text)
    return report_of_nccl(find(asked), read_nccl_logs(place, "AllReduce"), algorithm, beside)


def test_a_collective_has_times_and_the_bus_bandwidth() -> None:
    found = curve()
    assert found.benchmark == "nccl_allreduce_ring"
    assert found.points[0].values[Metric.BANDWIDTH, "avg"] == pytest.approx(1500)
    assert set(named(found.variables())) >= {"latency_p50_8B", "bandwidth_avg_16B"}
    assert parse(collective(8, name="bcast", scheme="auto"), "out").benchmark == "nccl_bcast"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (collective(8, scheme="nvls"), "unknown benchmark: allreduce with scheme nvls"),
        (collective(16, 8), "expected a size above 16, found 8"),
    ],
)
def test_another_scheme_and_sizes_that_fall_are_refused(text: str, words: str) -> None:
    with refused("FC1112", words):
        parse(text, "out")


def test_each_gpu_has_a_rank_and_nccl_tells_in_a_run_of_its_own() -> None:
    site = {"gpus_per_node": 4, "ucx_net_devices": {"rdma": "mlx5_0:1", "tcp": "eth0"}}
    ranks, started = job(
        "nccl_allreduce_ring", "nccl_ib-2n", **site, service_level=3, traffic_class=106
    )
    assert (ranks, started.options) == (Ranks(8, 4), ["--gpus-per-node=4"])
    assert list(started.words)[:4] == ["/built/nccl_probe", "allreduce", "--scheme", "ring"]
    asked = {
        "NCCL_NET": "IB",
        "NCCL_IB_HCA": "=mlx5_0:1",
        "NCCL_IB_SL": "3",
        "NCCL_IB_TC": "106",
        "UCX_TLS": "tcp,self",
    }
    assert asked.items() <= started.variables.items()
    assert "NCCL_DEBUG=INFO" in started.told
    assert not any(name.startswith("NCCL_DEBUG") for name in started.variables)
    assert "--json" not in started.told
    _, sockets = job("nccl_allreduce_tree", "nccl_socket-2n", **site)
    assert sockets.variables["NCCL_SOCKET_IFNAME"] == "=eth0"
    _, inside = job("nccl_allreduce_tree", "nccl_node-1n", **site)
    assert not any(name.startswith("NCCL") for name in inside.variables)


def test_a_gpu_that_is_alone_is_shared_by_two_ranks() -> None:
    ranks, started = job("nccl_allreduce_ring", "nccl_node-1n", gpus_per_node=1)
    assert ranks == Ranks(2, 2)
    assert "--share-gpu" in started.words
    _, several = job("nccl_allreduce_ring", "nccl_node-1n", gpus_per_node=2)
    assert "--share-gpu" not in several.words


def test_ranks_that_share_a_gpu_are_held_against_nothing() -> None:
    for shared, told in ((True, "take turns"), (False, "")):
        measured = curve(share_gpu=shared)
        verdict = refine(judge_curve(measured, {}, None), Subject(measured, None))
        assert verdict.level is Level.NO_REFERENCE
        assert any("take turns" in each for each in verdict.findings) == bool(told)


@pytest.mark.parametrize(
    ("asked", "channel", "beside"),
    [
        ("nccl_node", DIRECT, ()),
        ("nccl_node", CHANNEL.format("via SHM/direct/direct"), ()),
        ("nccl_ib", CARDS, ()),
        ("nccl_ib", CARDS + DIRECT, ("P2P", "SHM")),
        ("nccl_socket", SOCKETS, ()),
    ],
)
def test_channels_and_algorithm_prove_a_collective(
    tmp_path: Path, asked: str, channel: str, beside: tuple[str, ...]
) -> None:
    said = hear(tmp_path, HEAD + channel + RING, asked, "RING", *beside)
    assert said.objections == ()
    assert said.counter is find(asked).counter
    assert said.evidence.startswith("NCCL 2.28.9: algorithm RING, protocol LL, channels via ")
    assert ("GPUDirect RDMA" in said.evidence) == ("GDRDMA" in channel)


@pytest.mark.parametrize(
    ("text", "asked", "words"),
    [
        (SOCKETS + RING, "nccl_ib", "expected channels via NET/IB for nccl_ib, found NET/Socket"),
        (DIRECT + RING, "nccl_ib", "expected channels via NET/IB for nccl_ib, found P2P"),
        (RING, "nccl_ib", "expected NCCL's lines on its channels"),
        ("", "nccl_ib", "NCCL did not start, or a single rank only copied"),
        (CARDS, "nccl_ib", "found none: NCCL before 2.21 does not tell it"),
        (CARDS + CALL.format("AllReduce", "8", "TREE", "LL") + RING, "nccl_ib",
         "expected the algorithm RING for every size, found RING, TREE"),
        (CARDS + CALL.format("Broadcast", "8", "RING", "LL"), "nccl_ib", "found none: NCCL before"),
    ],
)  # fmt: skip
def test_another_path_or_algorithm_is_not_believed(
    tmp_path: Path, text: str, asked: str, words: str
) -> None:
    beside = ("P2P",) if DIRECT in text else ()
    (objection,) = hear(tmp_path, text, asked, "RING", *beside).objections
    assert words in objection


@pytest.mark.parametrize(("number", "name"), [("1", "RING"), ("Ring", "RING")])
def test_older_words_for_algorithms_are_understood(tmp_path: Path, number: str, name: str) -> None:
    said = hear(tmp_path, CARDS + CALL.format("AllReduce", "  32", number, "2"), "nccl_ib", name)
    assert said.objections == ()
    assert f"algorithm {name}, protocol SIMPLE" in said.evidence


def test_where_nccl_chooses_any_algorithm_is_right(tmp_path: Path) -> None:
    assert hear(tmp_path, CARDS + RING, "nccl_ib", "").objections == ()
    assert {each.scheme for each in BENCHMARKS.values()} == {"ring", "tree", "auto"}


TRAINING = "gpt2_tail3_nccl_tree"
SITE = {"gpus_per_node": 1, "allreduce_lab": {"compute": {"gpt2": 1250}}}


def test_the_24_iterations_of_the_guide_have_cases_where_gpus_are() -> None:
    cases = [each for each in launch.cases("nccl-training") if each.placement.num_nodes == 8]
    assert len(cases) == 24
    measured = launch.measurement(Case(TRAINING, "nccl_socket-8n"))
    assert measured.systems == ["+gpu +nccl_socket +nodes_8 +training_gpt2 +tail3"]
    assert measured.benchmark.recorded == ((Metric.NCCL_TREE, "avg"),)
    ranks, started = job(TRAINING, "nccl_socket-8n", **SITE)
    words = list(started.words)
    assert (ranks, words[1:4]) == (Ranks(8, 1), ["allreduce", "--scheme", "tree"])
    buckets = words[words.index("--buckets") + 1].split(",")
    assert sum(map(int, buckets)) == 4 * 124439808
    assert words[words.index("--compute") + 1] == "1250"
    assert "-m" not in words


def training(**more: Any) -> str:
    found = json.loads(collective(4 * 124439808, **{"scheme": "tree", **more}))
    found["options"]["buckets"] = 13
    found["results"][0]["time"] = {"avg": 1.91, "min": 1.9, "max": 1.95, "p50": 1.91}
    return json.dumps(found)


def test_an_iteration_is_one_point_in_seconds_and_what_it_moved_is_known() -> None:
    found = parse(training(), "out", TRAINING)
    assert named(found.variables())["nccl_tree_avg"] == (1.91, "s")
    assert launch._exchanged(found).payload == 4 * 124439808 * 200 // 2


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (training(), "gpt2_tail3_nccl_ring"),
        (training(), "llama_3_2_tail3_nccl_tree"),
        (training(), "nccl_allreduce_tree"),
        (training(), ""),
    ],
)
def test_an_iteration_of_another_training_is_refused(text: str, name: str) -> None:
    with refused("FC1112", r"whose buckets are 497759232 B in NCCL's tree"):
        parse(text, "out", name)


def _buffers(size: int, ranks: int, wrong: float | None) -> dict[str, float | None]:
    rate = size / 50 / 1000
    return {"time": 50.0, "alg_bw": rate, "bus_bw": rate * 2 * (1 - 1 / ranks), "nwrong": wrong}


def nccl_tests_json(*sizes: int, wrong: float | None = 0.0, count: int = 0, ranks: int = 4) -> str:
    """What all_reduce_perf -J writes (JSON_FILE_VERSION 1), as its source has it."""
    devices = [
        {"rank": each, "group": 0, "pid": 7, "hostname": "n1", "device": each,
         "device_hex": f"0{each}:00", "device_info": "H100"}
        for each in range(ranks)
    ]  # fmt: skip
    config = {"nthreads": 1, "ngpus": 4, "minimum_bytes": 1024, "maximum_bytes": 4096}
    rows = [
        {"size": size, "count": size // 4, "type": "float", "redop": "sum", "root": "    -1",
         "out_of_place": _buffers(size, ranks, wrong), "in_place": _buffers(size, ranks, wrong),
         "actual_iterations": 20, "experiment_name": ""}
        for size in sizes
    ]  # fmt: skip
    return json.dumps({
        "version": 1, "args": ["/opt/build/all_reduce_perf", "-J", "o.json"], "env": [],
        "nccl_version": 22809,
        "config": {**config, "step_factor": 2, "validation": 1, "devices": devices},
        "results": rows,
        "out_of_bounds": {"count": count, "okay": "true"},
    })  # fmt: skip


def test_the_json_of_nccl_tests_is_read() -> None:
    found = parse(nccl_tests_json(1024, 2048, 4096), "o.json")
    assert (found.benchmark, found.is_whole) == ("nccl_allreduce", True)
    assert found.points[0].values[Metric.LATENCY, "avg"] == 50
    assert found.points[2].values[Metric.BANDWIDTH, "avg"] == pytest.approx(4096 / 50 * 1.5)
    assert all(point.valid for point in found.points)
    assert parse(nccl_tests_json(1024, 2048, 4096, wrong=None), "").points[0].valid is None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (nccl_tests_json(1024, 2048), "FC1273"),
        (nccl_tests_json(1024, 2048, 4096, count=3), "FC1272"),
        (nccl_tests_json(1024, 2048, 4096)[:-20], "FC3604"),
        (nccl_tests_json(1024, 2048, 4096).replace("alg_bw", "rate", 1), "FC3604"),
    ],
    ids=["a row is missing", "data were wrong", "cut", "edited"],
)
def test_json_of_nccl_tests_that_is_cut_or_wrong_is_refused(text: str, code: str) -> None:
    with refused(code, "expected"):
        parse(text, "o.json")
