"""MPI on memory of GPUs: how it is asked for, read, believed and judged."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.programs.results import document, named
from tests.refusals import refused

from fabricheck.baseline.propose import case_of as case_with_references
from fabricheck.errors import FabricheckError
from fabricheck.history.series import SeriesKey
from fabricheck.judge.levels import Level
from fabricheck.judge.references import Reference
from fabricheck.judge.verdict import Subject, judge_curve
from fabricheck.launch import gpu
from fabricheck.launch.cases import Case
from fabricheck.launch.measurement import Evidence, Job, Setting
from fabricheck.measures.curve import Curve, Variable
from fabricheck.measures.gpu import FAKE_DEVICE
from fabricheck.measures.metrics import Metric
from fabricheck.measures.parser import parse
from fabricheck.programs.cuda_mpi import launch
from fabricheck.programs.cuda_mpi.entries import BENCHMARKS
from fabricheck.programs.cuda_mpi.judge import refine
from fabricheck.programs.cuda_mpi.ratio import shape_ratio, shapes
from fabricheck.sites.extras import PartitionExtras
from fabricheck.transports.families import PROTOCOL_TABLES

H100 = {"gpu": ["NVIDIA H100", "NVIDIA H100"], "gpu_arch": ["90", "90"]}
FAKE = {"gpu": [FAKE_DEVICE] * 2, "gpu_arch": ["90", "90"]}
MIB = 1 << 20


def bandwidths(
    *values: float,
    least: int = MIB,
    memory: str = "device",
    path: str = "aware",
    environment: Mapping[str, Any] = H100,
    copied: int = 1 << 40,
) -> str:
    """A run of ``mpi_probe bw``, in MB/s at sizes that double."""
    copies = {"copied_in": copied, "copied_out": copied} if path == "staged" else {}
    found = document("mpi_probe", "bw", [
        {"size": least << step, "iterations": 50, "warmup": 5, "bandwidth": value * 1e6,
         "valid": True, **copies}
        for step, value in enumerate(values)
    ])  # fmt: skip
    found["options"] = {"buffer": memory, "path": path}
    found["environment"].update(environment)
    return json.dumps(found)


def curve(*values: float, **changed: Any) -> Curve:
    return parse(bandwidths(*values, **changed), "out")


def job(name: str, placement: str, provider: str = "mpi_probe", **extras: object) -> Job:
    build = SimpleNamespace(
        provider=provider,
        yield_library="",
        ucx_info="",
        mpi_version="",
        program=lambda name: f"/built/{name}",
        command=lambda benchmark: [f"/osu/{benchmark.osu_program}"],
    )
    setting = Setting(
        extras=PartitionExtras.of(extras), launcher="srun", mpi="openmpi", pmi="pmix", build=build
    )
    return launch.measurement(Case(name, placement)).job(setting)


@pytest.mark.parametrize(
    ("memory", "path", "name"),
    [
        ("device", "aware", "bw_device_aware"),
        ("device", "staged", "bw_device_staged"),
        ("managed", "aware", "bw_managed_aware"),
        ("host", "aware", "bw"),
    ],
)
def test_memory_and_path_are_parts_of_the_name(memory: str, path: str, name: str) -> None:
    assert curve(1.0, 2.0, memory=memory, path=path).benchmark == name


def test_a_memory_that_no_benchmark_has_is_refused() -> None:
    with refused("FC1112", "unknown benchmark 'bw_pinned_aware' of mpi_probe: known"):
        curve(1.0, memory="pinned")


def test_a_staged_path_without_its_copies_is_refused() -> None:
    assert curve(1.0, path="staged", copied=50 * MIB).benchmark == "bw_device_staged"
    with refused("FC1112", r"52428800 B or more .* staged path, found 52428799"):
        curve(1.0, path="staged", copied=50 * MIB - 1)


def test_each_path_is_asked_for_by_our_program() -> None:
    aware = job("bw_device_aware", "cuda_ipc-1n")
    assert aware.words[:2] == ["/built/mpi_probe", "bw"]
    assert aware.words[-4:] == ["--buffer", "device", "--path", "aware"]
    assert aware.variables["UCX_TLS"] == "sm,self,cuda_copy,cuda_ipc"
    staged = job("bw_device_staged", "shm-1n")
    assert staged.words[-4:] == ["--buffer", "device", "--path", "staged"]
    assert staged.variables["UCX_TLS"] == "sm,self"
    assert PROTOCOL_TABLES.items() <= aware.variables.items() & staged.variables.items()


@pytest.mark.parametrize(
    ("name", "placement", "words"),
    [
        ("bw_device_aware", "rc_cuda-2n", ["/osu/osu_bw", "-d", "cuda", "D", "D"]),
        ("bcast_device_aware", "rc_cuda-2n", ["/osu/osu_bcast", "-d", "cuda"]),
        ("bw_device_staged", "rc-2n", ["/built/mpi_probe", "bw", "--path", "staged"]),
        ("bw_managed_aware", "tcp_cuda-2n", ["/built/mpi_probe", "bw", "--buffer", "managed"]),
    ],
)
def test_with_spack_osu_measures_what_it_can(name: str, placement: str, words: list[str]) -> None:
    started = list(job(name, placement, "osu").words)
    assert [each for each in started if each in words] == words
    assert started[-2:] == ["D", "D"] or words[-2:] != ["D", "D"]


def test_a_site_gives_its_gpus_to_the_job() -> None:
    assert job("bw_device_aware", "cuda_ipc-1n").options == ()
    assert job("bw_device_aware", "cuda_ipc-1n", gpus_per_node=4).options == ["--gpus-per-node=4"]
    assert "FABRICHECK_FAKE_GPU" not in job("bw_device_aware", "cuda_ipc-1n").variables
    allowed = job("bw_device_aware", "cuda_ipc-1n", fake_gpu=True)
    assert allowed.variables["FABRICHECK_FAKE_GPU"] == "1"


def test_collectives_that_the_mpi_reduces_need_an_mpi_with_cuda() -> None:
    needs = {name: entry.needs for name, entry in BENCHMARKS.items()}
    assert needs["allreduce_device_aware"] == ("cuda", "cuda_collectives")
    assert needs["bcast_device_aware"] == ("cuda",)
    measured = launch.measurement(Case("alltoall_device_aware", "cuda_ipc-1n"))
    assert all("+cuda +cuda_collectives" in each for each in measured.environs)
    assert measured.systems == ["+gpu +cuda_ipc +nodes_1"]


def test_managed_memory_is_measured_where_no_lane_must_read_it() -> None:
    cases = [case for case in launch.cases("cuda_mpi") if "managed" in case.benchmark]
    found = {str(case.placement) for case in cases}
    assert "tcp_cuda-2n" in found
    assert not {"cuda_ipc-1n", "rc_cuda-2n"} & found


@pytest.mark.parametrize(
    ("environment", "extras", "words"),
    [
        (H100, {}, ""),
        (H100, {"gpu_arch": "90"}, ""),
        (H100, {"gpu_arch": "80"}, "expected GPUs of architecture 80 .* found 90"),
        ({}, {}, "expected the names of the ranks' GPUs in the result, found none"),
        (FAKE, {}, r"expected a GPU, found 'Fake GPU \(host memory\)', the driver of the suite's"),
        (FAKE, {"fake_gpu": True, "gpu_arch": "90"}, ""),
    ],
)
def test_devices_are_held_against_the_site(
    environment: Mapping[str, Any], extras: Mapping[str, Any], words: str
) -> None:
    found = gpu.examine(
        Evidence(curve(1.0, environment=environment)), Setting(extras=PartitionExtras.of(extras))
    )
    if not words:
        assert found.objections == ()
    else:
        with pytest.raises(FabricheckError, match=words):
            raise FabricheckError(found.objections[0])


def test_values_of_a_fake_are_held_against_no_reference() -> None:
    references = {Variable(Metric.BANDWIDTH, "avg", MIB): Reference(100.0, -0.1, None, "MB/s")}
    for environment, level in ((H100, Level.CRITICAL), (FAKE, Level.NO_REFERENCE)):
        measured = curve(1.0, environment=environment)
        verdict = refine(judge_curve(measured, references, None), Subject(measured, None))
        assert verdict.level is level
    assert measured.program == "mpi_probe (fake GPU)"
    assert verdict.findings[0].startswith("measured on 'Fake GPU (host memory)'")


def test_no_reference_is_ever_proposed_of_a_fake() -> None:
    def key(program: str) -> SeriesKey:
        place = ("s", "p", "e", "CudaMpi", "bw_device_aware", "cuda_ipc", 1)
        return SeriesKey(*place, program=program, metric="bandwidth", statistic="avg", size=MIB)

    assert case_with_references(key("mpi_probe")) is not None
    assert case_with_references(key("mpi_probe (fake GPU)")) is None


OSU_PAIR = """\
# OSU MPI-CUDA Bandwidth Test v7.4
# Datatype: MPI_CHAR.
# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)
# Size      Bandwidth (MB/s)        Validation
1048576             21000.11              Pass
"""


def test_tables_of_osu_with_cuda_are_those_of_gpus() -> None:
    assert parse(OSU_PAIR, "out").benchmark == "bw_device_aware"
    assert parse(OSU_PAIR, "out", "bw_device_aware").program == "osu"
    assert parse(OSU_PAIR.replace("-CUDA", ""), "out").benchmark == "bw"


def test_osu_on_other_memory_is_not_believed(tmp_path: Path) -> None:
    build = SimpleNamespace(provider="osu", ucx_info="", mpi_version="")
    setting = Setting(mpi="openmpi", build=build, stage=tmp_path, stdout="out", stderr="err")
    measured = launch.measurement(Case("bw_device_aware", "cuda_ipc-1n"))
    for text, expected in ((OSU_PAIR, False), (OSU_PAIR.replace("DEVICE (D)", "HOST (H)"), True)):
        (tmp_path / "out").write_text(text)
        objections = measured.examine(setting).objections
        assert any("it measured other memory" in each for each in objections) is expected


def test_large_messages_of_the_aware_path_are_compared_with_the_staged_one() -> None:
    (here, between) = shapes()
    ratio = shape_ratio(here)
    assert (str(ratio.upper.placement), str(ratio.lower.placement)) == ("cuda_ipc-1n", "shm-1n")
    assert str(shape_ratio(between).lower.placement) == "rc-2n"
    aware = curve(10.0, 20.0, 30.0, least=MIB // 2)
    found = ratio.divide(aware, curve(40.0, 10.0, 10.0, path="staged", least=MIB // 2))
    assert found == {MIB: 2.0, 2 * MIB: 3.0}
    assert named(ratio.values(found)) == {"ratio_min": 2.0}
    assert "at 1MiB CUDA-aware MPI has 2 times the bandwidth" in ratio.remark(found)[0]
    small = curve(1.0, least=8)
    with refused("FC1201"):
        ratio.divide(small, small)
