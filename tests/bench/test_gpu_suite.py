"""The suite itself on GPUs that are host memory: what it measures, proves, refuses and shows."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.reframe_ext.recorded import measured

from fabricheck.measures.gpu import FAKE_DEVICE

pytestmark = [pytest.mark.e2e, pytest.mark.ranks, pytest.mark.xdist_group("gpu suite")]

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
# The programs are built already; CMake would compile them once more for this site.
CMAKE = """\
#!/bin/sh
if [ "$1" = --build ]; then
    for each in mpi_probe mpi_matmul nccl_probe yield_when_idle; do
        ln -sfn "$BUILT/$each" "$2/$each"
    done
fi
"""
WAYS = {
    "here": {"features": ["shm", "node_ranks_2", "nccl_node"], "extras": {"fake_gpu": True}},
    "strict": {},
    "bare": {"extras": {"fake_gpu": True}, "env_vars": [["FAKE_CUDA_DEVICES", "0"]]},
    "undriven": {"extras": {"fake_gpu": True}, "libraries": ("ucx",)},
    "old": {"extras": {"fake_gpu": True}, "libraries": ("driver",)},
}
"""Partitions, by what keeps GPUs from being used: nothing, then one fault each."""
OTHERS = ("matmul_gpu_aware_blocking_np2", "matmul_gpu_staged_blocking_np2", "nccl_allreduce_ring")


def partition(name: str, libraries: dict[str, str]) -> dict[str, Any]:
    own = WAYS[name]
    path = ":".join(libraries[each] for each in own.get("libraries", ("ucx", "driver")))
    return {
        "name": name, "scheduler": "local", "launcher": "mpirun", "environs": ["openmpi"],
        "max_jobs": 1,
        "features": ["gpu", "cuda_ipc", "nodes_1", *own.get("features", [])],
        "extras": {"max_message_size": 1 << 20, "time_budget": 0.02, "matrix_orders": [120],
                   **own.get("extras", {})},
        "env_vars": [["LD_LIBRARY_PATH", path], *own.get("env_vars", [])],
    }  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, openmpi: Any, fake_gpu: Any) -> Path:
    """A suite with one site, of which every case has run."""
    place = tmp_path_factory.mktemp("gpus")
    libraries = {"driver": str(fake_gpu.folder), "ucx": str(fake_gpu.ucx)}
    environment = {
        "name": "openmpi", "cc": "mpicc.openmpi", "cxx": "mpicxx.openmpi", "ftn": "",
        "features": ["mpi", "cuda", "nccl"], "extras": {"mpi_family": "openmpi"},
        "target_systems": ["fake"],
        "env_vars": [["PATH", f"{ROOT}/build/mpi/openmpi/bin:$PATH"], ["UCX_MEMTYPE_CACHE", "n"],
                     ["OMPI_MCA_rmaps_base_oversubscribe", "1"],
                     ["OMPI_ALLOW_RUN_AS_ROOT", "1"], ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"]],
    }  # fmt: skip
    system = {"name": "fake", "hostnames": [".*"],
              "partitions": [partition(name, libraries) for name in WAYS]}  # fmt: skip
    (place / "sites").mkdir()
    (place / "sites/fake.yaml").write_text(
        yaml.safe_dump({"systems": [system], "environments": [environment]})
    )
    (place / "reframe-config.py").write_text((ROOT / "reframe-config.py").read_text())
    (place / "bin").mkdir()
    (place / "bin/cmake").write_text(CMAKE)
    (place / "bin/cmake").chmod(0o755)
    taken = ", ".join(map(repr, ("bw_device_aware", "bw_device_staged", *OTHERS)))
    command(
        place, BIN / "reframe", "-C", "reframe-config.py", "--system=fake", "-c",
        ROOT / "checks/cuda_mpi.py", "-c", ROOT / "checks/nccl.py",
        "-n", "CudaMpi|CudaMatmul|Nccl", "-E", f"benchmark in ({taken})", "-r",
        PATH=f"{place / 'bin'}:{os.environ['PATH']}", BUILT=str(openmpi.folder),
    )  # fmt: skip
    return place


def command(place: Path, *words: object, **variables: str) -> str:
    done = subprocess.run(
        list(map(str, words)),
        cwd=place,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def cases(place: Path) -> dict[tuple[str, str], dict[str, Any]]:
    return {(case["partition"], case["benchmark"]): case for case in measured(place)}


def test_both_paths_are_proved_and_shown_beside_each_other(place: Path) -> None:
    found = cases(place)
    aware, staged = (found["here", f"bw_device_{path}"] for path in ("aware", "staged"))
    assert "zero-copy" in aware["evidence"]
    assert "by cuda_ipc" in aware["evidence"]
    assert "from GPU none; from host memory" in staged["evidence"]
    for case in (aware, staged):
        assert (case["level"], case["result"]) == ("no-reference", "fail"), case["findings"]
        assert case["program"] == "mpi_probe (fake GPU)"
        assert FAKE_DEVICE in case["findings"][0]
    for path in ("aware", "staged"):
        case = found["here", f"matmul_gpu_{path}_blocking_np2"]
        assert (case["level"], case["program"]) == ("no-reference", "mpi_matmul (fake GPU)")
    command(place, BIN / "fabricheck", "report", "--html", "page.html")  # fmt: skip
    page = (place / "page.html").read_text()
    assert "bw_device_aware" in page
    assert "bw_device_staged" in page
    assert "mpi_probe (fake GPU)" in page
    both = (
        r'aria-label="Bandwidth.*, bandwidth: openmpi device aware cuda_ipc-1n .*; openmpi device '
    )
    assert re.search(both + "staged shm-1n ", page)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("strict", "Fake GPU"),
        ("bare", "CUDA_ERROR_NO_DEVICE"),
        ("undriven", "libcuda.so.1"),
        # Open MPI 4 has nothing without it, Open MPI 5 has.
        ("old", "PML ucx cannot be selected|it is not CUDA-aware; use --path staged"),
    ],
)
def test_what_keeps_a_gpu_from_being_used_is_told(place: Path, name: str, words: str) -> None:
    case = cases(place)[name, "bw_device_aware"]
    assert (case["level"], case["result"]) == ("untrusted", "fail")
    assert re.search(words, case["findings"][0])
