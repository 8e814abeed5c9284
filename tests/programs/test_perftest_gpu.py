"""perftest on memory of GPUs: its options by vendor, and what it must say. Not seen on hardware."""

from pathlib import Path

import pytest
from tests.refusals import refused

from fabricheck.launch.cases import Case
from fabricheck.launch.measurement import Setting
from fabricheck.measures.gpu import VENDORS
from fabricheck.programs.perftest import read
from fabricheck.programs.perftest.entries import BENCHMARKS
from fabricheck.programs.perftest.launch import Perftest
from fabricheck.sites.extras import PartitionExtras

WRITE_BW = Path(__file__).parents[1] / "data" / "perftest-4.5" / "write_bw.rc.txt"
# As perftest's sources print them.
CUDA = """initializing CUDA
Finding PCIe BUS 0000:24:00.0
Picking GPU number 3
using DMA-BUF for GPU buffer address at 0x7f00 aligned at 0x7f00 with aligned size 131072
allocated GPU buffer of a 131072 address at 0x7ffd for type CUDA_MEM_DEVICE
"""
PEERMEM = "allocated GPU buffer of a 131072 address at 0x7ffd for type CUDA_MEM_DEVICE\n"
ROCM = "Using ROCm Device with ID: 1, Name: gfx942, PCI Bus ID: 0x91, GCN Arch: gfx942\n" \
    "using DMA-BUF for GPU buffer address at 0x7f00 aligned at 0x7f00 with aligned size 65536\n" \
    "allocated 65536 bytes of GPU buffer at 0x7f00\n"  # fmt: skip


@pytest.mark.parametrize(
    ("extras", "words", "vendor"),
    [
        ({}, "--use_cuda_bus_id=@gpu@ --use_cuda_dmabuf -F", "0x10de:"),
        ({"gpu_peermem": True}, "--use_cuda_bus_id=@gpu@ -F", "0x10de:"),
        (
            {"ucx_net_devices": {"rdma": "mlx5_3:1"}},
            "--use_cuda_bus_id=@gpu@ --use_cuda_dmabuf -F",
            "0x10de:mlx5_3",
        ),
        ({"gpu_vendor": "rocm"}, "--use_rocm=@gpu_number@ --use_rocm_dmabuf -F", "0x1002:"),
    ],
)
def test_a_vendor_is_one_row(extras: dict[str, object], words: str, vendor: str) -> None:
    measured = Perftest(Case("ib_write_bw_gpu", "rc-2n"))
    job = measured.job(Setting(extras=PartitionExtras.of(extras), launcher="srun"))
    assert f"ib_write_bw {words} -c RC" in " ".join(job.words)
    assert job.variables["FABRICHECK_GPU"] == vendor
    assert "+gpu_verbs" in measured.systems[0]
    plain = Perftest(Case("ib_write_bw", "rc-2n")).job(Setting(launcher="srun"))
    assert "FABRICHECK_GPU" not in plain.variables


def test_no_vendor_is_claimed_to_be_seen() -> None:
    assert {name: vendor.seen for name, vendor in VENDORS.items()} == {
        "cuda": "not seen", "rocm": "not seen",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("said", "dmabuf", "is_gpu"),
    [
        (CUDA, True, True),
        (ROCM, True, True),
        (PEERMEM, False, True),
        (PEERMEM, True, False),
        ("", False, False),
    ],
)
def test_data_that_were_in_host_memory_are_not_believed(
    said: str, dmabuf: bool, is_gpu: bool
) -> None:
    outputs = [said + WRITE_BW.read_text()] * 2
    if not is_gpu:
        with refused("FC3110"):
            read.confirm_gpu(outputs, "job", dmabuf=dmabuf)
        return
    read.confirm_gpu(outputs, "job", dmabuf=dmabuf)
    curve = read.confirm(read.parse(outputs[0], "job"), BENCHMARKS["ib_write_bw_gpu"], {}, "job")
    assert curve.benchmark == "ib_write_bw_gpu"
    assert curve.points == read.parse(WRITE_BW.read_text(), "job").points
