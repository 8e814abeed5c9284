#!/usr/bin/env python3
"""Measure this suite's programs on the GPUs of one node, beside OSU and the libraries alone.

Needs Python's standard library, an MPI, and builds of src/bench for it; what else is missing (OSU
built with CUDA, PyTorch) is said and left out. Everything that a program printed lies in the
directory given, with a summary.json; docs/reference/programs/ has what one such run found.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EPILOG = """Example:

  lab/measure-gpu.py --programs build/openmpi --osu /opt/osu/pt2pt \\
    --out gpu-results

The environment must make the MPI CUDA-aware: LD_LIBRARY_PATH with a UCX that has CUDA, cuBLAS and
NCCL. Exit codes: 0 everything ran, 1 something failed, 2 nothing could be measured."""

TRANSPORTS = {
    "cuda_ipc": "sm,self,cuda_copy,cuda_ipc",
    "cuda_copy": "sm,self,cuda_copy",
    "tcp_cuda": "tcp,self,cuda_copy",
}
NOT_AWARE = {"cma": "sm,self", "tcp": "tcp,self"}
PATHS = ("aware", "staged")
CURVES = ("latency", "bw", "bibw", "mbw_mr", "bcast")
ORDERS = "2000,4000,6000,8000,10000"
COLLECTIVES = ("allreduce", "reduce", "bcast", "allgather", "reduce_scatter", "alltoall")
TIMEOUT = 180
_MICRO, _MEGA, _GIGA = 1e6, 1e-6, 1e-9

_TORCH = """
import json, time, torch
found = {}
for n in %s:
    a, b = (torch.randint(-64, 65, (n, n), dtype=torch.float64, device="cuda") for _ in "ab")
    c = torch.empty_like(a)
    seconds = []
    for _ in range(%d):
        torch.cuda.synchronize()
        start = time.perf_counter()
        torch.mm(a, b, out=c)
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    found[n] = seconds[1:]
print(json.dumps(found))
"""


@dataclass
class Lab:
    """Where the programs are, where results go, and what went wrong so far."""

    programs: Path
    osu: Path | None
    out: Path
    launcher: Sequence[str]
    budget: float
    rounds: int
    summary: dict[str, Any] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def run(
        self, name: str, command: Sequence[str | Path], ranks: int = 2, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on so many ranks; what it printed goes to files of that name."""
        logs = {"UCX_LOG_LEVEL": "info", "UCX_LOG_FILE": str(self.out / f"{name}.ucx.%p.log")}
        whole = [*self.launcher, "-n", str(ranks), *map(str, command)]
        start = time.monotonic()
        try:
            done = subprocess.run(
                whole,
                env={**os.environ, **logs, **environment},
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            done = subprocess.CompletedProcess(whole, 124, "", f"not over in {TIMEOUT} s")
        took = time.monotonic() - start
        (self.out / f"{name}.out").write_text(done.stdout)
        (self.out / f"{name}.err").write_text(done.stderr)
        print(f"{took:7.1f} s  exit code {done.returncode}  {name}", flush=True)
        return done

    def program(self, name: str) -> Path:
        """One of this suite's programs."""
        return self.programs / name / name

    def measure(
        self, name: str, program: str, *options: str, ranks: int = 2, **environment: str
    ) -> dict[str, Any]:
        """The JSON of one of this suite's programs; empty, and a failure, if it has none."""
        document = self.out / f"{name}.json"
        command = [self.program(program), *options, "--json", document]
        done = self.run(name, command, ranks, **environment)
        if done.returncode != 0 or not document.exists():
            last = (done.stderr.strip() or "nothing").splitlines()
            own = [line for line in last if line.startswith(program)] or last[-1:]
            self.failures.append(f"{name}: exit code {done.returncode}: {own[0]}")
        return json.loads(document.read_text()) if document.exists() else {}


def values(document: Mapping[str, Any]) -> dict[int, float]:
    """Of each size: microseconds, or MB/s; averages, as OSU prints them."""
    found = {}
    for result in document.get("results", ()):
        if "latency" in result:
            found[result["size"]] = result["latency"]["avg"] * _MICRO
        else:
            found[result["size"]] = result["bandwidth"]["avg"] * _MEGA
    return found


def curves(lab: Lab) -> None:
    """Aware and staged over each transport, all sizes, data compared."""
    found: dict[str, Any] = {}
    for transport, tls in TRANSPORTS.items():
        for benchmark in CURVES:
            for path in PATHS:
                options = ["--buffer", "device", "--path", path, "-c", "-m", "1:4194304"]
                document = lab.measure(
                    f"{benchmark}-{transport}-{path}",
                    "mpi_probe",
                    *(benchmark, *options, "--time-budget", str(lab.budget)),
                    UCX_TLS=tls,
                    UCX_PROTO_INFO="used",
                )
                found.setdefault(benchmark, {}).setdefault(transport, {})[path] = values(document)
    managed = ["--buffer", "managed", "-c", "-m", "1:65536", "--time-budget", str(lab.budget)]
    for path in PATHS:
        name = f"latency-managed-{path}"
        document = lab.measure(
            name,
            "mpi_probe",
            *("latency", *managed, "--path", path),
            UCX_TLS=TRANSPORTS["cuda_ipc"],
            UCX_PROTO_INFO="used",
        )
        found[name] = values(document)
    lab.summary["curves"] = found


def osu_values(text: str) -> dict[int, float]:
    """The table of an OSU program."""
    rows = (line.split() for line in text.splitlines() if re.match(r"\d", line))
    return {int(row[0]): float(row[1]) for row in rows}


def beside_osu(lab: Lab) -> None:
    """The same sizes and iterations as OSU on device memory, in turn A B B A: ratios of medians."""
    if lab.osu is None or not (lab.osu / "osu_latency").exists():
        lab.summary["osu"] = "no OSU built with CUDA was given"
        return
    found: dict[str, Any] = {}
    for benchmark, iterations, warmup in (("latency", 1000, 100), ("bw", 100, 10)):
        rounds = ["-m", "1:4194304", "-i", str(iterations), "-x", str(warmup)]
        for lane in ("cuda_ipc", "cuda_copy"):
            tls = {"UCX_TLS": TRANSPORTS[lane]}
            sides: dict[str, list[dict[int, float]]] = {"ours": [], "osu": []}
            for turn in range(lab.rounds):
                for side in ("ours", "osu") if turn % 2 == 0 else ("osu", "ours"):
                    name = f"osu-{benchmark}-{lane}-{side}-{turn}"
                    if side == "ours":
                        options = [benchmark, "--buffer", "device", *rounds]
                        sides[side].append(values(lab.measure(name, "mpi_probe", *options, **tls)))
                    else:
                        command = [lab.osu / f"osu_{benchmark}", "-d", "cuda", *rounds, "D", "D"]
                        sides[side].append(osu_values(lab.run(name, command, **tls).stdout))
            found[f"{benchmark} {lane}"] = medians_of(*sides.values())
    lab.summary["osu"] = found


def medians_of(*sides: Sequence[Mapping[int, float]]) -> dict[int, list[float]]:
    """Of each size that all rounds have: the median of each side."""
    sizes = set.intersection(*(set(each) for side in sides for each in side))
    return {
        size: [statistics.median(each[size] for each in side) for side in sides]
        for size in sorted(sizes)
    }


def guard(lab: Lab) -> None:
    """An MPI that is not CUDA-aware: one sentence, exit code 1, in seconds."""
    found: dict[str, Any] = {}
    for transport, tls in NOT_AWARE.items():
        for benchmark in ("latency", "bcast", "allreduce"):
            name = f"guard-{transport}-{benchmark}"
            start = time.monotonic()
            command = [lab.program("mpi_probe"), benchmark, "--buffer", "device", "-m", "4194304"]
            done = lab.run(name, command, UCX_TLS=tls)
            sentences = [line for line in done.stderr.splitlines() if line.startswith("mpi_probe")]
            found[name] = [done.returncode, time.monotonic() - start, sentences]
            if done.returncode != 1 or len(sentences) != 1:
                lab.failures.append(f"{name}: exit code {done.returncode}, said {sentences}")
    lab.summary["guard"] = found


def by_phase(document: Mapping[str, Any]) -> dict[str, list[float]]:
    """Of each order and phase: median milliseconds, and GFlop/s."""
    return {
        f"{each['order']} {each['phase']}": [
            each["time"]["p50"] * 1e3,
            (each.get("flops") or 0.0) * _GIGA,
        ]
        for each in document.get("results", ())
    }


def matmul(lab: Lab) -> None:
    """The phases on one rank and on two; cuBLAS alone, by PyTorch, between two runs of one rank."""
    found: dict[str, Any] = {}
    options = ["-n", ORDERS, "-c", "-i", "10", "-x", "2", "--compute", "gpu"]
    tls = {"UCX_TLS": TRANSPORTS["cuda_ipc"]}
    for turn in (1, 2):
        name = f"matmul-1-aware-{turn}"
        found[name] = by_phase(lab.measure(name, "mpi_matmul", *options, ranks=1, **tls))
        if turn == 1:
            found["cublas alone"] = cublas_alone(lab)
    for mode in ("blocking", "nonblocking", "collective"):
        for path in PATHS:
            name = f"matmul-2-{mode}-{path}"
            more = [*options, "--path", path, "-m", mode]
            found[name] = by_phase(lab.measure(name, "mpi_matmul", *more, **tls))
    lab.summary["matmul"] = found


def cublas_alone(lab: Lab) -> dict[str, float] | str:
    """GFlop/s of torch.mm, which calls cublasDgemm and nothing else; the median of ten."""
    source = _TORCH % (f"[{ORDERS}]", 12)
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    (lab.out / "cublas-alone.json").write_text(done.stdout)
    if done.returncode != 0:
        return (done.stderr.strip() or "nothing").splitlines()[-1]
    return {
        n: 2 * int(n) ** 3 / statistics.median(seconds) * _GIGA
        for n, seconds in json.loads(done.stdout).items()
    }


def nccl(lab: Lab) -> None:
    """NCCL between two ranks, which share a GPU where there is one only: does it work."""
    found: dict[str, Any] = {}
    schemes = [("allreduce", "ring"), ("allreduce", "tree")]
    for collective, scheme in [*schemes, *((each, "auto") for each in COLLECTIVES)]:
        name = f"nccl-{collective}-{scheme}"
        document = lab.measure(
            name,
            "nccl_probe",
            *(collective, "--scheme", scheme, "-c", "--share-gpu", "-m", "1024:1048576"),
            *("-i", "2", "-x", "1", "--batch", "2", "--time-limit", "20"),
            NCCL_DEBUG="INFO",
            NCCL_DEBUG_SUBSYS="INIT,ENV,NET,P2P,SHM,TUNING",
            NCCL_DEBUG_FILE=str(lab.out / f"{name}.nccl.%p.log"),
        )
        found[name] = {
            each["size"]: [each["time"]["p50"] * _MICRO, each["valid"]]
            for each in document.get("results", ())
        }
        found["version"] = document.get("environment", {}).get("nccl", "")
    lab.summary["nccl"] = found


PARTS: dict[str, Callable[[Lab], None]] = {
    "guard": guard,
    "curves": curves,
    "osu": beside_osu,
    "matmul": matmul,
    "nccl": nccl,
}


def machine() -> Iterator[tuple[str, str]]:
    """What the node says of itself; nothing is changed."""
    query = "--query-gpu=name,driver_version,memory.total,pci.bus_id,clocks.sm,clocks.mem"
    for name, command in {
        "gpu": ["nvidia-smi", query, "--format=csv,noheader"],
        "cpu": ["lscpu"],
        "kernel": ["uname", "-a"],
    }.items():
        try:
            yield name, subprocess.run(command, capture_output=True, text=True, check=False).stdout
        except OSError as error:
            yield name, str(error)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=Path, required=True, help="build folder of src/bench")
    parser.add_argument("--osu", type=Path, help="folder with OSU's programs, built with CUDA")
    parser.add_argument("--out", type=Path, required=True, help="directory for the results")
    parser.add_argument(
        "--launcher", default="mpirun --oversubscribe", help="what starts ranks, up to -n N"
    )
    parser.add_argument("--budget", type=float, default=0.2, help="seconds for each size")
    parser.add_argument("--rounds", type=int, default=5, help="of each program beside OSU")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts")
    return parser.parse_args()


def main() -> int:
    """Run the parts that were asked for."""
    given = arguments()
    if not given.programs.is_dir():
        print(f"{given.programs} is no build folder of src/bench", file=sys.stderr)
        return 2
    given.out.mkdir(parents=True, exist_ok=True)
    lab = Lab(
        given.programs.resolve(),
        given.osu,
        given.out.resolve(),
        given.launcher.split(),
        given.budget,
        given.rounds,
    )
    lab.summary["machine"] = dict(machine())
    for part in given.only:
        try:
            PARTS[part](lab)
        except Exception as error:  # the other parts still run
            lab.failures.append(f"{part}: {type(error).__name__}: {error}")
        lab.summary["failures"] = lab.failures
        (lab.out / "summary.json").write_text(json.dumps(lab.summary, indent=1))
    for failure in lab.failures:
        print(f"failed: {failure}")
    return 1 if lab.failures else 0


if __name__ == "__main__":
    sys.exit(main())
