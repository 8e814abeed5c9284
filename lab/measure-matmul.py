#!/usr/bin/env python3
"""Measure mpi_matmul's compute phase beside the BLAS called alone, and its phases on two MPIs.

The BLAS is that which the program is linked with, called from this process through its Fortran
interface, without MPI, for the same rows of the same order. Both run in turn, A B B A ..., so that
a drift of the machine meets both; with two ranks, two processes call the BLAS at the same time,
each on the core of its rank. The least times are compared, because whatever disturbs a run can only
add to it. The phases are measured over shared memory and over TCP, of the second order.

Run it on a quiet machine, from the repository's virtual environment.
docs/reference/programs/mpi_matmul.md has the tables that it prints.
"""

import ctypes
import json
import multiprocessing
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from fabricheck.errors import FabricheckError
from fabricheck.programs.mpi_matmul.entries import MODES
from fabricheck.transports.settings import Ports, settings

EPILOG = """Example:

lab/measure-matmul.py --program openmpi=build/openmpi/mpi_matmul/mpi_matmul
--program mpich=build/mpich/mpi_matmul/mpi_matmul

Exit codes: 0 the compute phase reaches the share that is asked for, 1 it does not, 2 it could not
be measured."""

LAUNCHERS = {
    "openmpi": ("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"),
    "mpich": ("mpiexec.hydra",),
}
PIN = (
    "sh",
    "-c",
    'exec taskset -c $((${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}} % $(nproc))) "$@"',
    "pin",
)
PHASES = ("transfer_a", "broadcast_b", "compute", "transfer_c", "total")
TIMEOUT = 600
_LIMIT = 64
_MICRO, _MILLI = 1e6, 1e3


def run_program(
    mpi: str, program: Path, transport: str, ranks: int, options: Sequence[str]
) -> dict[str, Any]:
    """Run mpi_matmul once; its JSON document."""
    chosen = {
        name: value
        for name, value in settings(mpi, transport, Ports(devices={"tcp": "lo"})).items()
        if not name.startswith("UCX_LOG")
    }
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = [*LAUNCHERS[mpi], "-n", str(ranks), *PIN, str(program), *options, "--json", "-"]
    done = subprocess.run(
        command,
        env={**os.environ, **chosen, **root},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    if done.returncode != 0:
        tail = " / ".join(done.stderr.strip().splitlines()[-3:])
        raise FabricheckError(
            f"{mpi} {transport} on {ranks} ranks: expected exit code 0, found {done.returncode}: "
            f"{tail}"
        )
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def library_of(program: Path) -> Path:
    """The BLAS that a program is linked with."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    match = re.search(r"=> (\S*lib(?:openblas|blis|blas)\S*)", listed)
    if not match:
        raise FabricheckError(f"expected a shared BLAS that {program} is linked with, found none")
    return Path(match[1])


@dataclass(frozen=True)
class Work:
    """What both sides of the comparison multiply.

    Attributes:
        order: of the matrices.
        ranks: ranks of the program, or processes that call the BLAS.
        repetitions: timed multiplications of a run, after one that warms up.
    """

    order: int
    ranks: int
    repetitions: int

    def rows(self, rank: int) -> int:
        """The rows of a rank: as even as can be, the first ones have one more."""
        return self.order // self.ranks + (rank < self.order % self.ranks)


def call_blas(library: Path, work: Work, rank: int, together: Barrier, out: Any) -> None:
    """In a process of its own: multiply the rows of a rank, put the least time in us into out."""
    os.sched_setaffinity(0, {rank % (os.cpu_count() or 1)})
    dgemm = ctypes.CDLL(str(library)).dgemm_
    random = np.random.default_rng(1)
    shapes = ((work.rows(rank), work.order), (work.order, work.order))
    a, b = (random.integers(-_LIMIT, _LIMIT, shape).astype(float) for shape in shapes)
    c = np.zeros(shapes[0])
    first, second, result = (m.ctypes.data_as(ctypes.c_void_p) for m in (b, a, c))
    size, own = ctypes.byref(ctypes.c_int(work.order)), ctypes.byref(ctypes.c_int(work.rows(rank)))
    one, zero = ctypes.byref(ctypes.c_double(1.0)), ctypes.byref(ctypes.c_double(0.0))
    times = []
    for _ in range(work.repetitions + 1):
        together.wait()
        start = time.perf_counter()
        # Column by column, C^T = B^T A^T, as in src/bench/mpi_matmul/blas.cpp.
        dgemm(b"N", b"N", size, own, size, one, first, size, second, size, zero, result, size)
        times.append((time.perf_counter() - start) * 1e6)
    out.put(min(times[1:]))


def blas_alone(library: Path, work: Work) -> float:
    """The least time in us of the slowest of as many processes as there are ranks."""
    context = multiprocessing.get_context("spawn")
    together, out = context.Barrier(work.ranks), context.Queue()
    processes = [
        context.Process(target=call_blas, args=(library, work, rank, together, out))
        for rank in range(work.ranks)
    ]
    for process in processes:
        process.start()
    found: list[float] = [out.get(timeout=TIMEOUT) for _ in processes]
    for process in processes:
        process.join()
    return max(found)


def compare(mpi: str, program: Path, work: Work, rounds: int) -> tuple[float, float]:
    """Least times in us over the rounds: of the compute phase, and of the BLAS alone."""
    library = library_of(program)
    options = ("-n", str(work.order), "-i", str(work.repetitions))

    def ask_program() -> float:
        document = run_program(mpi, program, "shm", work.ranks, options)
        (compute,) = (each for each in document["results"] if each["phase"] == "compute")
        return float(compute["time"]["min"]) * _MICRO

    ours, alone = [], []
    for number in range(rounds):
        if number % 2 == 0:
            ours.append(ask_program())
            alone.append(blas_alone(library, work))
        else:
            alone.append(blas_alone(library, work))
            ours.append(ask_program())
    return min(ours), min(alone)


def phase_rows(
    programs: Mapping[str, Path], orders: Sequence[int], ranks: int, repetitions: int
) -> Iterator[str]:
    """The rows of the table of phases: least times, and the median of the total, in ms."""
    options = ("-n", ",".join(map(str, orders)), "-i", str(repetitions), "-c")
    for mpi, transport, mode in product(programs, ("shm", "tcp"), MODES):
        document = run_program(mpi, programs[mpi], transport, ranks, (*options, "-m", mode))
        for order in orders:
            found = [each for each in document["results"] if each["order"] == order]
            times = {each["phase"]: each["time"] for each in found}
            shown = [*(times[phase]["min"] for phase in PHASES), times["total"]["p50"]]
            cells = [f"{time * _MILLI:.2f}" for time in shown]
            yield f"| {mpi} | {transport} | {mode} | {order} | {' | '.join(cells)} |"


def read_programs(values: Sequence[str]) -> dict[str, Path]:
    """MPI family to path, of ``family=path`` words."""
    programs = {}
    for value in values:
        family, _, path = value.partition("=")
        if family not in LAUNCHERS or not Path(path).is_file():
            raise FabricheckError(
                f"--program: expected MPI=PATH with an MPI of {', '.join(LAUNCHERS)} and a "
                f"program that exists, found {value!r}"
            )
        programs[family] = Path(path).resolve()
    return programs


def main(
    *,
    program: Annotated[list[str], typer.Option(help="MPI=path of an mpi_matmul; repeatable.")],
    orders: Annotated[str, typer.Option(help="Orders of the matrices.")] = "240,480,960",
    ranks: Annotated[int, typer.Option(min=1, help="The most ranks.")] = 2,
    rounds: Annotated[int, typer.Option(min=1, help="Of both sides of the comparison.")] = 4,
    repetitions: Annotated[int, typer.Option(min=2)] = 50,
    share: Annotated[float, typer.Option(help="What the compute phase must reach.")] = 0.95,
) -> None:
    """Print the two tables as Markdown."""
    programs = read_programs(program)
    numbers = [int(word) for word in orders.split(",")]
    mpi, path = next(iter(programs.items()))
    sys.stdout.write(
        "| ranks | N | compute phase, ms | BLAS alone, ms | share | GFlop/s of all ranks |\n"
        "|---|---|---|---|---|---|\n"
    )
    least = float("inf")
    for count, order in product(sorted({1, ranks}), numbers):
        ours, alone = compare(mpi, path, Work(order, count, repetitions), rounds)
        least = min(least, alone / ours)
        sys.stdout.write(
            f"| {count} | {order} | {ours / 1000:.2f} | {alone / 1000:.2f} "
            f"| {alone / ours:.3f} | {2 * order**3 / ours / 1000:.1f} |\n"
        )
        sys.stdout.flush()
    sys.stdout.write(
        "\n| MPI | transport | mode | N | A | B | compute | C | total | median total |\n"
        "|---|---|---|---|---|---|---|---|---|---|\n"
    )
    for row in phase_rows(programs, numbers[1:2], ranks, repetitions):
        sys.stdout.write(f"{row}\n")
        sys.stdout.flush()
    raise typer.Exit(int(least < share))


if __name__ == "__main__":
    command = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    command.command(epilog=EPILOG)(main)
    try:
        command()
    except (FabricheckError, OSError, subprocess.SubprocessError) as error:
        sys.stderr.write(f"measure-matmul: {error}\n")
        sys.exit(2)
