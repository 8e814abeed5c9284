"""What the checks of rdma_batch inherit: sweeps of batches, and comparisons inside one job."""

from collections.abc import Mapping, Sequence
from typing import Any

from reframe.core.builtins import fixture, run_before

from fabricheck.benchmarks.budget import iterations, thin
from fabricheck.benchmarks.curve import Curve
from fabricheck.benchmarks.parser import check_complete
from fabricheck.benchmarks.perftest import read as perftest
from fabricheck.benchmarks.rdma_batch import beside
from fabricheck.benchmarks.rdma_batch import read as rdma_batch
from fabricheck.benchmarks.rdma_batch.entries import (
    BENCHMARKS as PROGRAM_BENCHMARKS,
)
from fabricheck.benchmarks.rdma_batch.entries import (
    COMPARISONS,
    SWEEPS,
)
from fabricheck.benchmarks.rdma_batch.judge import batch_shapes
from fabricheck.judge.levels import Level, worst
from fabricheck.judge.physics import Links
from fabricheck.judge.references import Reference, Tolerance
from fabricheck.judge.verdict import Verdict
from fabricheck.reframe_ext.build import BenchBuild
from fabricheck.reframe_ext.pair import PairBenchmark
from fabricheck.reframe_ext.verbs_options import (
    perftest_options,
    ports,
    rdma_batch_options,
    wrong_mtu,
)
from fabricheck.transports import Placement
from fabricheck.transports.proof import Proof
from fabricheck.transports.verbs import prove_packets
from fabricheck.transports.witness import Witness

_LONGEST_RUN = 240
"""Seconds of one run; the job's time limit must leave room beside it."""

_SINGLE_BATCHES, _BATCHES, _FEWEST_BATCHES = 1000, 128, 10
"""Batches of one transfer and of many where time is no matter, and the fewest anywhere."""


def sweep_cases() -> list[tuple[str, str]]:
    """Each sweep with its placement."""
    return [(each.name, str(Placement.read("rc-2n"))) for each in SWEEPS]


def comparison_cases() -> list[tuple[str, str]]:
    """Each comparison with its placement."""
    return [(each.name, str(Placement.read("rc-2n"))) for each in COMPARISONS]


class _RdmaBatch(PairBenchmark):
    """What sweeps and comparisons share: the program from the build, on the site's ports.

    Partition extras that are read beside those of every pair: ``ucx_net_devices`` (its ``rdma``
    names the ports of a node), ``gid_index``, ``fabric_health`` (its ``mtu``); and for slow fabrics
    ``time_budget`` in seconds for each row, ``typical`` and ``size_step``, as for perftest.
    """

    build = fixture(BenchBuild, scope="environment")

    @run_before("run")
    def set_limit(self) -> None:
        """A run with every size may take longer than a perftest of one."""
        self.env_vars["FABRICHECK_PAIR_LIMIT"] = str(_LONGEST_RUN)

    def find_entry(self) -> Any:
        """The sweep or the comparison."""
        return PROGRAM_BENCHMARKS[self.benchmark]

    def layer(self) -> str:
        """It runs where perftest does."""
        return "verbs"

    def sizes(self) -> tuple[int, ...]:
        """The sizes in bytes; a sparse sweep leaves sizes out."""
        return thin(super().sizes(), self.current_partition.extras.get("size_step"))

    def explain(self, words: str) -> str | None:
        """The cause that the words of both ends name."""
        if "/rdma_batch on PATH of" in words:
            return (
                "expected rdma_batch to be built, found that it was not: install libibverbs-dev "
                "(Debian) or rdma-core's headers where the suite builds its programs"
            )
        return perftest.cause(words, self.current_partition.extras.get("gid_index"))

    def own_options(self, devices: int) -> list[str]:
        """Options of the program on this partition."""
        extras = self.current_partition.extras
        options = rdma_batch_options(extras, devices)
        if "time_budget" in extras:
            options += ["--time-budget", str(extras["time_budget"])]
        return options

    def prove_moved(
        self,
        rows: Sequence[rdma_batch.Row],
        witnesses: Sequence[Witness],
        used: int,
        *,
        reads: bool,
    ) -> Proof:
        """The packets that the nodes must have sent for these rows.

        The initiator of writes sends the data, that of reads one request each; the target of reads
        answers with the data. The path MTU that the connection used must be the one asked for.
        """
        if objection := wrong_mtu(self.current_partition.extras, used):
            return Proof(f"rdma_batch used mtu {used}", (objection,))
        requests = sum(row.batch * (row.iterations or 0) for row in rows)
        data = sum(-(-row.size // used) * row.batch * (row.iterations or 0) for row in rows)
        least = (data, requests) if reads else (0, data)
        devices = ports(self.current_partition.extras)
        only = ":".join(filter(None, devices[0])) if len(devices) == 1 else ""
        return prove_packets(least, witnesses, only)


class RdmaBatch(_RdmaBatch):
    """One sweep: latency and bandwidth of whole batches."""

    def command(self) -> str:
        """The program that was built."""
        return str(self.build.program("rdma_batch"))

    def common_options(self) -> Sequence[str]:
        """What makes the program this sweep, at these sizes, on these ports."""
        transfer = self._entry.transfer
        numbers = ",".join(str(size // (transfer or 1)) for size in self.sizes())
        swept = ("--all-batch", "--batches") if transfer else ("--all", "--sizes")
        # A single number would be the end of a range.
        listed = numbers if "," in numbers else f"{numbers}:{numbers}"
        return [*self._entry.options, *swept, listed, *self.own_options(self._entry.most_devices)]

    def runs(self) -> Sequence[Sequence[str]]:
        """One run, which writes JSON beside its table."""
        return [("--json", f"{self.benchmark}.json")]

    def read(self, outputs: Sequence[str]) -> Curve:
        """The curve of the slowest initiator.

        Raises:
            FabricheckError: if it is damaged or lacks a size.
        """
        (text,) = outputs
        source = f"the initiator's output in {self.stdout}"
        output = rdma_batch.read(text, source)
        curve = rdma_batch.curve(output, self.benchmark, by_total=bool(self._entry.transfer))
        check_complete(curve, self.sizes(), source)
        self._rows = [row for table in output.tables for row in table]
        return curve

    def prove_transport(self, curve: Curve, witnesses: Sequence[Witness]) -> Proof:
        """What the program says that it used, and the packets of the ports."""
        reads, path = "read" in self._entry.options, rdma_batch.path_mtu(curve.metadata)
        packets = self.prove_moved(self._rows, witnesses, path, reads=reads)
        used = ", ".join(
            f"{key} {curve.metadata.get(key, 'none')}" for key in ("devices", "mtu", "gid_index")
        )
        unchecked = (
            ()
            if curve.metadata.get("validate") == "True"
            else (
                "expected data that were compared, found that they were not: the program ran with "
                "--no-validate",
            )
        )
        return Proof(
            f"rdma_batch used {used}; {packets.evidence}", (*packets.objections, *unchecked)
        )

    def links(self) -> Links | None:
        """The links; none for a sweep of batches, whose small transfers need not fill one."""
        return None if self._entry.transfer else super().links()

    def find_verdict(
        self, references: Mapping[str, Reference], tolerance: Tolerance | None
    ) -> Verdict:
        """The verdict on the curve, and on what batches must look like."""
        verdict = super().find_verdict(references, tolerance)
        assert self._curve is not None, "a case without curve is untrusted and never judged"
        noise = tolerance.monotone if tolerance else None
        shapes = batch_shapes(self._curve, noise, by_batch=bool(self._entry.transfer))
        level = worst([verdict.level, *[Level.WARNING] * len(shapes)])
        return Verdict(level, verdict.judgements, verdict.findings + shapes)


class RdmaBatchBeside(_RdmaBatch):
    """One comparison: both programs take turns in one job, and their medians are divided.

    On a busy machine such a ratio means something where times don't.
    """

    def command(self) -> str:
        """Each run names its own program."""
        return "env"

    def common_options(self) -> Sequence[str]:
        """None: the two programs share no options."""
        return ()

    def runs(self) -> Sequence[Sequence[str]]:
        """The other program and ours in turns, at each size."""
        return [turn.words for turn in self._turns()]

    def read(self, outputs: Sequence[str]) -> Curve:
        """The curve of the ratios.

        Raises:
            FabricheckError: if an output is damaged.
        """
        sides = beside.read(self._entry, self._turns(), outputs, f"the output in {self.stdout}")
        self._rows, self._mtu = sides.rows, sides.mtu
        return beside.ratios(self._entry, sides)

    def _turns(self) -> list[beside.Turn]:
        setting = beside.Setting(
            program=self.build.program("rdma_batch"),
            own_options=self.own_options(1),
            perftest_options=perftest_options(self.current_partition.extras, "RC"),
            count=self._count,
        )
        return beside.turns(self._entry, self.sizes(), setting)

    def _count(self, size: int) -> int:
        """Batches of a run, or as many as fit into the time budget."""
        extras = self.current_partition.extras
        batch: int = self._entry.batch
        if "time_budget" not in extras:
            return _SINGLE_BATCHES if batch == 1 else _BATCHES
        fitting = iterations(size, extras["time_budget"], **extras.get("typical", {}))
        return max(_FEWEST_BATCHES, fitting // batch)

    def prove_transport(self, curve: Curve, witnesses: Sequence[Witness]) -> Proof:
        """The packets of our runs; those of the other program come on top."""
        del curve
        reads = "read" in self._entry.options
        return self.prove_moved(self._rows, witnesses, self._mtu, reads=reads)
