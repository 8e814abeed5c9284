"""What an H100 said: tables of UCX, lines of NCCL and results, as lab/measure-gpu.py recorded them.

One NVIDIA H100 80GB HBM3, driver 580.159.04, two ranks of Open MPI 5.0.11 on it, UCX 1.22.0, NCCL
2.28.9, on 22 November 2026. The paths of the machine are made shorter.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.programs.results import named

from fabricheck.measures.metrics import Metric
from fabricheck.measures.parser import parse
from fabricheck.transports.gpu_memory import Load, check_memory
from fabricheck.transports.nccl import read_nccl_logs, report_of_nccl
from fabricheck.transports.table import Memory, Transport, find
from fabricheck.transports.witness import read_ucx_log

DATA = Path(__file__).parents[1] / "data" / "h100"
WAYS = ("cuda_ipc", "cuda_copy", "tcp_cuda", "staged")


def transport(way: str) -> Transport:
    return replace(find("shm"), memory=Memory.HOST) if way == "staged" else find(way)


@pytest.mark.parametrize("served", WAYS)
@pytest.mark.parametrize("asked", WAYS)
def test_a_path_is_believed_only_where_it_was_taken(asked: str, served: str) -> None:
    curve = parse((DATA / f"bw-{served}.json").read_text(), "result.json")
    sizes = {point.size or 0: point.iterations or 0 for point in curve.points}
    payload = sum(size * count for size, count in sizes.items())
    logs = [read_ucx_log((DATA / f"bw-{served}.{rank}.txt").read_text()) for rank in (0, 1)]
    heard = check_memory(transport(asked), Load(payload, sum(sizes.values()), sizes), logs)
    assert (heard.objections == ()) == (asked == served)


@pytest.mark.parametrize("way", WAYS)
def test_windows_of_each_way_are_read_whole_and_right(way: str) -> None:
    curve = parse((DATA / f"bw-{way}.json").read_text(), "result.json")
    assert [point.size for point in curve.points] == [1 << power for power in range(23)]
    assert curve.benchmark == ("bw_device_staged" if way == "staged" else "bw_device_aware")
    assert curve.metadata["gpu_arch"] == "90 90"


def test_inside_a_gpu_aware_messages_are_faster_than_copies_through_the_host() -> None:
    aware, staged = (
        {
            point.size or 0: point.values[Metric.BANDWIDTH, "avg"]
            for point in parse((DATA / f"bw-{way}.json").read_text(), "result.json").points
        }
        for way in ("cuda_ipc", "staged")
    )
    assert all(aware[size] > staged[size] for size in aware if size >= 1 << 20)


@pytest.mark.parametrize("scheme", ["ring", "tree"])
def test_nccl_names_its_algorithm_and_its_channels(tmp_path: Path, scheme: str) -> None:
    for rank in (0, 1):
        text = (DATA / f"nccl-{scheme}.{rank}.txt").read_text()
        (tmp_path / f"nccl.vm.{rank}.log").write_text(text)
    said = read_nccl_logs(tmp_path, "AllReduce")
    assert said.versions == {"2.28.9"}
    # Ranks that share a GPU are two nodes to NCCL.
    believed = report_of_nccl(find("nccl_socket"), said, scheme.upper())
    assert believed.objections == ()
    other = {"ring": "TREE", "tree": "RING"}[scheme]
    assert report_of_nccl(find("nccl_socket"), said, other).objections
    assert report_of_nccl(find("nccl_ib"), said, scheme.upper()).objections


def test_collectives_and_products_are_read() -> None:
    ring = parse((DATA / "nccl-ring.json").read_text(), "result.json")
    assert ring.benchmark == "nccl_allreduce_ring"
    product = parse((DATA / "matmul-staged.json").read_text(), "result.json")
    assert product.benchmark == "matmul_gpu_staged_blocking_np2"
    assert {"copy_in_p50_N2000", "copy_out_p50_N10000"} <= set(named(product.variables()))
