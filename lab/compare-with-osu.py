#!/usr/bin/env python3
"""Compare mpi_probe with the OSU or the Intel MPI benchmarks: two run in turn, size by size.

Both programs run with the same options, pinned to the same cores, in the order A B B A ..., so
that a drift of the machine meets both. Averages are compared with averages and P50 with P50,
within a repetition, since a shared machine's speed can change between two of them; the ratio shown
is the median over the repetitions. The column "noise" is made the same way of the other program's
neighbouring repetitions: its distance from 1 is the machine's noise alone. IMB prints averages
alone, and reads the clock once for all iterations of a ping-pong: the read that each of ours
contains, whose cost the program measures, is taken off for that. See docs/explanation/method.md.

Run it on a quiet machine, from the repository's virtual environment.
"""

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Annotated

import typer

from fabricheck.errors import FabricheckError
from fabricheck.measures.benchmark import MpiBenchmark
from fabricheck.measures.curve import Curve
from fabricheck.measures.parser import check_complete, parse
from fabricheck.measures.registry import sweep
from fabricheck.programs.osu.entries import PROBE_BENCHMARKS
from fabricheck.transports.settings import Ports, settings
from fabricheck.units import format_size

EPILOG = """Example:

lab/compare-with-osu.py --osu openmpi=/opt/osu/openmpi
--probe openmpi=build/openmpi/mpi_probe/mpi_probe -b latency -b allreduce -t shm -t tcp -r 10
--json ratios.json

lab/compare-with-osu.py --imb openmpi=/opt/imb/IMB-MPI1
--probe openmpi=build/openmpi/mpi_probe/mpi_probe -b latency -t shm -r 20

Exit codes: 0 every ratio within the limit, 1 some are not, 2 the comparison could not be made."""

LAUNCHERS = {
    "openmpi": ("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"),
    "mpich": ("mpiexec.hydra",),
}
# Rank r on core r: two ranks that poll must never share one.
PIN = (
    "sh",
    "-c",
    'exec taskset -c $((${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}} % $(nproc))) "$@"',
    "pin",
)
# What IMB calls the benchmarks of mpi_probe that it measures alike.
IMB_NAMES = {"latency": "PingPong", "allreduce": "Allreduce", "bcast": "Bcast"}
PROGRAMS = ("other", "probe")
# MPICH 4.0.2 over UCX's tcp now and then hangs in MPI_Finalize, when all is measured.
ATTEMPTS = 3


@dataclass(frozen=True)
class Setting:
    """What is compared: one benchmark of one MPI on one transport."""

    mpi: str
    transport: str
    benchmark: MpiBenchmark

    def __str__(self) -> str:
        return f"{self.benchmark.name} {self.mpi} {self.transport}"


@dataclass(frozen=True)
class Row:
    """One size: the values of both programs for each statistic, one for each repetition."""

    size: int | None
    other: Mapping[str, Sequence[float]]
    probe: Mapping[str, Sequence[float]]

    def ratio(self, statistic: str) -> float:
        """Ours to the other program's."""
        return _median_ratio(self.probe[statistic], self.other[statistic])

    def noise(self, statistic: str) -> float:
        """The other program's to its own; NaN for a single repetition."""
        other = self.other[statistic]
        return _median_ratio(other[1::2], other[::2])


@dataclass
class Comparison:
    """All curves of one setting, and the table made of them."""

    setting: Setting
    statistics: Sequence[str]
    curves: dict[str, list[Curve]] = field(default_factory=lambda: {name: [] for name in PROGRAMS})

    def rows(self) -> Iterator[Row]:
        """One row for each size."""
        for index, point in enumerate(self.curves["other"][0].points):
            other, probe = (self._values(program, index) for program in PROGRAMS)
            yield Row(point.size, other, probe)

    def _values(self, program: str, index: int) -> dict[str, list[float]]:
        metric = self.setting.benchmark.metrics[0]
        return {
            statistic: [
                curve.points[index].values[metric, statistic] for curve in self.curves[program]
            ]
            for statistic in self.statistics
        }


def less(curve: Curve, off: float) -> Curve:
    """Take so many microseconds off all latencies: half a read of the clock for a one-way time."""
    points = [
        replace(point, values={name: value - off for name, value in point.values.items()})
        for point in curve.points
    ]
    return replace(curve, points=tuple(points))


def _median_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> float:
    ratios = [above / below for above, below in zip(numerators, denominators, strict=False)]
    return statistics.median(ratios) if ratios else float("nan")


@dataclass(frozen=True)
class Runner:
    """How the programs are started."""

    other: Mapping[str, Path]
    is_imb: bool
    probe: Mapping[str, Path]
    sizes: tuple[int, int]
    ranks: int
    iterations: int | None
    ports: Ports
    timeout: float

    def run(self, setting: Setting, program: str) -> Curve:
        """Run one program once and read its table."""
        benchmark = setting.benchmark
        ranks = 2 if benchmark.family == "pt2pt" else self.ranks
        command = [*LAUNCHERS[setting.mpi], "-n", str(ranks), *PIN]
        command += self._program(setting, program)
        if program == "probe" or not self.is_imb:
            command += self._options(benchmark)
        # What proves the transport in the checks would only add lines here.
        chosen = {
            name: value
            for name, value in settings(setting.mpi, setting.transport, self.ports).items()
            if not name.startswith(("UCX_LOG", "UCX_PROTO"))
        }
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        done = self._finish(command, {**os.environ, **chosen, **root}, f"{setting} {program}")
        if done.returncode != 0:
            tail = (done.stderr or done.stdout).strip().splitlines()[-3:]
            raise FabricheckError(
                f"{setting}: expected exit code 0 of {program}, found {done.returncode}: "
                + " / ".join(tail)
            )
        name = (
            f"imb_{IMB_NAMES[benchmark.name].lower()}" if program == "other" and self.is_imb else ""
        )
        curve = parse(done.stdout, f"{setting} {program}", name)
        if program == "probe" and self.is_imb and benchmark.family == "pt2pt":
            read = max(json.loads(done.stdout)["environment"]["clock_overhead"])
            curve = less(curve, read * 1e6 / 2)
        if benchmark.min_size is not None:
            check_complete(curve, self._sweep(benchmark), f"{setting} {program}")
        return curve

    def _finish(
        self, command: Sequence[str], environment: Mapping[str, str], what: str
    ) -> subprocess.CompletedProcess[str]:
        """Run to the end; a run that hangs is killed, told and started again."""
        for _ in range(ATTEMPTS):
            with subprocess.Popen(
                command,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            ) as job:
                try:
                    out, err = job.communicate(timeout=self.timeout)
                except subprocess.TimeoutExpired:
                    os.killpg(job.pid, signal.SIGKILL)
                    sys.stderr.write(f"{what}: did not end within {self.timeout:g} s: once more\n")
                else:
                    return subprocess.CompletedProcess(command, job.returncode, out, err)
        raise FabricheckError(
            f"{what}: expected an end within {self.timeout:g} s, found none in {ATTEMPTS} runs: "
            "give a larger --timeout, fewer --iterations or a quieter machine"
        )

    def _program(self, setting: Setting, program: str) -> list[str]:
        benchmark = setting.benchmark
        if program == "probe":
            return [str(self.probe[setting.mpi]), benchmark.name, "--json", "-"]
        if self.is_imb:
            words = [str(self.other[setting.mpi]), IMB_NAMES[benchmark.name], "-npmin", "1024"]
            words += ["-iter", str(self.iterations or 1000), "-msglen", self._lengths(benchmark)]
            return words
        folder = self.other[setting.mpi] / "libexec/osu-micro-benchmarks/mpi" / benchmark.family
        return [str(folder / benchmark.osu_program)]

    def _lengths(self, benchmark: MpiBenchmark) -> str:
        file = Path(tempfile.gettempdir()) / f"imb-lengths-{os.getpid()}"
        file.write_text("".join(f"{size}\n" for size in self._sweep(benchmark)))
        return str(file)

    def _options(self, benchmark: MpiBenchmark) -> list[str]:
        options = ["-z50"]
        if benchmark.min_size is not None:
            low, high = self._sweep(benchmark)[0], self._sweep(benchmark)[-1]
            options += ["-m", f"{low}:{high}"]
        if benchmark.datatype:
            options += ["-T", benchmark.datatype]
        if self.iterations:
            options += ["-i", str(self.iterations)]
        return options

    def _sweep(self, benchmark: MpiBenchmark) -> tuple[int, ...]:
        low, high = self.sizes
        return sweep(max(low, benchmark.min_size or 0), min(high, benchmark.max_size or high))


def compare(
    runner: Runner, wanted: Sequence[Setting], repetitions: int, *, quiet: bool
) -> list[Comparison]:
    """Run all settings; each repetition visits all of them, so that each sees all of the time."""
    statistics_of = ("avg",) if runner.is_imb else ("avg", "p50")
    comparisons = [Comparison(setting, statistics_of) for setting in wanted]
    for repetition in range(repetitions):
        for comparison in comparisons:
            order = PROGRAMS if repetition % 2 == 0 else PROGRAMS[::-1]
            for program in order:
                comparison.curves[program].append(runner.run(comparison.setting, program))
            if not quiet:
                sys.stderr.write(f"{repetition + 1}/{repetitions} {comparison.setting}\n")
    return comparisons


def table(comparison: Comparison, limit: float) -> Iterator[str]:
    """The lines of a comparison; what is beyond the limit is marked."""
    unit = "us" if comparison.setting.benchmark.metrics[0] == "latency" else "MB/s"
    yield f"{comparison.setting} ({unit})"
    yield f"{'size':>8}" + "".join(
        f"{f'other {name}':>12}{f'probe {name}':>12}{'ratio':>8} {'noise':>8}"
        for name in comparison.statistics
    )
    for row in comparison.rows():
        cells = "-" if row.size is None else format_size(row.size)
        line = f"{cells:>8}"
        for name in comparison.statistics:
            mark = "*" if is_beyond(row.ratio(name), limit) else " "
            line += (
                f"{statistics.median(row.other[name]):12.2f}{statistics.median(row.probe[name]):12.2f}"
                f"{row.ratio(name):8.3f}{mark}{row.noise(name):8.3f}"
            )
        yield line
    for name in comparison.statistics:
        ratios = [[row.ratio(name), row.noise(name)] for row in comparison.rows()]
        ratio, noise = map(statistics.median, zip(*ratios, strict=True))
        yield f"median over sizes, {name}: {ratio:.3f} (noise {noise:.3f})"
    yield ""


def is_beyond(ratio: float, limit: float) -> bool:
    """Whether a ratio is not within 1 - limit ... 1 + limit."""
    return not 1 - limit <= ratio <= 1 + limit


def summary(comparisons: Sequence[Comparison], limit: float) -> dict[str, tuple[int, int]]:
    """For each statistic: ratios within the limit, and all."""
    rows = [row for comparison in comparisons for row in comparison.rows()]
    return {
        name: (sum(not is_beyond(row.ratio(name), limit) for row in rows), len(rows))
        for name in comparisons[0].statistics
    }


def document(comparisons: Sequence[Comparison], limit: float) -> dict[str, object]:
    """All that was measured, for machines."""
    return {
        "limit": limit,
        "comparisons": [
            {
                "benchmark": comparison.setting.benchmark.name,
                "mpi": comparison.setting.mpi,
                "transport": comparison.setting.transport,
                "sizes": [
                    {"size": row.size, "other": row.other, "probe": row.probe}
                    for row in comparison.rows()
                ],
            }
            for comparison in comparisons
        ],
    }


def read_paths(option: str, values: Sequence[str]) -> dict[str, Path]:
    """MPI family to path, of ``family=path`` words."""
    paths = {}
    for value in values:
        family, _, path = value.partition("=")
        if family not in LAUNCHERS or not Path(path).exists():
            raise FabricheckError(
                f"{option}: expected MPI=PATH with an MPI of {', '.join(LAUNCHERS)} and a path "
                f"that exists, found {value!r}"
            )
        if shutil.which(LAUNCHERS[family][0]) is None:
            raise FabricheckError(f"{option}: expected {LAUNCHERS[family][0]} on PATH, found none")
        paths[family] = Path(path).resolve()
    return paths


def main(
    *,
    osu: Annotated[
        list[str] | None, typer.Option(help="MPI=prefix of an OSU install; repeatable.")
    ] = None,
    imb: Annotated[
        list[str] | None, typer.Option(help="MPI=path of an IMB-MPI1, instead of --osu.")
    ] = None,
    probe: Annotated[list[str], typer.Option(help="MPI=path of an mpi_probe; repeatable.")],
    benchmark: Annotated[
        list[str] | None, typer.Option("--benchmark", "-b", help="Default: all.")
    ] = None,
    transport: Annotated[
        list[str] | None, typer.Option("--transport", "-t", help="Default: shm and tcp.")
    ] = None,
    sizes: Annotated[str, typer.Option("--sizes", "-m", help="MIN:MAX in bytes.")] = "1:1048576",
    repetitions: Annotated[int, typer.Option("--repetitions", "-r", min=1)] = 6,
    ranks: Annotated[int, typer.Option("--ranks", "-n", min=2, help="Of collectives.")] = 2,
    iterations: Annotated[
        int | None, typer.Option("--iterations", "-i", min=1, help="Default: OSU's.")
    ] = None,
    tcp_device: Annotated[str, typer.Option(help="UCX_NET_DEVICES for tcp.")] = "lo",
    limit: Annotated[float, typer.Option(help="Allowed distance of a ratio from 1.")] = 0.03,
    timeout: Annotated[float, typer.Option(help="Seconds for one run of a program.")] = 120.0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all values.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Compare mpi_probe with OSU or IMB: medians over repetitions, ratios for each size."""
    low, _, high = sizes.partition(":")
    if not (low.isdecimal() and high.isdecimal()):
        raise FabricheckError(f"--sizes: expected MIN:MAX in bytes, found {sizes!r}")
    other = read_paths("--imb", imb) if imb else read_paths("--osu", osu or [])
    paths = other, bool(imb), read_paths("--probe", probe)
    ports = Ports({"tcp": tcp_device})
    runner = Runner(*paths, (int(low), int(high)), ranks, iterations, ports, timeout)
    if bool(osu) == bool(imb) or runner.other.keys() != runner.probe.keys():
        raise FabricheckError(
            "expected --osu or --imb, and --probe for the same MPIs, found others"
        )
    known = IMB_NAMES if imb else PROBE_BENCHMARKS
    names = benchmark or list(known)
    if unknown := sorted(set(names) - known.keys()):
        raise FabricheckError(
            f"--benchmark: expected one of {', '.join(known)}, found {', '.join(unknown)}"
        )
    wanted = [
        Setting(mpi, way, PROBE_BENCHMARKS[name])
        for mpi, way, name in product(runner.other, transport or ["shm", "tcp"], names)
    ]
    comparisons = compare(runner, wanted, repetitions, quiet=quiet)
    for comparison in comparisons:
        sys.stdout.writelines(f"{line}\n" for line in table(comparison, limit))
    outcome = summary(comparisons, limit)
    for name, (within, total) in outcome.items():
        sys.stdout.write(f"{name}: {within} of {total} ratios within {limit:.0%}\n")
    if json_file:
        temporary = json_file.with_name(json_file.name + ".tmp")
        temporary.write_text(json.dumps(document(comparisons, limit), indent=1) + "\n")
        temporary.replace(json_file)
    raise typer.Exit(int(any(within < total for within, total in outcome.values())))


if __name__ == "__main__":
    command = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    command.command(epilog=EPILOG)(main)
    try:
        command()
    except (FabricheckError, OSError) as error:
        sys.stderr.write(f"compare-with-osu: {error}\n")
        sys.exit(2)
